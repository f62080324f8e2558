"""How the answers to the forty exercises are found: look here after you have tried."""

import numpy as np
from scipy import stats

import rlsuite as rl
from rlsuite_envs.course import ARMS, CASINO, CLIFF, FIRST, GRID, LAKE, OBSTACLES, ROLLS, SECOND, TIGER, UMBRELLA, WALK


def recency():
    """Move the estimate a tenth of the way to each reward."""
    estimate = 0.0
    for reward in (1, 0, 1, 1):
        estimate += 0.1 * (reward - estimate)
    return estimate


def softmax():
    """Exponentials of the means over the temperature, as shares."""
    preference = np.exp(ARMS / 0.1)
    return preference / preference.sum()


def at_random(mdp):
    """Each legal action with the same probability."""
    legal = mdp.legal.astype(float)
    return legal / np.maximum(legal.sum(axis=1, keepdims=True), 1.0)


def explored():
    """Follow the shortest way, and one time in ten any action."""
    policy = 0.1 * at_random(CLIFF)
    policy[np.arange(CLIFF.n_states), rl.solve(CLIFF).policy] += 0.9
    return CLIFF.start @ rl.evaluate_policy(CLIFF, policy)


def belief(*heard):
    """Bayes' rule once for each sound."""
    now = TIGER.start
    for sound in heard:
        now = TIGER.update_belief(now, "listen", sound)
    return now


def better():
    """Compare each run of the first agent with each of the second."""
    return (np.greater.outer(FIRST, SECOND) + 0.5 * np.equal.outer(FIRST, SECOND)).mean()


SOLUTIONS = {
    "1.1 chance": lambda: ARMS.mean(),
    "1.2 regret": lambda: 0.1 * (ARMS.max() - ARMS.mean()),
    "1.3 recency": recency,
    "1.4 softmax": softmax,
    "1.5 posterior": lambda: stats.beta(1 + 7, 1 + 3).mean(),
    "2.1 values": lambda: rl.solve(GRID).value,
    "2.2 policy": lambda: rl.solve(GRID).policy,
    "2.3 chance": lambda: rl.evaluate_policy(GRID, at_random(GRID)),
    "2.4 lake": lambda: rl.solve(LAKE).policy,
    "2.5 how many": lambda: np.prod([row.sum() for row in rl.solve(GRID).optimal_actions if row.any()]),
    "3.1 walk": lambda: rl.evaluate_policy(WALK, at_random(WALK)),
    "3.2 error": lambda: 1 + 0.9 * 4 - 5,
    "3.3 update": lambda: 0.5 + 0.1 * (0 - 0.5),
    "3.4 three steps": lambda: 1 + 0.5 * 2 + 0.5**2 * 4 + 0.5**3 * 8,
    "3.5 lambda": lambda: (1 - 0.5) * (1 + 0.5 * 6) + 0.5 * (1 + 0.5 * 2),
    "4.1 cliff": lambda: rl.solve(CLIFF).policy,
    "4.2 explored": explored,
    "4.3 q-learning": lambda: 1 + 0.5 * (2 + 0.9 * max(3, 1) - 1),
    "4.4 sarsa": lambda: 1 + 0.5 * (2 + 0.9 * 1 - 1),
    "4.5 expected": lambda: 1 + 0.5 * (2 + 0.9 * (0.9 * 3 + 0.1 * 1) - 1),
    "5.1 obstacles": lambda: rl.solve(OBSTACLES).policy,
    "5.2 values": lambda: rl.solve(OBSTACLES).value,
    "5.3 tilings": lambda: 8,
    "5.4 gradient": lambda: 0.5 + 0.1 * (2 - 0.5 * 3) * 3,
    "5.5 fixed point": lambda: 1 / (1 - 0.9 * 0.5),
    "6.1 filtered": lambda: rl.inference.filter(UMBRELLA, [0, 0])[-1],
    "6.2 smoothed": lambda: rl.inference.smooth(UMBRELLA, [0, 0])[0],
    "6.3 weather": lambda: rl.inference.decode(UMBRELLA, [0, 0, 1, 0, 0]),
    "6.4 casino": lambda: rl.inference.decode(CASINO, ROLLS),
    "6.5 island": lambda: 1 / 0.05,
    "7.1 once": lambda: belief("hear left"),
    "7.2 twice": lambda: belief("hear left", "hear left"),
    "7.3 both": lambda: belief("hear left", "hear right"),
    "7.4 blind": lambda: 0.5 * 10 + 0.5 * -100,
    "7.5 worth": lambda: rl.solve(TIGER).value(TIGER.start),
    "8.1 error": lambda: stats.sem(FIRST),
    "8.2 interval": lambda: stats.sem(FIRST) * stats.t.ppf(0.975, 9),
    "8.3 middle": lambda: stats.trim_mean(FIRST, 0.25),
    "8.4 improvement": better,
    "8.5 paired": lambda: stats.ttest_rel(FIRST, SECOND).pvalue,
}
