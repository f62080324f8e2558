"""Four planners on a slippery grid of 40 x 40 squares: certified error bound against iterations and against time.

An iteration of policy iteration solves a linear system, one of value iteration is a single sweep: only their times
can be compared. Run as ``python examples/08_planning_methods.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

METHODS = ("value_iteration", "gauss_seidel", "modified_policy_iteration", "policy_iteration")

rows = ["S" + "." * 39, *["." * 40] * 38, "." * 39 + "G"]
env = gymnasium.make("rlsuite/GridWorld-v0", map=rows, slip=0.2)
mdp = rl.MDP.from_env(env, gamma=0.99)
solutions = {}
for method in METHODS:
    rl.solve(mdp, method)  # the first call loads the compiled code
    solutions[method.replace("_", " ")] = rl.solve(mdp, method)

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
plotting.convergence(solutions, tol=1e-6, ax=left)
plotting.convergence(solutions, tol=1e-6, against="seconds", ax=right)
plotting.save(figure, (sys.argv[1:] or ["08_planning_methods.png"])[0])
