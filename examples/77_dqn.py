"""DQN on CartPole: the value of the greedy policy while a network learns (Mnih et al. 2015); three seeds.

A pole that stands for all 500 steps of an episode has the value (1 - 0.99**500) / (1 - 0.99) = 99.3. Further learning
may lose such a policy again: evaluate from time to time, and restore the best (`restore_best`). Needs PyTorch
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
