import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite.features
from rlsuite.errors import ParameterError
from rlsuite.experiments.comparing import last_evaluation
from rlsuite.experiments.lookup import find_agent_class


def test_agents_learn_with_the_same_seeds_as_in_train():
    agents = {"on": rl.Sarsa(gamma=0.9), "off": rl.QLearning(gamma=0.9)}
    found = rl.compare(agents, "FrozenLake-v1", steps=500, seeds=np.array([4, 7]))
    assert list(found.results) == ["FrozenLake-v1"]
    alone = rl.train(rl.QLearning(gamma=0.9), "FrozenLake-v1", steps=500, seeds=[4, 7], evaluate_every=500)
    off = found.results["FrozenLake-v1"][1]
    assert off.agent == "off"
    for one, other in zip(off.records, alone.records, strict=True):
        assert one.seed == other.seed
        assert one.evaluation.tobytes() == other.evaluation.tobytes()
        assert one.regret.tobytes() == other.regret.tobytes()


def test_labels_are_what_differs():
    agents = [rl.Sarsa(), rl.QLearning(learning_rate=0.1), rl.QLearning(learning_rate=0.5)]
    found = rl.compare(agents, ["FrozenLake-v1", gymnasium.make("FrozenLake8x8-v1")], steps=50, seeds=2)
    assert found.agents == ["Sarsa", "QLearning(learning_rate=0.1)", "QLearning(learning_rate=0.5)"]
    assert list(found.results) == ["FrozenLake-v1", "FrozenLake8x8-v1"]


def test_without_a_discount_and_a_time_limit_returns_are_compared():
    found = rl.compare([rl.Sarsa(gamma=1.0), rl.QLearning(gamma=1.0)], "CliffWalking-v1", episodes=100, seeds=3)
    assert {row.measure for row in found} == {"return per episode"}
    assert {row.optimum for row in found} == {-13.0}
    assert all(row.regret > 0.0 for row in found)


