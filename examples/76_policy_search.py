"""Policy search on CartPole: perturbations, their averages, and the cross-entropy method; four seeds each.

A policy is four weights for each of the two actions; no value is learned. Mean return of the policy found after each
iteration, in ten episodes that the search did not use; 500 is the maximum. Run as
``python examples/76_policy_search.py [figure.png]``.
"""

import sys

from rlsuite import plotting
from rlsuite.approximation import CrossEntropyMethod, PerturbationGradient, PerturbationSearch, returns_of

searches = {
    "best perturbation": lambda: PerturbationSearch(candidates=12, episodes=3, epsilon=0.5),
    "perturbation gradient": lambda: PerturbationGradient(candidates=12, episodes=3, epsilon=0.2, step_length=0.5),
    "cross-entropy method": lambda: CrossEntropyMethod(candidates=12, episodes=3, noise=0.1),
}


def found(search, seed, iterations=5):
    """Mean return after each iteration."""
    scores = []
    for iteration in range(iterations):
        search.learn("CartPole-v1", iterations=1, seed=None if iteration else seed)
        scores.append(returns_of("CartPole-v1", search.act, episodes=10, seed=1_000).mean())
    return scores


samples = {label: [found(new(), seed) for seed in range(4)] for label, new in searches.items()}
look = {"xlabel": "iterations", "ylabel": "mean return of the policy found", "ylim": (0, 510)}
ax = plotting.mean_curves(samples, of="seeds", references={"solved": 475}, title="CartPole: policy search", **look)
plotting.save(ax, (sys.argv[1:] or ["76_policy_search.png"])[0])
