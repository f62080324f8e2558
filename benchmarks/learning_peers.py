"""Parts of `learning.py` whose sides are processes of their own: Sarsa(lambda), and many seeds on two cores.

Every line tells the steps per second and the peak memory of both sides. Where both work on one thread it is processor
time that is compared, and wall-clock time where they do not.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import by_hand
from learning_worker import EPSILON, GAMMA, LAMBDA, RATE_OF_SEEDS, RATE_OF_TRACES
from measuring import ROUNDS, Line, Target, rate
from peers import python_of
from sides import Side, together

STEPS = 100_000
STEPS_BY_HAND = 3_000_000
SEEDS, STEPS_OF_SEED, WORKERS = 100, 10_000, 2
ROUNDS_OF_SEEDS = 3

LOOPS = {"NumPy tables": "tables", "a dictionary of traces": "dict"}
WORKER = (sys.executable, "learning_worker.py")


def compared(ours: Side, theirs: Side, our_cost: float, their_cost: float) -> str:
    """Steps per second, and memory; to be called when both have ended."""
    return f"{rate(our_cost)}, {ours.gb:.2f} GB against {rate(their_cost)}, {theirs.gb:.2f} GB"


def traces_against_others(env_id: str) -> Iterator[Line]:
    """Yield what Sarsa(lambda) costs in MushroomRL and in plain Python, in costs of the compiled loop."""
    parameters = (GAMMA, RATE_OF_TRACES, LAMBDA, EPSILON, "replacing")
    with ExitStack() as stack:
        ours, mushroom, *loops = sides = [
            stack.enter_context(Side(name, command))
            for name, command in {
                "rlsuite": (*WORKER, "rlsuite", env_id, STEPS),
                "MushroomRL": (python_of("mushroom"), "traces_in_mushroom.py", env_id, STEPS, *parameters),
                **{name: (*WORKER, "python", env_id, STEPS, loop) for name, loop in LOOPS.items()},
            }.items()
        ]
        costs = together(sides, ROUNDS)
    for side, target in ((mushroom, 300), *((loop, 50) for loop in loops)):
        ratio = costs.ratio(side.name, ours.name, "processor")
        detail = compared(ours, side, costs.processor(ours.name), costs.processor(side.name))
        yield Line(f"{env_id}: times as fast as {side.name}", ratio, "x", Target(">=", target), detail)


def traces_against_hand(env_id: str) -> Iterator[Line]:
    """Yield what Sarsa(lambda) costs in costs of loops written for the one case, on the same trajectory.

    Which way of keeping the traces is the tightest depends on the size of the table, so there are two.
    """
    with ExitStack() as stack:
        ours, *hands = sides = [
            stack.enter_context(Side(name, (*WORKER, *command)))
            for name, command in {
                "rlsuite": ("rlsuite", env_id, STEPS_BY_HAND),
                **{name: ("hand", env_id, STEPS_BY_HAND, name) for name in by_hand.TRACES},
            }.items()
        ]
        for hand in hands:
            if hand.facts != ours.facts:
                raise SystemExit(f"{env_id}: the hand-written loop took another path, so there is nothing to compare")
        costs = together(sides, ROUNDS)
    for hand in hands:
        ratio = costs.ratio(ours.name, hand.name, "processor")
        detail = compared(ours, hand, costs.processor(ours.name), costs.processor(hand.name))
        what = f"{env_id}: time, in times of a loop by hand, {hand.name}"
        yield Line(what, ratio, "x", Target("<=", 1.5), detail)


def many_seeds(env_id: str = "CliffWalking-v1") -> Iterator[Line]:
    """Yield what 100 seeds cost in rlberry's own parallel runner. Wall-clock time."""
    parameters = (GAMMA, RATE_OF_SEEDS, EPSILON, SEEDS, STEPS_OF_SEED, WORKERS)
    with ExitStack() as stack:
        ours = stack.enter_context(Side("rlsuite", (*WORKER, "seeds", env_id, STEPS_OF_SEED, SEEDS, WORKERS)))
        command = (python_of("rlberry"), "seeds_in_rlberry.py", env_id, *parameters)
        theirs = stack.enter_context(Side("rlberry", command))
        costs = together((ours, theirs), ROUNDS_OF_SEEDS)
    detail = compared(ours, theirs, costs.wall(ours.name), costs.wall(theirs.name))
    what = f"{env_id}: {SEEDS} seeds of {STEPS_OF_SEED:,} steps: times as fast as rlberry"
    yield Line(what, costs.ratio(theirs.name, ours.name), "x", None, detail)
