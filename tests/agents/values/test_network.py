"""Values in a network: its formula and its gradient, one rule for all, files, and what it learns."""

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.memory import locate_first, update, value
from rlsuite.agents.values import Network
from rlsuite.approximation import TileCoding
from rlsuite.core.compilation import run_in_python
from rlsuite.core.described import describe
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.registry import agent_classes, build_agent

RULES = {"QLearning", "Sarsa", "ExpectedSarsa", "TD", "EveryVisitMonteCarlo", "Reinforce"}


def made(name, **given):
    """An agent with a small network of two layers."""
    kind = agent_classes()[name]
    own = {field.name for field in kind.__dataclass_fields__.values() if field.init}
    rate = {one: 0.05 for one in ("learning_rate", "actor_rate") if one in own}
    return kind(values=Network(hidden=(5, 3), **given), gamma=0.9, **rate)


def numbers(agent):
    """All weights that an agent has learned."""
    return b"".join(part.tobytes() for layer in agent.layers_ for part in layer)


def forward(agent, x):
    """Values of features (n, d) by plain matrices."""
    layers = agent.layers_
    for weights, biases in layers[:-1]:
        x = np.tanh((x @ weights + biases) / np.sqrt(len(weights) + 1))
    weights, biases = layers[-1]
    return (x @ weights + biases) / np.sqrt(len(weights) + 1)


def test_a_network_is_its_formula_and_learns_along_its_gradient():
    agent = rl.QLearning(values=Network(hidden=(5, 3), initial=-2.5)).learn("CartPole-v1", steps=1, seed=1)
    x = np.random.default_rng(0).normal(size=(6, 4))
    assert (agent.q(x) == -2.5).all(axis=0).sum() == 1  # one step of one action has been learned
    agent.learn("CartPole-v1", steps=40)
    features = agent.features_.transform(x)
    assert agent.q(x) == pytest.approx(forward(agent, features), abs=1e-12)
    memory = agent.memory_
    weights, (upper, scale) = memory.weights, memory.learned
    before = [weights.copy(), upper.copy()]
    slopes = []
    for array in (weights, upper):
        flat, slope = array.reshape(-1), np.zeros(array.size)
        for i, kept in enumerate(flat.tolist()):
            flat[i] = kept + 1e-6
            above = agent.q(x[:1])[0, 1]
            flat[i] = kept - 1e-6
            slope[i] = (above - agent.q(x[:1])[0, 1]) / 2e-6 / scale[0]
            flat[i] = kept
        slopes.append(slope)
    row = run_in_python(locate_first, memory, x[0])
    amount = 1e-3
    run_in_python(update, memory, row, 1, amount)
    for array, old, slope in zip((weights, upper), before, slopes, strict=True):
        assert (array - old).ravel() == pytest.approx(amount / scale[0] * slope, abs=1e-9)
    # rewards of any size: values stay as they are while the scale grows with them
    other = run_in_python(value, memory, row, 0)
    run_in_python(update, memory, row, 1, 0.0)
    memory.learned.scale[0], size = 1.0, memory.learned.scale[0]
    memory.learned.upper_weights[-8:] *= size
    run_in_python(update, memory, row, 1, 1e-9)
    assert memory.learned.scale[0] >= abs(other)
    assert run_in_python(value, memory, row, 0) == pytest.approx(other, abs=1e-6)


def test_a_rule_is_one_of_those_that_ask_what_a_network_answers():
    with_values = {
        name
        for name, kind in agent_classes().items()
        if kind.__module__.startswith("rlsuite.agents")
        and getattr(kind.__dataclass_fields__.get("values"), "init", False)
    }
    for name in with_values - RULES:
        with pytest.raises(
            ParameterError, match=f"{name} cannot learn in a network: its rule needs .*QLearning, Sarsa"
        ):
            made(name)
    for name in sorted(RULES):
        agent = made(name).learn("rlsuite/ShortCorridor-v0", steps=30, seed=1)
        again = made(name).learn("rlsuite/ShortCorridor-v0", steps=20, seed=1)
        assert numbers(again.learn("rlsuite/ShortCorridor-v0", steps=10)) == numbers(agent), name
        assert numbers(made(name).learn("rlsuite/ShortCorridor-v0", steps=30, seed=2)) != numbers(agent)
        assert agent.act(0) in (0, 1)


def test_files_keep_networks(tmp_path):
    path = tmp_path / "agent.npz"
    tiles = {"features": TileCoding(bins=2, low=-3, high=3)}
    for env, given in (("CartPole-v1", {}), ("MountainCar-v0", {}), ("CartPole-v1", tiles)):
        whole = made("Sarsa", **given).learn(env, steps=60, seed=1)
        made("Sarsa", **given).learn(env, steps=25, seed=1).save(path)
        again = rl.load(path)
        assert describe(again) == describe(whole)
        assert numbers(again.learn(env, steps=35)) == numbers(whole)
    assert repr(build_agent(describe(again))) == repr(again)
    with pytest.raises(UnsuitableEnvironment, match="Use a new"):
        again.learn("MountainCar-v0", steps=1, seed=1)


def test_networks_that_are_refused():
    for given, message in (
        ({"hidden": ()}, r"values=Linear\(features\)"),
        ({"hidden": "64"}, "hidden='64' must be layer sizes"),
        ({"hidden": (4, 0)}, r"hidden\[1\]"),
        ({"initial": np.inf}, "initial"),
        ({"features": TileCoding}, r"give an instance, TileCoding\(\)"),
    ):
        with pytest.raises(ParameterError, match=message):
            Network(**given)
    agent = rl.TD(values=Network(hidden=8)).learn("rlsuite/RandomWalk-v0", steps=3, seed=1)
    with pytest.raises(ParameterError, match="learns a network, and only the features of"):
        agent.refit([[1.0]])
    with pytest.raises(AttributeError, match="its weights are in layers_"):
        _ = agent.weights_
    with pytest.raises(AttributeError, match=r"only an agent with values=Network\(\) has layers"):
        _ = rl.TD().learn("rlsuite/RandomWalk-v0", steps=3, seed=1).layers_

    @rl.compiled
    def step(memory, t, rng):
        return 0

    class LearnsMore(rl.ActionValueAgent):
        def tables(self, n_states, n_actions):
            return memory_of_this((np.zeros(3),))

    memory_of_this = tuple
    LearnsMore.step = step
    with pytest.raises(ParameterError, match="it learns more than values"):
        LearnsMore(values=Network()).learn("FrozenLake-v1", steps=3, seed=1)


@pytest.mark.slow
def test_both_loops_give_the_same_bytes():
    grid = "rlsuite/GridGoal-v0"
    compiled, stepwise = (made("Sarsa").learn(grid, steps=400, seed=1, loop=loop) for loop in ("compiled", "stepwise"))
    assert compiled.record_.loop != stepwise.record_.loop
    assert numbers(compiled) == numbers(stepwise)


@pytest.mark.slow
def test_what_networks_learn():
    """The values of the notes' 2 x 3 grid, and of the random walk."""
    grid = rl.QLearning(values=Network(), gamma=0.9).learn("rlsuite/GridGoal-v0", steps=50_000, seed=1)
    assert grid.q_.max(axis=1)[:5] == pytest.approx([81.0, 90.0, 100.0, 90.0, 100.0], abs=0.1)
    walk = rl.TD(values=Network(), gamma=1.0, learning_rate=rl.Inverse(0.1, scale=1_000))
    walk.learn("rlsuite/RandomWalk-v0", episodes=20_000, seed=1)
    assert walk.value_[1:6] == pytest.approx(np.arange(1, 6) / 6, abs=0.05)
