"""Linear agents under the names of the book.

Bases of the agents that always have features, under the names of S&B2: without `features` these are defaults.

The agents of `rlsuite.agents` with features, under the names that S&B2 gives them.

============================= ====================== ==============================
name                          the rule of            S&B2
============================= ====================== ==============================
`SemiGradientSarsa`           `Sarsa`                section 10.1
`SemiGradientQLearning`       `QLearning`            section 11.1
`SemiGradientExpectedSarsa`   `ExpectedSarsa`        eq. 11.5
`SemiGradientNStepSarsa`      `NStepSarsa`           section 10.2, box on p. 247
`SemiGradientSarsaLambda`     `SarsaLambda`          section 12.7, box on p. 305
`SemiGradientQLambda`         `WatkinsQLambda`       section 12.10
`TrueOnlineLinearSarsaLambda` `TrueOnlineSarsaLambda` section 12.7, box on p. 307
`SemiGradientTD`              `TD`                   section 9.3, box on p. 203
`SemiGradientTDLambda`        `TDLambda`             section 12.2, box on p. 293
`SemiGradientNStepTD`         `NStepTD`              section 9.4, box on p. 209
`TrueOnlineLinearTDLambda`    `TrueOnlineTDLambda`   section 12.5, box on p. 300
`GradientMonteCarlo`          `EveryVisitMonteCarlo` section 9.3, box on p. 202
============================= ====================== ==============================

`Sarsa` with `features=` is `SemiGradientSarsa`, and so on; an agent here has features even if none are given, and calls
`initial_weight` what is `initial_value` there. With one-hot features it learns what the table learns, to the last bit.

Examples
--------
The mountain car (S&B2 example 10.1), whose first episode takes a thousand steps:

>>> import rlsuite as rl
>>> from rlsuite.approximation import SemiGradientSarsa, TileCoding
>>> tiles, greedy = TileCoding(n_tilings=8, bins=8), rl.EpsilonGreedy(0.0)
>>> agent = SemiGradientSarsa(features=tiles, gamma=1.0, learning_rate=0.5 / 8, exploration=greedy)
>>> agent = agent.learn("MountainCar-v0", steps=30_000, seed=7)
>>> bool(agent.episodes_["length"][-20:].mean() < 200)
True

Gradient Monte Carlo control: action values that are linear in features, from the returns that followed.
"""

import dataclasses
import inspect
import re
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.agent import Agent
from rlsuite.agents.control.eligibility import SarsaLambda, TrueOnlineSarsaLambda, WatkinsQLambda
from rlsuite.agents.control.expected_sarsa import ExpectedSarsa
from rlsuite.agents.control.n_step import NStepSarsa
from rlsuite.agents.control.q_learning import QLearning
from rlsuite.agents.control.sarsa import Sarsa
from rlsuite.agents.episode_buffer import EPISODE_TOO_LONG, LONGEST, clear, has_capacity, new_vector_buffer
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import Memory, begin
from rlsuite.agents.prediction.monte_carlo import EveryVisitMonteCarlo
from rlsuite.agents.prediction.n_step import NStepTD
from rlsuite.agents.prediction.policies import check_coverage, policy_table
from rlsuite.agents.prediction.returns import Episode, fill_returns
from rlsuite.agents.prediction.td import TD
from rlsuite.agents.prediction.td_lambda import TDLambda, TrueOnlineTDLambda
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.state_value_agent import StateValueAgent
from rlsuite.agents.values import Linear, Representation
from rlsuite.agents.values.features import (
    compute_features,
    count_and_advance,
    evaluate,
    learn_vector,
    record_vector,
)
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.training.acting import is_asked
from rlsuite.training.kernels import Begin, Step, Transition


@dataclass(eq=False, kw_only=True)
class LinearAgent(ActionValueAgent):
    """Base of the control agents that always have features; subclasses define `step`.

    It learns in any environment whose observations are numbers. In the compiled loop it runs wherever there is a table
    or compiled dynamics, and the features are a `FeatureMap`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the values are linear in. One of rlsuite's feature maps, or a fitted object with scikit-learn's `fit` and
        `transform`. It is copied. By default `OneHot` for ids, and `Identity` for all other observations.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; a schedule counts steps or episodes.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    initial_weight : float
        What every weight is before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.
    features_ : FeatureMap
        The fitted feature map.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or counts visits, which features do not know.
    """

    initial_value: float = field(init=False, repr=False, default=0.0)
    values: Representation | None = field(init=False, repr=False, default=None)
    initial_weight: float = 0.0

    def __post_init__(self) -> None:
        self.initial_weight = finite_number("initial_weight", self.initial_weight)
        super().__post_init__()

    def representation(self) -> Linear:
        """What the values are learned in."""
        return Linear(self.features, self.initial_weight)

    @property
    def linear_(self) -> Linear:
        """The features, and how observations become the vectors that they are computed from."""
        assert isinstance(self.values_, Linear)
        return self.values_


