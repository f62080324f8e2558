"""The report of an experiment: what it says, and what a browser does with it."""

import json
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import rlsuite as rl
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.experiments import Experiment, load_results
from rlsuite.plotting import write_report

FILE = """
name = "two <agents>"
steps = 400
seeds = 3
evaluate_every = 100
figures = ["evaluation", { name = "cumulative_reward", ylim = [0, 50] }, "value_error"]
environments = [{ id = "FrozenLake-v1" }, { id = "FrozenLake8x8-v1", label = "large" }]
agents = [{ name = "q-learning", gamma = 0.9, label = "a & b" }, { name = "sarsa", gamma = 0.9 }]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("report")
    (top / "two.toml").write_text(FILE)
    Experiment.read(top / "two.toml").run(top / "two")
    return top / "two"


@pytest.fixture(scope="module")
def page(folder):
    pytest.importorskip("jinja2")
    return write_report(folder, folder / "report.html").read_text()


def test_one_file_that_loads_nothing(page):
    assert len(page) < 1_000_000
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", page)
    assert "url(http" not in page
    assert "<h1>two &lt;agents&gt;</h1>" in page


def test_tables_and_sentences_are_those_of_the_comparison(folder, page):
    comparison = rl.compare(load_results(folder))
    for row in comparison:
        assert f'data-value="{row.mean}"' in page
    for sentence in comparison.sentences():
        assert sentence.partition(": ")[2].replace("&", "&amp;") in page
    assert page.count('<td data-value="3">3</td>') == 4


def test_figures_are_those_of_the_file_and_say_why_one_is_missing(page):
    assert page.count("<figure role=") == 4
    assert page.count('<figure class="map"') == 4
    assert page.count("Map of the optimal values less the values that ") == 2
    assert page.count("Left out: value_error") == 2
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(svg)
    for agent in range(2):
        assert page.count(f'data-line="line-0-{agent}"') == 1
        assert len(re.findall(rf'id="line-0-{agent}-evaluation-\d"', page)) >= 2  # the line and its band


def test_the_same_results_give_the_same_page(folder, page):
    assert write_report(folder, folder / "again.html").read_text() == page


def test_mistakes(folder, tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"must end with \.html"):
        write_report(folder, tmp_path / "report.pdf")
    with pytest.raises(FileError, match="holds no results"):
        write_report(tmp_path, tmp_path / "report.html")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPackage, match=r"pip install 'rlsuite\[report\]'"):
        write_report(folder, tmp_path / "report.html")


CLICKS = """
<script>
const heading = document.querySelectorAll("th button")[2], body = document.querySelector("tbody");
const numbers = () => [...body.rows].map((row) => Number(row.cells[2].dataset.value));
heading.click(); const falling = numbers(); heading.click(); const rising = numbers();
const line = document.querySelector('[id^="line-0-1-"]'), button = document.querySelectorAll(".switches button")[1];
button.click(); const hidden = line.style.display; button.click();
document.body.innerHTML = JSON.stringify({ falling, rising, hidden, shown: line.style.display });
</script></body>
"""


@pytest.mark.slow
def test_a_browser_sorts_and_switches(page, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    (tmp_path / "clicked.html").write_text(page.replace("</body>", CLICKS))
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
    done = subprocess.run(
        [browser, *flags, (tmp_path / "clicked.html").as_uri()], capture_output=True, text=True, timeout=60
    )
    found = re.search(r'\{"falling.*\}', done.stdout)
    assert found, done.stderr[-500:]
    told = json.loads(found[0])
    assert told["falling"] == sorted(told["falling"], reverse=True)
    assert told["rising"] == told["falling"][::-1]
    assert (told["hidden"], told["shown"]) == ("none", "")
