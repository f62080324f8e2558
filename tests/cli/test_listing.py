import json
import warnings

import gymnasium

import rlsuite as rl
from rlsuite.cli import listing
from rlsuite.registry import learner_classes
from rlsuite.synonyms import in_dashes


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
    assert names == sorted(learner_classes())
    *lines, last = rlsuite("agents").out.splitlines()
    listed = ", ".join(line.strip().rstrip(",") for line in lines if line.startswith("  ")).split(", ")
    assert sorted(listed) == sorted(map(in_dashes, names))
    assert last.startswith("next: ")
    assert max(map(len, lines)) <= 120
    assert len(lines) <= 50  # a screen


def test_an_agent_of_a_file_is_trained_under_the_name_that_was_given(rlsuite, tmp_path):
    (tmp_path / "hope.py").write_text("import rlsuite as rl\n\nclass HopeQ(rl.QLearning):\n    'Hope.'\n")
    assert rlsuite("agents", "hope.py:HopeQ").out.splitlines()[-1] == "next: rlsuite train hope.py:HopeQ ENV"


def test_agents_are_listed_in_groups(rlsuite):
    """A package is a group, under the first line of its docstring; the commonest agents come first."""
    lines = rlsuite("agents").out.splitlines()
    groups = [line for line in lines[:-1] if not line.startswith(" ")]
    assert groups[0] == "Agents that learn to act without a model: Monte Carlo, Sarsa, Q-learning and their relatives."
    assert groups[2].startswith("Bandits, ")
    assert "q-learning" in lines[1]
    assert any(line.startswith("Planners, which know the model") for line in groups)


def test_a_search_lists_what_has_all_the_words(rlsuite, rlsuite_json):
    lines = rlsuite("agents", "--search", "Traces sarsa").out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [
        "expected-sarsa-lambda",
        "sarsa-lambda",
        "semi-gradient-sarsa-lambda",
    ]
    assert [one["name"] for one in rlsuite_json("agents", "--search", "q-sigma")] == ["NStepQSigma"]
    assert "Schwartz" not in rlsuite("agents", "--search", "Schwartz").out  # sources are searched, and not shown
    assert [one["id"] for one in rlsuite_json("envs", "--search", "tiger doors")] == ["rlsuite/Tiger-v0"]
    done = rlsuite("agents", "--search", "zebra")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "rlsuite: error: --search 'zebra': no agent has these words in its name or description; use fewer or shorter "
        "words, or 'rlsuite agents' for all\n"
    )


def test_one_agent(rlsuite, rlsuite_json):
    done = rlsuite("agents", "q-learning")
    assert done.out.startswith("QLearning\n\nQ-learning for deterministic and random environments")
    rows = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert ["gamma", "0.99"] in rows
    assert ["exploration", "EpsilonGreedy(epsilon=0.1)"] in rows
    assert "next: rlsuite train q-learning ENV, rlsuite agents q-learning --for ENV" in done.out
    assert rlsuite_json("agents", "QLearning")["gamma"] == rl.QLearning().gamma


def test_a_package_that_cannot_be_imported_is_mentioned(rlsuite, monkeypatch):
    from rlsuite.environments import finding

    monkeypatch.setattr(finding, "packages", lambda: {"gone": "no_such_package"})
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = rlsuite("envs")
    assert done.err.startswith("rlsuite: warning: the environments of no_such_package are missing: No module named ")
    assert "FrozenLake-v1" in done.out


def test_known_settings(rlsuite, rlsuite_json):
    lines = rlsuite("agents", "q-learning", "--for", "CliffWalking-v1").out.splitlines()
    assert lines[0].startswith(
        "CliffWalking-v1: value of the greedy policy after 50,000 steps, gamma 0.99, mean over 100"
    )
    assert lines[1].split()[0] == "QLearning"
    assert lines[-1].startswith("next: rlsuite train q-learning CliffWalking-v1 --learning-rate ")
    listed = rlsuite_json("agents", "--for", "FrozenLake-v1")
    assert len(listed) == 5
    assert listed[0]["value"] == max(one["value"] for one in listed)
    assert "leave out --search" in rlsuite("agents", "--for", "FrozenLake-v1", "--search", "bandit").err


def test_agents_solutions_and_models(rlsuite, tmp_path):
    mdp = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    rl.QLearning().learn("FrozenLake-v1", steps=300, seed=1).save(tmp_path / "agent.npz")
    rl.solve(mdp).save(tmp_path / "solution.npz")
    mdp.write(tmp_path / "model.npz")
    for file, title, fact in (
        ("agent.npz", "QLearning", "  learned        300 steps"),
        ("solution.npz", "Solution", "  value at the start  0.0688909"),
        ("model.npz", "MDP", "  states       16"),
    ):
        done = rlsuite("show", file)
        lines = done.out.splitlines()
        assert (done.code, done.err) == (0, "")
        assert lines[0].startswith(f"{file}: {title}")
        assert fact in lines
        assert len(lines) <= 20
    assert json.loads(rlsuite("show", "solution.npz", "--json").out)["converged"] is True
    assert json.loads(rlsuite("show", "agent.npz", "--json").out)["exploration"] == "EpsilonGreedy(epsilon=0.1)"


def test_what_is_no_file_of_ours(rlsuite, tmp_path):
    (tmp_path / "bad.npz").write_text("junk")
    (tmp_path / "note.txt").write_text("junk")
    (tmp_path / "folder").mkdir()
    for file, said in (
        ("nope.npz", "nope.npz does not exist"),
        ("bad.npz", "bad.npz is damaged"),
        ("folder", "folder is a folder: 'rlsuite report folder --status' counts its results"),
        ("note.txt", "note.txt: unknown"),
    ):
        done = rlsuite("show", file)
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def test_it_says_what_is_installed_and_whether_loops_are_compiled(rlsuite):
    said = rlsuite("doctor")
    assert said.code == 0
    lines = {line.split("  ")[1]: line.split("  ")[-1].strip() for line in said.out.splitlines()}
    assert lines["loops"] == "compiled"
    assert lines["rlsuite"].startswith(rl.__version__)
    assert {"numpy", "numba", "torch", "cores", "machine code"} <= set(lines)


def test_as_json_and_why_loops_are_not_compiled(rlsuite, monkeypatch):
    monkeypatch.setattr("rlsuite.core.compilation._broken", ["numba cannot be imported (it is too old)"])
    monkeypatch.setattr("rlsuite.core.compilation._say_that_it_is_slow", lambda: None)
    facts = json.loads(rlsuite("doctor", "--json").out)
    assert facts["loops"] == "numba cannot be imported (it is too old)"
    assert facts["cores"] >= 1


def test_a_release_that_is_too_old_is_named_with_the_command_that_mends_it(rlsuite, monkeypatch):
    needed = listing._installed
    monkeypatch.setattr(listing, "_installed", lambda name: "1.26.4" if name == "numpy" else needed(name))
    said = "numpy 1.26.4 is installed, rlsuite needs >=2.1: pip install -U 'numpy>=2.1'"
    done = rlsuite("doctor")
    assert (done.code, said in done.out) == (1, True)
    monkeypatch.setattr("rlsuite.environments.facts.facts_of", lambda env: [][0])
    done = rlsuite("envs")
    assert (done.code, done.err) == (2, f"rlsuite: error: IndexError: list index out of range; {said}\n")
