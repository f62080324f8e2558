"""Semi-gradient n-step Sarsa: n rewards, then the value of the pair reached, with values linear in features."""

from dataclasses import dataclass
from typing import Any, ClassVar

from rlsuite.agents.control.n_step import NStepSarsa
from rlsuite.agents.control.window import Recent, new_window
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.checks import whole_number
from rlsuite.training.kernels import Begin, Step


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

    begin: ClassVar[Begin] = NStepSarsa.begin
    step: ClassVar[Step] = NStepSarsa.step

    n: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n)

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make an empty window."""
        return Recent(new_window(self.n, n_actions, self.features_.most_active_))
