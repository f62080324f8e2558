"""The course in the browser: what goes along, what is installed there, and where the buttons of the site lead."""

import csv
import json
import re
import runpy
import tomllib
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OF_PYODIDE = {
    *("cloudpickle", "jinja2", "joblib", "matplotlib", "numpy", "packaging", "pillow", "scikit-learn", "scipy"),
    *("tqdm", "typing-extensions"),
}
"""Packages that Pyodide has, as its list of them says."""


@pytest.fixture(scope="module")
def run_here(root: Path) -> Any:
    return SimpleNamespace(**runpy.run_path(str(root / "docs" / "run_here.py")))


def links(text: str) -> list[str]:
    return re.findall(r'<a class="run-here" href="([^"]+)">Run here</a>', text)


def test_what_rlsuite_needs_is_had_in_a_browser(root: Path, run_here: Any, tmp_path: Path) -> None:
    """A new dependency is of Pyodide, or goes along as a wheel, or is declared not to be needed there."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    here = {"sys_platform": "emscripten", "extra": ""}
    needed = [Requirement(line) for line in project["dependencies"]]
    names = {canonicalize_name(one.name) for one in needed if one.marker is None or one.marker.evaluate(here)}
    assert names <= OF_PYODIDE | set(run_here.NOT_OF_PYODIDE)
    assert "numba" not in names

    # a wheel that is packed again lists all its files, and what they hold
    run_here._pack("gymnasium", tmp_path)
    (path,) = tmp_path.glob("gymnasium-*-py3-none-any.whl")
    with ZipFile(path) as wheel:
        (record,) = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")]
        listed = {name: digest for name, digest, _ in csv.reader(wheel.read(record).decode().splitlines())}
        assert set(listed) == set(wheel.namelist())
        for name in set(listed) - {record}:
            found = urlsafe_b64encode(sha256(wheel.read(name)).digest()).decode().rstrip("=")
            assert listed[name] == f"sha256={found}", name


def test_each_notebook_has_a_button_and_installs_rlsuite(root: Path, run_here: Any, tmp_path: Path) -> None:
    course = root / "examples" / "course"
    page = run_here.add_buttons((root / "docs" / "course.md").read_text(encoding="utf-8"))
    notebooks = sorted(path.name for path in course.glob("*.ipynb"))
    assert links(page) == [f"lite/lab/index.html?path={name}" for name in notebooks]
    assert len(notebooks) == 8
    run_here._copy_course(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in course.glob("*.*")}
    for name in notebooks:
        first, *others = json.loads((tmp_path / name).read_text(encoding="utf-8"))["cells"]
        assert first["source"].endswith("\n%pip install -q rlsuite")
        assert others == json.loads((course / name).read_text(encoding="utf-8"))["cells"]


@pytest.mark.slow
def test_the_buttons_lead_to_files_of_the_site(root: Path, run_here: Any, tmp_path: Path) -> None:
    for package in run_here.BUILT_WITH:
        pytest.importorskip(package)
    run_here.build(tmp_path)
    page = run_here.add_buttons((root / "docs" / "course.md").read_text(encoding="utf-8"))
    lite = tmp_path / "lite"
    listed = {each["path"] for each in json.loads((lite / "api/contents/all.json").read_text("utf-8"))["content"]}
    for link in links(page):
        file, _, notebook = link.partition("?path=")
        assert (tmp_path / file).is_file()
        assert (lite / "files" / notebook).is_file()
        assert notebook in listed
    assert "solutions.py" in listed
    settings = json.loads((lite / "jupyter-lite.json").read_text("utf-8"))["jupyter-config-data"]["litePluginSettings"]
    (urls,) = [found["pipliteUrls"] for found in settings.values()]
    wheels: dict[str, list[Path]] = {}
    for url in urls:
        index = lite / url.partition("?")[0]
        for name, found in json.loads(index.read_text("utf-8")).items():
            wheels[name] = [index.parent / one["url"] for files in found["releases"].values() for one in files]
    assert {"rlsuite", *run_here.NOT_OF_PYODIDE} <= set(wheels)
    assert all(path.is_file() for paths in wheels.values() for path in paths)
    with ZipFile(*wheels["rlsuite"]) as wheel:
        assert {"rlsuite/__init__.py", "rlsuite_envs/__init__.py"} <= set(wheel.namelist())
    assert sum(path.stat().st_size for path in lite.rglob("*") if path.is_file()) < 40_000_000
