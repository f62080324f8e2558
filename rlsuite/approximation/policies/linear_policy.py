"""Linear policies.

Episodes of a candidate of a policy search, with every reward: what it played is counted as experience.

A policy that takes the action with the highest linear score, for policy search.

``pi(x) = argmax_a phi(x) . w_a`` (the lecture notes' parametric policy, with argmax where they print max). The scores
need not be values of anything: only their order counts, and a search evaluates the return of the policy.

Actor-critic with traces under the name that says that it has features; without `features` these are defaults.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.control.actor_critic import ActorCriticLambda
from rlsuite.agents.exploration import Exploration, Softmax
from rlsuite.agents.fit_features import (
    FIT_ON,
    arrays_below,
    bind_again,
    bind_features,
    check_features,
    kept_features,
    learn_from_data,
    legal_ids,
    restored_features,
)
from rlsuite.agents.schedules import Schedule
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.core.aliases import Action, Env
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions, whole_amount
from rlsuite.core.compilation import compiled
from rlsuite.core.described import Described
from rlsuite.core.npz import Npz
from rlsuite.environments.facts import action_space_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_view import Encoding
from rlsuite.features.estimators import Transformer
from rlsuite.features.feature_map import FeatureMap, FeatureRule
from rlsuite.training.episodes import Act, returns_of


class Played(NamedTuple):
    """What one candidate has played."""

    score: float
    """Mean return."""
    rewards: NDArray[np.float64]  # (n_steps,)
    ends: NDArray[np.bool_]  # (n_steps,): whether an episode ended


class _Noting(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Notes rewards, and where episodes end."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.rewards: list[float] = []
        self.starts: list[int] = []

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self.starts.append(len(self.rewards))
        return self.env.reset(**options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        answer = self.env.step(action)
        self.rewards.append(float(cast(Any, answer[1])))
        return answer


def play(env: Env, act: Act, episodes: int, seed: int, gamma: float, max_steps: int) -> Played:
    """Play episodes of a policy in a copy of an environment."""
    noting = _Noting(copy.deepcopy(env))
    earned = returns_of(noting, act, episodes=episodes, seed=seed, gamma=gamma, max_steps=max_steps)
    ends = np.zeros(len(noting.rewards), dtype=np.bool_)
    ends[np.array([*noting.starts[1:], len(noting.rewards)]) - 1] = True
    return Played(float(earned.mean()), np.array(noting.rewards), ends)


class ParametricPolicy(Protocol):
    """The interface of policies for policy search: a vector of parameters, and an action for an observation."""

    def for_env(self, env: Env) -> Self:
        """Return a policy with as many parameters as the environment's spaces require, and their initial values."""
        ...

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The parameters, shape (n_parameters,)."""
        ...

    def with_parameters(self, parameters: NDArray[np.float64]) -> Self:
        """Return the same policy with other parameters."""
        ...

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> Action:
        """Return the action for an observation; where some are illegal, one that the mask (n_actions,) allows."""
        ...


class Buffers(NamedTuple):
    """Arrays for the computation of one action."""

    observation: NDArray[np.float64]  # (n_features_in,)
    indices: NDArray[np.int64]  # (most_active,)
    values: NDArray[np.float64]  # (most_active,)
    scores: NDArray[np.float64]  # (n_actions,)
    legal: NDArray[np.bool_]  # (n_actions,)


Prepared = tuple[Callable[[FeatureRule, NDArray[np.float64], Buffers], int], FeatureRule, Buffers]
"""`best_scored` in compiled form, and its first and last argument."""


@compiled(in_place=True)
def best_scored(rule: FeatureRule, weights: NDArray[np.float64], buffers: Buffers) -> int:
    """Return the first legal action with the highest score for ``buffers.observation``; -1 if a score is not finite."""
    n = rule.active(rule.data, buffers.observation, buffers.indices, buffers.values)
    scores = buffers.scores
    for action in range(scores.size):
        scores[action] = 0.0
    for k in range(n):
        for action in range(scores.size):
            scores[action] += buffers.values[k] * weights[buffers.indices[k], action]
    best = -1
    for action in range(scores.size):
        if not math.isfinite(scores[action]):
            return -1
        if buffers.legal[action] and (best < 0 or scores[action] > scores[best]):
            best = action
    return best


class NamedPolicy(Described):
    """Base of the policies that files and commands can name: dataclasses, as `LinearPolicy` is one."""

    described_as = "policy"


@dataclass(eq=False, kw_only=True)
class LinearPolicy(NamedPolicy):
    """Take the action with the highest linear score, the first of them if several have it.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What is multiplied by the weights, as for `LinearAgent`: by default `OneHot` for ids, and `Identity` for all
        other observations.
    fit_on : int
        Observations of random actions on which features that learn from data fit themselves.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        One column of weights for each action; 0 at first.
    features_ : FeatureMap
        The fitted feature map.

    Examples
    --------
    >>> policy = LinearPolicy().for_env("CartPole-v1")
    >>> policy.weights_.shape
    (4, 2)
    >>> leaning = policy.with_parameters([0, 0, 0, 0, 0, 1, 0, 1])  # to the right if the pole falls to the right
    >>> leaning.act([0.0, 0.0, 0.1, 0.2]), leaning.act([0.0, 0.0, -0.1, 0.0])
    (1, 0)
    """

    features: Transformer | None = None
    fit_on: int = FIT_ON

    features_: FeatureMap = field(init=False, repr=False)
    weights_: NDArray[np.float64] = field(init=False, repr=False)
    encoding: Encoding = field(init=False, repr=False)
    first_action: int = field(init=False, repr=False)
    legal_ids: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_features(self.features)
        self.fit_on = whole_amount("fit_on", self.fit_on)
        self._ready: Prepared | None = None

    def for_env(self, env: str | Env, seed: int | None = None) -> Self:
        """Return such a policy for the spaces of an environment, all weights 0.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance.
        seed : int, optional
            Of the random actions that features which learn from data take in it; drawn if not given.

        Raises
        ------
        EnvironmentNotFound
            If no environment matches `env`.
        UnsuitableEnvironment
            If its actions are not Discrete, or its observations are not numbers, or of another width than what the
            features were fitted to.
        ParameterError
            If the features cannot be fitted to the observations.
        """
        made = find_env(env)
        actions = action_space_of(made)
        twin = copy.copy(self)
        if learn_from_data(self.features) and hasattr(self, "features_"):
            twin.encoding = bind_again(self.features_, self.encoding, made)
        else:
            entropy = cast(int, np.random.SeedSequence(seed).entropy)
            bound = bind_features(self.features, made, entropy, self.fit_on)
            twin.features_, twin.encoding = bound.features, bound.encoding
        twin.first_action, twin.legal_ids = int(actions.start), legal_ids(made)
        twin.weights_ = np.zeros((twin.features_.n_features_out_, int(actions.n)))
        return twin

    @property
    def parameters(self) -> NDArray[np.float64]:
        """A copy of the weights, one row of `weights_` after the other, shape (n_features * n_actions,)."""
        return self.weights_.flatten()

    def with_parameters(self, parameters: ArrayLike) -> Self:
        """Return the same policy with other weights, given one row of `weights_` after the other.

        Raises
        ------
        ParameterError
            If they are not as many finite numbers as there are weights.
        """
        found = np.array(parameters, dtype=np.float64)
        if found.shape != (self.weights_.size,) or not np.isfinite(found).all():
            raise errors.ParameterError(
                f"parameters of shape {found.shape} are not {self.weights_.size} finite numbers"
            )
        twin = copy.copy(self)
        twin.weights_ = found.reshape(self.weights_.shape)
        return twin

    def kept(self) -> dict[str, NDArray[Any]]:
        """What a file keeps of a policy for an environment, beside its parameters: arrays by name.

        Raises
        ------
        FileError
            If the features are of another package and were given fitted.
        """
        numbers = np.array([self.first_action, self.encoding.first, self.encoding.n_ids, self.encoding.plain])
        about = {"numbers": numbers, "low": self.encoding.low, "high": self.encoding.high, "legal": self.legal_ids}
        fitted = {f"features.{name}": value for name, value in kept_features(self.features_, self.encoding).items()}
        return {**about, "weights": self.weights_, **fitted}

    def restored(self, arrays: Npz) -> Self:
        """Return such a policy with what `kept` has kept.

        Raises
        ------
        KeyError, ValueError
            If an array is missing, or is not what the policy needs.
        """
        numbers = arrays.take("policy.numbers", np.dtype(np.int64), (4,)).tolist()
        low = arrays.take("policy.low", np.dtype(np.float64), ndim=1)
        high = arrays.take("policy.high", np.dtype(np.float64), low.shape)
        twin = copy.copy(self)
        known = Encoding(low, high, numbers[1], plain=bool(numbers[3]), n_ids=numbers[2])
        twin.first_action = numbers[0]
        fitted = arrays_below(arrays, "policy.features.")
        twin.features_, twin.encoding = restored_features(self.features, known, fitted)
        twin.legal_ids = arrays.take("policy.legal", np.dtype(np.bool_), ndim=2)
        n_actions = twin.legal_ids.shape[1]
        if len(twin.legal_ids) not in (0, numbers[2]):
            raise ValueError(f"legal has {len(twin.legal_ids)} rows, but there are {numbers[2]} observations")
        shape = (twin.features_.n_features_out_, n_actions)
        twin.weights_ = arrays.take("policy.weights", np.dtype(np.float64), shape)
        if not np.isfinite(twin.weights_).all():
            raise ValueError("a weight is not finite")
        return twin

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> int:
        """Return the legal action with the highest score.

        Parameters
        ----------
        observation : object
            What the environment returned.
        action_mask : array_like (n_actions,), optional
            1 for the actions that are legal, as in ``info["action_mask"]``. By default all, and of ids those that the
            model of the environment knows.

        Raises
        ------
        NotLearned
            If the policy is not made for an environment yet.
        ParameterError
            If the observation has another width than the features, or is not finite, or the mask has not a 0 or 1 for
            each action, or leaves none.
        """
        choose, rule, buffers = self._prepared()
        seen = np.asarray(self.encoding.given(observation), dtype=np.float64)
        buffers.observation[:] = seen
        if action_mask is not None:
            buffers.legal[:] = legal_actions("action_mask", action_mask, buffers.legal.size)
        else:
            ids = len(self.legal_ids) > 0
            buffers.legal[:] = self.legal_ids[int(self.encoding.numbers_of(observation)[0])] if ids else True
        if not buffers.legal.any():
            raise errors.ParameterError(f"no action is legal at observation {observation!r}")
        action = choose(rule, self.weights_, buffers)
        if action < 0:
            raise errors.ParameterError(
                f"the scores of observation {observation!r} are not finite; its numbers may be too large"
            )
        return action + self.first_action

    def _prepared(self) -> Prepared:
        """The compiled form for `act`; made on first use, and never copied."""
        if self._ready is None:
            if not hasattr(self, "weights_"):
                raise errors.NotLearned("this LinearPolicy has no weights yet; call for_env(env)")
            features, (_, n_actions) = self.features_, self.weights_.shape
            rule = features.rule
            buffers = Buffers(
                np.zeros(features.n_features_in_),
                np.zeros(features.most_active_, dtype=np.int64),
                np.zeros(features.most_active_),
                np.zeros(n_actions),
                np.ones(n_actions, dtype=np.bool_),
            )
            self._ready = (best_scored.for_types_of(rule, self.weights_, buffers), rule, buffers)
        return self._ready

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle without the machine code."""
        return {**self.__dict__, "_ready": None}


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
