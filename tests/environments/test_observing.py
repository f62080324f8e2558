"""What is shown of the state: one keyword for every environment that is made by name, the same bytes in every loop."""

from itertools import product

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.cli import main
from rlsuite.environments.finding import find_env
from rlsuite.environments.observing import BeliefGridObservation
from rlsuite.environments.wrappers import BeliefObservation, VectorObservation
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.features import RadialBasis
from rlsuite.training import evaluation
from rlsuite.training.results import UNKNOWN

COMMAND = (
    "train q-learning rlsuite/ObstacleGrid-v0 --observe cell --features radial-basis --features.centres 8 "
    "--gamma 0.9 --epsilon 0.3 --steps 60000"
)


def test_a_grid_shows_row_and_column():
    env = find_env("rlsuite/GridGoal-v0", observe="cell")
    assert env.reset(seed=7)[0].tolist() == [1.0, 0.0]
    assert env.step(1)[0].tolist() == [1.0, 1.0]
    assert find_env("CliffWalking-v1", observe="cell").reset(seed=7)[0].tolist() == [3.0, 0.0]
    assert find_env("rlsuite/GridGoal-v0", observe="state").reset(seed=7)[0] == 0


def test_labels_that_are_tuples_of_numbers_are_coordinates():
    def ahead(place, action):
        return [(1.0, (min(place[0] + action, 2), -place[1]), 1.0, place[0] > 1)]

    model = rl.MDP.from_function(ahead, start=(0, 1.5), actions=2, gamma=0.9)
    env = model.to_env(observe="cell")
    assert env.reset(seed=1)[0].tolist() == [0.0, 1.5]
    assert env.step(1)[0].tolist() == [1.0, -1.5]
    for id_, what in (("rlsuite/Chain-v0", "state 0 is labelled '1'"), ("rlsuite/TwoStates-v0", "labelled 'w'")):
        with pytest.raises(UnsuitableEnvironment, match=f"is not on a grid .*{what}"):
            find_env(id_, observe="cell")
    with pytest.raises(UnsuitableEnvironment, match=r"rlsuite/Tiger-v0|TigerEnv"):
        find_env("rlsuite/Tiger-v0", observe="cell")


@pytest.mark.slow
def test_every_loop_learns_the_same_bytes():
    weights = []
    for loop in ("compiled", "stepwise"):
        env = find_env("rlsuite/ObstacleGrid-v0", observe="cell")
        agent = rl.QLearning(features=RadialBasis(), gamma=0.9).learn(env, steps=500, seed=1, loop=loop)
        assert agent.record_.loop == loop
        weights.append(agent.weights_.tobytes())
    assert weights[0] == weights[1]


def test_hidden_states_show_their_belief():
    assert find_env("rlsuite/Tiger-v0", observe="belief").reset(seed=1)[0].tolist() == [0.5, 0.5]
    with pytest.raises(UnsuitableEnvironment, match="fully observable"):
        find_env("rlsuite/GridGoal-v0", observe="belief")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("cells", "unknown observe 'cells'; did you mean 'cell'?"),
        ("belief:20", "unknown observe 'belief:20'"),
        ("belief-grid:x", "after the colon stands a whole number"),
        ("belief-grid:0", "resolution"),
        (3, "unknown observe"),
    ],
)
def test_wrong_words_are_named(word, message):
    with pytest.raises(ParameterError) as caught:
        find_env("rlsuite/Tiger-v0", observe=word)
    assert message in str(caught.value)


class Own(gymnasium.Env):
    """An environment with such a keyword of its own."""

    def __init__(self, observe="much"):
        self.observation_space = self.action_space = gymnasium.spaces.Discrete(2)
        self.observe = observe


def test_a_keyword_of_its_own_is_left_to_an_environment():
    gymnasium.register("test/OwnObserve-v0", entry_point=Own)
    try:
        assert find_env("test/OwnObserve-v0", observe="little").unwrapped.observe == "little"
    finally:
        gymnasium.registry.pop("test/OwnObserve-v0")


@pytest.mark.slow
def test_radial_bases_solve_the_obstacle_grid_by_one_command(tmp_path, capsys):
    """On 5 of 5 seeds the policy is worth at least .99 of the optimum, exactly."""
    model = rl.MDP.from_env("rlsuite/ObstacleGrid-v0", gamma=0.9)
    cells = VectorObservation.coordinates(gymnasium.make("rlsuite/ObstacleGrid-v0")).vectors
    for seed in range(5):
        file = tmp_path / f"{seed}.npz"
        assert not main([*COMMAND.split(), "--seed", str(seed), "--save", str(file)])
        value = model.start @ rl.evaluate_policy(model, rl.load(file).policy(cells))
        assert value >= 0.99 * rl.solve(model).value_at_start


# ------------------------------------------------------------------------------------------- beliefs rounded to a grid


@pytest.mark.parametrize("resolution", [1, 4])
def test_every_point_has_an_id_of_its_own(resolution):
    cheese = rl.POMDP.from_env("rlsuite/CheeseMaze-v0", gamma=0.9)
    env = BeliefGridObservation(BeliefObservation(cheese.to_env()), resolution)
    n = cheese.n_states
    points = [one for one in product(range(resolution + 1), repeat=3) if sum(one) == resolution]
    beliefs = [np.array([*one, *[0] * (n - 3)]) / resolution for one in points]
    ids = {env.observation(belief) for belief in beliefs}
    assert len(ids) == len(points)
    assert max(ids) < env.observation_space.n
    for belief, point in zip(beliefs, points, strict=True):
        assert env.rounded(belief)[:3].tolist() == list(point)


def test_the_largest_remainders_round_up():
    tiger = gymnasium.make("rlsuite/Tiger-v0", observe="belief-grid")
    rounded = tiger.env.env.env.rounded
    assert rounded(np.array([0.85, 0.15])).tolist() == [9, 1]
    assert rounded(np.array([0.96, 0.04])).tolist() == [10, 0]
    assert gymnasium.make("rlsuite/Tiger-v0", observe="belief-grid:20").observation_space.n == 21


def test_a_grid_beyond_a_table_names_one_that_fits():
    with pytest.raises(ParameterError, match=r"'belief-grid:[1-9]' fits"):
        gymnasium.make("rlsuite/Hallway-v0", observe="belief-grid")


@pytest.mark.arithmetic
def test_evaluations_on_the_grid_are_exact(monkeypatch):
    env = gymnasium.make("rlsuite/Tiger-v0", observe="belief-grid")
    agent = rl.QLearning(gamma=0.95, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.3))
    agent.learn(env, steps=10_000, seed=1, loop="stepwise", evaluate_every=2_000, regret=True)
    record = agent.record_
    assert record.evaluation.max() == pytest.approx(record.optimal_value)
    assert record.evaluation.max() <= record.optimal_value + 1e-6  # no policy is better, and none looks better
    sampled = rl.evaluate(agent, env, episodes=200, seed=2).values
    assert abs(sampled.mean() - record.evaluation[-1]) < 4 * sampled.std() / np.sqrt(200)
    assert agent.act(5) == 0
    assert record.value_bounds.high == record.optimal_value
    monkeypatch.setattr(evaluation, "MOST_BELIEFS", 3)  # episodes have no bounds, and figures call them what they are
    agent.learn(env, steps=100, seed=1, loop="stepwise", evaluate_every=50, regret=True)
    assert agent.record_.evaluation.size == 2
    assert agent.record_.value_bounds == UNKNOWN