@dataclass(eq=False, kw_only=True)
class LinearPredictor(StateValueAgent):
    """Base of the agents that evaluate a policy and always have features; subclasses define `step`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions, for all observations alike or for each id; by default all legal actions are
        equally likely.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; a schedule counts steps or episodes.
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.
    """

    initial_value: float = field(init=False, repr=False, default=0.0)
    values: Representation | None = field(init=False, repr=False, default=None)
    initial_weight: "float | ArrayLike" = 0.0

    def __post_init__(self) -> None:
        given = np.asarray(self.initial_weight)
        if given.dtype.kind not in "iuf" or given.ndim > 1 or not np.isfinite(given).all():
            raise errors.ParameterError(
                f"initial_weight={self.initial_weight!r} must be a finite number, or an array (n_features,) of them"
            )
        super().__post_init__()

    def representation(self) -> Linear:
        """What the values are learned in."""
        return Linear(self.features, self.initial_weight)


@dataclass(eq=False, kw_only=True)
class OffPolicyPredictor(LinearPredictor):
    """Base of the predictors that can evaluate one policy while another one is followed.

    Parameters
    ----------
    policy_to_evaluate : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the policy that is evaluated; by default the one that is followed. It may take no action that
        the latter never takes.
    features, gamma, policy_to_follow, learning_rate, initial_weight
        As for `LinearPredictor`.

    Raises
    ------
    ParameterError
        If an action that is evaluated would never be taken.
    """

    policy_to_evaluate: object = None

    def check_policies(self) -> None:
        """Raise ParameterError if a policy is not one, or an action that is evaluated would never be taken."""
        super().check_policies()
        if is_asked(self.policy_to_follow) or is_asked(self.policy_to_evaluate):
            return  # checked when they are tables
        check_coverage(policy_table("policy_to_follow", self.policy_to_follow), self.evaluated())

    def evaluated(self) -> NDArray[np.float64] | None:
        """The policy that is evaluated, (n_rows, n_actions); None if it is the one that is followed."""
        return policy_table("policy_to_evaluate", self.policy_to_evaluate)


Named = TypeVar("Named", bound=Agent)

ENTRY = re.compile(r"^(\w+) : .*\n(?: {4}.*\n?)+", re.MULTILINE)
"""A parameter or an attribute in a docstring."""


@dataclass_transform(eq_default=False, kw_only_default=True)
def named(kind: type[Named]) -> type[Named]:
    """Make a dataclass of an agent with features, whose parameters are described as in its bases."""
    made = dataclasses.dataclass(eq=False, kw_only=True)(kind)
    described: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        described |= {entry[1]: entry[0].rstrip() for entry in ENTRY.finditer(inspect.getdoc(base) or "")}
    given = [described[field.name] for field in dataclasses.fields(made) if field.init and field.name in described]
    lines = ["Parameters", "----------", *given, "", "Attributes", "----------", described["weights_"]]
    made.__doc__ = "\n".join([inspect.getdoc(kind) or "", "", *lines, ""])
    return made


@named
class SemiGradientSarsa(LinearAgent, Sarsa):
    """Episodic semi-gradient Sarsa (S&B2 section 10.1) with values that are linear in features."""


@named
class SemiGradientQLearning(LinearAgent, QLearning):
    """Semi-gradient Q-learning (S&B2 section 11.1) with values that are linear in features.

    With features that are not one-hot there is no guarantee that it converges: it learns off-policy, from its own
    estimates, and with shared weights, which is the deadly triad (S&B2 section 11.3). Mostly it works, if the policy
    that is followed stays close to the greedy one.
    """


@named
class SemiGradientExpectedSarsa(LinearAgent, ExpectedSarsa):
    """Semi-gradient Expected Sarsa (S&B2 eq. 11.5, for the policy that is followed) with values linear in features."""


@named
class SemiGradientNStepSarsa(LinearAgent, NStepSarsa):
    """Episodic semi-gradient n-step Sarsa (S&B2 section 10.2, the box on p. 247), with values linear in features.

    With an n that no episode reaches it is `GradientMonteCarloControl`.
    """


@named
class SemiGradientSarsaLambda(LinearAgent, SarsaLambda):
    """Semi-gradient Sarsa with eligibility traces (S&B2 section 12.7, the box on p. 305 and its variants).

    A visit with the features x makes the traces e of its action, which include the step size, e + alpha x, alpha x
    where x is not 0, or e + alpha (1 - e . x) x. Accumulating traces need small step sizes where the same features are
    active for long; the others bear larger ones, and `TrueOnlineLinearSarsaLambda` follows the lambda-return exactly.
    """


