import dataclasses
import warnings

import gymnasium

import rlsuite as rl
from rlsuite.registry import agent_classes


def test_environments_are_those_of_the_registry(rlsuite_json):
    import rlsuite_envs  # noqa: F401 - registers rlsuite/*

    listed = {one["id"]: one for one in rlsuite_json("envs")}
    own = [env_id for env_id in gymnasium.registry if env_id.startswith("rlsuite/")]
    assert own == [env_id for env_id in listed if env_id.startswith("rlsuite/")]
    assert {"FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"} <= set(listed)
    for env_id, facts in listed.items():
        env = gymnasium.make(env_id)
        space = env.observation_space
        size = int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else f"{space.shape[0]} numbers"
        assert (facts["observations"], facts["actions"]) == (size, env.action_space.n)
        assert facts["time_limit"] == env.spec.max_episode_steps
        assert facts["about"]
    assert listed["rlsuite/Tiger-v0"]["hidden_states"] == 2


def test_an_environment_of_another_package_is_listed(rlsuite, monkeypatch):
    from rlsuite.environments import finding

    known = finding.packages()
    monkeypatch.setattr(finding, "packages", lambda: {**known, "elsewhere": "json"})
    gymnasium.register("elsewhere/Lake-v0", entry_point="gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv")
    try:
        assert "  elsewhere/Lake-v0 " in rlsuite("envs").out
    finally:
        del gymnasium.registry["elsewhere/Lake-v0"]


def test_one_environment(rlsuite):
    done = rlsuite("envs", "rlsuite/Tiger-v0")
    lines = done.out.splitlines()
    assert lines[0] == "rlsuite/Tiger-v0"
    assert lines[2].startswith("Doors and a tiger")
    rows = [line.split() for line in lines]
    assert ["accuracy", "0.85"] in rows
    assert ["states", "2", "hidden"] in rows
    assert ["time", "limit", "100", "steps"] in rows


def test_agents_are_found_in_the_code(rlsuite, rlsuite_json):
    names = [one["name"] for one in rlsuite_json("agents")]
    assert names == sorted(agent_classes())
    listed = rlsuite("agents").out
    for name, kind in agent_classes().items():
        assert f"{name}: " in listed
        if any(field.name == "gamma" and field.init for field in dataclasses.fields(kind)):
            assert f"gamma = {kind().gamma}" in listed


def test_one_agent(rlsuite, rlsuite_json):
    done = rlsuite("agents", "q-learning")
    assert done.out.startswith("QLearning\n\nQ-learning for deterministic and random environments")
    assert rlsuite_json("agents", "QLearning")["gamma"] == rl.QLearning().gamma


def test_a_package_that_cannot_be_imported_is_mentioned(rlsuite, monkeypatch):
    from rlsuite.environments import finding

    monkeypatch.setattr(finding, "packages", lambda: {"gone": "no_such_package"})
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = rlsuite("envs")
    assert done.err.startswith("rlsuite: warning: the environments of no_such_package are missing: No module named ")
    assert "FrozenLake-v1" in done.out
