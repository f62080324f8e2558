"""How long is a machine busy, paused and idle? A hidden semi-Markov model finds out from a noisy meter.

Above, the smoothed probabilities, with the true states, the best path and the data below; at the bottom, the learned
distributions of the durations over the lengths of the decoded segments. The first guess was 10 steps for every state.
Run as ``python examples/69_durations.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt

import rlsuite as rl
from rlsuite import plotting
from rlsuite.inference import Gaussian, NegativeBinomialDurations

moves = [[0, 0.8, 0.2], [1, 0, 0], [0.5, 0.5, 0]]
lasts = NegativeBinomialDurations([20.0, 8.0, 4.0], [40.0, 2.0, 40.0])
machine = rl.HSMM([1, 0, 0], moves, Gaussian([2.0, 0.0, 1.0], [0.5, 0.5, 0.5]), lasts, ["busy", "idle", "paused"])
meter, states = machine.sample(4_000, seed=3)

guess = machine.replace(durations=NegativeBinomialDurations([10.0] * 3, [5.0] * 3))
learned = guess.fit(meter)
print("mean durations", learned.durations.mean.round(1), "true", lasts.mean.round(1))

figure, (above, below) = plt.subplots(2, figsize=(8, 7), layout="constrained", height_ratios=[3, 2])
window = (0, 250)
plotting.state_posteriors(learned, meter, states=states, path=True, between=window, ax=above)
plotting.state_durations(learned, meter, ax=below)
plotting.save(figure, (sys.argv[1:] or ["69_durations.png"])[0])
