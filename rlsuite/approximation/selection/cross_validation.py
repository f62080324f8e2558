r"""K-fold cross-validation of learners on a batch: each part is held out once while the others are learned from.

scikit-learn's own ``cross_val_score`` measures how well targets are predicted; a batch has no targets, and its
transitions are not independent examples: those of one episode resemble each other. So whole episodes are held out, and
the errors of the learned values on them are measured. The lecture notes have the procedure in section 12.6 and their
Algorithm 1.2, which requires more than 30 examples in each part.
"""

import copy
import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.batch.batch import Batch, check_batch
from rlsuite.approximation.selection import diagnostics
from rlsuite.approximation.selection.diagnostics import Values
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import one_of, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import LearningError, OutsideWarning, ParameterError, RlsuiteWarning, level_of_the_caller
from rlsuite.features.estimators import T, clone, scikit_learn
from rlsuite.training.episodes import Act


class Learner(Protocol):
    """What learns from a batch."""

    @property
    def learn(self) -> Callable[..., object]:
        """Learn from a `Batch`."""
        ...


class ActingLearner(Learner, Protocol):
    """What learns from a batch how to act."""

    @property
    def act(self) -> Act:
        """Return the action for an observation."""
        ...


class ActionValues(Protocol):
    """What has learned action values."""

    gamma: float

    @property
    def q(self) -> Values:
        """Values of all actions at observations (n, d)."""
        ...


class StateValues(Protocol):
    """What has learned values."""

    gamma: float

    @property
    def value(self) -> Values:
        """Values of observations (n, d)."""
        ...


class Splitter(Protocol):
    """A splitter of scikit-learn, such as ``LeaveOneOut()``."""

    @property
    def split(self) -> Callable[..., Iterable[tuple[ArrayLike, ArrayLike]]]:
        """Yield the indices of each training set, and of the test set that belongs to it."""
        ...


L = TypeVar("L", bound=Learner)

Score: TypeAlias = Callable[..., float]
"""From a learner that has learned, and held-out transitions, to a number; smaller is better."""

Unit: TypeAlias = Literal["episodes", "transitions"]


