"""A generator whose draws follow a script says what it cannot draw so."""

import math

import numpy as np
import pytest

from rlsuite.environments.outcomes import leaves_of, outcomes_of
from rlsuite.environments.scripted_generator import ScriptedGenerator
from rlsuite.environments.signal_errors import CannotBeFollowed


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (lambda rng: rng.normal(), r"draws by normal\(\)"),
        (lambda rng: rng.shuffle(list(range(8))), "shuffles 8 things, more than 7"),
        (lambda rng: rng.permutation(np.zeros((2, 3)), axis=1), "permutes along an axis"),
        (lambda rng: rng.permuted(3), r"draws by permuted\(\)"),
        (lambda rng: rng.bit_generator, r"draws by bit_generator\(\)"),
        (lambda rng: float(rng.random()), "plain float"),
        (lambda rng: math.exp(rng.random()), "plain float"),
        (lambda rng: np.mean(rng.random()), "numpy.mean"),
        (lambda rng: [1, 2][rng.random()], "index"),
        (lambda rng: rng.random() * rng.random() < 0.5, "combined with another random number"),
        (lambda rng: rng.random() < rng.random(), "compared with another random number"),
        (lambda rng: min(rng.random(), rng.random()), "compared with another random number"),
        (lambda rng: {rng.random(): 1}, "used as a key"),
        (lambda rng: f"{rng.random()}", "written as text"),
        (lambda rng: rng.integers(10**6), "1,000,000 integers"),
        (lambda rng: rng.integers(5, dtype=np.int8), "less than 32 bits"),
        (lambda rng: rng.choice(20_000, size=2, replace=False), "from 20,000 without replacement"),
        (lambda rng: rng.integers(100, size=3), "more than 10,000 outcomes"),
    ],
)
def test_what_cannot_be_followed_is_refused(step, why):
    rng = ScriptedGenerator()
    with pytest.raises(CannotBeFollowed, match=why):
        outcomes_of(lambda: step(rng), rng)


def test_all_orders_are_listed_alike():
    rng = ScriptedGenerator()

    def step():
        things = list("abcd")
        rng.shuffle(things)
        return "".join(things)

    outcomes = [*leaves_of(outcomes_of(step, rng))]
    assert len(outcomes) == len({*outcomes}) == 24
