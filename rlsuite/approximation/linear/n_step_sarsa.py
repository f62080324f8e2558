"""Semi-gradient n-step Sarsa: n rewards, then the value of the pair reached, with values linear in features."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.window import first_to_learn, last_to_learn
from rlsuite.agents.memory import begin
from rlsuite.approximation.linear.feature_window import Recent, learn_features, new_feature_window, note_features
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.approximation.linear.memory import (
    LinearMemory,
    evaluate,
    linear_step_size,
    move_on,
    perceive,
    value_of,
)
from rlsuite.checks import whole_number
from rlsuite.compilation import compiled
from rlsuite.exploration import NO_ACTION, choose
from rlsuite.training.kernels import Begin, Step, Transition


@compiled(in_place=True)
def _learn(memory: LinearMemory, tau: int, t: int, future: float) -> None:
    """Update the pair of time tau towards G = r_tau+1 + ... + gamma^(t+1-tau) future, with its own step size."""
    window = memory.scratch.window
    target = future
    for k in range(t, tau - 1, -1):
        target = window.reward[k % window.n] + memory.gamma * target
    learn_features(memory, tau, target, window.note[tau % window.n])


@compiled(in_place=True)
def _begin(memory: LinearMemory, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Discard the last episode, and choose the first action of this one."""
    memory.scratch.window.length[0] = 0
    return begin(memory, observation, rng)


@compiled(in_place=True)
def _step(memory: LinearMemory, t: Transition, rng: np.random.Generator) -> int:
    """Update the pair of n steps ago, or all remaining pairs if the episode is over.

    On truncation the target still bootstraps, so the next action is chosen then, too; its value is that of this moment,
    before any of the waiting pairs learns.
    """
    window, row = memory.scratch.window, memory.scene.now[0]
    over = t.terminated or t.truncated
    next_action = NO_ACTION
    if not t.terminated:
        perceive(memory, t.next_state, 1 - row)
        evaluate(memory, 1 - row)
        next_action = choose(memory, 1 - row, rng)
    time = note_features(memory, row, t.action, t.reward, linear_step_size(memory))
    first, last = first_to_learn(window, time), last_to_learn(window, time, over)
    future = 0.0 if t.terminated or last < first else value_of(memory, 1 - row, next_action)
    for tau in range(first, last + 1):
        _learn(memory, tau, time, future)
    move_on(memory, over)
    return next_action


@dataclass(eq=False, kw_only=True)
class SemiGradientNStepSarsa(LinearAgent):
    """Episodic semi-gradient n-step Sarsa (S&B2 section 10.2, the box on p. 247), with values linear in features.

    With n = 1 it is `SemiGradientSarsa`; with an n that no episode reaches, `GradientMonteCarloControl`. With one-hot
    features it is `NStepSarsa`, to the last bit. Each step costs time in proportion to n.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; see `SemiGradientSarsa`. A schedule takes its value when the pair is visited, n
        steps before it learns. The larger n, the smaller a step size does best: returns vary more.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.exploration`.
    initial_weight : float
        What every weight is before anything is learned.
    n : int
        Steps after which a pair learns, at least 1.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Raises
    ------
    ParameterError
        If a parameter is outside its range; from `learn`, if the features of n steps do not fit in memory.

    Examples
    --------
    The mountain car as in S&B2 Figure 10.3, where n = 8 learns faster than n = 1:

    >>> import rlsuite as rl
    >>> from rlsuite.approximation import SemiGradientNStepSarsa, TileCoding
    >>> tiles, greedy = TileCoding(n_tilings=8, bins=8), rl.EpsilonGreedy(0.0)
    >>> agent = SemiGradientNStepSarsa(features=tiles, n=8, gamma=1.0, learning_rate=0.3 / 8, exploration=greedy)
    >>> agent = agent.learn("MountainCar-v0", steps=30_000, seed=7)
    >>> bool(agent.episodes_["length"][-20:].mean() < 200)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    n: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n)

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make an empty window."""
        return Recent(new_feature_window(self.n, self.features_.most_active_))
