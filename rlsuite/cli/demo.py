"""``rlsuite demo``: run and draw the experiments of the installed packages of environments."""

import argparse
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.experiments import check_figures, draw
from rlsuite.cli.options import Commands, add_command, add_workers_flag, import_packages, workers_of
from rlsuite.cli.output import print_json, print_note
from rlsuite.errors import FileError

if TYPE_CHECKING:
    from rlsuite.experiments import Experiment

DEMO_GROUP = "rlsuite.demos"
"""Entry-point group in which a package registers its experiments: ``name = "package"``."""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "demo", run)
    parser.add_argument(
        "--output", default="runs/demo", metavar="FOLDER", help="folder for all results (default runs/demo)"
    )
    add_workers_flag(parser, "threads that take turns")


def demo_files() -> list[Path]:
    """TOML files of all packages in `DEMO_GROUP`, in alphabetical order within each."""
    from importlib.resources import files

    found: list[Path] = []
    for point in entry_points(group=DEMO_GROUP):
        folder = files(point.value)
        found += sorted(Path(str(entry)) for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return found


def run(chosen: argparse.Namespace) -> int:
    """Watch agents learn: figures, and a table with the optimum.

    Run the experiments of the installed packages of environments, and draw their results.

    Examples
    --------
    rlsuite demo
    rlsuite demo --output first-look
    """
    before = time.perf_counter()
    import_packages()
    from rlsuite.experiments import Experiment, compare, table
    from rlsuite.plotting import Palette

    experiments = [Experiment.read(file) for file in demo_files()]
    if not experiments:
        raise FileError(f"no installed package announces experiments in the entry-point group {DEMO_GROUP!r}")
    target = Path(chosen.output)
    palette = Palette(entry.label for experiment in experiments for entry in experiment.agents)
    rows: list[Any] = []
    figures: list[Path] = []
    for experiment in experiments:
        check_figures(experiment.figures)
        folder = target / experiment.name
        known = (folder / "run.json").exists()
        results = experiment.run(folder, workers=workers_of(chosen), progress=True)
        if known:
            print_note(f"{folder} exists already: its finished cells were not learned again, only drawn")
        rows += compare(results)
        figures += draw(results, experiment.figures, folder, palette=palette)[0]
        figures += value_maps(experiment, folder)
    if chosen.json:
        print_json({"rows": [row._asdict() for row in rows], "figures": [str(path) for path in figures]})
        return 0
    print(table(rows))
    print("figures:")
    for path in figures:
        print(f"  {path}")
    print_note(f"{time.perf_counter() - before:.1f} s; everything is in {target}\nnext: rlsuite envs, rlsuite agents")
    return 0


def value_maps(experiment: "Experiment", folder: Path) -> list[Path]:
    """Optimal values and actions of the experiment's environments that lie on a grid, each as a figure."""
    from rlsuite.environments.finding import find_env
    from rlsuite.errors import UnsuitableEnvironment
    from rlsuite.experiments.folder import slug
    from rlsuite.models import MDP
    from rlsuite.planning import solve
    from rlsuite.plotting import value_map
    from rlsuite.plotting.figure import write
    from rlsuite.rendering import GridLayout

    written: list[Path] = []
    seen: set[str] = set()
    for cell in experiment.cells():
        label = cell.environment.label
        if label in seen:
            continue
        seen.add(label)
        env = find_env(cell.env_id, **cell.keywords)
        try:
            GridLayout.from_env(env)
        except UnsuitableEnvironment:
            continue
        solution = solve(MDP.from_env(env, gamma=cell.agent.agent.gamma))
        written.append(write(folder / f"{slug(label)}-optimum.png", value_map, env, solution))
    return written