def _mean_square(errors: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    return float(np.average(errors**2, weights=weight))


def _control(learner: ActionValues, batch: Batch) -> float:
    return _mean_square(diagnostics.control_errors(learner.q, batch, learner.gamma), batch.weight)


def _evaluation(learner: StateValues, batch: Batch) -> float:
    return _mean_square(diagnostics.evaluation_errors(learner.value, batch, learner.gamma), batch.weight)


def _returns(learner: StateValues, batch: Batch) -> float:
    return float(np.mean(diagnostics.return_errors(learner.value, batch, learner.gamma) ** 2))


SCORES: Final[Mapping[str, Score]] = {"control": _control, "evaluation": _evaluation, "returns": _returns}
"""Mean squares of `diagnostics.control_errors`, `evaluation_errors` and `return_errors`."""


@dataclasses.dataclass(frozen=True)
class Validation:
    """Errors of one learner on the parts of a batch."""

    errors: NDArray[np.float64]
    """(k,) float64, the error on each part; infinite where learning failed."""
    test_to_train: float
    """Transitions held out divided by those learned from, mean over the parts; for `paired_t`."""

    @property
    def mean(self) -> float:
        """Mean error of the parts."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        r"""Square root of :math:`\sum_i (S_i - \bar S)^2 / (k (k - 1))`.

        The notes' section 12.6 loses the k on the way; section 12.7.2 has it. Training sets overlap, so it is too
        small all the same.
        """
        if not np.isfinite(self.errors).all():
            return float("inf")
        return float(self.errors.std(ddof=1) / np.sqrt(self.errors.size))


@says_what_to_write
def cross_validate(
    learner: Learner,
    batch: Batch,
    *,
    cv: int | Splitter = 10,
    unit: Unit = "episodes",
    score: Score | str = "control",
    seed: int | None = None,
) -> Validation:
    """Hold out each part of a batch once, learn from the others, and measure.

    Learners that are given the same batch, `cv`, `unit` and `seed` are measured on the same folds, so their errors
    are pairs for `paired_t`. Five halvings, as `five_by_two_f` needs them, are
    ``cv=RepeatedKFold(n_splits=2, n_repeats=5)``, with a ``random_state``, and ``errors.reshape(5, 2)``.

    Parameters
    ----------
    learner : FittedQ or the like
        A dataclass, or an estimator of scikit-learn, with a method ``learn(batch)``, an attribute `gamma`, and `q` or
        `value`, as the score needs it. It is copied without what it has learned.
    batch : Batch
        The transitions.
    cv : int or splitter of scikit-learn
        Number k of parts, of about the same number of episodes each, in random order; or any splitter, such as
        ``LeaveOneOut()``, which is given the numbers of the episodes.
    unit : {"episodes", "transitions"}
        What is held out together. Single transitions have neighbours of the same episode among those that are learned
        from, so their errors come out too small; but there may be only one episode.
    score : {"control", "evaluation", "returns"} or callable
        What is measured. ``"control"``: mean squared TD error of action values that claim to be optimal;
        ``"evaluation"``: that of the values of the policy which collected the batch; ``"returns"``: mean squared
        difference between these values and the returns that followed, which needs episodes with an end. Read
        `rlsuite.approximation.selection.diagnostics` about the noise in the first two. Or
        ``score(learner, held_out_batch) -> float``, smaller is better.
    seed : int, optional
        Source of the parts, and of the randomness of learners that take a seed.

    Returns
    -------
    Validation

    Raises
    ------
    ParameterError
        If there are fewer episodes (or transitions) than parts, or an argument is outside its allowed values.

    Warns
    -----
    RlsuiteWarning
        If learning failed by an error of a third-party estimator, which the warning quotes.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from rlsuite.approximation.batch.fitted_iteration import FittedQ
    >>> batch = Batch.collect("CartPole-v1", episodes=20, seed=7)
    >>> agent = FittedQ(KNeighborsRegressor(3), gamma=0.9, iterations=5)
    >>> found = cross_validate(agent, batch, cv=4, seed=7)
    >>> found.errors.shape, round(found.test_to_train, 1)
    ((4,), 0.3)
    """
    check_batch(batch, "cross_validate")
    measure = _measure(unlearned(learner), score)
    n_units, unit_of = _units(batch, unit)
    split_seed, *seeds = np.random.SeedSequence(
        None if seed is None else whole_number("seed", seed, at_least=0)
    ).generate_state(1 + n_units)
    splitter = _splitter(cv, n_units, unit, int(split_seed))
    errors: list[float] = []
    ratios: list[float] = []
    for number, (train, test) in enumerate(splitter.split(np.arange(n_units))):
        learned, held = (batch.take(np.isin(unit_of, part)) for part in (train, test))
        ratios.append(len(held) / len(learned))
        errors.append(_error(learner, learned, held, measure, int(seeds[number % n_units])))
    return Validation(np.array(errors), float(np.mean(ratios)))


def learned_anew(learner: L, batch: Batch, seed: int) -> L:
    """Return a copy of a learner that has learned from a batch alone."""
    fresh = unlearned(learner)
    takes_seed = "seed" in inspect.signature(fresh.learn).parameters
    fresh.learn(batch, **({"seed": seed} if takes_seed else {}))
    return fresh


def unlearned(learner: T) -> T:
    """Return a copy of a learner without what it has learned.

    Raises
    ------
    ParameterError
        If it has no method `learn`, or there is no way to such a copy.
    """
    if not callable(getattr(learner, "learn", None)):
        raise ParameterError(
            f"{type(learner).__name__} has no method learn(batch); give a regressor to a learner, as in "
            "FittedQ(regressor)"
        )
    if dataclasses.is_dataclass(learner) and not isinstance(learner, type):
        return copy.deepcopy(dataclasses.replace(learner))
    if hasattr(learner, "get_params"):
        return clone(learner)
    raise ParameterError(
        f"{type(learner).__name__} cannot be copied without what it has learned: make it a dataclass, whose fields are "
        "its parameters, or an estimator of scikit-learn"
    )


def _measure(learner: Learner, score: Score | str) -> Score:
    if callable(score):
        return score
    needed = "q" if one_of("score", score, SCORES) == "control" else "value"
    if not hasattr(learner, needed):
        others = "'evaluation' or 'returns', for the values of a policy," if needed == "q" else "'control'"
        raise ParameterError(
            f"score={score!r} needs the method {needed}, which {type(learner).__name__} does not have; "
            f"try {others} or score=function(learner, batch)"
        )
    return SCORES[score]


def _error(learner: Learner, learned: Batch, held: Batch, measure: Score, seed: int) -> float:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideWarning)  # of those held out, some always lie a little outside
            found = float(measure(learned_anew(learner, learned, seed), held))
    except LearningError as error:  # the error of a learner that fails is infinite
        if error.__cause__ is not None:  # raised by an estimator, and not by diverging values
            level = level_of_the_caller()
            warnings.warn(f"the error of this fold counts as infinite: {error}", RlsuiteWarning, stacklevel=level)
        return float("inf")
    if np.isnan(found):
        raise ParameterError("score(learner, batch) is NaN; it must be a number, smaller for a better learner")
    return found


def _units(batch: Batch, unit: str) -> tuple[int, NDArray[np.int64]]:
    """How many units there are, and to which of them each transition belongs."""
    if one_of("unit", unit, ("episodes", "transitions")) == "transitions":
        return len(batch), np.arange(len(batch))
    episode = batch.episode
    return int(episode[-1]) + 1, episode


def _splitter(cv: int | Splitter, n_units: int, unit: str, seed: int) -> Splitter:
    if not isinstance(cv, int | np.integer) and hasattr(cv, "split"):
        return cv
    k = whole_number("cv", cv, at_least=2)
    if k > n_units:
        hint = ", or give unit='transitions'" if unit == "episodes" else ""
        raise ParameterError(f"cv={k} is more than the {n_units} {unit} of the batch; give fewer folds{hint}")
    return scikit_learn("model_selection").KFold(k, shuffle=True, random_state=seed)
