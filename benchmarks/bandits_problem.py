"""What `bandits.py` has played: the learners with their parameters, and the arms. NumPy is all that it needs.

Every side plays 2,000 bandits, which are 1,000 bandits twice: what two plays of the same bandit differ by is noise,
and tells how exactly the mean reward of all of them is known.

The linear learners find one vector of weights for all bandits, which are contexts to them: a run is 2 learners in a
million pulls each, and in NumPy, where only different learners can be dealt with at once, 2,000 in a thousand each. A
pull costs the same; for the comparison of rewards rlsuite plays a thousand pulls, too.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ARMS = 10
WIDTH = 5  # features of an arm, for the linear learners
COPIES = 2
SEED = 7


class Case(NamedTuple):
    """A learner and the arms it plays."""

    label: str
    kind: str  # "normal" arms have standard normal means and noise, "bernoulli" arms uniform means; or "linear"
    parameters: dict[str, Any]
    peer: str | None = None  # what `bandits_in_PEER.py` calls it, as "library name"


CASES: dict[str, Case] = {
    "epsilon_greedy": Case("epsilon-greedy", "normal", {"epsilon": 0.1}, "smpybandits epsilon_greedy"),
    "epsilon_decreasing": Case("epsilon-greedy, decaying", "normal", {"scale": 10.0}, "smpybandits epsilon_decreasing"),
    "softmax": Case("softmax", "normal", {"temperature": 0.3}, "smpybandits softmax"),
    "optimistic": Case("optimistic start, constant step", "normal", {"start": 5.0, "rate": 0.1}),
    "upper_confidence": Case("UCB of S&B2", "normal", {"c": 2.0}, "smpybandits ucb"),
    "gradient": Case("gradient bandit", "normal", {"rate": 0.1}),
    "gradient_no_baseline": Case("gradient bandit, no baseline", "normal", {"rate": 0.1}),
    "ucb1": Case("UCB1", "bernoulli", {"c": 1.0}, "smpybandits ucb1"),
    "ucbv": Case("UCB-V", "bernoulli", {"c": 1.0, "zeta": 1.2}, "smpybandits ucbv"),
    "klucb": Case("KL-UCB", "bernoulli", {}, "smpybandits klucb"),
    "klucb_normal": Case("KL-UCB, normal", "normal", {"std": 1.0}, "smpybandits klucb_normal"),
    "moss": Case("MOSS", "bernoulli", {"horizon": 1_000, "c": 1.0}, "smpybandits moss"),
    "thompson_bernoulli": Case("Thompson, Beta-Bernoulli", "bernoulli", {}, "smpybandits thompson_bernoulli"),
    "thompson_normal": Case("Thompson, normal", "normal", {}, "smpybandits thompson_normal"),
    "thompson_normal_gamma": Case("Thompson, normal-gamma", "normal", {}),
    "exp3": Case("EXP3", "bernoulli", {"epsilon": 0.1}, "smpybandits exp3"),
    "explore_then_commit": Case("explore, then commit", "normal", {"m": 10}, "smpybandits explore_then_commit"),
    "successive_elimination": Case(
        "successive elimination", "bernoulli", {"delta": 0.05, "c": 1.0}, "smpybandits successive_elimination"
    ),
    "sliding_window_ucb": Case(
        "sliding-window UCB", "bernoulli", {"window": 200, "c": math.sqrt(0.5)}, "smpybandits sliding_window_ucb"
    ),
    "discounted_ucb": Case(
        "discounted UCB", "bernoulli", {"discount": 0.99, "c": math.sqrt(2.0)}, "smpybandits discounted_ucb"
    ),
    "lin_ucb": Case("LinUCB", "linear", {"alpha": 1.0}),
    "linear_thompson": Case("linear Thompson", "linear", {"v": 0.5}),
}


def features(bandits: int) -> NDArray[np.float64]:
    """What the linear learners know of every arm of every bandit: (bandits, ARMS, WIDTH)."""
    return np.random.default_rng(SEED).standard_normal((bandits, ARMS, WIDTH)) / math.sqrt(WIDTH)


def mean_rewards(kind: str, bandits: int) -> NDArray[np.float64]:
    """Mean reward of every arm: (bandits, ARMS)."""
    if kind == "linear":
        return features(bandits) @ np.array([1.0, -1.0, 0.5, -0.5, 1.5])
    rng = np.random.default_rng(SEED)
    return rng.random((bandits, ARMS)) if kind == "bernoulli" else rng.standard_normal((bandits, ARMS))
