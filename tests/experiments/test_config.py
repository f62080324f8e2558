import json
import subprocess
import sys

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import FailedRunsWarning, FileError, LimitReached, ParameterError
from rlsuite.experiments import AgentEntry, EnvironmentEntry, Experiment, checkpoints, config, status_of
from rlsuite.experiments.config import Limits

FILE = """
steps = 400_000
seeds = 1
loop = "stepwise"
limits = { seconds = 60 }
environments = [{ id = "FrozenLake-v1" }]
agents = [{ name = "q-learning" }, { name = "sarsa" }]
"""


def test_memory_is_that_by_which_the_process_grows(monkeypatch):
    sizes = iter([5 * 10**9, 6 * 10**9, 8 * 10**9])
    monkeypatch.setattr(config, "memory_of_process", lambda: next(sizes))
    look = Limits(memory=2e9).begin()
    look()
    with pytest.raises(LimitReached, match=r"^it had taken 3 GB of memory, more than 2 GB; raise limits=, or leave "):
        look()


GROWS = """
from rlsuite.experiments.config import memory_of_process
before = memory_of_process()
held = bytearray(b"1") * 50_000_000
print(memory_of_process() - before > 0.9 * len(held))
"""


def test_memory_is_that_of_the_process():
    """Asked in one of its own: from another one the system may take back memory at the same time."""
    done = subprocess.run([sys.executable, "-c", GROWS], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_cell_that_takes_too_long_has_failed_and_goes_on_from_where_it_was_saved_when_it_gets_more(
    toml, tmp_path, tree, monkeypatch
):
    saved = tmp_path / "out" / ".checkpoints"
    monkeypatch.setattr(config, "monotonic", lambda: 61.0 if list(saved.glob("*/*.cells")) else 0.0)
    monkeypatch.setattr(checkpoints, "EVERY", 0.02)
    file = toml(FILE)
    with pytest.warns(FailedRunsWarning, match="it had not ended after 60 s; raise limits=, or leave it out"):
        Experiment.read(file).run(tmp_path / "out")
    assert {failure.agent for failure in status_of(tmp_path / "out").failures} >= {"QLearning"}
    monkeypatch.setattr(checkpoints, "EVERY", 60.0)
    continued, joined = [], checkpoints.joined
    monkeypatch.setattr(checkpoints, "joined", lambda one, other: continued.append(one) or joined(one, other))
    Experiment.read(file, limits={}).run(tmp_path / "out", retry=True)
    assert continued
    Experiment.read(file, limits={}).run(tmp_path / "whole")
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_impossible_limits_are_named():
    for given in (3, {"second": 1}, {"seconds": 0}, {"memory": "2 XB"}, {"memory": "-1 GB"}, {"memory": float("inf")}):
        with pytest.raises(ParameterError, match=r"^limits"):
            Limits.of(given)


HEAD = "steps = 100\nseeds = 2\n"
LAKE = '[[environments]]\nid = "FrozenLake-v1"\n'
LEARNER = '[[agents]]\nname = "QLearning"\n'


def test_a_file_becomes_an_experiment(toml):
    experiment = Experiment.read(toml())
    assert experiment.name == "small"
    assert (experiment.steps, experiment.episodes, experiment.seeds, experiment.loop) == (400, None, 3, "auto")
    assert [(entry.id, entry.label, dict(entry.parameters)) for entry in experiment.environments] == [
        ("FrozenLake-v1", "dry lake", {"is_slippery": False}),
        ("rlsuite/GridGoal-v0", "rlsuite/GridGoal-v0", {}),
    ]
    assert [entry.label for entry in experiment.agents] == ["QLearning", "fast learner"]
    assert repr(experiment.agents[1].agent) == repr(rl.QLearning(gamma=0.9, learning_rate=0.5))


def test_a_power_of_ten_gives_the_same_experiment():
    given = {"environments": [EnvironmentEntry("FrozenLake-v1")], "agents": [AgentEntry(rl.Sarsa())]}
    experiment = Experiment(**given, steps=1e3, seeds=2.0, record_every=1e2)
    assert json.dumps(experiment.plain()) == json.dumps(
        Experiment(**given, steps=1000, seeds=2, record_every=100).plain()
    )


def test_schedules_and_explorations_are_tables(toml):
    agent = '[[agents]]\nname = "Sarsa"\nlearning_rate = { name = "Inverse", start = 1.0, per = "visits" }\n'
    agent += 'exploration = { name = "Softmax", base = { name = "Linear", start = 1.0, end = 9.0, over = 500 } }'
    (entry,) = Experiment.read(toml(HEAD + LAKE + agent)).agents
    wanted = rl.Sarsa(
        learning_rate=rl.Inverse(1.0, per="visits"), exploration=rl.Softmax(base=rl.Linear(1.0, 9.0, over=500))
    )
    assert repr(entry.agent) == repr(wanted)


def test_observe_is_short_for_a_keyword_of_the_environment(toml):
    lake, learner = '[[environments]]\nid = "FrozenLake-v1"\n', '[[agents]]\nname = "Sarsa"\n'
    for short, full in (
        (f'{lake}observe = "cell"\n{learner}', f'{lake}parameters = {{ observe = "cell" }}\n{learner}'),
        (f'{lake}{learner}observe = "cell"\n', f'{lake}{learner}environment = {{ observe = "cell" }}\n'),
    ):
        experiment, same = (Experiment.read(toml(HEAD + text)) for text in (short, full))
        assert experiment.plain() == same.plain()
        assert [cell.keywords for cell in experiment.cells()] == [{"observe": "cell"}] * 2
    with pytest.raises(ParameterError, match="observe='cell', but parameters has observe='belief': give one of them"):
        EnvironmentEntry("rlsuite/Tiger-v0", parameters={"observe": "belief"}, observe="cell")


def test_plain_form_and_back(toml):
    experiment = Experiment.read(toml())
    plain = json.loads(json.dumps(experiment.plain()))
    assert Experiment.from_plain(plain).plain() == plain


def test_changes_take_the_place_of_what_the_file_says(toml):
    for seeds in ([4, 5], np.array([4, 5])):
        assert Experiment.read(toml(), seeds=seeds, loop="stepwise").plain()["seeds"] == [4, 5]


BAD = {
    "unknown key": (
        "step = 5\n" + HEAD + LAKE + LEARNER,
        "step: unknown key 'step'; did you mean 'steps'? (choices: agents, environments, episodes, "
        "evaluate_every, figures, keep, limits, loop, name, record_every, regret, search, seeds, steps)",
    ),
    "unknown key of an environment": (
        HEAD + LAKE + "parametres = {}\n" + LEARNER,
        "environments[0].parametres: unknown key 'parametres'; did you mean 'parameters'? "
        "(choices: id, label, max_episode_steps, observe, parameters)",
    ),
    "unknown parameter": (
        HEAD + LAKE + LEARNER + LEARNER + 'label = "b"\ngama = 0.9\n',
        "agents[1].gama: unknown key of QLearning 'gama'; did you mean 'gamma'? "
        "(choices: exploration, features, gamma, initial_value, learning_rate, values)",
    ),
    "unknown parameter of an exploration": (
        HEAD + LAKE + LEARNER + 'exploration = { name = "EpsilonGreedy", epsilom = 0.1 }\n',
        "agents[0].exploration.epsilom: unknown key of EpsilonGreedy 'epsilom'; did you mean 'epsilon'? "
        "(choices: epsilon)",
    ),
    "unknown schedule": (
        HEAD + LAKE + LEARNER + 'learning_rate = { name = "Linaer" }\n',
        "agents[0].learning_rate.name: unknown schedule 'Linaer'; did you mean 'Linear'? "
        "(choices: Constant, Exponential, Inverse, Linear, Polynomial)",
    ),
    "schedule without a name": (
        HEAD + LAKE + LEARNER + "learning_rate = { start = 1.0 }\n",
        "agents[0]: schedule has no name; give name = one of Constant, Exponential, Inverse, Linear, Polynomial",
    ),
    "missing parameter": (
        HEAD + LAKE + LEARNER + 'learning_rate = { name = "Linear", start = 1.0 }\n',
        "agents[0]: Linear: parameter 'end' is missing",
    ),
    "exploration that is not a table": (
        HEAD + LAKE + LEARNER + "exploration = 0.2\n",
        "agents[0]: exploration=0.2 must be an exploration such as EpsilonGreedy(0.1) or Softmax(1.0)",
    ),
    "agent without a name": (
        HEAD + LAKE + "[[agents]]\ngamma = 0.9\n",
        'agents[0]: write name = "QLearning", the name of an agent',
    ),
    "the word of other libraries for a name": (
        HEAD + LAKE + '[[agents]]\nclass = "Sarsa"\n',
        'agents[0]: write name = "Sarsa", the name of an agent',
    ),
    "a table around all": (
        "[experiment]\n" + HEAD + LAKE + LEARNER,
        "experiment: unknown key 'experiment' (choices: agents, environments, episodes, evaluate_every, figures, keep, "
        "limits, loop, name, record_every, regret, search, seeds, steps); "
        "write what is in [experiment] at the top, without that line",
    ),
    "environment without an id": (HEAD + '[[environments]]\nlabel = "a"\n' + LEARNER, "environments[0].id is missing"),
    "id of the wrong type": (HEAD + "[[environments]]\nid = 3\n" + LEARNER, "environments[0].id=3 must be a string"),
    "empty id": (HEAD + '[[environments]]\nid = ""\n' + LEARNER, "environments[0].id='' must be a string"),
    "label of the wrong type": (HEAD + LAKE + LEARNER + "label = 3\n", "agents[0].label=3 must be a string"),
    "parameters of the wrong type": (
        HEAD + LAKE + "parameters = 3\n" + LEARNER,
        "environments[0].parameters=3 must be a table, such as { keyword = value }",
    ),
    "a date among the parameters": (
        HEAD + LAKE + "parameters = { when = [1979-05-27] }\n" + LEARNER,
        "environments[0].parameters.when[0]=datetime.date(1979, 5, 27) must be a number, a string, a boolean, "
        "or a list or table of them",
    ),
    "no environments": (HEAD + LEARNER, "environments is empty; give at least one"),
    "no agents": (HEAD + LAKE, "agents is empty; give at least one"),
    "a table where an array belongs": (
        HEAD + '[environments]\nid = "FrozenLake-v1"\n' + LEARNER,
        "environments={'id': 'FrozenLake-v1'} must be an array of tables: write [[environments]] above each table",
    ),
    "a list of ids": (
        'environments = ["FrozenLake-v1"]\n' + HEAD + LEARNER,
        "environments=['FrozenLake-v1'] must be an array of tables: write [[environments]] above each table",
    ),
    "labels that meet": (
        HEAD + LAKE + LAKE + LEARNER,
        "environments[1].label='FrozenLake-v1' names the same folder as the label 'FrozenLake-v1': "
        "give each entry its own label",
    ),
    "labels that meet as folders": (
        HEAD + LAKE + LEARNER + 'label = "a b"\n' + LEARNER + 'label = "A-b"\n',
        "agents[1].label='A-b' names the same folder as the label 'a b': give each entry its own label",
    ),
    "label of a file of ours": (
        HEAD + LAKE + LEARNER + 'label = "Run.json"\n',
        "agents[0].label='Run.json' names a folder, and run.json is a file of the experiment; choose another label",
    ),
    "label that is too long": (
        HEAD + LAKE + LEARNER + 'label = "' + "ü" * 128 + '"\n',
        "agents[0].label='" + "ü" * 57 + "...' makes a folder name of 256 bytes; the longest allowed has 255",
    ),
    "label without a letter": (
        HEAD + LAKE + LEARNER + 'label = "../.."\n',
        "agents[0].label='../..' needs a letter or a digit: it names a folder",
    ),
    "no length": ("seeds = 2\n" + LAKE + LEARNER, "give either steps= or episodes=, got steps=None and episodes=None"),
    "two lengths": (
        "episodes = 2\n" + HEAD + LAKE + LEARNER,
        "give either steps= or episodes=, got steps=100 and episodes=2",
    ),
    "no seeds": (
        "steps = 5\nseeds = 0\n" + LAKE + LEARNER,
        "seeds=0 is less than 1",
    ),
    "seeds of the wrong type": (
        "steps = 5\nseeds = 3.5\n" + LAKE + LEARNER,
        "seeds=3.5 is not a whole number",
    ),
    "seed twice": (
        "steps = 5\nseeds = [1, 1]\n" + LAKE + LEARNER,
        "seeds=[1, 1] has one seed twice: runs with the same seed are not replicates",
    ),
    "unknown loop": (
        'loop = "compild"\n' + HEAD + LAKE + LEARNER,
        "unknown loop 'compild'; did you mean 'compiled'? (choices: auto, compiled, stepwise)",
    ),
    "regret of the wrong type": ('regret = "no"\n' + HEAD + LAKE + LEARNER, "regret='no' must be true or false"),
    "figures of the wrong type": (
        'figures = "regret"\n' + HEAD + LAKE + LEARNER,
        "figures='regret' must be a list of names, or of tables with a name, as in "
        '{ name = "episode_return", ylim = [-100, 0] }',
    ),
}


IMPOSSIBLE = {
    "unknown exploration": (
        HEAD + LAKE + LEARNER + 'exploration = { name = "Epsilongreed" }\n',
        "agents[0].exploration.name: unknown exploration 'Epsilongreed'; did you mean 'EpsilonGreedy'? "
        "(choices: CountBonus, EpsilonGreedy, MaxBoltzmann, RandomActions, ",
    ),
    "unknown agent": (
        HEAD + LAKE + '[[agents]]\nname = "QLerning"\n',
        "agents[0].name: unknown agent 'QLerning'; did you mean 'QLearning' or 'RLearning' or '",
    ),
    "gamma above 1": (HEAD + LAKE + LEARNER + "gamma = 1.5\n", "agents[0]: gamma=1.5 "),
    "gamma that is not a number": (HEAD + LAKE + LEARNER + 'gamma = "high"\n', "agents[0]: gamma='high' "),
    "negative epsilon": (
        HEAD + LAKE + LEARNER + 'exploration = { name = "EpsilonGreedy", epsilon = -0.1 }\n',
        "agents[0]: epsilon=-0.1 ",
    ),
    "steps of the wrong type": ('steps = "many"\n' + LAKE + LEARNER, "steps='many' "),
    "no steps": ("steps = 0\n" + LAKE + LEARNER, "steps=0 "),
    "fractional interval": ("steps = 5\nevaluate_every = 0.5\n" + LAKE + LEARNER, "evaluate_every=0.5 "),
    "negative seed": ("steps = 5\nseeds = [1, -2]\n" + LAKE + LEARNER, "seeds[1]=-2 "),
}
"""Values of which other modules say what is allowed, and lists that grow; the file has to name the place."""


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_named_with_file_and_key(toml, case):
    text, sentence = BAD[case]
    file = toml(text, name="bad.toml")
    with pytest.raises(ParameterError) as caught:
        Experiment.read(file)
    assert str(caught.value) == f"{file}: {sentence}"


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_values_are_named_with_file_and_key(toml, case):
    text, beginning = IMPOSSIBLE[case]
    file = toml(text, name="bad.toml")
    with pytest.raises(ParameterError) as caught:
        Experiment.read(file)
    assert str(caught.value).startswith(f"{file}: {beginning}")


def test_a_second_entry_of_a_name_is_labelled_by_what_differs():
    lake, dry = {"id": "FrozenLake-v1"}, {"id": "FrozenLake-v1", "parameters": {"is_slippery": False}}
    agents = [{"name": "q-learning"}, {"name": "q-learning", "learning_rate": 0.5, "gamma": 0.9}, {"name": "sarsa"}]
    found = Experiment.from_plain({"name": "two", "steps": 10, "environments": [lake, dry], "agents": agents})
    assert [entry.label for entry in found.environments] == ["FrozenLake-v1", "FrozenLake-v1(is_slippery=False)"]
    assert [entry.label for entry in found.agents] == ["QLearning", "QLearning(gamma=0.9, learning_rate=0.5)", "Sarsa"]
    assert Experiment.from_plain(found.plain()).plain() == found.plain()


def test_missing_file(tmp_path):
    with pytest.raises(FileError, match=r"^there is no file .*nowhere\.toml$"):
        Experiment.read(tmp_path / "nowhere.toml")


def test_folder_instead_of_a_file(tmp_path):
    with pytest.raises(FileError, match=r"^cannot read .*: Is a directory$"):
        Experiment.read(tmp_path)


def test_malformed_toml(toml):
    with pytest.raises(FileError, match=r"bad\.toml is not valid TOML: .*\(at line 2, column 9\)$"):
        Experiment.read(toml("steps = 5\nseeds = \n", name="bad.toml"))


def test_bytes_that_are_no_text(tmp_path):
    file = tmp_path / "binary.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match=r"binary\.toml is not valid TOML: 'utf-8' codec"):
        Experiment.read(file)


def test_relative_files_begin_at_the_file(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "agents.py").write_text("import rlsuite as rl\nclass Nearby(rl.QLearning):\n    pass\n")
    (tmp_path / "sub" / "own.toml").write_text(HEAD + LAKE + '[[agents]]\nname = "agents.py:Nearby"\n')
    monkeypatch.chdir(tmp_path)
    (entry,) = Experiment.read("sub/own.toml").agents
    assert type(entry.agent).__name__ == "Nearby"
    assert entry.source == "agents.py:Nearby"
    assert Experiment.read("sub/own.toml").plain()["agents"][0]["name"] == "agents.py:Nearby"


def test_estimators_are_named_and_their_files_begin_at_the_file(tmp_path, toml):
    (tmp_path / "mine.py").write_text(
        "from sklearn.preprocessing import StandardScaler\n\n\nclass Mine(StandardScaler):\n    pass\n"
    )
    features = 'features = ["scaling", { name = "polynomial", degree = 3 }]\n'
    file = toml(HEAD + LAKE + '[[agents]]\nname = "Sarsa"\n' + features)
    (chain,) = Experiment.read(file).agents
    assert repr(chain.agent.features) == "Chain(features=[Scaling(), Polynomial(degree=3)])"
    own = 'features = { name = "mine.py:Mine", with_mean = false }\n'
    experiment = Experiment.read(toml(HEAD + LAKE + '[[agents]]\nname = "Sarsa"\n' + own))
    (cell, _) = experiment.cells()
    assert cell.spec["agent"]["features"] == {"name": "mine.py:Mine", "with_mean": False}
    assert list(cell.spec["files"]) == ["mine.py"]
    assert Experiment.from_plain(experiment.plain(), experiment.file).plain() == experiment.plain()


def test_missing_agent_file_is_named(toml):
    file = toml(HEAD + LAKE + '[[agents]]\nname = "nowhere.py:Mine"\n')
    with pytest.raises(FileError) as caught:
        Experiment.read(file)
    assert (
        str(caught.value)
        == f"{file}: agents[0].name: 'nowhere.py:Mine': there is no file '{file.parent / 'nowhere.py'}'"
    )


def test_an_experiment_in_python_is_checked_as_well():
    with pytest.raises(ParameterError, match=r"^environments\[0\]\.parameters\.map=<object object"):
        Experiment(
            environments=[EnvironmentEntry("FrozenLake-v1", parameters={"map": object()})],
            agents=[AgentEntry(rl.QLearning())],
            steps=5,
        )


def test_a_time_limit_of_the_environment(tmp_path):
    file = tmp_path / "limited.toml"
    file.write_text(HEAD + LAKE + "max_episode_steps = 7\n" + LEARNER)
    experiment = Experiment.read(file)
    assert experiment.environments[0].max_episode_steps == 7
    assert Experiment.from_plain(experiment.plain()).environments == experiment.environments
    assert dict(experiment.cells()[0].keywords)["max_episode_steps"] == 7
    results = experiment.run(tmp_path / "results")
    assert max(run.records[0].episode_length.max() for (run, *_) in results.values()) == 7
    file.write_text(HEAD + LAKE + "max_episode_steps = 0\n" + LEARNER)
    with pytest.raises(ParameterError, match=r"environments\[0\]\.max_episode_steps=0 is less than 1"):
        Experiment.read(file)
