"""The schema of experiments agrees with what reads them: both accept, or both refuse, at the same place."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import rlsuite as rl
from rlsuite.cli.experiments import check_figures
from rlsuite.cli.toml_schema import experiment_schema
from rlsuite.errors import RlsuiteError
from rlsuite.experiments import Experiment
from rlsuite.registry import choices, learner_classes
from rlsuite.synonyms import in_dashes

ROOT = Path(__file__).parents[2]

HEAD = 'steps = 100\n[[environments]]\nid = "FrozenLake-v1"\n'
LEARNER = '[[agents]]\nname = "q-learning"\n'
BOTH = HEAD + LEARNER

MISTAKES = {
    "step": "step = 5\n" + BOTH,
    "environments[0].parametres": HEAD + "parametres = {}\n" + LEARNER,
    "environments[0].id": 'steps = 100\n[[environments]]\nlabel = "lake"\n' + LEARNER,
    "environments[0].id ": "steps = 100\n[[environments]]\nid = 3\n" + LEARNER,
    "environments[0].label": HEAD + "label = 3\n" + LEARNER,
    "environments[0].parameters": HEAD + "parameters = 3\n" + LEARNER,
    "environments[0].parameters.when[0]": HEAD + "parameters = { when = [1979-05-27] }\n" + LEARNER,
    "environments[0].max_episode_steps": HEAD + "max_episode_steps = 0\n" + LEARNER,
    "environments": 'steps = 100\n[environments]\nid = "FrozenLake-v1"\n' + LEARNER,
    "agents": HEAD,
    "agents[0].name": HEAD + "[[agents]]\ngamma = 0.9\n",
    "agents[0].name ": HEAD + '[[agents]]\nname = "QLerning"\n',
    "agents[1].gama": BOTH + LEARNER + "gama = 0.9\n",
    "agents[0].gamma": BOTH + 'gamma = "high"\n',
    "agents[0].exploration": BOTH + "exploration = 0.2\n",
    "agents[0].exploration.name": BOTH + 'exploration = { name = "Epsilongreed" }\n',
    "agents[0].exploration.epsilom": BOTH + 'exploration = { name = "EpsilonGreedy", epsilom = 0.1 }\n',
    "agents[0].learning_rate.name": BOTH + 'learning_rate = { name = "Linaer" }\n',
    "agents[0].learning_rate.end": BOTH + 'learning_rate = { name = "Linear", start = 1.0, over = 5 }\n',
    "agents[0].learning_rate.per": BOTH + 'learning_rate = { name = "Inverse", start = 1.0, per = "day" }\n',
    "agents[0].values.name": BOTH + 'values = { name = "Tabel" }\n',
    "agents[0].features.n_tilling": BOTH + 'features = { name = "tile-coding", n_tilling = 4 }\n',
    "agents[0].sweep.gama": BOTH + "sweep = { gama = [0.9, 0.99] }\n",
    "agents[0].sweep.gamma": BOTH + "sweep = { gamma = 0.9 }\n",
    "agents[0].environment": BOTH + "environment = 3\n",
    "steps": 'steps = "many"\n' + BOTH.partition("\n")[2],
    "steps ": BOTH.partition("\n")[2],
    "steps  ": "episodes = 5\n" + BOTH,
    "seeds": "seeds = 0\n" + BOTH,
    "seeds ": "seeds = [1, 1]\n" + BOTH,
    "seeds[1]": "seeds = [1, -2]\n" + BOTH,
    "evaluate_every": "evaluate_every = 1.5\n" + BOTH,
    "loop": 'loop = "compild"\n' + BOTH,
    "keep": 'keep = "agent"\n' + BOTH,
    "regret": 'regret = "no"\n' + BOTH,
    "limits.minutes": "limits = { minutes = 3 }\n" + BOTH,
    "search.trails": "search = { trails = 3 }\n" + BOTH,
    "figures": 'figures = "regret"\n' + BOTH,
    "figures[0]": 'figures = ["regrets"]\n' + BOTH,
    "figures[0] ": 'figures = [{ name = "regret", xlims = [0, 1] }]\n' + BOTH,
}
"""The place of a mistake in a file, and the file; spaces tell places apart that are the same."""


@pytest.fixture(scope="module")
def validator():
    schema = experiment_schema()
    jsonschema = pytest.importorskip("jsonschema")  # only where it is used: its import takes a second
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


@pytest.fixture(autouse=True)
def _environments():
    import rlsuite_envs  # noqa: F401 - registers rlsuite/*


def _places(validator, table):
    """Where a table is not as the schema says: the keys that are unknown or missing, or else what holds the error."""
    found = []
    for error in validator.iter_errors(table):
        place = error.json_path.removeprefix("$").removeprefix(".")
        keys = re.findall(r"'(\w+)' (?:was|were) unexpected|^'(\w+)' is a required", error.message)
        keys = ["".join(key) for key in keys] or (
            [error.instance] if "propertyNames" in error.absolute_schema_path else []
        )
        found += [f"{place}.{key}".removeprefix(".") for key in keys] or [place]
    return found


def _refused(text, tmp_path):
    """What the reader of the command line says about a file; empty if it reads it."""
    file = tmp_path / "experiment.toml"
    file.write_text(text, encoding="utf-8")
    try:
        check_figures(Experiment.read(file).figures)
    except RlsuiteError as error:
        return str(error).removeprefix(f"{file}: ")
    return ""


def test_the_experiments_of_the_repository_are_valid(validator):
    files = [*ROOT.glob("runs/*.toml"), *ROOT.glob("examples/**/*.toml"), *ROOT.glob("envs/**/*.toml")]
    assert len(files) > 15
    for file in files:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        assert _places(validator, table) == [], file
        experiment = Experiment.read(file)
        if not any(entry.setting for entry in experiment.agents):  # a setting is written as the sweep that it is of
            assert _places(validator, json.loads(json.dumps(experiment.plain()))) == [], file


def test_mistakes_are_refused_where_the_reader_refuses_them(validator, tmp_path):
    assert (_places(validator, tomllib.loads(BOTH)), _refused(BOTH, tmp_path)) == ([], "")
    for place, text in MISTAKES.items():
        said, key = _refused(text, tmp_path), place.strip()
        assert re.findall("[a-z_]+", key)[-1].removesuffix("s") in said, (place, said)
        found = _places(validator, tomllib.loads(text))
        # a length that is missing or given twice is a fault of the file, and so is a missing table
        assert (found == [key]) or (key == "steps" and found == [""]), (place, found, said)


def test_every_agent_and_every_part_of_one_is_known(validator):
    """What they hold by default is valid, and a key that nothing has is found in each of them."""
    base = {"steps": 5, "environments": [{"id": "FrozenLake-v1"}]}
    for name, kind in learner_classes().items():
        if not kind.__module__.startswith("rlsuite."):
            continue  # of another test
        for spelled in (name, in_dashes(name)):
            agent = {**json.loads(json.dumps(kind.defaults())), "name": spelled}
            assert _places(validator, {**base, "agents": [agent]}) == [], agent
        assert "agents[0].nothing" in _places(validator, {**base, "agents": [{**agent, "nothing": 1}]}), name
    for key in ("exploration", "values", "features", "learning_rate"):
        what, classes = choices(key)
        for name, kind in classes.items():
            if not kind.__module__.startswith("rlsuite."):
                continue
            made = {"name": name, "nothing": 1}
            where = f"agents[0].{key}.nothing"
            found = _places(validator, {**base, "agents": [{"name": "Sarsa", key: made}]})
            assert where in found, (what, name)


def test_classes_of_ones_own_are_left_to_the_reader(validator):
    own = {"name": "my_agents.py:MyRule", "n": [1, 2], "exploration": {"name": "my.py:Mine", "k": 3}}
    sklearn = {"name": "FittedQ", "regressor": {"name": "sklearn.tree:DecisionTreeRegressor", "max_depth": 3}}
    chain = {"name": "Sarsa", "features": ["sklearn.preprocessing:StandardScaler", {"name": "TileCoding"}]}
    table = {"steps": 1e4, "environments": [{"id": "my.py:Maze"}], "agents": [own, sklearn, chain]}
    assert _places(validator, table) == []
    assert _places(validator, {**table, "agents": [{**own, "exploration": 3}]}) == ["agents[0].exploration"]


def test_what_an_editor_shows(rlsuite):
    schema = json.loads(rlsuite("schema").out)
    agent = schema["definitions"]["agent.QLearning"]
    assert agent["description"].startswith("Q-learning")
    assert agent["properties"]["gamma"]["description"] == "Discount per step, in [0, 1]."
    names = schema["definitions"]["agent"]["properties"]["name"]["anyOf"][0]["enum"]
    assert {"Sarsa", "sarsa", "NStepTD", "n-step-td"} <= set(names)
    assert rl.QLearning.__name__ in names