@named
class SemiGradientQLambda(LinearAgent, WatkinsQLambda):
    """Semi-gradient Watkins' Q(lambda) (S&B2 section 12.10) with values that are linear in features.

    What is said of the convergence of `SemiGradientQLearning` holds here too.
    """


@named
class TrueOnlineLinearSarsaLambda(LinearAgent, TrueOnlineSarsaLambda):
    """True online Sarsa(lambda) with values that are linear in features (S&B2 section 12.7, the box on p. 307).

    Its weights equal those of the online lambda-return algorithm (S&B2 section 12.4) after every step, for any features
    and any step sizes (van Seijen et al. 2016).
    """


@named
class SemiGradientTD(OffPolicyPredictor, TD):
    """Semi-gradient TD(0) prediction (S&B2 section 9.3, the box on p. 203; off-policy: eq. 11.2).

    On-policy it converges, with vanishing step sizes, to the TD fixed point, whose mean squared error is at most
    1 / (1 - gamma) times the least there is (Tsitsiklis & Van Roy 1997; S&B2 eq. 9.14). Off-policy it may
    diverge (S&B2 section 11.2): use `TDC`.
    """


@named
class SemiGradientTDLambda(OffPolicyPredictor, TDLambda):
    """Semi-gradient TD(lambda) prediction (S&B2 section 12.2, the box on p. 293; off-policy: eq. 12.25).

    On-policy it converges, with vanishing step sizes, to a fixed point whose mean squared error is at most
    (1 - gamma lambda) / (1 - gamma) times the least there is (S&B2 eq. 12.8). Off-policy it may diverge, the less so
    the larger lambda is.
    """


@named
class SemiGradientNStepTD(LinearPredictor, NStepTD):
    """Semi-gradient n-step TD prediction (S&B2 section 9.4, the box on p. 209), with values linear in features.

    With an n that no episode reaches it is `GradientMonteCarlo`.
    """


@named
class TrueOnlineLinearTDLambda(LinearPredictor, TrueOnlineTDLambda):
    """True online TD(lambda) with values linear in features (S&B2 section 12.5, the box on p. 300).

    Its weights equal those of the online lambda-return algorithm (S&B2 section 12.4) after every step (van Seijen et
    al. 2016).
    """


@named
class GradientMonteCarlo(LinearPredictor, EveryVisitMonteCarlo):
    """Gradient Monte Carlo prediction (S&B2 section 9.3, the box on p. 202) with values linear in features.

    It climbs down the mean squared error of the values, weighted by how often each state is visited: with vanishing
    step sizes it converges to the least there is, for any features.
    """

    learning_rate: float | Schedule = 0.1  # there are no visits to count


@compiled(in_place=True)
def _begin(memory: Memory, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Discard the last episode, and choose the first action of this one."""
    clear(memory.scratch.buffer)
    return begin(memory, observation, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """When the episode is over, let w <- w + alpha [G_t - Q(s_t, a_t)] x(s_t, a_t) for each of its steps t."""
    buffer, row = memory.scratch.buffer, memory.active.now[0]
    if not has_capacity(buffer):
        return EPISODE_TOO_LONG
    now = buffer.length[0]
    record_vector(memory, t.state, now)
    buffer.action[now] = t.action
    buffer.reward[now] = t.reward
    buffer.length[0] = now + 1
    next_action = NO_ACTION
    future = 0.0
    if not t.terminated:
        compute_features(memory, t.next_state, 1 - row)
        evaluate(memory, 1 - row)
        next_action = choose(memory, 1 - row, rng)
        future = memory.q[1 - row, next_action]
    if t.terminated or t.truncated:
        fill_returns(buffer, memory.gamma, future)
        for time in range(buffer.length[0]):
            learn_vector(memory, time, buffer.action[time], buffer.extra[time])
    count_and_advance(memory, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class GradientMonteCarloControl(LinearAgent):
    """On-policy every-visit Monte Carlo control with values linear in features (S&B2 sections 9.3 and 10.1).

    Nothing is learned before an episode is over, and nothing from estimates: so what is learned of one policy converges
    for any features. One that goes round in circles ends no episode; such an environment needs a time limit. With
    one-hot features it is `NStepSarsa` with an n that no episode reaches, to the last bit.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; see `SemiGradientSarsa`.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    initial_weight : float
        What every weight is before anything is learned.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import GradientMonteCarloControl
    >>> env = rl.VectorObservation.one_hot(gymnasium.make("rlsuite/GridGoal-v0"))
    >>> agent = GradientMonteCarloControl(gamma=0.9, learning_rate=0.2, exploration=rl.EpsilonGreedy(0.1))
    >>> agent.learn(env, episodes=500, seed=7).act(env.vectors[2])
    2
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def scratch(self, n_features: int, n_actions: int) -> Episode:
        """Make an empty buffer."""
        return Episode(new_vector_buffer(self.longest_episode, self.features_.n_features_in_))
