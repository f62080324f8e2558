"""The requirements for agents that do not learn step by step: batch methods, searches, planners, networks.

They have no rule, no memory and no loops that could differ. What can be asked of every agent is asked here, on one
problem: five cells in a row, with illegal actions, and a time limit.
"""

import copy
import dataclasses
import inspect
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.wrappers import TimeLimit

from rlsuite.agents.learner import Learner
from rlsuite.core.aliases import Env
from rlsuite.core.described import describe
from rlsuite.errors import ConformanceError, NotLearned, ParameterError, RlsuiteError
from rlsuite.models.aliases import AnyArray
from rlsuite.registry import build_agent, load
from rlsuite.testing import problems
from rlsuite.training.results import Record
from rlsuite.training.train import train

ENOUGH = 300
"""Steps of a run: several episodes of every problem."""

ITERATIONS = 2
"""Length of a run of an agent that counts iterations."""

SEED = 11


def learner_checks() -> dict[str, Callable[[Learner], None]]:
    """Return the checks for agents that do not learn step by step, by name.

    >>> sorted(learner_checks())[:2]
    ['a_file_keeps_it', 'a_wrong_parameter_is_refused']
    """
    return {name.removeprefix("check_"): value for name, value in globals().items() if name.startswith("check_")}


# ------------------------------------------------------------------------------------------------------ requirements


def check_plain_data_describes_it(agent: Learner) -> None:
    """Saved files and TOML files hold agents as plain data."""
    plain = describe(agent)
    again = build_agent(plain)
    expect(
        type(again) is type(agent), agent, f"built again from its description {plain}, it is a {type(again).__name__}"
    )
    expect(
        describe(again) == plain,
        agent,
        f"built again from its description {plain}, it has the description {describe(again)}",
    )


def check_a_wrong_parameter_is_refused(agent: Learner) -> None:
    """Parameters are checked where they are given."""
    changed: Any = agent
    try:
        dataclasses.replace(changed, gamma=1.5)
    except ParameterError:
        return
    expect(False, agent, "it accepts gamma=1.5; a parameter outside its range has to raise a ParameterError")


def check_the_same_seed_gives_the_same_bytes(agent: Learner) -> None:
    """The seed determines what is learned."""
    one, other = _learned(agent), _learned(agent)
    _expect_same(one, other, "two runs with the same seed differ")


def check_it_stays_as_it_is_given(agent: Learner) -> None:
    """Constructor arguments are never changed by learning."""
    expect(describe(_learned(agent)) == describe(agent), agent, "learning changed its parameters")


def check_a_file_keeps_it(agent: Learner) -> None:
    """A loaded agent equals the saved one."""
    learned = _learned(agent)
    twin = _read_back(learned)[0]
    expect(describe(twin) == describe(learned), agent, "the loaded agent has other parameters than the saved one")
    _expect_same(learned, twin, "the loaded agent differs from the saved one")


def check_actions_are_legal(agent: Learner) -> None:
    """`act` takes an action that the mask allows; an agent that only learns values raises NotLearned."""
    legal = problems.corridor().legal
    for state, action in _actions(_learned(agent)).items():
        allowed = np.flatnonzero(legal[state]).tolist()
        expect(action in allowed, agent, f"act({state}) is {action}, and the legal actions are {allowed}")


def check_many_seeds_are_many_runs(agent: Learner) -> None:
    """Each of many seeds gives the record of a run by itself."""
    given: Any = agent
    found = train(given, _env(), steps=ENOUGH, seeds=2, regret=False)
    for record in found.records:
        alone: Any = copy.deepcopy(given).learn(_env(), steps=ENOUGH, seed=record.seed)
        what = f"seed {record.seed} among others differs from a run of its own"
        expect_same_arrays(arrays_of(alone.record_), arrays_of(record), agent, what)


# ------------------------------------------------------------------------------------------------------------ helpers


def expect(kept: bool, agent: Learner, found: str) -> None:
    """Raise unless a requirement is met.

    Raises
    ------
    ConformanceError
        Then, with what was found.
    """
    if not kept:
        raise ConformanceError(f"{type(agent).__name__}: {found}")


def expect_same_arrays(one: Mapping[str, AnyArray], other: Mapping[str, AnyArray], agent: Learner, what: str) -> None:
    """Raise ConformanceError unless arrays of the same names have the same bytes."""
    expect(one.keys() == other.keys(), agent, f"{what}: one has the arrays {sorted(one)}, the other {sorted(other)}")
    for name, array in one.items():
        expect(array.tobytes() == other[name].tobytes(), agent, f"{what}, in {name}")


def arrays_of(record: Record) -> dict[str, AnyArray]:
    """The arrays of a record by name."""
    return {f"the record's {name}": value for name, value in vars(record).items() if isinstance(value, np.ndarray)}


def _env() -> Env:
    return TimeLimit(problems.corridor().to_env(), problems.CUT)


def _learned(agent: Learner) -> Any:
    learner: Any = copy.deepcopy(agent)
    counted = "iterations" in inspect.signature(learner.learn).parameters
    length = {"iterations": ITERATIONS} if counted else {"steps": ENOUGH}
    try:
        return learner.learn(_env(), **length, seed=SEED)
    except RlsuiteError as error:
        raise ConformanceError(
            f"{type(agent).__name__} cannot learn the problem 'corridor', five cells in a row: {error}"
        ) from error


def _read_back(learned: Any) -> tuple[Any, dict[str, AnyArray]]:
    """What a file gives back, and the arrays in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.npz"
        learned.save(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {f"{name} of the file": file[name] for name in file.files}
        return load(path), arrays


def _actions(learned: Any) -> dict[int, int]:
    """The actions that it takes, by the state; none if it only learns values."""
    legal = problems.corridor().legal
    try:
        states = np.flatnonzero(legal.any(axis=1)).tolist()
        return {state: int(learned.act(state, legal[state])) for state in states}
    except NotLearned:
        return {}


def _expect_same(one: Any, other: Any, what: str) -> None:
    expect_same_arrays(_read_back(one)[1], _read_back(other)[1], one, what)
    acting = _actions(other)  # none if it needs the model of its environment, which files do not keep
    expect(acting in ({}, _actions(one)), one, f"{what}, in the actions taken")
