"""Your own feature map: circles at random places, each a feature that is 1 within it (S&B2 section 9.5.3).

A class counts the features, a compiled function lists them, and linear methods learn at compiled speed: here quickly
with wide circles, slowly with narrow ones. Run as ``python examples/79_your_own_features.py [figure.png]``.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite.approximation import BoundedMap, FeatureRule, SemiGradientSarsaLambda


@rl.compiled(in_place=True)
def within(data, observation, indices, values):
    """List the circles around an observation."""
    centres, low, scale, radius = data
    n = 0
    for i in range(len(centres)):
        row = centres[i, 0] - (observation[0] - low[0]) * scale[0]
        column = centres[i, 1] - (observation[1] - low[1]) * scale[1]
        if row**2 + column**2 < radius**2:
            indices[n], values[n] = i, 1.0
            n += 1
    return n


@dataclass(eq=False, repr=False)
class Circles(BoundedMap):
    """Circles in the unit square, which the bounds of the environment are mapped to."""

    radius: float = 0.15

    def lay_out(self):
        """Place the circles."""
        self.centres_ = np.random.default_rng(0).random((300, 2))
        self.n_features_out_ = self.most_active_ = 300

    @property
    def rule(self):
        """The compiled form."""
        return FeatureRule(within, (self.centres_, self.low_, self.units(1.0), self.radius))


results, greedy = [], rl.EpsilonGreedy(0.0)  # initial values of 0 are optimistic where each step costs 1
for radius in (0.06, 0.12, 0.24):
    rate = 0.2 / (300 * np.pi * radius**2)  # by the number of circles around an observation
    agent = SemiGradientSarsaLambda(features=Circles(radius), exploration=greedy, learning_rate=rate, traces="dutch")
    results.append(replace(rl.train(agent, "MountainCar-v0", episodes=100, seeds=10), agent=f"radius {radius}"))
plotting.save(plotting.episode_return(results), (sys.argv[1:] or ["79_your_own_features.png"])[0])
