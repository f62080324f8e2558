"""How fast the lower and upper bounds converge: point-based planners on RockSample, a second each.

SARSOP explores where its bounds are far apart, PBVI far from its beliefs, and Perseus at random. Run as
``python examples/66_gap.py [figure.png]``.
"""

import sys
import warnings

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

rocks = rl.POMDP.from_env("rlsuite/RockSample-v0", gamma=0.95)
warnings.simplefilter("ignore", rl.errors.ConvergenceWarning)  # a second is not enough to converge
plans = []
for method in ("sarsop", "pbvi", "perseus"):
    rl.solve(rocks, method, deadline=0.1)  # the first call loads the compiled code
    plans.append(rl.solve(rocks, method, tol=1e-2, deadline=1))
plotting.save(plotting.gap(plans), (sys.argv[1:] or ["66_gap.png"])[0])
