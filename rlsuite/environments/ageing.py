"""Ageing: many real steps of an environment beside its table, as a change may come late and may hide anywhere.

A copy of the environment takes random steps with its own generator, over many episodes, and each answer is compared
with the table to the last bit. It is done twice: in the process that has made the table, and in a new process with
another seed for hashes, another seed of the generator, another number and a later start.
"""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic  # the module's are out of use where an environment is asked
from typing import Any, NamedTuple

import numpy as np

from rlsuite.core.aliases import Env, UntypedSpace
from rlsuite.core.checks import legal_actions
from rlsuite.environments.child_process import CannotBeFollowed, called
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.environments.followers import begin, same_state
from rlsuite.environments.layers import attributes_of
from rlsuite.environments.outcomes import Tree, draw

STEPS = 100_000
"""Steps beside the table, at least."""
SHARE = 0.1
"""Of the time that the table has taken: so long are steps taken, if that is more."""
LONGEST = (10, 100, 1_000, 10_000)
"""Steps after which an episode is left by a `reset`, where nothing else ends it; drawn for each episode."""


def mask_in(info: Mapping[str, Any], n_actions: int) -> bytes:
    """Return a bool for each action; empty if masks are not followed (0 actions), or if there is none.

    Raises
    ------
    ParameterError
        If it is none.
    """
    if not n_actions or "action_mask" not in info:
        return b""
    return legal_actions("info['action_mask']", info["action_mask"], n_actions).tobytes()


class Ageing(NamedTuple):
    """A table, as a copy of the environment is stepped beside it."""

    start: Tree
    rows: list[list[Tree | None] | None]
    """As of a `rlsuite.environments.tabulation.Tabulation`."""
    generator: str
    """The attribute with the generator."""
    id_of: Callable[[Any], int]
    masked: int
    """Number of actions of which each info says whether they are legal; 0 if it does not."""

    def age(self, env: Env, limit: int, seed: int | None, until: float, deadline: float) -> int:
        """Take steps of an environment beside its table; return how many.

        Parameters
        ----------
        env : gymnasium.Env
            A copy, which is used up.
        limit : int
            Steps after which an episode has to be left; its `TimeLimit`, if it has one, truncates it then.
        seed : int or None
            Of its generator, which otherwise goes on from where it is.
        until, deadline : float
            Times of `time.monotonic`: until the first it goes on after `STEPS`; the second is an error.

        Raises
        ------
        CannotBeFollowed
            At the first difference.
        """
        space: UntypedSpace = env.action_space
        first_action = int(space.start)
        chooser = np.random.default_rng(seed or 0)
        truncating = NO_LIMIT if env is env.unwrapped else limit
        attributes = attributes_of(env)
        begin(env)

        def generator() -> np.random.Generator:
            return attributes[self.generator]

        bits: Any = generator().bit_generator
        if seed is not None:
            bits.state = type(bits)(seed).state
        rng = copy.deepcopy(generator())
        rows: list[Any] = [row or () for row in self.rows]
        allowed: list[list[int]] = [[a for a, tree in enumerate(row) if tree is not None] for row in rows]
        taken = elapsed = longest = 0
        over = True
        answer: Any = None
        while True:
            if over:
                found, info = called(env.reset)
                answer, where = draw(self.start, rng), "at reset"
                observation = self.id_of(found)
                ends = expected = 0.0, False, False
                elapsed, longest = 0, min(limit, int(chooser.choice(LONGEST)))
            else:
                if taken % 1_000 == 0:
                    if not same_state(rng, generator()):
                        raise CannotBeFollowed(_differs(taken, "it draws other random numbers"))
                    if taken >= STEPS and monotonic() >= until:
                        return taken
                    if monotonic() > deadline:
                        raise CannotBeFollowed(
                            f"there was not enough time to try it: {taken:,} steps agreed with its table, of {STEPS:,}"
                        )
                legal = allowed[int(answer.state)]
                if not legal:
                    raise CannotBeFollowed(_differs(taken, f"it goes on in state {answer.state}"))
                action = legal[int(chooser.random() * len(legal))]
                where = f"at state {answer.state} of those found, action {action}"
                found, reward, terminated, truncated, info = called(partial(env.step, action + first_action))
                taken, elapsed = taken + 1, elapsed + 1
                answer = draw(rows[answer.state][action], rng)
                observation, ends = self.id_of(found), (float(reward), bool(terminated), bool(truncated))
                expected = (answer.reward, answer.terminated, answer.truncated or elapsed >= truncating)
            if (observation, ends, mask_in(info, self.masked)) != (answer.observation, expected, answer.legal):
                says = answer.observation, *expected
                what = f"{where} it answers {(observation, *ends)}, where the table says {says}"
                raise CannotBeFollowed(_differs(taken, what))
            over = ends[1] or ends[2] or elapsed >= longest


def _differs(taken: int, what: str) -> str:
    return f"with its own generator it behaves differently after {taken:,} steps: {what}"