def test_no_environment_is_made_but_those_of_the_runs(monkeypatch):
    """Only the time limit of one without a discount has to be looked at, in one that is closed again."""
    made, closed = [], []

    class Short(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Discrete(2)

        def __init__(self):
            made.append(self)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return 0, 1.0, True, False, {}

        def close(self):
            closed.append(self)

    monkeypatch.setitem(gymnasium.registry, "Short-v0", gymnasium.envs.registration.EnvSpec("Short-v0", Short))
    rl.train(rl.Sarsa(gamma=0.9), "Short-v0", steps=5, seeds=2, evaluate_every=5)
    of_train = len(made)
    rl.compare([rl.Sarsa(gamma=0.9)], "Short-v0", steps=5, seeds=2)
    assert len(made) == 2 * of_train
    rl.sweep(rl.Sarsa(gamma=0.9), "Short-v0", {"learning_rate": [0.1]}, steps=5, seeds=2)
    assert len(made) == 3 * of_train
    closed.clear()
    assert last_evaluation(rl.Sarsa(gamma=1.0), "Short-v0", 5) is None
    assert closed == made[3 * of_train :]


ENOUGH = {"envs": "FrozenLake-v1", "steps": 300, "seeds": "enough", "margin": "20%", "most_seeds": 150}


def test_enough_seeds_for_a_verdict():
    planner = find_agent_class("value-iteration")(gamma=0.9)
    agents = {"planner": planner, "random": rl.QLearning(gamma=0.9, learning_rate=1e-9)}
    found = rl.compare(agents, **ENOUGH)
    (verdict,) = found.verdicts.values()
    assert verdict.word == "first"
    assert {len(run.records) for run in found.results["FrozenLake-v1"]} == {verdict.seeds}
    (told,) = found.sentences()
    assert told.startswith("planner is better than random by ")
    assert told.endswith(f", after {verdict.seeds} seeds")


def test_the_verdict_does_not_depend_on_how_many_seeds_are_learned_at_once(monkeypatch):
    agents = [rl.Sarsa(gamma=0.9), rl.QLearning(gamma=0.9)]
    found = rl.compare(agents, **ENOUGH)
    monkeypatch.setattr("rlsuite.experiments.comparing.FIRST_SEEDS", 33)
    again = rl.compare(agents, **ENOUGH)
    assert found.verdicts == again.verdicts
    (verdict,) = found.verdicts.values()
    assert (verdict.word, verdict.seeds < 150) == ("equal", True)
    assert [row.mean for row in found] == [row.mean for row in again]


def test_seeds_may_not_suffice():
    found = rl.compare([rl.Sarsa(gamma=0.9), rl.QLearning(gamma=0.9)], **{**ENOUGH, "most_seeds": 12})
    assert found.sentences()[0].startswith("Sarsa and QLearning cannot be told apart after 12 seeds: they differ by ")


def test_on_the_cliff_agents_that_differ_are_not_equal():
    agents = {"sarsa": rl.Sarsa(learning_rate=0.5), "q-learning": rl.QLearning(learning_rate=0.5)}
    found = rl.compare(agents, "CliffWalking-v1", steps=10_000, seeds="enough", most_seeds=240)
    assert found[0].arriving < found[1].arriving
    assert found.sentences()[0].startswith(
        "sarsa and q-learning cannot be told apart after 240 seeds: they differ by 2"
    )


ENDLESS = {"agents": [rl.Sarsa(gamma=1.0), rl.QLearning(gamma=1.0)], "envs": "CliffWalking-v1", "seeds": "enough"}

BAD = [
    ({"agents": []}, "agents is empty"),
    ({"agents": {"a": rl.Sarsa()}, "envs": None}, "envs is missing"),
    ({"agents": [rl.Sarsa(), rl.Sarsa()]}, "agents has Sarsa twice"),
    ({"agents": [rl.Sarsa, rl.QLearning]}, r"Sarsa is a class of agents: write Sarsa\(\) to make one"),
    ({"envs": {}}, "envs is empty"),
    ({"agents": [rl.Sarsa()], "seeds": "enough"}, "give at least two"),
    ({"margin": 0.0}, "margin=0.0: give a number above 0 in the unit of the return"),
    ({"margin": "2 percent"}, "margin='2 percent'"),
    (ENDLESS, "need a discount, gamma=0.99, or a time limit, max_episode_steps=200"),
    ({"most_seeds": 0}, "most_seeds"),
    ({"agents": {"lake": [3]}, "envs": None, "steps": None}, "holds 3"),
    ({"agents": {"lake": []}}, "these are results already"),
    ({"agents": {"lake": []}, "envs": None, "steps": None}, "agents\\['lake'\\] holds no results"),
    ({"agents": ["q-learning"]}, "'q-learning' is not an agent"),
]


def test_bad_arguments():
    for change, message in BAD:
        given = {"agents": [rl.Sarsa(), rl.QLearning()], "envs": "FrozenLake-v1", "steps": 10, "seeds": 2}
        with pytest.raises(ParameterError, match=message):
            rl.compare(**{**given, **change})


def test_enough_needs_the_exact_bounds():
    agents = [rl.Sarsa(features=rl.features.TileCoding()), rl.QLearning(features=rl.features.TileCoding())]
    with pytest.raises(ParameterError, match="MountainCar-v0: the values of the optimal and the uniform policy"):
        rl.compare(agents, gymnasium.make("MountainCar-v0", max_episode_steps=10), steps=10, seeds="enough")


def test_a_failing_seed_is_left_out_of_the_pairs():
    class Fails(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.is_bad = self.is_bad if seed is None else seed % 3 == 0
            return 0, {}

        def step(self, action):
            if self.is_bad:
                raise RuntimeError("bad luck")
            return 0, float(action), True, False, {}

    with pytest.warns(rl.errors.FailedRunsWarning):
        found = rl.compare([rl.Sarsa(), rl.QLearning()], {"own": Fails()}, episodes=1, seeds=12)
    assert found[0].seeds < 12
    assert np.isfinite(found.pairs[0].difference)
