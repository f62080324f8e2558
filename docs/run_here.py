"""The course in the browser: JupyterLite beside the site, with the notebooks, rlsuite and what rlsuite needs.

Nothing is fetched while the site is built. Pyodide (Python, NumPy, SciPy, matplotlib and scikit-learn as WebAssembly)
is fetched by the reader's browser, from where JupyterLite's kernel says; or from this site, if JUPYTERLITE_PYODIDE_URL
names an archive of Pyodide when the site is built.
"""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

ROOT = Path(__file__).parents[1]
COURSE = ROOT / "examples" / "course"

FOLDER = "lite"
"""Where it is in the site."""

BUILT_WITH = ("jupyterlite_core", "jupyterlite_pyodide_kernel", "jupyter_server", "comm", "hatchling")
"""Packages of the dependency group `docs`; without one of them the site has no buttons."""

NOT_OF_PYODIDE = ("gymnasium", "farama-notifications", "shtab", "comm")
"""What rlsuite and the kernel need and Pyodide does not have: packages of pure Python, which go along as wheels."""

FIRST_CELL = {
    "cell_type": "code",
    "execution_count": None,
    "id": "install",
    "metadata": {},
    "outputs": [],
    "source": "# In the browser, run this cell first. It takes a minute.\n%pip install -q rlsuite",
}


def can_be_built() -> bool:
    """Whether everything is installed that this needs."""
    return all(find_spec(package) for package in BUILT_WITH)


def add_buttons(text: str) -> str:
    """Put a button beside each link to a notebook of the course."""
    link = r"\[(\w+)\]\(\.\./examples/course/\1\.ipynb\)"
    button = rf'\g<0> <a class="run-here" href="{FOLDER}/lab/index.html?path=\1.ipynb">Run here</a>'
    return re.sub(link, button, text)


def build(site: Path) -> None:
    """Write JupyterLite into a folder of the site.

    Raises
    ------
    RuntimeError
        With what JupyterLite says, if it fails.
    """
    with TemporaryDirectory() as name:
        work = Path(name)
        (work / "files").mkdir()
        (work / "wheels").mkdir()
        _copy_course(work / "files")
        _run("hatchling", "build", "-t", "wheel", "-d", str(work / "wheels"), folder=ROOT)
        for package in NOT_OF_PYODIDE:
            _pack(package, work / "wheels")
        shutil.rmtree(site / FOLDER, ignore_errors=True)  # wheels of other versions
        given = ["--contents", "files", "--piplite-wheels", "wheels", "--apps", "lab"]
        small = ["--no-sourcemaps", "--no-unused-shared-packages"]
        _run("jupyterlite_core", "build", "--output-dir", str(site / FOLDER), *given, *small, folder=work)


def _copy_course(folder: Path) -> None:
    """Copy the notebooks, each with a first cell that installs rlsuite, and the solutions."""
    for module in COURSE.glob("*.py"):
        shutil.copy(module, folder)
    for notebook in COURSE.glob("*.ipynb"):
        content = json.loads(notebook.read_text(encoding="utf-8"))
        content["cells"].insert(0, FIRST_CELL)
        (folder / notebook.name).write_text(json.dumps(content, indent=1), encoding="utf-8")


def _pack(package: str, folder: Path) -> None:
    """Pack an installed package of pure Python as the wheel that it was installed from."""
    found = distribution(package)
    files = [file for file in found.files or [] if ".." not in file.parts and "__pycache__" not in file.parts]
    record = next(file for file in files if file.name == "RECORD" and file.parent.name.endswith(".dist-info"))
    of_pip = {record.with_name(name) for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")}
    kept = [file for file in files if file not in of_pip]
    listed = {str(file) for file in kept}
    lines = [line for line in record.read_text().splitlines() if line.partition(",")[0] in listed]
    name = record.parent.name.removesuffix(".dist-info")
    with ZipFile(folder / f"{name}-py3-none-any.whl", "w", ZIP_DEFLATED) as wheel:
        for file in kept:
            wheel.write(Path(str(file.locate())), str(file))
        wheel.writestr(str(record), "\n".join([*lines, f"{record},,", ""]))


def _run(*command: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
