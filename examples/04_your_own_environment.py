"""Your own environment: a Python function that says where an action leads, and a map in a text file.

Left, a knight on its way to h1; leaps off the board are illegal. Right, a slippery way around a chasm, drawn in
characters. Run as ``python examples/04_your_own_environment.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib.figure import Figure

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

FILES, RANKS = "abcdefgh", "87654321"
LEAPS = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2), (2, -1), (2, 1)]


def leap(square, by):
    """List the outcomes of a leap: probability, square, reward, end; None if it is illegal."""
    row, column = RANKS.index(square[1]) + by[0], FILES.index(square[0]) + by[1]
    if not (0 <= row < 8 and 0 <= column < 8):
        return None
    there = FILES[column] + RANKS[row]
    return [(1.0, there, 1.0 if there == "h1" else 0.0, there == "h1")]


knight = rl.MDP.from_function(leap, "a8", actions=LEAPS, gamma=0.9)
cells = [(RANKS.index(rank), FILES.index(file)) for file, rank in knight.state_labels]
board = rl.GridLayout(8, 8, cells, marks={(0, 0): "S", (7, 7): "G"})
chasm = gymnasium.make("rlsuite/GridWorld-v0", map=["S.....", "..XX..", "..XX.G", "......"], slip=0.2, step_cost=0.02)

figure = Figure(figsize=(11, 5.2), layout="constrained")
left, right = figure.subplots(1, 2)
plotting.value_map(board, rl.solve(knight), ax=left, title="A knight")
plotting.value_map(chasm, q=rl.solve(chasm.unwrapped.model).q, ax=right, title="A chasm")
plotting.save(figure, (sys.argv[1:] or ["04_your_own_environment.png"])[0])
