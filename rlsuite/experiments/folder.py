"""The folder of an experiment as it is read: ``run.json`` on top, one folder per finished cell below.

::

    grid_goal/run.json
    grid_goal/<environment>/<agent>/seed-0007/cell.json, monitor.csv, curve.csv, evaluation.csv
"""

import json
import os
import re
from pathlib import Path
from typing import Any

from rlsuite.errors import FileError
from rlsuite.experiments.store import read_cell
from rlsuite.training.results import Results

FORMAT = "rlsuite run 1"
RUN = "run.json"


def slug(label: str) -> str:
    """A label as the name of a folder.

    >>> slug("mazes/Small-v0"), slug("softmax, k = 2")
    ('mazes-Small-v0', 'softmax-k-2')
    """
    return re.sub(r"[^\w.]+", "-", label).strip("-.")


def seed_folder(seed: int) -> str:
    """A seed as the name of a folder.

    >>> seed_folder(7)
    'seed-0007'
    """
    return f"seed-{seed:04d}"


def read_run(folder: Path) -> dict[str, Any]:
    """Read ``run.json``.

    Raises
    ------
    FileError
        If it is missing or damaged.
    """
    file = folder / RUN
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise FileError(f"{file} holds {content['format']!r}, not {FORMAT!r}")
        config = content["config"]
        _ = config["name"], config["seeds"], labels(config, "environments"), labels(config, "agents")
    except FileNotFoundError as error:
        raise FileError(f"{folder} holds no results of an experiment: there is no {RUN}") from error
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{file} is damaged; running the experiment again after deleting it mends it") from error
    return content


def labels(config: dict[str, Any], what: str) -> list[str]:
    """Labels of the environments or agents of an experiment in plain form."""
    return [entry["label"] for entry in config[what]]


def load_results(folder: str | os.PathLike[str]) -> dict[str, list[Results]]:
    """Read the results of an experiment, as far as they are finished.

    Parameters
    ----------
    folder : str or path
        Folder that `Experiment.run` or ``rlsuite run`` has written.

    Returns
    -------
    dict
        Label of the environment -> one `Results` per agent, in the order of the experiment.

    Raises
    ------
    FileError
        If the folder holds no results, or a file in it is damaged; the message names it.
    """
    top = Path(folder)
    config = read_run(top)["config"]
    found: dict[str, list[Results]] = {}
    for environment in labels(config, "environments"):
        for agent in labels(config, "agents"):
            parent = top / slug(environment) / slug(agent)
            places = [parent / seed_folder(seed) for seed in config["seeds"]]
            records = [read_cell(place) for place in places if place.is_dir()]
            if records:
                found.setdefault(environment, []).append(Results(agent, environment, records))
    if not found:
        raise FileError(f"{folder} holds no finished cell yet")
    return found
