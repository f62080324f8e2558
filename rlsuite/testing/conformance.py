"""The requirements for every agent, as checks for built-in agents and for your own.

Each function ``check_...`` checks one requirement and raises `ConformanceError` if it is not met. `agent_checks` finds
them, `check_agent` runs them all.
"""

import copy
import dataclasses
import functools
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.agent import Agent
from rlsuite.agents.exploration import EpsilonGreedy
from rlsuite.agents.learner import Learner
from rlsuite.agents.schedules import EPISODES, STEPS
from rlsuite.core.declared import Array, how_to_declare
from rlsuite.core.described import describe
from rlsuite.errors import (
    ConformanceError,
    DiscountWarning,
    LearningError,
    NotLearned,
    ParameterError,
    RewardWarning,
    RlsuiteError,
)
from rlsuite.registry import load
from rlsuite.testing import problems
from rlsuite.testing.learners import (
    ENOUGH,
    SEED,
    arrays_of,
    check_plain_data_describes_it,
    expect,
    expect_same_arrays,
    learner_checks,
)
from rlsuite.training.first_steps import all_in_python
from rlsuite.training.learned import declared_arrays, learned_arrays
from rlsuite.training.train import train

Check = Callable[[Agent], None]


def agent_checks() -> dict[str, Check]:
    """Return all checks by name, for a test runner that shows them one by one.

    Examples
    --------
    >>> from rlsuite.testing import agent_checks
    >>> "both_loops_give_the_same_bytes" in agent_checks()
    True
    """
    here = {"check_plain_data_describes_it": check_plain_data_describes_it, **vars(sys.modules[__name__])}
    return {
        name.removeprefix("check_"): _with_any_rewards(value)
        for name, value in here.items()
        if name.startswith("check_") and value is not check_agent
    }


def _with_any_rewards(check: Check) -> Check:
    """Run a check without `RewardWarning` and `DiscountWarning`: the problems differ in rewards and in gamma."""

    @functools.wraps(check)
    def quiet(agent: Agent) -> None:
        with warnings.catch_warnings():
            for category in (RewardWarning, DiscountWarning):
                warnings.simplefilter("ignore", category)
            check(agent)

    return quiet


def check_agent(agent: Learner) -> None:
    """Run all checks on an agent.

    Parameters
    ----------
    agent : Learner
        One that has not learned; it is copied, and stays as it is. Of one that does not learn step by step (a batch
        method, a search, a planner) what `rlsuite.testing.learners` lists is checked.

    Raises
    ------
    ConformanceError
        If a requirement is not met: which one, on which problem, and what was found.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite.testing import check_agent
    >>> check_agent(rl.Sarsa(exploration=rl.EpsilonGreedy(0.2)))
    """
    if not isinstance(cast("object", agent), Learner):
        hint = f": write check_agent({agent.__name__}())" if isinstance(agent, type) else ""
        raise ParameterError(f"check_agent takes an agent, and {agent!r} is not one{hint}")
    checks: dict[str, Any] = {**(agent_checks() if isinstance(agent, Agent) else learner_checks())}
    for check in checks.values():
        check(agent)


# ------------------------------------------------------------------------------------------------------ requirements


def check_indices_stay_within_arrays(agent: Agent) -> None:
    """Machine code does not look where an index leads: the rule runs in Python first, which does."""
    for name in problems.environments():
        for loop in ("auto", "stepwise"):
            with all_in_python():
                _learned(agent, name, loop=loop)


def check_both_loops_give_the_same_bytes(agent: Agent) -> None:
    """The compiled loop repeats the stepwise loop bit for bit."""
    for name in problems.environments():
        compiled, stepwise = (_learned(agent, name, loop=loop) for loop in ("compiled", "stepwise"))
        _expect_same(compiled, stepwise, f"{name}: the compiled and the stepwise loop differ")


