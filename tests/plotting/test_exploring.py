"""Sliders: what they say, what a page holds, and what a browser does with it."""

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
from rlsuite.plotting.pages import part


def lake(gamma=0.9, *, slippery=True):
    env = gymnasium.make("FrozenLake-v1", is_slippery=slippery)
    return rl.solve(rl.MDP.from_env(env, gamma=gamma))


def data_of(page):
    return json.loads(re.search(r"const page = (.*);\n", page.read_text())[1])


def test_a_page_holds_the_answers_to_all_positions(tmp_path, movie_of):
    explorer = explore(lake, gamma=(0.5, 0.9, 3), slippery=[True, False])
    path = explorer.save(tmp_path / "lake.html")
    page, (texts, pictures) = data_of(path), movie_of(path)
    assert page["at"] == [2, 0]  # the defaults
    assert [slider["texts"] for slider in page["sliders"]] == [["0.5", "0.7", "0.9"], ["True", "False"]]
    assert len(pictures) == explorer.n_pictures == 6
    for number, (gamma, slippery) in enumerate((g, s) for g in (0.5, 0.7, 0.9) for s in (True, False)):
        value = lake(gamma, slippery=slippery).value_at_start
        assert f"value at the start: {value:.6g}; error at most: " in texts[number]
        assert "seconds" not in texts[number]
    assert (pictures[0] != pictures[1]).any()
    assert path.read_bytes() == explorer.save(tmp_path / "again.html").read_bytes()
    assert "gamma: 0.5 to 0.9" in repr(explorer)


def test_an_environment_is_solved_and_an_error_at_one_position_is_shown_there(tmp_path, movie_of):
    explorer = explore("rlsuite/GridWorld-v0", map=["AIMA4x3", "nowhere"], gamma=(0.5, 1.0, 2))
    texts, pictures = movie_of(explorer.save(tmp_path / "grid.html"))
    assert [picture.min() < 255 for picture in pictures] == [True, True, False, False]
    assert "nowhere" in texts[2]
    assert explore(lambda x: 1 / x, x=[0]).shown(0).text == "ZeroDivisionError: division by zero"
    assert explore(lambda x: None, x=[0]).shown(0).text.startswith("the function returned None: return a solu")


def test_each_kind_of_answer_is_drawn_on_one_scale():
    posterior = np.array([[0.9, 0.1], [0.25, 0.75]])
    for quantity, explorer in (
        ("value", explore("rlsuite/RiverSwim-v0", gamma=[0.3, 0.6])),
        ("value", explore("rlsuite/Tiger-v0", gamma=[0.3, 0.6])),
        ("probability", explore(lambda p: posterior, p=[1, 2])),
    ):
        drawn = [explorer.shown(at).ax for at in (0, 1)]
        low, high = zip(*(ax.get_ylim() for ax in drawn), strict=True)
        exploring._share_scales(drawn)
        assert {ax.get_ylabel() for ax in drawn} == {quantity}
        assert {ax.get_ylim() for ax in drawn} == {(min(low), max(high))}
    wrong = explore(lambda p: posterior + 1, p=[0]).shown(0)
    assert (wrong.failed, wrong.text[:43]) == (True, "an array of shape (2, 2): an array is drawn")
    assert (
        explore(lambda p: rl.solve(rl.POMDP.from_env("rlsuite/Shuttle-v0", gamma=p)), p=[0.5]).shown(0).ax is not None
    )


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
            lambda: explore(lake, gamma=(0, 0.9, 101), slippery=[0, 1, 2]).save(tmp_path / "a.html"),
            "303 comb",
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
    monkeypatch.setattr(exploring, "MOST_BYTES", 5_000)
    with pytest.raises(ParameterError, match="0 MB, and a page has at most 0: give fewer positions"):
        explore(lake, gamma=(0.5, 0.9, 10)).save(tmp_path / "lake.html")
    assert not list(tmp_path.iterdir())


def test_a_widget_follows_its_sliders(monkeypatch):
    pytest.importorskip("anywidget")
    explorer = explore(lake, gamma=np.array([0.5, 0.9]), slippery=[True, False])
    widget = explorer.widget()
    widget.at = [0, 1]
    assert f"value at the start: {lake(0.5, slippery=False).value_at_start:.6g};" in widget.picture["text"]
    assert len(widget.picture["layers"]) == 1
    data = explorer._repr_mimebundle_()[0]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].startswith("<p><b>lake</b>: gamma = 0.9, slippery = True</p>\n<p>Solution")
    assert "<img" in data["text/html"]
    assert "save(&#x27;page.html&#x27;) writes a page" in data["text/html"]
    monkeypatch.setattr(exploring, "_widget_class", lambda: exploring.import_module("no_such_package"))
    with pytest.raises(MissingPackage, match=r"pip install 'rlsuite\[widgets\]'; explore.* writes a page"):
        explorer.widget()
    data = explorer._repr_mimebundle_()
    assert data["text/plain"] == repr(explorer)
    assert "pip install &#x27;rlsuite[widgets]&#x27;" in data["text/html"]


SHOWS = """
const texts = [];
const element = () => ({
  classList: { add() {} }, append() {}, children: [], heard: {},
  appendChild(child) { this.children.push(child); return child; },
  addEventListener(event, act) { this.heard[event] = act; },
  setAttribute(name, value) { this[name] = value; },
  getContext: () => ({ drawImage() {} }),
});
const made = [];
globalThis.document = { createElement: (name) => (made.push({ ...element(), tag: name }), made.at(-1)) };
globalThis.Image = class { decode() { return Promise.resolve(); } };
const known = { sliders: [{ name: "gamma", texts: ["0.5", "0.9"] }], at: [1], pause: 0 };
const changed = [];
render({ el: element(), model: {
  get: (name) => (name === "picture" ? { text: `at ${known.at}`, layers: ["", ""] } : known[name]),
  set: (name, value) => { known[name] = value; },
  save_changes: () => changed.forEach((draw) => draw()),
  on: (event, draw) => changed.push(draw),
} });
const [slider, output] = ["input", "output"].map((tag) => made.find((one) => one.tag === tag));
texts.push(output.textContent, slider["aria-valuetext"]);
slider.value = 0;
slider.heard.input();
texts.push(output.textContent, slider["aria-valuetext"]);
console.log(JSON.stringify(texts));
"""


@pytest.mark.slow
def test_a_slider_that_moves_shows_the_new_picture():
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node")
    script = part(".js").replace("export default { render };\n", "") + SHOWS
    done = subprocess.run([node, "-"], input=script, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == ["at 1", "0.9", "at 0", "0.5"]
