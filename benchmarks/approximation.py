"""Function approximation, beside what others offer: ``python benchmarks/approximation.py``.

Semi-gradient Sarsa(lambda) on tiles learns the mountain car, in MushroomRL, in plain Python, and here: in the compiled
loop, and stepwise over Gymnasium's own environment. Then what fitted Q iteration costs beside the bare calls of the
regressors' `fit`, and what a tile coder costs in plain Python. Prints a table of ratios with their targets; ends with
status 1 if one is missed. MushroomRL is installed into an environment of its own on first use (see peers.py). Takes
about three minutes; times are processor time.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from learning_peers import compared
from measuring import ROUNDS, Line, Target, print_heading, print_line, seconds
from mountain_car_worker import BINS, EPSILON, LAMBDA, RATE, TILINGS
from peers import python_of
from sides import Side, together
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from tile_coding import tile_coding

from rlsuite.approximation import Batch, FittedQ

STEPS, STEPS_COMPILED = 20_000, 2_000_000
WORKER = (sys.executable, "mountain_car_worker.py")


def mountain_car() -> Iterator[Line]:
    """Yield what a step costs the others, in costs of ours."""
    parameters = (TILINGS, BINS, RATE, LAMBDA, EPSILON)
    with ExitStack() as stack:
        compiled, stepwise, mushroom, python = sides = [
            stack.enter_context(Side(name, command))
            for name, command in {
                "rlsuite, compiled": (*WORKER, "rlsuite", "compiled", STEPS_COMPILED),
                "rlsuite, stepwise": (*WORKER, "rlsuite", "stepwise", STEPS),
                "MushroomRL": (python_of("mushroom"), "mountain_car_in_mushroom.py", STEPS // 4, *parameters),
                "plain Python": (*WORKER, "python", STEPS),
            }.items()
        ]
        costs = together(sides, ROUNDS)
    for ours, theirs, target in (
        (compiled, mushroom, Target(">=", 500)),
        (stepwise, mushroom, Target(">=", 20)),
        (compiled, python, None),
        (stepwise, python, None),
    ):
        ratio = costs.ratio(theirs.name, ours.name, "processor")
        detail = compared(ours, theirs, costs.processor(ours.name), costs.processor(theirs.name))
        yield Line(f"{ours.name}: times as fast as {theirs.name}", ratio, "x", target, detail)


class Timed:
    """A regressor that notes how long its `fit` and `predict` take."""

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, as scikit-learn's `clone` asks for them."""
        return {"regressor": self.regressor}

    def fit(self, X: Any, y: Any) -> "Timed":
        """Fit, and note the time."""
        started = time.process_time()
        self.regressor.fit(X, y)
        Timed.fitting += time.process_time() - started
        return self

    def predict(self, X: Any) -> Any:
        """Predict, and note the time."""
        started = time.process_time()
        found = self.regressor.predict(X)
        Timed.predicting += time.process_time() - started
        return found

    fitting = predicting = 0.0


def fitted_q() -> Iterator[Line]:
    """Yield what fitted Q iteration costs beside the calls of the regressor."""
    batch = Batch.collect("MountainCar-v0", steps=20_000, seed=0)
    for name, regressor in {
        "extra trees": ExtraTreesRegressor(20, random_state=0),
        "a tree": DecisionTreeRegressor(max_depth=12, random_state=0),
        "least squares": LinearRegression(),
    }.items():
        shares: list[float] = []
        for _ in range(ROUNDS):
            Timed.fitting = Timed.predicting = 0.0
            whole = seconds(
                lambda regressor=regressor: FittedQ(Timed(regressor), gamma=0.98).learn(batch),
                time.process_time,
            )
            shares.append(100.0 * (whole - Timed.fitting - Timed.predicting) / Timed.fitting)
        detail = f"of {Timed.fitting:.3g} s in fit; {Timed.predicting:.3g} s in predict are not counted"
        target = Target("<=", 15)
        yield Line(f"Fitted Q, {name}: overhead over the bare fits", float(np.median(shares)), "%", target, detail)


def tiles() -> Iterator[Line]:
    """Yield what a tile coder in plain Python costs, in costs of the compiled one."""
    for n_dimensions in (2, 4):
        yield from tile_coding(n_dimensions)


PARTS = {"Mountain car": mountain_car, "Fitted Q iteration": fitted_q, "Tile coding": tiles}


def main() -> int:
    """Run all parts; status 1 if a target is missed."""
    missed = 0
    for heading, part in PARTS.items():
        print_heading(heading)
        for line in part():
            print_line(line)
            missed += line.target is not None and not line.target.met(line.measured)
    print(f"\n{missed or 'no'} target{'' if missed == 1 else 's'} missed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