def check_features_give_what_a_table_gives(agent: Agent) -> None:
    """A rule for tables and features learns with a feature for each state what it learns in a table."""
    from rlsuite.features import OneHot

    given = {field.name for field in dataclasses.fields(agent) if field.init}
    if not {"features", "values"} <= given:
        return
    # what counts visits differs: only a table does
    same = {"learning_rate": 0.1, "exploration": EpsilonGreedy(0.3)}
    same = {name: value for name, value in same.items() if name in given}
    for name in problems.environments():
        table = _learned(dataclasses.replace(agent, values=None, features=None, **same), name)
        try:
            weights = _learned(dataclasses.replace(agent, values=None, features=OneHot(), **same), name)
        except Exception as error:  # whatever a rule does that indexes its memory by a vector
            raise ConformanceError(
                f"{type(agent).__name__} learns in a table, but not with features ({type(error).__name__}: {error}): "
                "its rule has to ask its memory (rlsuite.agents.locate, value, update, end_step); derive it from "
                "rlsuite.TabularAgent if it is for tables only"
            ) from error
        acting = table.legal_.any(axis=1)  # a table keeps the initial value of an end, which nobody asks for
        expect(
            _values(table)[acting].tobytes() == _values(weights)[acting].tobytes(),
            agent,
            f"{name}: with a feature for each state it learns other values than in a table; with renews = True, a "
            "rule has to call renew(memory, row, action) before it reads memory.q, or calls max_value or greedy, after "
            "an update",
        )


def check_the_same_seed_gives_the_same_bytes(agent: Agent) -> None:
    """The seed determines the result."""
    for name in problems.environments():
        _expect_same(_learned(agent, name), _learned(agent, name), f"{name}: two runs with the same seed differ")


