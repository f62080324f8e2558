"""How likely is the goal, and how soon? Probabilities on Gymnasium's frozen lake, certified from both sides.

Left: the largest probability of the goal from each square, and the policy that attains it; in time, 14/17 at the start.
Right: within a number of steps, for the best policy at each deadline, and for the one that has all the time.
Run as ``python examples/45_reach.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting

lake = rl.MDP.from_env("FrozenLake-v1", gamma=1.0)
best = rl.reach(lake, goal=15)
print(f"the goal is reached {best.value_at_start:.6f} times of 1, 14/17 = {14 / 17:.6f}, off by {best.error_bound:.0e}")

steps = np.arange(0, 101, 4)
in_time = [rl.reach(lake, goal=15, within=int(k)).value_at_start for k in steps]
unhurried = [rl.reach(lake, goal=15, within=int(k), policy=best.policy).value_at_start for k in steps]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
plotting.value_map(lake.layout, best, title="Largest probability of the goal", ax=left)
curves = {"best for the deadline": (steps, [in_time]), "best without one": (steps, [unhurried])}
axes = {"xlabel": "deadline, steps", "ylabel": "probability of the goal", "ylim": (0, 1)}
plotting.mean_curves(curves, title="In time; dotted: without a deadline", ax=right, **axes)
right.axhline(best.value_at_start, linestyle=":", color="0.5")
plotting.save(figure, (sys.argv[1:] or ["45_reach.png"])[0])
