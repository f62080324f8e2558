"""DQN on CartPole: what the greedy policy is worth while a network learns (Mnih et al. 2015); three seeds.

A pole that stands for all 500 steps of an episode is worth (1 - 0.99**500) / (1 - 0.99) = 99.3. Who learns on
may lose such a policy again: look now and then, and go back to the best (`restore_best`). Needs PyTorch
(``pip install 'rlsuite[torch]'``). Run as ``python examples/77_dqn.py [figure.png]``.
"""

import sys

from rlsuite import plotting
from rlsuite.approximation.deep import DQN
from rlsuite.training.results import Results

records = [DQN().learn("CartPole-v1", steps=2_000, seed=seed, evaluate_every=500).record_ for seed in range(3)]
axes = plotting.evaluation(Results("DQN", "CartPole-v1", records))
axes.set_ylim(0, 105)
plotting.save(axes, (sys.argv[1:] or ["77_dqn.png"])[0])
