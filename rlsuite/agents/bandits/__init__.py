"""Bandits, stationary, drifting, adversarial and contextual: agents that maximise the next reward only.

In an environment with several states each of them keeps its statistics for each state on its own.

=================================== ================================================================================
the mean reward of each arm         `SampleAverage`, with any exploration
optimistic indices                  `UCB1`, `UCBV`, `MOSS`, `KLUCB`, `KLUCBNormal`
beliefs, and draws from them        `ThompsonBernoulli`, `ThompsonNormal`, `ThompsonNormalGamma`
preferences instead of values       `GradientBandit`; `EXP3`, against adversaries
first try, then decide              `ExploreThenCommit`, `SuccessiveElimination`
arms that drift                     `SlidingWindowUCB`, `DiscountedUCB`; ``QLearning(gamma=0, learning_rate=0.1)``
rewards that are linear in features `LinUCB`, `LinearThompson`
=================================== ================================================================================
"""