def check_two_halves_make_the_whole(agent: Agent) -> None:
    """Learning can be interrupted at any step and continued."""
    for name in problems.environments():
        env = problems.environments()[name]
        halves = copy.deepcopy(agent).learn(env, steps=ENOUGH // 3, seed=SEED).learn(env, steps=ENOUGH - ENOUGH // 3)
        whole = _learned(agent, name)
        what = f"{name}: learning in two parts differs from learning at once"
        _expect_same_arrays(halves, whole, what)
        expect(halves.episodes_.tobytes() == whole.episodes_.tobytes(), agent, f"{what}, in its episodes")


def check_every_step_is_counted_once(agent: Agent) -> None:
    """The clock that schedules use counts steps and episodes correctly."""
    for name in problems.environments():
        learned = _learned(agent, name)
        clock = getattr(learned.memory_, "clock", None)
        if clock is None:  # an agent without schedules
            return
        counted = int(clock[STEPS]), int(clock[EPISODES])
        true = ENOUGH, len(learned.episodes_)
        expect(counted == true, agent, f"{name}: it counted {counted} steps and episodes; there were {true}")


def check_what_is_learned_is_finite(agent: Agent) -> None:
    """No table ever contains NaN; infinities only where they stand for an action never tried."""
    for name in problems.environments():
        _expect_no_nan(_learned(agent, name).memory_, agent, name)


def check_the_policy_is_one(agent: Agent) -> None:
    """A policy is a distribution over legal actions, and `act` follows it."""
    for name, env in problems.environments().items():
        learned = _learned(agent, name)
        legal = learned.legal_
        policy = learned.policy()
        expect(policy.shape == legal.shape, agent, f"{name}: policy() has shape {policy.shape}, not {legal.shape}")
        expect(bool((policy >= 0.0).all()), agent, f"{name}: policy() has negative probabilities")
        expect(not policy[~legal].any(), agent, f"{name}: policy() takes illegal actions")
        acting = legal.any(axis=1)
        sums = policy[acting].sum(axis=1)
        expect(np.allclose(sums, 1.0, atol=1e-9), agent, f"{name}: rows of policy() sum to {sums.tolist()}, not 1")
        for state in np.flatnonzero(acting).tolist():
            action = learned.act(state + learned.first_observation_) - learned.first_action_
            expect(bool(legal[state, action]), agent, f"{name}: act({state}) is {action}, an illegal action")
            expect(
                policy[state, action] > 0.0,
                agent,
                f"{name}: act({state}) is {action}, which has probability 0 in policy()",
            )
        env.close()


def check_a_file_keeps_it(agent: Agent) -> None:
    """A loaded agent equals the saved one, and can continue learning."""
    for name in problems.environments():
        learned = _learned(agent, name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent.npz"
            learned.save(path)
            twin = load(path)
        what = f"{name}: the loaded agent differs from the saved one"
        _expect_same_arrays(learned, twin, what)
        expect(describe(twin) == describe(learned), agent, f"{what}, in its parameters")
        twin.learn(problems.environments()[name], steps=ENOUGH // 3, seed=SEED)


def check_whole_numbers_say_what_they_may_be(agent: Agent) -> None:
    """A file with other whole numbers than a rule can use is refused: an index outside its table reaches no rule."""
    for name in problems.environments():
        memory = _learned(agent, name).memory_
        declared = declared_arrays(memory)
        for field, values in learned_arrays(memory).items():
            if values.dtype.kind in "iu":
                expect(
                    declared.get(field, Array()).at_least is not None,
                    agent,
                    f"{field} is an array of whole numbers without a range: {how_to_declare(field, values.dtype)}",
                )


def check_copies_are_independent(agent: Agent) -> None:
    """Many seeds learn at once, on copies."""
    for name in problems.environments():
        learned = _learned(agent, name)
        before = {field: values.tobytes() for field, values in learned_arrays(learned.memory_).items()}
        for twin in (copy.deepcopy(learned), pickle.loads(pickle.dumps(learned))):
            _expect_same_arrays(learned, twin, f"{name}: a copy differs from the original")
            twin.learn(problems.environments()[name], steps=ENOUGH // 3, seed=SEED + 1)
        after = {field: values.tobytes() for field, values in learned_arrays(learned.memory_).items()}
        expect(before == after, agent, f"{name}: learning with a copy changed the original")


def check_many_seeds_are_many_runs(agent: Agent) -> None:
    """Each of many seeds gives the record of a run by itself, with any number of workers."""
    for name in problems.environments():
        runs = [_learned(agent, name, regret=True, run_seed=seed).record_ for seed in range(3)]
        for workers in (1, 2):
            found = train(agent, problems.environments()[name], steps=ENOUGH, seeds=3, workers=workers)
            for alone, among_others in zip(runs, found.records, strict=True):
                what = f"{name}: seed {alone.seed} among others, with workers={workers}, differs from a run of its own"
                expect_same_arrays(arrays_of(alone), arrays_of(among_others), agent, what)


def check_it_stays_as_it_is_given(agent: Agent) -> None:
    """Constructor arguments are never changed by learning."""
    for name in problems.environments():
        learned = _learned(agent, name)
        expect(describe(learned) == describe(agent), agent, f"{name}: learning changed its parameters")


def check_nonsense_is_refused(agent: Agent) -> None:
    """A NaN reward stops the run before it is learned from."""
    learned = copy.deepcopy(agent)
    try:
        learned.learn(problems.NoReward(), steps=ENOUGH, seed=SEED)
    except LearningError:
        pass
    except RlsuiteError as error:
        expect(False, agent, f"a NaN reward raised {type(error).__name__}, not LearningError")
    else:
        expect(False, agent, "it learned from a NaN reward")
    try:
        memory = learned.memory_
    except NotLearned:  # features that learn from data met the reward first
        return
    _expect_no_nan(memory, agent, "after a NaN reward")


# ------------------------------------------------------------------------------------------------------------ helpers


def _learned(agent: Agent, name: str, run_seed: int = SEED, **options: Any) -> Agent:
    env = problems.environments()[name]
    try:
        return copy.deepcopy(agent).learn(env, steps=ENOUGH, seed=run_seed, **options)
    except RlsuiteError as error:
        raise ConformanceError(f"{type(agent).__name__} cannot learn the problem {name!r}: {error}") from error


def _expect_no_nan(memory: Any, agent: Agent, where: str) -> None:
    for field, values in learned_arrays(memory).items():
        expect(not (values.dtype.kind == "f" and np.isnan(values).any()), agent, f"{where}: {field} holds NaN")


def _values(agent: Any) -> NDArray[np.float64]:
    """The learned values: of actions, or of states."""
    return agent.q() if hasattr(agent, "q") else agent.value()


def _expect_same(one: Agent, other: Agent, what: str) -> None:
    _expect_same_arrays(one, other, what)
    expect_same_arrays(arrays_of(one.record_), arrays_of(other.record_), one, what)


def _expect_same_arrays(one: Agent, other: Agent, what: str) -> None:
    expect_same_arrays(learned_arrays(one.memory_), learned_arrays(other.memory_), one, what)
