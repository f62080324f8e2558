"""The report of an experiment: what it says, and what a browser does with it."""

import html
import json
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

import rlsuite as rl
from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments import Experiment, load_results
from rlsuite.plotting import reporting, write_report

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
    Experiment.read(top / "two.toml").run(top / 't"wo')
    return top / 't"wo'


@pytest.fixture(scope="module")
def page(folder):
    return write_report(folder, folder / "report.html").read_text()


def test_one_file_that_loads_nothing(page):
    assert len(page) < 1_000_000
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", page)
    assert "url(http" not in page
    assert "<h1>two &lt;agents&gt;</h1>" in page


def test_tables_and_sentences_are_those_of_the_comparison(folder, page):
    comparison = rl.compare(load_results(folder))
    for row in comparison:
        assert f"<td>{row.mean:.5g}</td>" in page
    for sentence in comparison.sentences():
        assert sentence.partition(": ")[2].replace("&", "&amp;") in page
    assert page.count("<td>3</td>") == 4
    for agent, score in comparison.aggregate().items():
        told = f"<td>{agent}</td><td>6</td><td>{score.value:.4g}</td><td>[{score.low:.4g}, {score.high:.4g}]</td>"
        assert told.replace("&", "&amp;") in page


def test_it_says_what_was_run_with_what_and_how_to_repeat_it(folder, page, monkeypatch):
    assert "2 agents in 2 environments, 400 steps in each run, 3 seeds: 0 to 2." in page
    assert "<pre>rlsuite run two.toml\nrlsuite report &#39;t&#34;wo&#39;</pre>" in page
    kept = json.loads((folder / "run.json").read_text())
    for package, version in kept["versions"].items():
        assert f"<dt>{package}</dt><dd>{version}</dd>" in page
    assert "runs are done" not in page
    script = html.unescape(re.search(r"<pre>(import json.*?)</pre>", page, flags=re.DOTALL)[1])
    monkeypatch.chdir(folder.parent)
    exec(script, {})
    again = folder.parent / 't"wo-again'
    assert rl.compare(load_results(again)).rows == rl.compare(load_results(folder)).rows


def test_figures_are_those_of_the_file_and_say_why_one_is_missing(page):
    assert page.count('<figure class="curves"') == 5  # two in each environment, and the profile
    assert page.count("performance profile of ") == 1
    assert page.count('<figure class="map"') == 4
    assert page.count("Map of the optimal values less the values that ") == 2
    assert page.count("Left out: value_error") == 2
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(svg)
    for agent in range(2):
        assert page.count(f'data-line="line-1-{agent}"') == 1
        assert len(re.findall(rf'id="line-1-{agent}-evaluation-0-\d"', page)) >= 2  # the line and its band


def test_a_page_is_small_whatever_the_experiment_is(folder, page, tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "MOST_BYTES", 60_000)
    monkeypatch.setattr(reporting, "MOST_LINES", 1)
    monkeypatch.setattr(reporting, "MOST_ENVIRONMENTS", 1)
    monkeypatch.setattr(reporting, "MOST_POINTS", 2)
    small = write_report(folder, tmp_path / "small.html").read_text()
    assert len(small) < 60_000 < len(page)
    assert re.search("Left out: .*cumulative_reward.*, as the page is long enough", small)
    assert "Left out: 1 agents with lower scores" in small
    assert "Left out: 1 environments" in small
    assert "Left out: verdicts on all pairs" in small
    assert "Left out: rows of" not in small


def test_an_unfinished_experiment_says_so(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "two")
    kept = json.loads((folder / "run.json").read_text())
    kept["config"]["seeds"] = [0, 1, 2, 5]
    (tmp_path / "two" / "run.json").write_text(json.dumps(kept))
    unfinished = write_report(tmp_path / "two", tmp_path / "report.html").read_text()
    assert "<strong>12 of 16 runs are done.</strong>" in unfinished
    assert "4 seeds: 0, 1, 2, 5." in unfinished


def test_the_same_results_give_the_same_page(folder, page):
    assert write_report(folder, folder / "again.html").read_text() == page
    comparison = rl.compare(load_results(folder))
    other = write_report(comparison, folder / "compared.html").read_text()
    tables = [re.findall(r"<table.*?</table>", text, flags=re.DOTALL) for text in (page, other)]
    assert len(tables[0]) == 3
    assert tables[0] == tables[1]
    assert "400 steps in each run, 3 seeds: 0 to 2." in other
    assert "How to repeat it" in page
    assert "How to repeat it" not in other


def test_mistakes(folder, tmp_path):
    with pytest.raises(ParameterError, match=r"must end with \.html"):
        write_report(folder, tmp_path / "report.pdf")
    with pytest.raises(FileError, match="holds no results"):
        write_report(tmp_path, tmp_path / "report.html")
    with pytest.raises(ParameterError, match=r"or a Comparison, and not a list; of results of rlsuite.train, w"):
        write_report([], tmp_path / "report.html")
    with pytest.raises(FileError, match=r"two.toml holds no results of an experiment: it is a file"):
        write_report(folder.parent / "two.toml", tmp_path / "report.html")


CLICKS = """
<script>
const table = document.querySelector("#section-1 table"), heading = table.querySelectorAll("th button")[2];
const numbers = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[2].textContent));
const names = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
heading.click(); const falling = numbers(); heading.click(); const rising = numbers();
const said = heading.parentNode.getAttribute("aria-sort");
table.querySelector("th button").click(); const words = names();
const line = document.querySelector('[id^="line-1-1-"]');
const button = document.querySelectorAll("#section-1 .switches button")[1];
button.focus(); const focused = document.activeElement === button;
button.click(); const hidden = line.style.display; const pressed = button.getAttribute("aria-pressed"); button.click();
const told = { falling, rising, said, words, focused, pressed, hidden, shown: line.style.display };
document.body.innerHTML = JSON.stringify(told);
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
    told = json.loads(html.unescape(found[0]))
    assert told["falling"] == sorted(told["falling"], reverse=True)
    assert told["rising"] == told["falling"][::-1]
    assert (told["said"], told["words"]) == ("ascending", ["Sarsa", "a & b"])
    assert (told["hidden"], told["shown"]) == ("none", "")
    assert (told["focused"], told["pressed"]) == (True, "false")
