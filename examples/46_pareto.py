"""How much sooner for how much more risk? The front of two rewards on Gymnasium's large frozen lake.

Each corner is a policy that no other one beats in both: the discounted reward of the goal, and the discounted falls
into a hole. Between two corners a policy draws one of them at the start. The star is the best policy with falls of 0.01
at most, random in one state. Run as ``python examples/46_pareto.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting

MOST = 0.01

lake = rl.MDP.from_env("FrozenLake8x8-v1", gamma=0.95)
hole = lake.terminated & (lake.next_state != 63)
falls = np.bincount(lake.pairs(), weights=lake.probability * hole, minlength=lake.legal.size).reshape(lake.legal.shape)

front = rl.planning.pareto(lake, ("reward", -falls), names=("reward of the goal", "minus the falls"))
best = rl.constrained(lake, (falls, MOST))
print(
    f"{len(front.points)} corners; with falls of {MOST} at most, {best.value_at_start:.5f} of {front.points[-1, 0]:.5f}"
)

ax = plotting.pareto_front(front, title="Speed against risk on the large frozen lake")
ax.plot(best.value_at_start, -best.costs[0], marker="*", markersize=14, color="black")
plotting.save(plt.gcf(), (sys.argv[1:] or ["46_pareto.png"])[0])
