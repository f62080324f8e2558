"""Choose an approximator on some seeds, and report its performance on others.

The best score of ten learners is biased upwards, because the best is also the luckiest. So the choice is made by
cross-validation on batches of the *training seeds*, and the learner that was chosen learns once more on each *report
seed*, whose data was not used for the choice, and is judged by episodes (the notes' section 12.1: learn by one measure,
report another, on separate data).
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import SupportsInt

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.selection.cross_validation import (
    ActingLearner,
    Learner,
    Score,
    Splitter,
    Unit,
    Validation,
    cross_validate,
    learned_anew,
)
from rlsuite.approximation.selection.paired_tests import PairedTest, holm, paired_t
from rlsuite.approximation.workers import Workers
from rlsuite.core.aliases import Env
from rlsuite.core.checks import whole_amount, whole_number, worker_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import LearningError, ParameterError, UnsuitableEnvironment
from rlsuite.training.episodes import LONGEST, returns_of
from rlsuite.training.statistics import mean_interval


@dataclass(frozen=True, eq=False)
class Choice:
    """Which candidate was chosen, why, and its performance.

    ``print(choice)`` shows a table of it.
    """

    names: tuple[str, ...]
    """Candidates, in the order in which they were given."""
    errors: NDArray[np.float64]
    """(n_candidates, n_training_seeds, k) float64, cross-validated errors; infinite where learning failed."""
    best: str
    """The candidate of the smallest mean error."""
    tests: dict[str, PairedTest]
    """Paired t test of every other candidate against `best`, over training seeds (over folds, corrected for their
    overlap, if there is one seed). Candidates that failed are left out."""
    p_values: dict[str, float]
    """Their p values, corrected by Holm's method for *all* pairs of candidates, as any could have been the best."""
    returns: NDArray[np.float64]
    """(n_report_seeds,) mean return per episode of `best`, learned on the batch of each report seed."""

    def __str__(self) -> str:
        seeds = self.errors.shape[1]
        of_seeds = self.errors.mean(axis=2)
        width = max(map(len, self.names))
        over = f"mean over {seeds} seeds" if seeds > 1 else "one seed"
        lines = [f"held-out error, {over}; p: is it as good as {self.best}?"]
        for mean, _, name in sorted(
            zip(of_seeds.mean(axis=1).tolist(), range(len(self.names)), self.names, strict=True)
        ):
            lines.append(f"  {name:<{width}}  {mean:>10.4g}  {self.verdict(name)}")
        return "\n".join([*lines, self._report()])

    def verdict(self, name: str) -> str:
        """The result for a candidate: chosen, failed, or the p value of being as good as the chosen one."""
        if name not in self.p_values:
            return "chosen" if name == self.best else "failed"
        p = self.p_values[name]
        return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"

    def _report(self) -> str:
        n = self.returns.size
        said = f"return of {self.best} on {n} new seed{'s'[: n != 1]}: {self.returns.mean():.4g}"
        if n > 1 and np.isfinite(self.returns).all():
            said += " [{1:.4g}, {2:.4g}] (95 %)".format(*mean_interval(self.returns))
        return said


