"""The page of error messages quotes what is really said."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import rlsuite as rl


class Measuring(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,))
    action_space = gymnasium.spaces.Discrete(2)


def train(seeds: int) -> Any:
    return rl.train(rl.QLearning(), "FrozenLake-v1", steps=10, seeds=seeds)


PROVOKED: list[Callable[[], Any]] = [
    lambda: rl.QLearning(alpha=0.1),
    lambda: rl.QLearning().learn("MountainCar-v0", steps=10),
    lambda: rl.QLearning().learn(Measuring, steps=10),
    lambda: rl.MDP.from_env(Measuring(), gamma=0.9),
    lambda: rl.tabulate("Blackjack-v1", gamma=1.0),
    lambda: rl.solve("FrozenLake-v1"),
    lambda: rl.MDP.from_arrays([[[0.5, 0.4], [0, 1]]], [[0], [0]], gamma=0.9),
    lambda: rl.plotting.regret([train(2), train(2)]),
    lambda: rl.plotting.regret(train(1)),
    lambda: rl.QLearning().act(0),
    lambda: rl.QLearning().learn("FrozenLake-v1", steps=10, episodes=3),
    lambda: rl.compiled(lambda memory: memory.quality)(1.0),
]
"""What leads to the messages in the headings of the page, in their order, after the first."""


def test_headings_quote_what_is_said(root: Path) -> None:
    page = (root / "docs" / "faq.md").read_text(encoding="utf-8")
    _, *quoted = re.findall(r'^## "(.*)"$', page, flags=re.MULTILINE)
    for quote, call in zip(quoted, PROVOKED, strict=True):
        with pytest.raises((rl.errors.RlsuiteError, rl.errors.RlsuiteWarning)) as told:
            call()
        assert quote in str(told.value)
