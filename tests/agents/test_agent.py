"""What an agent answers when it is asked about something that its environment cannot show."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation import LinearActorCritic, SemiGradientSarsa, SemiGradientTD, TileCoding
from rlsuite.errors import ParameterError

NOT_IDS = [3.5, 3.0, "3", None, float("nan"), (1, 2), [3], np.array([1, 2]), np.array([3.0]), np.array("3"), {}, True]


class FromThree(gymnasium.Env):
    """Two states, 3 and 4."""

    observation_space = gymnasium.spaces.Discrete(2, start=3)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 3, {}

    def step(self, action):
        return 4, float(action), False, True, {}


def learned(agent):
    return agent.learn(FromThree(), steps=50, seed=1, loop="stepwise")


AGENTS = {
    "table": rl.QLearning(),
    "preferences": rl.ActorCritic(),
    "prediction": rl.TD(),
    "bandit": rl.UCB1(),
    "linear bandit": rl.LinUCB(),
    "linear": SemiGradientSarsa(),
    "linear prediction": SemiGradientTD(),
    "linear policy": LinearActorCritic(),
}


@pytest.fixture(scope="module")
def agents():
    return {name: learned(agent) for name, agent in AGENTS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_what_is_not_an_id_is_refused_by_name(agents, name):
    for wrong in NOT_IDS:
        with pytest.raises(ParameterError, match=r"^observation .* is not an integer in 3\.\.4$"):
            agents[name].act(wrong)
    for outside in (2, 5, -1, 2**70):
        with pytest.raises(ParameterError, match=rf"^observation {outside} is not in 3\.\.4$"):
            agents[name].act(outside)


@pytest.mark.parametrize("name", AGENTS)
def test_every_form_of_an_id_is_taken(agents, name):
    for form in (3, np.int64(3), np.uint8(3), np.array(3), np.array([3]), np.array([[3]], dtype=np.int32)):
        assert agents[name].act(form) in (0, 1)


def test_states_are_rows_and_not_counted_from_the_end(agents):
    for name in ("table", "preferences", "bandit", "linear bandit"):
        assert agents[name].best_actions(np.int64(0)).size
        for wrong in (-1, 2, 1.0, "1"):
            with pytest.raises(ParameterError, match="observation"):
                agents[name].best_actions(wrong)


@pytest.mark.slow
def test_vectors_are_as_many_numbers_as_the_environment_has():
    agent = SemiGradientSarsa(features=TileCoding(n_tilings=2, bins=4)).learn("MountainCar-v0", steps=20, seed=1)
    assert agent.act([-0.5, 0.0]) == agent.act((-0.5, 0.0))
    for wrong in ("x", None, ["-0.5", "0.0"], (-0.5, "0.0"), {"position": None}):
        with pytest.raises(ParameterError, match="does not consist of numbers"):
            agent.act(wrong)
    with pytest.raises(ParameterError, match=r"has 3 numbers; those of the environment have 2"):
        agent.act([0.0, 0.0, 0.0])
    with pytest.raises(ParameterError, match="not a finite number"):
        agent.act([float("nan"), 0.0])


@pytest.mark.parametrize("name", ["linear", "linear prediction", "linear policy"])
def test_masks_say_one_thing_about_each_action(agents, name):
    assert agents[name].act(3, action_mask=[0, 1]) == 1
    with pytest.raises(ParameterError, match=r"action_mask has shape \(3,\); for 2 actions it must have \(2,\)"):
        agents[name].act(3, action_mask=[1, 1, 1])
    for wrong in ([0.5, 1], ["1", "1"], [2, 1], [[1], [0, 1]]):
        with pytest.raises(ParameterError, match="is not an array of 0 and 1"):
            agents[name].act(3, action_mask=wrong)


@pytest.mark.parametrize("name", ["linear", "linear policy"])
def test_masks_of_policies_say_one_thing_about_each_action_at_each_observation(agents, name):
    agent, both = agents[name], [[0.0], [1.0]]
    assert agent.policy(both, [[0, 1], [1, 0]]).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert agent.policy(action_mask=[[0, 1], [0, 1]]).tolist() == [[0.0, 1.0], [0.0, 1.0]]
    for wrong in ([1, 0], [[1, 0]], [[1, 1, 1], [1, 1, 1]]):
        with pytest.raises(ParameterError, match=r"for 2 actions at 2 observations it must have \(2, 2\)"):
            agent.policy(both, wrong)
    for wrong in ("xxxx", [[0.5, 1], [1, 1]], [[1, 2], [1, 1]]):
        with pytest.raises(ParameterError, match="is not an array of 0 and 1"):
            agent.policy(both, wrong)


@pytest.mark.filterwarnings("ignore:what was learned is saved, but not the run")
def test_after_loading_the_same_is_refused(tmp_path, agents):
    for name in ("table", "linear"):
        agents[name].save(tmp_path / "agent.npz")
        again = rl.load(tmp_path / "agent.npz")
        assert again.act(np.array([4])) in (0, 1)
        with pytest.raises(ParameterError, match=r"is not an integer in 3\.\.4"):
            again.act(3.5)
