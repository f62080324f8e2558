"""Agents that count: their plans against planners and plain Python, their posteriors against closed forms."""

import math

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.model_based.counted import new_counts
from rlsuite.errors import ParameterError
from rlsuite.testing.problems import corridor, gamble, ring
from rlsuite_envs.chains import chain, river_swim

AGENTS = {
    "RMax": lambda: rl.RMax(m=5, r_max=3.0, gamma=0.9),
    "PosteriorSampling": lambda: rl.PosteriorSampling(gamma=0.9),
    "UCRL2": lambda: rl.UCRL2(r_min=-1.0, r_max=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["corridor", "FrozenLake-v1"])
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")  # rewards beyond the range widen it
@pytest.mark.parametrize("agent", AGENTS)
def test_both_loops_give_the_same_bytes(agent, name):
    pair = [
        AGENTS[agent]().learn(corridor().to_env() if name == "corridor" else name, steps=1_000, seed=4, loop=loop)
        for loop in ("compiled", "stepwise")
    ]
    for one, other in zip(pair[0].memory_.learned, pair[1].memory_.learned, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    assert pair[0].q_.tobytes() == pair[1].q_.tobytes()
    assert pair[0].episodes_.tobytes() == pair[1].episodes_.tobytes()
    assert pair[0].record_.loop != pair[1].record_.loop


@pytest.mark.slow
@pytest.mark.parametrize("problem", [corridor, gamble, ring])
def test_what_is_counted_is_what_happened(problem):
    """Outcomes add up to visits; only possible ones occur, about as often as the model says (5 standard errors)."""
    model = problem()
    agent = rl.PosteriorSampling(gamma=0.9).learn(model.to_env(), steps=3_000, seed=1)
    outcomes = agent.outcomes_.reshape(model.n_states, model.n_actions, -1)
    assert (outcomes.sum(axis=2) == agent.visits_).all()
    assert (agent.n_successors_ == (agent.outcomes_ > 0).sum(axis=1)).all()
    for pair, known in enumerate(agent.n_successors_):
        assert set(agent.successors_[pair, :known]) == set(np.flatnonzero(agent.outcomes_[pair]))
    possible = np.zeros(outcomes.shape)
    for state in range(model.n_states):
        for action, row in model.P[state].items():
            for probability, ahead, _, terminated in row:
                possible[state, action, model.n_states if terminated else ahead] += probability
    expected = possible * agent.visits_[:, :, None]
    assert (np.abs(outcomes - expected) <= 5 * np.sqrt(expected * (1 - possible)) + 1e-9).all()
    assert outcomes.sum() == 3_000


def river():
    """The river with the rewards scaled to [0, 1]; nothing else ever ends or cuts it."""
    return gymnasium.make("rlsuite/RiverSwim-v0", left_reward=0.005, right_reward=1.0, max_episode_steps=10**9)


def finds(agent, steps, seeds=5):
    """How many of so many runs end with the optimal greedy policy: up the river from everywhere."""
    best = rl.solve(river_swim(left_reward=0.005, right_reward=1.0, gamma=0.99)).policy
    learned = [agent().learn(river(), steps=steps, seed=seed) for seed in range(seeds)]
    return sum((one.q_.argmax(axis=1) == best).all() for one in learned)


@pytest.mark.slow
def test_optimism_and_posterior_sampling_swim_up_the_river():
    """Q-learning with epsilon 0.1 drifts down for ever: to get up, it must swim five times in a row against its plan.

    Of twenty runs each, all of R-max and of posterior sampling found the way, 18 of UCRL2, which has its phases of
    exploration, and none of Q-learning. Where nine of ten find it, fewer than three of five happen once in 117.
    """
    schedule = rl.Polynomial(1.0, power=0.6, per="visits")
    assert finds(lambda: rl.QLearning(gamma=0.99, learning_rate=schedule), 100_000) == 0
    assert finds(lambda: rl.RMax(m=100, gamma=0.99), 100_000) == 5
    assert finds(lambda: rl.PosteriorSampling(gamma=0.99), 100_000) >= 4
    assert finds(lambda: rl.UCRL2(), 1_000_000) >= 3


@pytest.mark.slow
def test_the_chain_is_walked_to_its_end():
    """Forward for ever is optimal, and a small reward tempts to go back.

    Of twenty runs of 5000 steps, 19 of R-max and all of posterior sampling found it, none of Q-learning.
    """
    env = gymnasium.make("rlsuite/Chain-v0", max_episode_steps=10**9)
    best = rl.solve(chain(gamma=0.95)).policy
    makes = {
        "r-max": lambda: rl.RMax(m=30, r_max=10.0, gamma=0.95),
        "sampling": lambda: rl.PosteriorSampling(gamma=0.95, reward_prior=(0.0, 1.0, 1.0, 25.0)),
        "greed": lambda: rl.QLearning(gamma=0.95, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.01)),
    }
    found = {
        name: sum((make().learn(env, steps=5_000, seed=s).q_.argmax(axis=1) == best).all() for s in range(10))
        for name, make in makes.items()
    }
    assert found["r-max"] >= 9
    assert found["sampling"] >= 9
    assert found["greed"] <= 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.RMax(gamma=1.0), "gamma=1: RMax plans for discounted rewards; give a gamma below 1, such as 0.99"),
        (lambda: rl.RMax(m=0), "m=0 is less than 1"),
        (lambda: rl.RMax(r_max=math.inf), "r_max=inf is not a finite number"),
        (lambda: rl.RMax(tol=0.0), "tol=0.0 is not a positive number"),
        (lambda: rl.PosteriorSampling(gamma=1.0), "gamma=1: PosteriorSampling plans"),
        (lambda: rl.PosteriorSampling(outcome_weight=0.0), "outcome_weight=0 is not above 0"),
        (lambda: rl.PosteriorSampling(reward_prior=(0, 1, 1)), "reward_prior=(0, 1, 1) must be four numbers"),
        (lambda: rl.PosteriorSampling(reward_prior="0111"), "reward_prior='0111' must be four numbers"),
        (lambda: rl.PosteriorSampling(reward_prior=(0, 1, 0, 1)), "reward_prior[2]=0 is not above 0"),
        (lambda: rl.PosteriorSampling(redraw="epsiode"), "unknown redraw 'epsiode'; did you mean 'episode'"),
        (lambda: rl.UCRL2(delta=1.0), "delta=1 is not in (0, 1)"),
        (lambda: rl.UCRL2(r_min=2.0), "r_min=2 is larger than r_max=1"),
        (lambda: new_counts("RMax", 10**7, 4), "RMax, which counts 10,000,001 outcomes of 40,000,000 pairs of a state"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(message)
