"""One side of `bandits.py`: SMPyBandits plays some bandits, one pull after another, in the loop of its documentation.

``python bandits_in_smpybandits.py LEARNER``, started by `sides.py` under the Python of `peers.py`. Policies and arms
are the library's own; what its `Evaluator` records beside is left out, which favours it. Making the policies is not
counted.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from serving import serve

BANDITS, PULLS, ARMS = 4, 1_000, 10
EPSILON, TEMPERATURE, WINDOW, DISCOUNT, GAP = 0.1, 0.25, 200, 0.99, 0.5


def bernoulli(rng: np.random.Generator) -> "list[Any]":
    """Return arms that pay 1 or 0."""
    from SMPyBandits.Arms import Bernoulli

    return [Bernoulli(p) for p in rng.random(ARMS)]


def normal(rng: np.random.Generator) -> "list[Any]":
    """Return arms whose rewards are normal with variance 1, and whose means are, too."""
    from SMPyBandits.Arms import UnboundedGaussian

    return [UnboundedGaussian(mean) for mean in rng.standard_normal(ARMS)]


# By name of the learner: what the arms are like, the name of the policy, and its parameters.
Entry = tuple[Callable[[np.random.Generator], "list[Any]"], str, "dict[str, Any]"]
LEARNERS: "dict[str, Entry]" = {
    "epsilon_greedy": (normal, "EpsilonGreedy", {"epsilon": EPSILON}),
    "epsilon_decreasing": (normal, "EpsilonDecreasing", {"epsilon": 10.0}),
    "softmax": (normal, "Softmax", {"temperature": TEMPERATURE}),
    "ucb": (normal, "UCBalpha", {"alpha": 8.0}),  # the book's, with c = 2
    "ucb1": (bernoulli, "UCB", {}),
    "ucbv": (bernoulli, "UCBV", {}),
    "klucb": (bernoulli, "klUCB", {}),
    "klucb_normal": (normal, "klUCB", {"klucb": "klucbGauss"}),
    "moss": (bernoulli, "MOSSH", {"horizon": PULLS}),
    "thompson_bernoulli": (bernoulli, "Thompson", {"posterior": "Beta"}),
    "thompson_normal": (normal, "Thompson", {"posterior": "Gauss"}),
    "exp3": (bernoulli, "Exp3", {"gamma": 0.1}),
    "explore_then_commit": (normal, "ETC_FixedBudget", {"horizon": PULLS, "gap": GAP}),
    # Its only policy that eliminates arms in rounds; the class named SuccessiveElimination is a base without a rule.
    "successive_elimination": (bernoulli, "UCBimproved", {"horizon": PULLS}),
    "sliding_window_ucb": (normal, "SWUCB", {"tau": WINDOW}),
    "discounted_ucb": (normal, "DiscountedUCB", {"gamma": DISCOUNT}),
}


def games(learner: str, rng: np.random.Generator) -> "list[tuple[Any, list[Any]]]":
    """Make a new policy and new arms for each bandit."""
    from SMPyBandits import Policies

    arms_of, name, given = LEARNERS[learner]
    # What belongs to the library can be named only now, since it talks while it is imported.
    parameters = {key: getattr(Policies, value) if isinstance(value, str) else value for key, value in given.items()}
    return [(getattr(Policies, name)(ARMS, **parameters), arms_of(rng)) for _ in range(BANDITS)]


def play(games: "list[tuple[Any, list[Any]]]") -> int:
    """Play all bandits, one after the other; return the number of pulls."""
    for policy, arms in games:
        policy.startGame()
        for t in range(PULLS):
            chosen = policy.choice()
            policy.getReward(chosen, arms[chosen].draw(t))
    return len(games) * PULLS


def main(learner: str) -> None:
    """Serve one learner."""
    if learner not in LEARNERS:
        raise SystemExit(f"SMPyBandits has no learner {learner!r}; it has {', '.join(LEARNERS)}")
    rng = np.random.default_rng(7)
    serve(play, lambda: (games(learner, rng),))


if __name__ == "__main__":
    main(*sys.argv[1:])
