"""Sliders: what they say, what a page holds, and what a browser does with it."""

import html
import json
import re
import shutil
import subprocess

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.plotting import explore, exploring


def lake(gamma=0.9, *, slippery=True):
    env = gymnasium.make("FrozenLake-v1", is_slippery=slippery)
    return rl.solve(rl.MDP.from_env(env, gamma=gamma))


def data_of(page):
    return json.loads(re.search(r"const page = (.*);\n", page.read_text())[1])


def test_a_page_holds_the_answers_to_all_positions(tmp_path):
    explorer = explore(lake, gamma=(0.5, 0.9, 3), slippery=[True, False])
    page = data_of(explorer.save(tmp_path / "lake.html"))
    assert page["at"] == [2, 0]  # the defaults
    assert [slider["texts"] for slider in page["sliders"]] == [["0.5", "0.7", "0.9"], ["True", "False"]]
    assert len(page["pictures"]) == explorer.n_pictures == 6
    for number, (gamma, slippery) in enumerate((g, s) for g in (0.5, 0.7, 0.9) for s in (True, False)):
        value = lake(gamma, slippery=slippery).value_at_start
        assert page["pictures"][number]["text"].startswith(f"Value at the start: {value:.6g}, ")
    assert "gamma: 0.5 to 0.9" in repr(explorer)


def test_an_environment_is_solved_and_an_error_at_one_position_is_shown_there(tmp_path):
    explorer = explore("rlsuite/GridWorld-v0", map=["AIMA4x3", "nowhere"], gamma=(0.5, 1.0, 2))
    page = data_of(explorer.save(tmp_path / "grid.html"))
    kinds = [picture["kind"] for picture in page["pictures"]]
    assert kinds == ["grid", "grid", "error", "error"]
    assert "nowhere" in page["pictures"][2]["text"]
    assert explore("rlsuite/Tiger-v0", gamma=[0.5]).picture(0)["kind"] == "lines"
    assert explore(lambda x: 1 / x, x=[0]).picture(0)["text"] == "ZeroDivisionError: division by zero"
    assert explore(lambda x: None, x=[0]).picture(0)["text"].startswith("the function returned None: return a solu")


def test_bars_and_lines_have_one_scale_at_all_positions(tmp_path):
    for name, kind in (("rlsuite/RiverSwim-v0", "bars"), ("rlsuite/Tiger-v0", "lines")):
        page = data_of(explore(name, gamma=[0.3, 0.6]).save(tmp_path / f"{kind}.html"))
        if kind == "bars":
            numbers = [value for picture in page["pictures"] for value in picture["values"]]
        else:
            numbers = [value for picture in page["pictures"] for ends, *_ in picture["lines"] for value in ends]
        assert page["look"]["extremes"] == {kind: [min(numbers), max(numbers)]}


def test_what_cannot_be_explored_is_named(tmp_path):
    wrong = [
        (lambda: explore(lake), "nothing to explore: give the values of a parameter"),
        (lambda: explore(3, gamma=(0, 1)), "answer=3 is neither a function nor the name"),
        (lambda: explore(lake, gama=(0, 1)), r"lake\(gamma=0.9, \*, slippery=True\) is called with gama, and does not"),
        (lambda: explore(lake, gamma=0.5), "gamma=0.5 is not a range: give two numbers, or a list"),
        (lambda: explore(lake, gamma="0.5"), "gamma='0.5' is not a range"),
        (lambda: explore(lake, gamma=()), r"gamma=\(\) is not a range"),
        (
            lambda: explore(lake, gamma=(0.9, 0.5)),
            r"gamma=\(0.9, 0.5\): a range goes from a smaller number",
        ),
        (lambda: explore(lake, gamma=(0.5, 0.9, 1)), "in 2 to 1,001 positions"),
        (lambda: explore(lake, gamma=list(range(2_000))), "gamma: 2,000 values, and a slider has at most 1,001"),
        (lambda: explore(lake, gamma=(0, 0.9)).save(tmp_path / "lake.pdf"), "does not end in .html"),
        (
            lambda: explore(lake, gamma=(0, 0.9, 900), slippery=[0, 1, 2]).save(tmp_path / "a.html"),
            "2,700 comb",
        ),
        (lambda: explore(lake, gamma=[2.0, 3.0]).save(tmp_path / "lake.html"), "each position .* error: gamma"),
    ]
    for attempt, message in wrong:
        with pytest.raises(ParameterError, match=message):
            attempt()
    with pytest.raises(FileError, match="cannot write"):
        explore(lake, gamma=[0.5]).save(tmp_path / "no" / "lake.html")
    assert not list(tmp_path.iterdir())


