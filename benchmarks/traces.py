"""What a step with eligibility traces costs on ever larger grids: ``python benchmarks/traces.py``.

A list holds the pairs whose traces have not faded, so a step costs what is eligible, and not what there is: the same
on a million squares as on ten thousand, but for the caches of the processor, which hold the smaller table only, and
for somewhat more pairs that are eligible where fewer are visited again. Prints a table of ratios with their targets;
ends with status 1 if one is missed. Takes about a minute, and 2 GB. Every figure is the median of several rounds in
which the two sides are run in turn (see measuring.py); times are processor time.
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from measuring import Line, Target, in_turn, print_heading, print_line, seconds

import rlsuite as rl
from rlsuite_envs.gridworld import grid_world

SIDES = (100, 316, 1_000)
STEPS = 1_000_000
GAMMA, LAMBDA, LEARNING_RATE, EPSILON = 0.95, 0.9, 0.1, 0.1
SEED = 7


class Side(NamedTuple):
    """A learner on a grid."""

    cost: Callable[[], float]  # runs it on; seconds per step
    eligible: Callable[[], float]  # runs it on; mean number of eligible pairs


def agents() -> dict[str, rl.TabularAgent]:
    """The learners of all comparisons, by label."""
    common = {"gamma": GAMMA, "learning_rate": LEARNING_RATE, "exploration": rl.EpsilonGreedy(EPSILON)}
    return {
        "Sarsa": rl.Sarsa(**common),
        "Sarsa(lambda)": rl.SarsaLambda(**common, lambda_=LAMBDA),
        "Watkins' Q(lambda)": rl.WatkinsQLambda(**common, lambda_=LAMBDA),
    }


def eligible_pairs(agent: rl.TabularAgent, env: rl.TabularEnv) -> float:
    """Mean number of eligible pairs at a hundred moments."""
    traces = agent.memory_.scratch.traces
    return statistics.mean(
        int(traces.n_listed[0]) for _ in range(100) if agent.learn(env, steps=500, record_every=500, loop="compiled")
    )


def learners(side: int) -> dict[str, Side]:
    """By label: each learner on a grid of its own; it has learned for a while, so that its memory is in place."""
    model = grid_world(size=side, step_cost=0.01, gamma=GAMMA).model
    found: dict[str, Side] = {}
    for label, agent in agents().items():
        env = model.to_env()
        agent.learn(env, steps=STEPS, seed=SEED, loop="compiled")
        learn = partial(agent.learn, env, steps=STEPS, record_every=STEPS, loop="compiled")
        found[label] = Side(lambda learn=learn: seconds(learn) / STEPS, partial(eligible_pairs, agent, env))
    return found


def larger_grids(of: dict[int, dict[str, Side]]) -> Iterator[Line]:
    """The cost on larger grids, in costs on the smallest."""
    for label in agents():
        for side in SIDES[1:]:
            small, large, ratio = in_turn(of[SIDES[0]][label].cost, of[side][label].cost)
            detail = f"{large * 1e9:.0f} ns a step against {small * 1e9:.0f} ns, with {(side / SIDES[0]) ** 2:.0f} x"
            target = None if label == "Sarsa" else Target("<=", 3)
            yield Line(f"{label}: cost on {side} x {side} squares", ratio, "x", target, f"{detail} the states")


def against_one_step(of: dict[int, dict[str, Side]]) -> Iterator[Line]:
    """The cost of traces, in costs of learning from one step."""
    for label in list(agents())[1:]:
        for side in SIDES:
            one, traced, ratio = in_turn(of[side]["Sarsa"].cost, of[side][label].cost)
            detail = f"{traced * 1e9:.0f} ns a step against {one * 1e9:.0f} ns"
            yield Line(f"{label}: cost on {side} x {side} squares, in steps of Sarsa", ratio, "x", None, detail)


def what_is_eligible(of: dict[int, dict[str, Side]]) -> Iterator[Line]:
    """How many pairs are eligible: at most ln(10^15) / -ln(gamma lambda) = 221 of these, with traces above 1e-16."""
    for label in list(agents())[1:]:
        for side in SIDES:
            yield Line(f"{label}: eligible pairs on {side} x {side} squares", of[side][label].eligible(), "", None)


PARTS = {
    "Larger grids": larger_grids,
    "Traces against one step": against_one_step,
    "What is eligible": what_is_eligible,
}


def main() -> int:
    """Run all parts; status 1 if a target is missed."""
    of = {side: learners(side) for side in SIDES}
    missed = 0
    for heading, part in PARTS.items():
        print_heading(heading)
        for line in part(of):
            print_line(line)
            missed += line.target is not None and not line.target.met(line.measured)
    print(f"\n{missed or 'no'} target{'' if missed == 1 else 's'} missed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
