"""Actor-critic with traces under the name that says that it has features; without `features` these are defaults."""

from dataclasses import dataclass, field

from rlsuite.agents.control.actor_critic_lambda import ActorCriticLambda
from rlsuite.agents.exploration import Exploration, Softmax
from rlsuite.agents.schedules import Schedule
from rlsuite.approximation.linear.linear_agent import LinearAgent


@dataclass(eq=False, kw_only=True)
class LinearActorCritic(LinearAgent, ActorCriticLambda):
    """Actor-critic with eligibility traces (S&B2 section 13.5, the second box), linear in features.

    It is `ActorCriticLambda`, for which features are an option. With both lambdas 1, and values that change little
    during an episode, it is REINFORCE with a baseline, which needs no critic that is right; with both 0 it is the
    one-step actor-critic, which learns fast and believes what its critic says.

    For episodes: the factor gamma^t of the book makes late steps count little, so that on a task without end, and
    with gamma < 1, the actor comes to rest.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What preferences and values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0; a schedule counts steps or episodes.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1]; larger than that of the actor as a rule. With n
        features of size 1 active at a time, 1 / n moves a value all the way to its target.
    actor_lambda, critic_lambda : float
        How slowly the traces of preferences and values fade beside the discount, in [0, 1].
    initial_weight : float
        What every weight of the preferences is at first.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the preferences; only their differences between actions count.
    value_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the values.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    On the cliff, where the safest path takes 17 steps, with one feature for each state:

    >>> import gymnasium, numpy as np
    >>> from rlsuite.features.identity import Identity
    >>> from rlsuite.environments.wrappers import VectorObservation
    >>> cliff = VectorObservation(gymnasium.make("CliffWalking-v1"), np.eye(48))
    >>> agent = LinearActorCritic(features=Identity(), gamma=1.0, actor_rate=0.05, actor_lambda=0.8, critic_lambda=0.8)
    >>> agent = agent.learn(cliff, episodes=1_000, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -20)
    True
    """

    actor_rate: float | Schedule = 0.01

    exploration: Exploration = field(init=False, repr=False, default_factory=Softmax)
    learning_rate: float | Schedule = field(init=False, repr=False, default=0.0)
