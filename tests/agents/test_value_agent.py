"""One rule for a table and for features: an agent with one-hot features is the agent with a table."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents import end_step, locate, locate_next, update, value
from rlsuite.agents.control.eligibility import EligibilityAgent, credit
from rlsuite.agents.control.softmax_agent import SoftmaxAgent
from rlsuite.agents.exploration import action_probabilities
from rlsuite.agents.values import Linear, Table
from rlsuite.approximation import OneHot, SemiGradientSarsa, TileCoding
from rlsuite.core.described import describe
from rlsuite.errors import NotLearned, ParameterError, UnsuitableEnvironment
from rlsuite.registry import agent_classes, build_agent


def of(base):
    """The agents of rlsuite itself that derive from a base, and do not always have features."""
    return sorted(
        name
        for name, kind in agent_classes().items()
        if issubclass(kind, base)
        and kind.__module__.startswith("rlsuite.")
        and any(field.name == "values" and field.init for field in kind.__dataclass_fields__.values())
    )


CONTROL = of(rl.ActionValueAgent)
PREDICTION = of(rl.StateValueAgent)


def test_rules_that_take_features_are_found():
    assert {"Sarsa", "QLearning", "NStepSarsa", "SarsaLambda"} <= set(CONTROL)
    assert {"TD", "NStepTD", "TDLambda", "EveryVisitMonteCarlo"} <= set(PREDICTION)


def walk():
    """The random walk; some of its episodes are cut off."""
    return gymnasium.make("rlsuite/RandomWalk-v0", max_episode_steps=6)


@pytest.mark.cases("compiled-QLearning")
@pytest.mark.parametrize("name", CONTROL)
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_control_in_a_table_and_with_one_hot_features(name, loop):
    kind = agent_classes()[name]
    options = {"gamma": 0.95, "initial_value": 0.5}
    if not issubclass(kind, SoftmaxAgent):
        options |= {"learning_rate": 0.3, "exploration": rl.EpsilonGreedy(0.3)}
    table = kind(**options).learn(walk(), steps=800, seed=7, loop=loop)
    agent = kind(**options, features=OneHot()).learn(walk(), steps=500, seed=7, loop=loop)
    agent.learn(agent._asked_for, steps=300, loop=loop)
    ends = ~table.legal_.any(axis=1)  # a table keeps the initial value there, too; nobody asks for it
    assert agent.q()[~ends].tobytes() == table.q()[~ends].tobytes()
    assert agent.episodes_.tobytes() == table.episodes_.tobytes()
    assert agent.weights_.shape == table.q().shape
    assert agent.policy().tobytes() == table.policy().tobytes()


@pytest.mark.cases("stepwise-TD")
@pytest.mark.parametrize("name", PREDICTION)
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_prediction_in_a_table_and_with_one_hot_features(name, loop):
    options = {"gamma": 0.95, "learning_rate": 0.3}
    kind = agent_classes()[name]
    table = kind(**options).learn(walk(), steps=800, seed=7, loop=loop)
    agent = kind(**options, features=OneHot()).learn(walk(), steps=500, seed=7, loop=loop)
    agent.learn(agent._asked_for, steps=300, loop=loop)
    assert agent.value_.tobytes() == table.value_.tobytes()
    assert agent.episodes_.tobytes() == table.episodes_.tobytes()
    assert agent.weights_.shape == table.value_.shape
    legal = table.legal_.any(axis=1)
    np.testing.assert_allclose(agent.policy()[legal], table.policy()[legal], atol=1e-15)


@pytest.mark.slow
def test_the_long_name_is_the_same_agent():
    options = {"features": TileCoding(n_tilings=4, bins=4), "gamma": 1.0, "learning_rate": 0.1}
    short = rl.Sarsa(**options).learn("MountainCar-v0", steps=3_000, seed=7)
    long = SemiGradientSarsa(**options).learn("MountainCar-v0", steps=3_000, seed=7)
    assert short.weights_.tobytes() == long.weights_.tobytes()
    assert isinstance(long, rl.Sarsa)
    observation = np.array([-0.5, 0.0], dtype=np.float32)
    assert short.act(observation) == long.act(observation)


@pytest.mark.slow
def test_files_keep_the_features(tmp_path):
    agent = rl.QLearning(features=TileCoding(n_tilings=2, bins=3)).learn("MountainCar-v0", steps=500, seed=7)
    agent.save(tmp_path / "agent.npz")
    again = rl.load(tmp_path / "agent.npz")
    assert again.weights_.tobytes() == agent.weights_.tobytes()
    rows = [[-0.5, 0.0], [0.1, 0.02]]
    assert again.q(rows).tobytes() == agent.q(rows).tobytes()
    assert again.learn("MountainCar-v0", steps=100, seed=3).weights_.tobytes() != agent.weights_.tobytes()


def test_without_features_vectors_are_refused():
    with pytest.raises(UnsuitableEnvironment, match="Discrete"):
        rl.Sarsa().learn("MountainCar-v0", steps=10, seed=1)


def test_values_of_single_ids_of_a_table():
    agent = rl.Sarsa().learn("CliffWalking-v1", steps=500, seed=1)
    assert agent.q([36, 0]).tobytes() == agent.q_[[36, 0]].tobytes()
    with pytest.raises(ParameterError, match="48"):
        agent.q([48])
    values = rl.TD().learn("CliffWalking-v1", steps=500, seed=1)
    assert values.value([36]).tolist() == [values.value_[36]]


def test_a_mask_restricts_the_greedy_action_of_a_table():
    agent = rl.QLearning(learning_rate=0.5).learn("CliffWalking-v1", steps=5_000, seed=1)
    best = agent.act(36)
    mask = np.ones(4, dtype=np.int8)
    mask[best] = 0
    assert agent.act(36, mask) != best
    with pytest.raises(ParameterError, match="no action is legal at observation 36"):
        agent.act(36, np.zeros(4, dtype=np.int8))
    with pytest.raises(ParameterError, match="action_mask"):
        agent.act(36, [1, 1])


def test_arrays_that_only_one_of_both_has():
    table, linear = rl.Sarsa(), rl.Sarsa(features=OneHot())
    for agent in (table, linear):
        with pytest.raises(NotLearned):
            _ = agent.weights_
        agent.learn("FrozenLake-v1", steps=10, seed=1)
    with pytest.raises(AttributeError, match="no weights_: it learns a table"):
        _ = table.weights_
    with pytest.raises(AttributeError, match="no visits_: it has features"):
        _ = linear.visits_
    assert not hasattr(linear, "visits_")


def test_a_schedule_of_visits_needs_a_table():
    with pytest.raises(ParameterError, match="per='visits' needs a table"):
        rl.QLearning(learning_rate=rl.Inverse(1.0, per="visits"), features=OneHot())


@rl.compiled
def choosing_after_the_update(memory, t, rng):
    """Q-learning in which nothing reminds the memory that its values have changed."""
    s, next_s, target = locate(memory, t.state), -1, t.reward
    over = t.terminated or t.truncated
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target += memory.gamma * rl.max_value(memory, next_s)
    update(memory, s, t.action, rl.step_size(memory, s, t.action) * (target - value(memory, s, t.action)))
    end_step(memory, s, t.action, over)
    return -1 if over else rl.choose(memory, next_s, rng)


class ChoosingAfterTheUpdate(rl.ActionValueAgent):
    step = choosing_after_the_update


@rl.compiled
def updating_twice(memory, t, rng):
    """The same with a second action that learns, and probabilities that are asked for after both."""
    s, over = locate(memory, t.state), t.terminated or t.truncated
    other = (t.action + 1) % memory.q.shape[1]
    if over:
        end_step(memory, s, t.action, over)
        return -1
    next_s = locate_next(memory, t.next_state)
    update(memory, s, t.action, 0.1 * (t.reward + rl.max_value(memory, next_s) - value(memory, s, t.action)))
    update(memory, next_s, other, 0.05)
    probability = np.zeros(memory.q.shape[1])
    action_probabilities(memory, next_s, probability)
    update(memory, s, other, 0.1 * probability[other])
    end_step(memory, s, t.action, over)
    return rl.choose(memory, next_s, rng)


class UpdatingTwice(rl.ActionValueAgent):
    step = updating_twice


@pytest.mark.cases("ChoosingAfterTheUpdate-stepwise")
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
@pytest.mark.parametrize("kind", [ChoosingAfterTheUpdate, UpdatingTwice])
def test_a_rule_need_not_say_that_values_have_changed(kind, loop):
    exploration = rl.Softmax(0.5)
    table, weights = (
        kind(features=features, exploration=exploration).learn("CliffWalking-v1", steps=800, seed=1, loop=loop)
        for features in (None, OneHot())
    )
    assert table.q_.tobytes() == weights.q_.tobytes()
    assert table.episodes_.tobytes() == weights.episodes_.tobytes()


def reading_after_an_update(read, base):
    """A rule that updates two observations, reads what it knows of both, and chooses by that."""

    @rl.compiled
    def step(memory, t, rng):
        s, chosen, over = locate(memory, t.state), -1, t.terminated or t.truncated
        update(memory, s, t.action, 0.1 * (t.reward - value(memory, s, t.action)))
        update(memory, s, t.action, 0.1 * read(memory, s, rng))
        if not over:
            next_s = locate_next(memory, t.next_state)
            update(memory, next_s, 1, 0.01 + 0.1 * rl.max_value(memory, next_s))
            chosen = int(100.0 * read(memory, next_s, rng)) % memory.q.shape[1]
        end_step(memory, s, t.action, over)
        return chosen

    return type("Reading", (base,), {"step": step})


@rl.compiled
def reads_entries(memory, row, rng):
    return memory.q[row, 0] + memory.q[row, 1]


@rl.compiled
def asks_for_the_greatest(memory, row, rng):
    return rl.max_value(memory, row)


@rl.compiled
def asks_for_the_best(memory, row, rng):
    return 0.1 * rl.greedy(memory, row, rng)


@rl.compiled
def with_traces(memory, t, rng):
    """Sarsa(lambda) that chooses its next action by the greatest value after the update."""
    s, over = locate(memory, t.state), t.terminated or t.truncated
    next_s = locate_next(memory, t.next_state)
    credit(memory, s, t.action, 0.2, t.reward + 0.9 * rl.max_value(memory, next_s) - value(memory, s, t.action))
    chosen = -1 if over else rl.greedy(memory, next_s, rng)
    end_step(memory, s, t.action, over)
    return chosen


class WithTraces(EligibilityAgent):
    step = with_traces


@pytest.mark.cases("stepwise")
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_a_rule_may_read_values_at_any_time(loop):
    """Also one whose base has a rule that says otherwise of itself."""
    reading = [reading_after_an_update(read, rl.QLearning) for read in (reads_entries, asks_for_the_greatest)]
    kinds = (*reading, reading_after_an_update(asks_for_the_best, rl.ActionValueAgent), WithTraces)
    for kind in kinds if loop == "stepwise" else kinds[:1]:  # each is compiled twice
        table, weights = (
            kind(features=features).learn("FrozenLake-v1", steps=600, seed=1, loop=loop)
            for features in (None, OneHot())
        )
        assert table.q_.tobytes() == weights.q_.tobytes()


def test_what_is_out_of_date_is_not_kept_in_files(tmp_path):
    """It is found out anew: a run in two halves, with a file between them, is the run as a whole."""
    whole = ChoosingAfterTheUpdate(features=OneHot()).learn("FrozenLake-v1", steps=400, seed=1)
    half = ChoosingAfterTheUpdate(features=OneHot()).learn("FrozenLake-v1", steps=200, seed=1)
    half.save(tmp_path / "half.npz")
    again = rl.load(tmp_path / "half.npz").learn("FrozenLake-v1", steps=200)
    assert again.q_.tobytes() == whole.q_.tobytes()
    with np.load(tmp_path / "half.npz") as arrays:
        assert not any("stale" in name for name in arrays)


@pytest.mark.parametrize(
    ("kind", "short", "values"),
    [
        (rl.Sarsa, {"initial_value": 0.5}, Table(0.5)),
        (rl.Sarsa, {"features": OneHot(), "initial_value": 0.5}, Linear(OneHot(), 0.5)),
        (rl.TD, {"features": OneHot()}, Linear()),
    ],
)
def test_values_in_full_are_those_in_short(kind, short, values, tmp_path):
    one, other = (kind(**given).learn("FrozenLake-v1", steps=300, seed=1) for given in (short, {"values": values}))
    name = "q_" if kind is rl.Sarsa else "value_"
    assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    other.save(tmp_path / "agent.npz")
    again = rl.load(tmp_path / "agent.npz")
    assert getattr(again, name).tobytes() == getattr(one, name).tobytes()
    assert describe(again) == describe(other)
    assert again.learn("FrozenLake-v1", steps=50).episodes_["length"].sum() >= one.episodes_["length"].sum()


def test_agents_do_not_share_the_values_they_were_given():
    values = Linear(OneHot())
    lake = rl.Sarsa(values=values).learn("FrozenLake-v1", steps=10, seed=1)
    cliff = rl.Sarsa(values=values).learn("CliffWalking-v1", steps=10, seed=1)
    assert (lake.q_.shape, cliff.q_.shape) == ((16, 4), (48, 4))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": "table"}, "values='table' must be Table"),
        ({"values": Linear(OneHot()), "features": OneHot()}, "give Linear.features, initial"),
        ({"values": Table(), "initial_value": 1.0}, "initial_value= alone"),
        ({"values": Linear(), "learning_rate": rl.Inverse(1.0, per="visits")}, "per='visits' needs a table"),
        ({"values": rl.Linear(1.0, 0.1, over=10)}, "rlsuite.Linear is a schedule, for learning_rate="),
        (
            {"learning_rate": Linear()},
            r"schedule is rlsuite\.Linear\(start, end, over\), this Linear is for values=",
        ),
    ],
)
def test_values_that_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        rl.Sarsa(**given)


def test_values_of_a_file():
    written = {"name": "sarsa", "values": {"name": "linear", "features": {"name": "tile-coding", "bins": 4}}}
    agent = build_agent(written)
    assert repr(agent.values).startswith("Linear(features=TileCoding(bins=4), initial=0.0")
    assert repr(build_agent(describe(agent))) == repr(agent)
    with pytest.raises(ParameterError, match="unknown values 'Tabel'; did you mean 'Table'"):
        build_agent({"name": "Sarsa", "values": {"name": "Tabel"}})


def test_bad_parameters_of_values():
    with pytest.raises(ParameterError, match="initial=nan"):
        Table(np.nan)
    with pytest.raises(ParameterError, match="initial='many'"):
        Linear(initial="many")
    with pytest.raises(ParameterError, match=r"give an instance, OneHot\(\)"):
        Linear(OneHot)


@pytest.mark.parametrize("features", [None, OneHot()])
def test_predictors_act_by_their_policy(features):
    policy = np.tile([0.7, 0.3, 0.0, 0.0], (16, 1))
    agent = rl.TD(policy_to_follow=policy, features=features).learn("FrozenLake-v1", steps=10, seed=1)
    taken = np.bincount([agent.act(0) for _ in range(2_000)], minlength=4) / 2_000
    assert abs(taken - policy[0]).max() < 0.05
    assert agent.act(0, [0, 1, 1, 1]) == 1
    with pytest.raises(ParameterError, match="allows no action"):
        agent.act(0, [0, 0, 1, 1])
    grid = rl.TD(features=features).learn("rlsuite/GridGoal-v0", steps=10, seed=1)
    legal = np.flatnonzero(grid.policy()[0])
    assert {grid.act(0) for _ in range(50)} == set(legal) < set(range(4))  # those that the model knows
    with pytest.raises(ParameterError, match="is terminal: no action is legal"):
        grid.act(5)


def test_rules_for_tables_only_take_no_values():
    for kind in (rl.NStepQSigma, rl.NStepTreeBackup, rl.DoubleQLearning):
        with pytest.raises(TypeError, match="values"):
            kind(values=Table())


def test_what_is_changed_before_learning_has_its_effect():
    agent = rl.QLearning()
    agent.initial_value = 5.0
    assert agent.learn("FrozenLake-v1", steps=1, seed=1).q_.max() == 5.0
    agent = rl.QLearning()
    agent.features = OneHot()
    assert agent.learn("FrozenLake-v1", steps=1, seed=1).weights_.shape == (16, 4)
    with pytest.raises(rl.errors.ParameterError, match="cannot be changed once"):
        agent.initial_value = 1.0