@says_what_to_write
def choose_approximator(
    candidates: Mapping[str, ActingLearner],
    env: str | Env,
    *,
    steps: int | None = None,
    episodes: int | None = None,
    policy: Callable[..., SupportsInt] | None = None,
    training_seeds: Iterable[int],
    report_seeds: Iterable[int],
    cv: int | Splitter = 5,
    unit: Unit = "episodes",
    score: Score | str = "control",
    report_episodes: int = 20,
    max_steps: int = LONGEST,
    workers: int = 1,
) -> Choice:
    """Choose among learners by cross-validation, and report the return of the best on other seeds.

    Parameters
    ----------
    candidates : mapping
        Names to at least two learners such as ``FittedQ(ExtraTreesRegressor())``; see `cross_validate`. They are left
        as they are.
    env : str or gymnasium.Env
        An id, ``module:Id``, ``file.py:Class``, or an instance.
    steps, episodes : int
        Size of the batch of each seed; one of the two.
    policy : callable, optional
        ``policy(observation) -> action`` that collects the batches; by default all actions are equally likely.
    training_seeds, report_seeds : iterable of int
        Seeds of the batches for the choice, and of those for the report. No seed may be in both.
    cv, unit, score
        How errors are measured; see `cross_validate`. All candidates are measured on the same folds.
    report_episodes : int
        Episodes for each report seed.
    max_steps : int
        Steps after which an episode of the report is cut off.
    workers : int
        Processes, or what ``joblib.parallel_config`` says. The result is the same for any number of them.

    Returns
    -------
    Choice

    Raises
    ------
    ParameterError
        If there are fewer than two candidates, a seed serves both purposes, or an argument is outside its allowed
        values.
    LearningError
        If every candidate failed.
    EnvironmentNotFound, UnsuitableEnvironment
        If there is no such environment, no batch can be collected in it, or several workers cannot have copies.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from rlsuite.approximation.batch.fitted_iteration import FittedQ
    >>> candidates = {
    ...     f"{k} neighbours": FittedQ(KNeighborsRegressor(k), gamma=0.9, iterations=3) for k in (1, 15)
    ... }
    >>> choice = choose_approximator(
    ...     candidates, "CartPole-v1", episodes=10, training_seeds=[0, 1], report_seeds=[100], cv=2, report_episodes=1
    ... )
    >>> choice.best, choice.errors.shape, choice.returns.shape
    ('15 neighbours', (2, 2, 2), (1,))
    """
    if len(candidates) < 2:
        raise ParameterError(f"candidates needs at least two entries, and has {len(candidates)}")
    names = tuple(candidates)
    training, reporting = _seeds(training_seeds, report_seeds)
    whole_number("report_episodes", report_episodes)
    max_steps = whole_amount("max_steps", max_steps)
    alone = worker_number(workers) == 1

    def batch_of(seed: int) -> Batch:
        return Batch.collect(env, steps=steps, episodes=episodes, policy=policy, seed=seed)

    with Workers(workers) as pool:
        batches = {seed: batch_of(seed) for seed in training}
        validate = partial(_validated, cv, unit, score)
        validations = pool.call(
            validate, ((candidates[name], batches[seed], seed) for name in names for seed in training)
        )
        k = validations[0].errors.size
        errors = np.array([each.errors for each in validations]).reshape(len(names), len(training), k)
        means = errors.mean(axis=(1, 2))
        if not np.isfinite(means).any():
            raise LearningError(
                f"every candidate failed: {', '.join(names)}; their values diverged, or their estimators raised an "
                "error, which was issued as a warning"
            )
        best = names[int(means.argmin())]
        tests, p_values = _compare(names, errors, best, validations[0].test_to_train)
        reported = (
            (candidates[best], batch_of(seed), env if alone else _copy_of(env), seed, report_episodes, max_steps)
            for seed in reporting
        )
        returns = pool.call(_reported, reported)
    return Choice(names, errors, best, tests, p_values, np.array(returns, dtype=np.float64))


def _seeds(training: Iterable[int], reporting: Iterable[int]) -> tuple[list[int], list[int]]:
    """Check that both are lists of different seeds."""
    lists: list[list[int]] = []
    for name, seeds in (("training_seeds", training), ("report_seeds", reporting)):
        listed = [whole_number(name, seed, at_least=0) for seed in seeds]
        if not listed or len(set(listed)) < len(listed):
            raise ParameterError(f"{name}={listed} must hold at least one seed, and no seed twice")
        lists.append(listed)
    both = sorted(set(lists[0]) & set(lists[1]))
    if both:
        raise ParameterError(
            f"training_seeds and report_seeds share {', '.join(map(str, both))}: the reported return would be biased "
            "upwards. Give other report_seeds"
        )
    return lists[0], lists[1]


def _compare(
    names: tuple[str, ...], errors: NDArray[np.float64], best: str, test_to_train: float
) -> tuple[dict[str, PairedTest], dict[str, float]]:
    """Test the best candidate against each of the others; p values are corrected for all pairs."""
    one_seed = errors.shape[1] == 1
    samples = errors[:, 0] if one_seed else errors.mean(axis=2)
    whole = {name: row for name, row in zip(names, samples, strict=True) if np.isfinite(row).all()}
    pairs = list(combinations(whole, 2))
    every = {(a, b): paired_t(whole[a], whole[b], test_to_train=test_to_train if one_seed else 0.0) for a, b in pairs}
    corrected = dict(zip(pairs, holm([every[pair].p_value for pair in pairs]).tolist(), strict=True))
    tests: dict[str, PairedTest] = {}
    p_values: dict[str, float] = {}
    for name in whole:
        if name != best:
            pair = (name, best) if (name, best) in every else (best, name)
            test = every[pair]
            turned = test if pair[0] == name else test._replace(difference=-test.difference, statistic=-test.statistic)
            tests[name], p_values[name] = turned, corrected[pair]
    return tests, p_values


def _copy_of(env: str | Env) -> str | Env:
    """One environment for each worker, whose threads could otherwise step the same one."""
    try:
        return copy.deepcopy(env)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UnsuitableEnvironment(
            f"workers need copies of the environment, which cannot be copied ({error}); give its id, or workers=1"
        ) from error


def _validated(
    cv: int | Splitter, unit: Unit, score: Score | str, learner: Learner, batch: Batch, seed: int
) -> Validation:
    return cross_validate(learner, batch, cv=cv, unit=unit, score=score, seed=seed)


def _reported(learner: ActingLearner, batch: Batch, env: str | Env, seed: int, episodes: int, max_steps: int) -> float:
    """Mean return of a learner that has learned on the batch of a seed, in episodes that no batch has."""
    learn_seed, play_seed = np.random.SeedSequence([seed, 1]).generate_state(2).tolist()
    learned = learned_anew(learner, batch, learn_seed)
    return float(returns_of(env, learned.act, episodes, play_seed, max_steps=max_steps).mean())
