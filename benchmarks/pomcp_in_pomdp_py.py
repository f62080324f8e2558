"""POUCT as pomdp_py does it: the other side of pomcp.py, in a process and, if need be, an environment of its own.

``python benchmarks/pomcp_in_pomdp_py.py tiger|rocksample DEPTH EXPLORATION SECONDS`` prints simulations per second of
search, as the library itself measures them. Imports nothing of ours. Problems and rollout policies are those that come
with the library: uniformly random actions, and legal moves only in RockSample.
"""

import sys

import pomdp_py
from pomdp_py.problems.rocksample import rocksample_problem
from pomdp_py.problems.tiger import tiger_problem

GAMMA = 0.95
ROCKS = ((2, 0), (0, 1), (3, 1), (6, 3), (2, 4), (3, 4), (5, 5), (1, 6))
"""(x, y) in RockSample(7, 8)."""


def tiger():
    """The tiger, with the belief as a table."""
    return tiger_problem.make_tiger()


def rocksample():
    """RockSample(7, 8), with the belief as the library's 200 particles."""
    start = rocksample_problem.State((0, 3), tuple(rocksample_problem.RockType.random() for _ in ROCKS), False)
    belief = rocksample_problem.init_particles_belief(len(ROCKS), 200, start)
    places = {place: number for number, place in enumerate(ROCKS)}
    return rocksample_problem.RockSampleProblem(7, len(ROCKS), start, places, belief)


def main(problem: str, depth: str, exploration: str, seconds: str) -> None:
    """Search once from the start, and tell how fast that was."""
    agent = {"tiger": tiger, "rocksample": rocksample}[problem]().agent
    planner = pomdp_py.POUCT(
        max_depth=int(depth),
        discount_factor=GAMMA,
        planning_time=float(seconds),
        exploration_const=float(exploration),
        rollout_policy=agent.policy_model,
    )
    planner.plan(agent)
    print(planner.last_num_sims / planner.last_planning_time)


if __name__ == "__main__":
    main(*sys.argv[1:])
