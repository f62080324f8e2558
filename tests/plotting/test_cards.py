"""What models, solutions, agents and results look like in a notebook and in a terminal."""

import os
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ParameterError
from rlsuite.models import MarkovChain
from rlsuite.plotting.cards import MOST_ROWS, html_of

LONGEST = 150_000
"""Letters of a card."""


def card_of(shown, figure):
    """Check the card of an object, and its text; return the card."""
    card = shown._repr_html_()
    assert ("<figure" in card) == figure
    assert card.count("<tr>") <= MOST_ROWS + 1
    assert len(card) < LONGEST
    assert card == html_of(shown)
    assert len(repr(shown).splitlines()) <= 8
    return card


def test_models_solutions_and_agents_show_themselves():
    grid = rl.MDP.from_env("rlsuite/GridGoal-v0", gamma=0.9)
    card = card_of(grid, figure=True)
    assert "4 more rows" in card
    assert "No state has a value" not in card
    assert grid.replace(gamma=0.5).layout is grid.layout
    card_of(gymnasium.make("rlsuite/GridGoal-v0").unwrapped, figure=True)
    card_of(rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95), figure=True)
    assert "<dt>value at the start</dt><dd>81</dd>" in card_of(rl.solve(grid), figure=True)
    hmm = rl.HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]], ["calm", "<storm>"])
    card = card_of(hmm, figure=True)
    assert "&lt;storm&gt;" in card
    assert "<storm>" not in card
    card_of(hmm.online(), figure=False)
    card_of(MarkovChain([[0.5, 0.5], [0.0, 1.0]]), figure=True)
    agent = rl.QLearning()
    assert "It has learned nothing yet." in card_of(agent, figure=False)
    card_of(agent.learn("CliffWalking-v1", steps=500, seed=1), figure=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RlsuiteWarning")
def test_plans_and_results_show_themselves():
    tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
    card_of(rl.solve(tiger, "incremental_pruning", horizon=2), figure=True)
    card_of(rl.solve(tiger, "pomcp"), figure=True)
    agents = [rl.Sarsa(), rl.QLearning()]
    runs = [rl.train(agent, "FrozenLake-v1", steps=200, seeds=2, evaluate_every=100) for agent in agents]
    card_of(runs[0], figure=True)
    comparison = rl.compare({"lake": runs})
    card_of(comparison, figure=True)
    assert comparison.plot().get_xlabel() == "value of the greedy policy"
    assert runs[0].plot("regret", title="mine").get_title(loc="left") == "mine"
    for shown, kind, said in (
        (runs[0], "value_map", "unknown kind 'value_map' (choices: cumulative_reward, episode_return, evaluation"),
        (rl.solve(rl.MDP.from_successors([[0]], [[1]], gamma=0.5)), "q_map", "write rlsuite.plotting.q_map(env, sol"),
        (rl.QLearning(), None, "this QLearning has nothing to draw by itself"),
    ):
        with pytest.raises(ParameterError, match=re.escape(said)):
            shown.plot(kind)
    card_of(rl.evaluate(agents[0].learn("FrozenLake-v1", steps=200), "FrozenLake-v1", episodes=3), figure=False)


IN_IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("import gymnasium, rlsuite_envs")
formatter = shell.display_formatter
formatter.active_types = ["text/plain", "text/html"]
import gymnasium

class Own(gymnasium.Wrapper):
    def _repr_html_(self):
        return "own"

grid = gymnasium.make("rlsuite/GridGoal-v0")
print([formatter.format(one)[0].get("text/html", "")[:20] for one in (grid, Own(grid), gymnasium.make("Taxi-v4"))])
"""


@pytest.mark.slow
def test_a_notebook_looks_through_the_wrappers_of_gymnasium(tmp_path):
    """They hide names that begin with an underscore; what has no card, or one of its own, is shown as before."""
    pytest.importorskip("IPython")
    folder = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", IN_IPYTHON], env=folder, capture_output=True, text=True, timeout=120)
    assert done.stdout == "['<div class=\"rlsuite\"', 'own', '']\n", done.stderr


def test_large_models_show_a_part():
    model = rl.MDP.from_successors([[0]] * 3_000, [[1.0]] * 3_000, gamma=0.5)
    assert "2,992 more rows" in card_of(model, figure=False)
    card_of(rl.solve(model), figure=False)
    card_of(rl.solve(rl.MDP.from_env("Taxi-v4", gamma=0.9)), figure=True)
    card_of(rl.MDP.from_env("Taxi-v4", gamma=0.9), figure=False)
    assert "array" in html_of(np.arange(3))


NOTEBOOK = [
    "import rlsuite as rl, rlsuite_envs\nrl.MDP.from_env('rlsuite/GridGoal-v0', gamma=0.9)",
    "rl.solve(rl.MDP.from_env('FrozenLake-v1', gamma=0.95))",
    "rl.QLearning().learn('CliffWalking-v1', steps=500, seed=1)",
]


@pytest.mark.notebook
def test_a_notebook_shows_cards(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in NOTEBOOK])
    nbclient.NotebookClient(book, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for cell in book.cells:
        (card,) = [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]
        assert card.startswith('<div class="rlsuite">')
        assert "<figure" in card