def test_a_page_that_would_be_too_large_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(exploring, "MOST_BYTES", 20_000)
    with pytest.raises(ParameterError, match="0 MB, and a page has at most 0: give fewer positions"):
        explore(lake, gamma=(0.5, 0.9, 10)).save(tmp_path / "lake.html")
    assert not list(tmp_path.iterdir())


def test_a_widget_follows_its_sliders(monkeypatch):
    pytest.importorskip("anywidget")
    explorer = explore(lake, gamma=np.array([0.5, 0.9]), slippery=[True, False])
    widget = explorer.widget()
    widget.at = [0, 1]
    assert widget.picture["text"].startswith(f"Value at the start: {lake(0.5, slippery=False).value_at_start:.6g}")
    data = explorer._repr_mimebundle_()[0]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].startswith("<p><b>lake</b>: gamma = 0.9, slippery = True</p>\n<div class=")
    assert "<svg" in data["text/html"]
    assert "save(&#x27;page.html&#x27;) writes a page" in data["text/html"]
    monkeypatch.setattr(exploring, "_widget_class", lambda: exploring.import_module("no_such_package"))
    with pytest.raises(MissingPackage, match=r"pip install 'rlsuite\[widgets\]'; explore.* writes a page"):
        explorer.widget()
    data = explorer._repr_mimebundle_()
    assert data["text/plain"] == repr(explorer)
    assert "pip install &#x27;rlsuite[widgets]&#x27;" in data["text/html"]


MOVES = """
<script type="module">
const [slider] = document.querySelectorAll("input");
slider.focus();
const focused = document.activeElement === slider;
const titles = () => [...document.querySelectorAll("svg title")].map((title) => title.textContent);
const before = titles();
slider.value = 0;
slider.dispatchEvent(new Event("input"));
const told = { focused, before, after: titles(), said: slider.getAttribute("aria-valuetext"),
  text: document.querySelector("output").textContent, name: document.querySelector("svg").getAttribute("aria-label"),
  arrows: [...document.querySelectorAll(".arrows path")].map((path) => path.getAttribute("d")).join("") };
document.body.innerHTML = JSON.stringify(told);
</script>
</html>
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["grid", "bars", "lines", "trellis"])
def test_a_browser_moves_a_slider_and_shows_the_new_policy(kind, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    explorer = {
        "grid": explore("rlsuite/GridWorld-v0", slip=(0.0, 0.5, 3)),
        "bars": explore("rlsuite/RiverSwim-v0", gamma=(0.2, 0.99, 3)),
        "lines": explore("rlsuite/Tiger-v0", gamma=(0.2, 0.9, 3)),
        "trellis": explore(lambda p: np.array([[p, 1 - p], [1 - p, p]]), p=(0.1, 0.9, 3)),
    }[kind]
    page = explorer.save(tmp_path / "page.html")
    page.write_text(page.read_text().replace("</html>", MOVES))
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
    done = subprocess.run([browser, *flags, page.as_uri()], capture_output=True, text=True, timeout=60)
    found = re.search(r'\{"focused.*\}', done.stdout)
    assert found, done.stdout[-500:] + done.stderr[-500:]
    told = json.loads(html.unescape(found[0]))
    pictures = [explorer.picture(position) for position in (1, 0)]
    assert pictures[0]["kind"] == kind
    assert (told["focused"], told["said"], told["text"]) == (True, explorer.sliders[0].texts[0], pictures[1]["text"])
    assert told["name"] == told["text"]
    assert told["before"] != told["after"]
    said = {
        "grid": lambda picture: re.findall("<title>(.*?)</title>", picture["svg"]),
        "bars": lambda picture: picture["said"],
        "lines": lambda picture: [line[-1] for line in (*picture["lines"], *picture["best"])],
        "trellis": lambda picture: [said for column in picture["said"] for said in column],
    }[kind]
    assert [told["before"], told["after"]] == [said(picture) for picture in pictures]
    if kind == "grid":
        assert told["arrows"] == "".join(re.findall("<path d='(M.*?)'/>", pictures[1]["svg"])[1:])  # the goal's first
