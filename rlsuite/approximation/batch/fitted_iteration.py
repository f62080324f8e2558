"""Fitted Q and fitted value iteration: value iteration with any regressor in place of the table.

Each round is a supervised problem: a regressor is fitted to targets computed from that of the round before. In fitted Q
iteration (Ernst, Geurts & Wehenkel 2005) the inputs are the observations and actions of the batch, and the targets
are::

    y_i = r_i + gamma max_a' Q_(k-1)(s'_i, a'),    over the legal a'; only the reward where the episode terminated
    Q_k = the regressor fitted to (s_i, a_i) -> y_i,    Q_0 = 0

Fitted value iteration (Gordon 1995; Munos & Szepesvari 2008) needs a batch in which every legal action was tried at
every observation, once or several times: one made from a model, or drawn from a simulator that can be set to any state.
Each round does a full backup at these observations::

    y_j = max_a mean of r + gamma V_(k-1)(s') over the transitions of action a at observation j
    V_k = the regressor fitted to s_j -> y_j,    V_0 = 0

State values alone do not determine actions, which need a model as well; `FittedQ` learns action values, and from any
batch.

With a regressor that averages targets (nearest neighbours, kernels, trees whose splits do not depend on the targets)
that is a contraction, and converges (Gordon 1995; Ormoneit & Sen 2002). Others may diverge, linear ones among them:
values larger than the return of any sequence of rewards show it.
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rlsuite.approximation.batch import regressors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.batch_learner import BatchAgent, BatchLearner
from rlsuite.approximation.batch.observed_features import (
    KnownActions,
    Matrix,
    ObservedFeatures,
    OneForAll,
    OnePerAction,
    encoded,
)
from rlsuite.core.aliases import Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, fraction, whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import DivergenceWarning, LearningError, NotLearned, ParameterError, level_of_the_caller
from rlsuite.features.estimators import Predictor, Transformer, scikit_learn
from rlsuite.models import MDP

LONGEST = 1e6
"""Largest number of steps over which rewards are summed, where the discount sets no limit."""

MARGIN = 10.0
"""How many times the largest possible return a value may be: approximations may overshoot."""

Fit: TypeAlias = Callable[[NDArray[np.float64]], list[Predictor]]
"""``targets (n,) -> fitted regressors``"""
Ahead: TypeAlias = Callable[[list[Predictor]], NDArray[np.float64]]
"""``fitted regressors -> their predictions for the next observations``"""
Targets: TypeAlias = Callable[[NDArray[np.float64] | None], NDArray[np.float64]]
"""``predictions -> targets (n,)``; None before the first round, when every value is 0"""


@dataclass(eq=False)
class FittedIteration(BatchLearner):
    """Base of the methods that fit a regressor round after round; subclasses define `teach`.

    Parameters and attributes are those of `FittedQ`.
    """

    regressor: Predictor = field(default_factory=lambda: scikit_learn("tree").DecisionTreeRegressor())
    _: KW_ONLY
    gamma: float = 0.99
    iterations: int = 50
    features: Transformer | None = None
    tol: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        regressors.check_regressor(self.regressor, type(self).__name__)
        self.gamma = fraction("gamma", self.gamma)
        self.iterations = whole_amount("iterations", self.iterations)
        self.tol = finite_number("tol", self.tol)
        if self.tol < 0.0:
            raise ParameterError(f"tol={self.tol:g} is negative")
        self._regressors: list[Predictor] | None = None
        self._features: ObservedFeatures | None = None
        self._errors: list[float] = []
        self.converged_ = False

    @says_what_to_write
    def iterate(
        self, features: ObservedFeatures, fit: Fit, ahead: Ahead, targets: Targets, limit: float, progress: bool
    ) -> None:
        """Do the rounds, from what has been learned so far.

        The regressors of a round are kept once their predictions have been seen to be within `limit`, also if Ctrl-C
        ends the next.

        Raises
        ------
        LearningError
            If there are none to keep.
        """
        predicted = None if self._regressors is None else ahead(self._regressors)
        target = targets(predicted)
        bar = tqdm(range(self.iterations), desc=type(self).__name__, unit="round", disable=not progress)
        for _ in bar:
            fitted = fit(target)
            predicted = ahead(fitted)
            wrong = trouble(predicted, limit)
            if wrong:
                self._stop(wrong)
                return
            self._regressors, self._features = fitted, features
            with np.errstate(over="ignore", invalid="ignore"):
                next_target = targets(predicted)
            if not np.isfinite(next_target).all():
                raise LearningError(
                    f"{self.round_name}: a reward and the value that follows it have no finite sum; divide the rewards "
                    "by a constant"
                )
            self._errors.append(float(np.abs(next_target - target).max()))
            bar.set_postfix_str(f"largest change {self._errors[-1]:.3g}", refresh=False)
            target = next_target
            self.converged_ = self._errors[-1] <= self.tol
            if self.converged_:
                return

    @property
    def round_name(self) -> str:
        """What the round in progress is called in messages."""
        return f"{type(self).__name__}, round {len(self._errors) + 1}"

    def _stop(self, wrong: str) -> None:
        """Warn that values have diverged; raise an error if there are no earlier ones to keep."""
        self.converged_ = False
        rounds = len(self._errors)
        message = f"{self.round_name}: values diverge ({wrong})"
        if not rounds:
            raise LearningError(f"{message}. Scale the observations, or choose another regressor")
        warnings.warn(
            f"{message}; the values of round {rounds} are kept. Regressors that average targets cannot diverge: trees, "
            "forests, nearest neighbours",
            DivergenceWarning,
            stacklevel=level_of_the_caller(),
        )

    def learned(self) -> tuple[ObservedFeatures, list[Predictor]]:
        """Return the features and the fitted regressors.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        """
        if self._regressors is None or self._features is None:
            raise NotLearned(f"this {type(self).__name__} has not learned yet; call learn(batch) first")
        return self._features, self._regressors

    @property
    def regressors_(self) -> list[Predictor]:
        """The fitted regressors."""
        return self.learned()[1]

    @property
    def errors_(self) -> NDArray[np.float64]:
        """Largest change of a target in each round so far, shape (n_rounds,)."""
        return np.array(self._errors)


@dataclass(eq=False)
class FittedQ(FittedIteration, BatchAgent):
    """Fitted Q iteration (Ernst, Geurts & Wehenkel 2005, Fig. 1) with any regressor.

    Parameters
    ----------
    regressor : estimator
        Any regressor of scikit-learn, or with its methods ``fit`` and ``predict``; it is cloned, never fitted itself.
    gamma : float
        Discount per step, in [0, 1].
    iterations : int
        Rounds of one `learn`, at most.
    features : transformer, optional
        What the regressor sees of an observation; by default the observation. It is fitted to the first batch. With
        ``sklearn.frozen.FrozenEstimator`` it is left as it is.
    tol : float
        Largest change of a target at which learning stops; by default not before nothing changes at all.
    one_per_action : bool
        Whether each action has a regressor of its own; if not, one sees the action as further inputs.

    Attributes
    ----------
    regressors_ : list of estimator
        The fitted regressors: one for each action, or one.
    errors_ : ndarray of float64, shape (n_rounds,)
        Largest change of a target in each round so far. With the exact values of a model in the batch, the error of
        the values is at most 1 / (1 - gamma) times the last of them.
    converged_ : bool
        Whether the last change was at most `tol`.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import rlsuite as rl
    >>> agent = FittedQ(DecisionTreeRegressor(), gamma=0.9, iterations=100)
    >>> agent = agent.learn(Batch.from_model(rl.MDP.from_env("CliffWalking-v1", gamma=0.9)), seed=7)
    >>> agent.act(36), agent.q([[36]]).round(3)
    (0, array([[  -7.458, -106.712,   -7.712,   -7.712]]))
    """

    _: KW_ONLY
    one_per_action: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._way = OnePerAction if self.one_per_action else OneForAll

    def teach(self, batch: Batch, seed: int, progress: bool) -> None:
        """Do up to `iterations` rounds on a batch, from what is known on; part of `learn`.

        After Ctrl-C `learn` may be called again, and goes on after the last round that was finished.

        Raises
        ------
        ParameterError
            If the batch differs from that before, has no transition with some action, or has weights that the regressor
            cannot use.
        LearningError
            If the regressor raises any error in `fit` or `predict` (the cause of this one; what the rounds
            before have learned is kept), or the first round already gives values that are not finite.

        Warns
        -----
        DivergenceWarning
            If the values leave all bounds. Learning stops, and the regressors of the round before are kept.
        """
        self.bind_environment(batch)
        rng = np.random.default_rng(seed)
        features = self._features or ObservedFeatures(self.features, batch, "FittedQ", seed)
        features.widen(batch)
        training = self._way(features(batch.observation), batch.action, batch.weight, self.n_actions_)
        goes_on = slice(None) if not batch.terminated.any() else np.flatnonzero(~batch.terminated)
        next_inputs = None
        if not batch.terminated.all():
            next_inputs = self._way.inputs_of_all_actions(features(batch.next_observation[goes_on]), self.n_actions_)
        illegal = None if batch.next_action_mask is None else ~batch.next_action_mask[goes_on].T
        keyword = regressors.weight_keyword(self.regressor, "FittedQ") if batch.weighted else None

        copies = regressors.Copies(self.regressor)

        def fit_one(inputs: Matrix, target: NDArray[np.float64], weight: NDArray[np.float64]) -> Predictor:
            weights = {keyword: weight} if keyword else {}
            return regressors.fitted(copies.fresh(rng), self.round_name, inputs, target, **weights)

        def ahead(fitted: list[Predictor]) -> NDArray[np.float64]:
            if next_inputs is None:
                return np.zeros((self.n_actions_, 0))
            q = self._way.values(fitted, self.round_name, next_inputs, self.n_actions_)
            if illegal is None:
                return q
            best = np.where(illegal, -np.inf, q).max(axis=0)
            return np.where(illegal, best, q)  # an illegal action changes neither a maximum nor the largest value

        def targets(predicted: NDArray[np.float64] | None) -> NDArray[np.float64]:
            target = batch.reward.copy()
            if predicted is not None:
                target[goes_on] += self.gamma * predicted.max(axis=0)
            return target

        self.iterate(
            features,
            fit=lambda target: training.fit(fit_one, target),
            ahead=ahead,
            targets=targets,
            limit=value_limit(batch.reward, self.gamma),
            progress=progress,
        )

    def predicted(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Predict the values of all actions (n, n_actions) at observations (n, d), legal or not; errors as in `q`."""
        features, fitted = self.learned()
        inputs = self._way.inputs_of_all_actions(features(observations), self.n_actions_)
        return np.ascontiguousarray(self._way.values(fitted, "FittedQ", inputs, self.n_actions_).T)


