"""Names in figures."""

from types import SimpleNamespace

import gymnasium
import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.plotting.labels import by_label, counted, names


def test_numbers_stand_for_missing_names():
    assert names(None, 2, "action") == ["action 0", "action 1"]
    assert names(("left", "right"), 2, "action") == ["left", "right"]
    assert [counted(n, "step") for n in (0, 1, 1_000)] == ["0 steps", "1 step", "1,000 steps"]


def test_solutions_are_named_by_their_methods():
    one, other = SimpleNamespace(method="sarsop"), SimpleNamespace(method="pbvi")
    assert by_label("gap", one, "method") == {"sarsop": one}
    assert list(by_label("gap", [other, one], "method")) == ["pbvi", "sarsop"]
    assert by_label("gap", {"mine": one}, "method") == {"mine": one}
    with pytest.raises(ParameterError, match="two solutions are by pbvi: pass a dict"):
        by_label("gap", [other, other], "method")
    with pytest.raises(ParameterError, match="no solutions to draw"):
        by_label("gap", [], "method")


@pytest.mark.slow
def test_titles_are_the_names_of_maps_and_of_models():
    small = rl.MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.9)
    taxi = rl.MDP.from_env("Taxi-v4", gamma=0.99)
    titles = [rl.plotting.state_values(rl.solve(model)).get_title(loc="left") for model in (small, taxi)]
    assert titles == ["2 states, 2 actions, gamma 0.9", "Taxi-v4, gamma 0.99"]
    env = gymnasium.make("rlsuite_envs:rlsuite/GridWorld-v0", map="FourRooms")
    name = "rlsuite/GridWorld-v0, FourRooms"
    assert rl.plotting.value_map(env, rl.solve(rl.MDP.from_env(env, gamma=0.9))).get_title(loc="left") == name
    for where, title in ((env, name), ("rlsuite_envs:rlsuite/GridGoal-v0", "rlsuite/GridGoal-v0")):
        results = rl.train(rl.Sarsa(gamma=0.9), where, steps=50, seeds=2, record_every=10)
        assert rl.plotting.cumulative_reward(results).get_title(loc="left") == title
