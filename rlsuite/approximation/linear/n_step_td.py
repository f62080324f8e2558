"""Semi-gradient n-step TD: n rewards, then the value of the state that was reached, with values linear in features."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.n_step_buffer import first_to_learn, last_to_learn
from rlsuite.agents.predictor import STATE, begin_predicting
from rlsuite.approximation.linear.feature_buffer import Recent, learn_features, new_feature_buffer, note_features
from rlsuite.approximation.linear.following import follow_policy
from rlsuite.approximation.linear.memory import compute_features, count_and_advance, linear_step_size, value_of
from rlsuite.approximation.linear.predictor import LinearPredictor
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.exploration import NO_ACTION
from rlsuite.training.kernels import Begin, Step, Transition


@compiled(in_place=True)
def _begin(memory: Any, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Discard the last episode, and draw the first action of this one."""
    memory.scratch.buffer.length[0] = 0
    return begin_predicting(memory, observation, rng)


@compiled(in_place=True)
def _step(memory: Any, t: Transition, rng: np.random.Generator) -> int:
    """Update the value of n steps ago, or all remaining ones if the episode is over, in the order of time.

    The returns are known before any of them learns: they are noted from the last step back to the first that needs one.
    """
    buffer, row = memory.scratch.buffer, memory.active.now[0]
    over = t.terminated or t.truncated
    total = 0.0
    if not t.terminated:
        compute_features(memory, t.next_state, 1 - row)
        total = value_of(memory, 1 - row, STATE)
    time = note_features(memory, row, STATE, t.reward, 0.0)
    first, last = first_to_learn(buffer, time), last_to_learn(buffer, time, over)
    if first <= last:
        for k in range(time, first - 1, -1):
            total = buffer.reward[k % buffer.n] + memory.gamma * total
            buffer.note[k % buffer.n] = total
    for tau in range(first, last + 1):
        learn_features(memory, tau, buffer.note[tau % buffer.n], linear_step_size(memory))
    count_and_advance(memory, over)
    return NO_ACTION if over else follow_policy(memory, t.next_state, 1 - row, rng)


@dataclass(eq=False, kw_only=True)
class SemiGradientNStepTD(LinearPredictor):
    """Semi-gradient n-step TD prediction (S&B2 section 9.4, the box on p. 209), with values linear in features.

    With n = 1 it is `SemiGradientTD`; with an n that no episode reaches, `GradientMonteCarlo`. With one-hot features it
    is `NStepTD`, to the last bit. Each step costs time in proportion to n. On truncation the return bootstraps from the
    value of the last observation.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]. The larger n, the smaller a step size does best: returns vary more.
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.
    n : int
        Steps until an observation learns, at least 1.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.

    Raises
    ------
    ParameterError
        If a parameter is outside its range; from `learn`, if the features of n steps do not fit in memory.

    Examples
    --------
    One weight for the position in the walk, and one for a constant; the true value is position / 6:

    >>> import gymnasium, numpy as np, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import SemiGradientNStepTD
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = SemiGradientNStepTD(n=4, gamma=1.0, learning_rate=0.01)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    n: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n)

    def scratch(self, n_features: int) -> Any:
        """Make an empty buffer."""
        return Recent(new_feature_buffer(self.n, self.features_.most_active_))