@dataclass(eq=False)
class FittedValueIteration(FittedIteration):
    """Fitted value iteration (Munos & Szepesvari 2008) with any regressor.

    Parameters
    ----------
    regressor : estimator
        Any regressor of scikit-learn, or with its methods ``fit`` and ``predict``; it is cloned, never fitted itself.
    gamma : float
        Discount per step, in [0, 1].
    iterations : int
        Rounds of one `learn`, at most.
    features : transformer, optional
        What the regressor sees of an observation; by default the observation. It is fitted to the first batch.
    tol : float
        Largest change of a target at which learning stops; by default not before nothing changes at all.

    Attributes
    ----------
    regressors_ : list of estimator
        The fitted regressor, alone.
    errors_ : ndarray of float64, shape (n_rounds,)
        Largest change of a target in each round so far.
    converged_ : bool
        Whether the last change was at most `tol`.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import rlsuite as rl
    >>> batch = Batch.from_model(rl.MDP.from_env("CliffWalking-v1", gamma=0.9))
    >>> FittedValueIteration(DecisionTreeRegressor(), gamma=0.9).learn(batch, seed=7).value([[36]]).round(3)
    array([-7.458])
    """

    def teach(self, batch: Batch, seed: int, progress: bool) -> None:
        """Do up to `iterations` rounds on a batch, from what is known on; part of `learn`.

        After Ctrl-C `learn` may be called again, and goes on after the last round that was finished.

        Raises
        ------
        ParameterError
            If some action was not tried at some observation.
        LearningError
            If the regressor raises any error in `fit` or `predict` (the cause of this one; what the rounds
            before have learned is kept), or the first round already gives values that are not finite.

        Warns
        -----
        DivergenceWarning
            If the values leave all bounds. Learning stops, and the regressor of the round before is kept.
        """
        rng = np.random.default_rng(seed)
        features = self._features or ObservedFeatures(self.features, batch, "FittedValueIteration", seed)
        features.widen(batch)
        observations, row = np.unique(batch.observation, axis=0, return_inverse=True)
        pair = row.reshape(-1) * batch.n_actions + batch.action
        total = _every_pair_weighs(observations, pair, batch)
        tried = total > 0.0
        inputs = features(observations)
        goes_on = np.flatnonzero(~batch.terminated)
        next_inputs = features(batch.next_observation[goes_on]) if goes_on.size else None

        copies = regressors.Copies(self.regressor)

        def ahead(fitted: list[Predictor]) -> NDArray[np.float64]:
            if next_inputs is None:
                return np.zeros(0)
            return regressors.predictions(fitted[0], self.round_name, next_inputs)

        def targets(predicted: NDArray[np.float64] | None) -> NDArray[np.float64]:
            target = batch.reward.copy()
            if predicted is not None:
                target[goes_on] += self.gamma * predicted
            mean = np.full(total.size, -np.inf)
            mean[tried] = np.bincount(pair, weights=batch.weight * target, minlength=total.size)[tried] / total[tried]
            return mean.reshape(-1, batch.n_actions).max(axis=1)

        self.iterate(
            features,
            fit=lambda target: [regressors.fitted(copies.fresh(rng), self.round_name, inputs, target)],
            ahead=ahead,
            targets=targets,
            limit=value_limit(batch.reward, self.gamma),
            progress=progress,
        )

    def value(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Learned values of observations (n, d), shape (n,).

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite or of another width.

        Warns
        -----
        OutsideWarning
            If observations lie outside of the range of those that it has learned from.
        """
        features, _ = self.learned()
        before = self.outside_
        found = self._value(observations)
        features.say_outside(before)
        return found

    def _value(self, observations: ArrayLike) -> NDArray[np.float64]:
        features, fitted = self.learned()
        return regressors.predictions(fitted[0], "FittedValueIteration", features(observations))

    def usable(self, batch: Batch) -> Batch:
        """Return the transitions at the observations where every legal action was tried; all if there are none."""
        observations, row = np.unique(batch.observation, axis=0, return_inverse=True)
        pair = row.reshape(-1) * batch.n_actions + batch.action
        tried: NDArray[np.bool_] = np.bincount(pair, minlength=len(observations) * batch.n_actions) > 0
        if batch.action_mask is not None:
            tried |= ~KnownActions(batch.observation, batch.action_mask).at(observations).reshape(-1)
        complete: NDArray[np.bool_] = np.all(tried.reshape(-1, batch.n_actions), axis=1)
        whole = complete[row.reshape(-1)]
        return batch.take(whole) if whole.any() else batch

    def action_probabilities(self, seen: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Probabilities (n, n_actions) of the actions at vectors (n, d), some of them legal; part of evaluations."""
        run = self._experience
        if run is None or not isinstance(run.model, MDP) or run.shown is None:
            raise NotLearned(
                "FittedValueIteration takes actions in the environment in which it has learned, if its model is known: "
                "values of states alone do not say what an action leads to"
            )
        from rlsuite.planning.operators import q_from_value

        q = q_from_value(run.model, self._value(run.shown))
        found = np.zeros(legal.shape)
        found[np.arange(len(seen)), np.where(legal, q[run.states_of(seen)], -np.inf).argmax(axis=1)] = 1.0
        return found

    def act(self, observation: Observation, action_mask: ArrayLike | None = None) -> int:
        """Take the action that is best by one step of lookahead in the model of the environment.

        Raises
        ------
        NotLearned
            Before the first `learn`, or if it was not in an environment whose model is known.
        """
        run = self._experience
        seen = encoded(None if run is None else run.env.observation_space, observation)[None]
        legal = np.ones((1, run.n_actions if run else 1), dtype=np.bool_)
        if action_mask is not None:
            legal = np.asarray(action_mask, dtype=np.bool_)[None]
        elif run is not None and isinstance(run.model, MDP) and run.is_exact:
            legal = np.array(run.model.legal)[run.states_of(seen)]
        return int(self.action_probabilities(seen, legal).argmax()) + (run.first_action if run else 0)

    def evaluated(self) -> Self | None:
        """The greedy policy by lookahead, where there is a model; else the policy that collects."""
        run = self._experience
        return self if run is not None and run.is_exact else None


def _every_pair_weighs(observations: NDArray[np.float64], pair: NDArray[np.int64], batch: Batch) -> NDArray[np.float64]:
    """Return the weight of all transitions of each pair of observation and action; raise if a legal one has none."""
    n_pairs = len(observations) * batch.n_actions
    total = np.asarray(np.bincount(pair, weights=batch.weight, minlength=n_pairs), dtype=np.float64)
    missing = total == 0.0
    if missing.any() and batch.action_mask is not None:
        missing &= KnownActions(batch.observation, batch.action_mask).at(observations).reshape(-1)
    if missing.any():
        where, action = divmod(int(np.argmax(missing)), batch.n_actions)
        raise ParameterError(
            f"action {action} was not tried at observation {observations[where].tolist()}, and fitted value iteration "
            "needs every action at every observation (Batch.from_model, Batch.from_dynamics); FittedQ does not"
        )
    return total


def value_limit(reward: NDArray[np.float64], gamma: float) -> float:
    """Return how large a value learned from rewards (n,) may be: `ROOM` times the largest return, max|r| / (1 - gamma).

    Examples
    --------
    >>> value_limit(np.array([0.0, -2.0]), gamma=0.5)
    40.0
    """
    horizon = min(1.0 / (1.0 - gamma), LONGEST) if gamma < 1.0 else LONGEST
    return MARGIN * (float(np.abs(reward).max()) or 1.0) * horizon


def trouble(values: NDArray[np.float64], limit: float) -> str | None:
    """Return a description of what is wrong with values; None if nothing is.

    Examples
    --------
    >>> trouble(np.array([1.0, 50.0]), limit=40.0)
    'they reach 50, and ten times the largest possible return is 40'
    >>> trouble(np.array([1.0, 3.0]), limit=40.0)
    """
    # the maximum and the minimum are NaN if any value is
    largest = float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))
    if not np.isfinite(largest):
        return "they are not finite"
    if largest > limit:
        return f"they reach {largest:g}, and ten times the largest possible return is {limit:g}"
    return None
