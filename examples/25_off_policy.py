"""Off-policy estimates of one blackjack hand (S&B2 Figure 5.3): ordinary and weighted importance sampling.

The hand is 13 with a usable ace against a 2, the target policy sticks on 20 or 21, and the games are played at random.
A hundred runs; the true value is computed by the planner. Run as ``python examples/25_off_policy.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.blackjack import END, HANDS, HIT, STICK, blackjack, observation_of

RUNS, GAMES = 100, 10_000
hand = observation_of(13, 2, usable_ace=True)
policy = np.array([STICK if seen.total >= 20 else HIT for seen in HANDS] + [STICK])
model = blackjack().replace(start=np.arange(END + 1) == hand)
truth = rl.evaluate_policy(model, policy)[hand]

games = rl.TabularVectorEnv(model, RUNS, autoreset_mode="SameStep")
rng = np.random.default_rng(7)
seen, ratio, finished = games.reset(seed=7)[0], np.ones(RUNS), np.zeros(RUNS)
rewards, ratios, over = [], [], []
while finished.min() < GAMES:
    action = rng.integers(2, size=RUNS)
    ratio = ratio * 2.0 * (action == policy[seen])
    seen, reward, ended, _, _ = games.step(action)
    for noted, now in ((rewards, reward), (ratios, ratio), (over, ended)):
        noted.append(now)
    ratio, finished = np.where(ended, 1.0, ratio), finished + ended

G, rho = (
    np.array([np.array(noted)[np.array(over)[:, run], run][:GAMES] for run in range(RUNS)])
    for noted in (rewards, ratios)
)
played = np.arange(1, GAMES + 1)
shown = np.unique(np.geomspace(1, GAMES, 200).astype(int)) - 1
samples = {
    f"{label} importance sampling": (played[shown], (((rho * G).cumsum(axis=1) / weight - truth) ** 2)[:, shown])
    for label, weight in (("ordinary", played), ("weighted", np.maximum(rho.cumsum(axis=1), 1e-9)))
}
look = {"xscale": "log", "xlabel": "games", "ylabel": "square error", "xlim": (1, GAMES), "ylim": (0, 5)}
ax = plotting.mean_curves(samples, title="Blackjack, one hand", **look)
plotting.save(ax, (sys.argv[1:] or ["25_off_policy.png"])[0])
