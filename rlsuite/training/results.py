"""Results of learning runs."""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import numpy as np

from rlsuite.core.shown import DataFrame, ShowsItself, frame_of
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.training.failures import Failure

TimeUnit = Literal["steps", "episodes"]
Loop = Literal["compiled", "stepwise"]


class Bounds(NamedTuple):
    """The least and the greatest value that a policy can have at the start, infinite where they are unknown."""

    low: float = -math.inf
    high: float = math.inf
    uniform: float | None = None
    """Value of the policy that takes all legal actions alike; None where it is unknown, or infinite."""


UNKNOWN: Final = Bounds()

EVALUATIONS: Final = {"evaluation": "value", "evaluation_return": "return", "value_error": "value_error"}
"""What is measured when learning is suspended, and what tables call it."""


def _floats() -> FloatArray:
    return np.zeros(0)


def _integers() -> IndexArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """The record of one run with one seed.

    Attributes
    ----------
    seed : int
        The seed of the run; the same seed gives the same record, byte for byte, in both loops.
    loop : {"compiled", "stepwise"}
        The loop that was used.
    loop_reason : str
        Why it was that loop, as a phrase: what the compiled loop ran on, or why there was no compiled form; empty where
        none was looked for. Files of results do not keep it.
    unit : {"steps", "episodes"}
        The unit of ``time`` and ``evaluation_time``: the one in which the run's length was given.
    episode_return : ndarray of float64, shape (n_episodes,)
        Undiscounted sum of rewards of each finished episode.
    episode_length : ndarray of int64, shape (n_episodes,)
        Steps of each finished episode.
    episode_regret : ndarray of float64, shape (n_episodes,)
        Sum of ``V*(s) - Q*(s, a)`` over the episode's steps at the agent's discount; empty if the optimum is unknown.
    time : ndarray of int64, shape (n_records,)
        When the two following sums were recorded.
    cumulative_reward : ndarray of float64, shape (n_records,)
        Sum of all rewards so far.
    regret : ndarray of float64, shape (n_records,)
        Sum of all optimality gaps ``V*(s) - Q*(s, a)`` so far; empty if the optimum is unknown. For a bandit this is
        the pseudo-regret, and for an undiscounted episodic task its expectation is the loss against the optimal policy
        (the performance difference lemma, Kakade & Langford 2002, Lemma 6.1).
    evaluation_time : ndarray of int64, shape (n_evaluations,)
        When learning was suspended and the greedy policy evaluated.
    evaluation : ndarray of float64, shape (n_evaluations,)
        Value of that policy at the start, discounted by the agent's gamma.
    evaluation_return : ndarray of float64, shape (n_evaluations,)
        Undiscounted return of that policy, as it is usually published, of an episode with the environment's time limit;
        NaN where there is no limit and the policy may never reach an end.
    follows : bool
        Whether the policy evaluated is the one that the agent follows, and learns the values of, not a greedy one.
    value_error : ndarray of float64, shape (n_evaluations,)
        Root mean squared error of the learned state values against the exact ones of the policy that is evaluated, see
        `rlsuite.training.optimum.ValueErrors`; empty for an agent that learns how to act, or without a model.
    end_probability : float or None
        Probability that the last policy evaluated reaches an end from the start; None if none was evaluated, the model
        is not known, or has no end.
    optimal_value : float or None
        Value of the optimal policy at the start, same discount; None if unknown. With gamma = 1 the total reward until
        the end, without a time limit.
    value_bounds : Bounds
        What the discounted value of no policy can be below or above: the values of the worst and of the best policy;
        infinite where the model is not known.
    return_bounds : Bounds
        The same of the undiscounted return of an episode with the environment's time limit.
    return_range : Bounds
        What the undiscounted return of no single episode can be below or above; infinite where the model is not known.
    optimum_unknown : str
        Why there is no regret, or no optimal value, as a phrase; empty where both are known.
    outside : int
        How many observations of evaluations lay outside of the range of those that a batch method has learned from; or
        how many in all lay outside of the range of those that features were fitted to. Files of results do not keep it.
    seconds : float
        Wall-clock time of learning alone: without compiling, evaluating and solving. Files of results do not keep it:
        there, the same seed gives the same bytes.
    compiling_seconds : float
        Wall-clock time that numba compiled for this run; 0 where its cache had everything.
    """

    seed: int
    loop: Loop
    unit: TimeUnit
    episode_return: FloatArray
    episode_length: IndexArray
    episode_regret: FloatArray = field(default_factory=_floats)
    time: IndexArray = field(default_factory=_integers)
    cumulative_reward: FloatArray = field(default_factory=_floats)
    regret: FloatArray = field(default_factory=_floats)
    evaluation_time: IndexArray = field(default_factory=_integers)
    evaluation: FloatArray = field(default_factory=_floats)
    evaluation_return: FloatArray = field(default_factory=_floats)
    follows: bool = False
    value_error: FloatArray = field(default_factory=_floats)
    end_probability: float | None = None
    optimal_value: float | None = None
    value_bounds: Bounds = UNKNOWN
    return_bounds: Bounds = UNKNOWN
    return_range: Bounds = UNKNOWN
    optimum_unknown: str = ""
    loop_reason: str = ""
    outside: int = 0
    seconds: float = 0.0
    compiling_seconds: float = 0.0

    def series(self) -> Iterator[tuple[str, IndexArray, FloatArray | IndexArray]]:
        """What was measured: a name, times (n,) and numbers (n,)."""
        lengths = self.episode_length
        ends = np.cumsum(lengths if self.unit == "steps" else np.ones_like(lengths))
        judged = {"evaluation": "value", "evaluation_return": "return", "value_error": "value_error"}
        for name in ("cumulative_reward", "regret", *judged, "episode_return", "episode_length", "episode_regret"):
            times = ends if name.startswith("episode") else self.evaluation_time if name in judged else self.time
            found = getattr(self, name)
            yield judged.get(name, name), times[: found.size], found

    def __repr__(self) -> str:
        length = f", {self.unit}={int(self.time[-1])}" if self.time.size else ""
        episodes = "" if self.unit == "episodes" else f", episodes={self.episode_return.size}"
        value = f", evaluation={self.evaluation[-1]:.6g}" if self.evaluation.size else ""
        optimum = "" if self.optimal_value is None else f", optimal_value={self.optimal_value:.6g}"
        return f"Record(seed={self.seed}, loop={self.loop!r}{length}{episodes}{value}{optimum})"


def mean_bounds(records: Sequence[Record], name: Literal["value_bounds", "return_bounds", "return_range"]) -> Bounds:
    """Bounds of the expected value over seeds, as `common_bounds` says."""
    return common_bounds({getattr(record, name) for record in records})


def common_bounds(of_seeds: Set[Bounds]) -> Bounds:
    """Bounds of the expected value over seeds; unknown if each seed draws a problem, and with it bounds, of its own."""
    return next(iter(of_seeds)) if len(of_seeds) == 1 else UNKNOWN


@dataclass(frozen=True, eq=False, repr=False)
class Results(ShowsItself):
    """The runs of one agent in one environment: one record per seed, in the order of the seeds.

    The seed is the unit of replication: all intervals are over records, never over the episodes of one run. All
    records and evaluations were made at the same times. Runs that had to stop are not among them, but in ``failures``.
    """

    agent: str
    environment: str
    records: Sequence[Record]
    failures: tuple[Failure, ...] = ()
    gamma: float | None = None
    """The agent's discount factor; None if it is not known."""
    setting: Mapping[str, object] = field(default_factory=lambda: {})
    """Values of the parameters that a sweep varied; empty without one."""

    def __repr__(self) -> str:
        first = repr(self.records[0]).removeprefix("Record(").removesuffix(")") if self.records else "none"
        failed = f"failures={len(self.failures)}, " if self.failures else ""
        what = f"{failed}records={len(self.records)}, the first: {first}"
        return f"Results({self.agent!r}, {self.environment!r}, {what})"

    @property
    def unit(self) -> TimeUnit:
        """The unit of time, "steps" or "episodes"."""
        return self.records[0].unit

    @property
    def time(self) -> IndexArray:
        """Times of the records, shape (n_records,)."""
        return self.records[0].time

    @property
    def evaluation_time(self) -> IndexArray:
        """Times of the evaluations, shape (n_evaluations,)."""
        return self.records[0].evaluation_time

    @property
    def mean(self) -> float:
        """Mean over the seeds of the mean undiscounted return of their episodes while learning; NaN without any."""
        ended = [record.episode_return.mean() for record in self.records if record.episode_return.size]
        return float(np.mean(ended or math.nan))

    def to_frame(self) -> DataFrame:
        """What was measured as a pandas DataFrame: a row for each number, with its seed, measure and time.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        """
        rows = [
            (record.seed, measure, time, number)
            for record in self.records
            for measure, times, found in record.series()
            for time, number in zip(times, found, strict=True)
        ]
        return frame_of(dict(zip(("seed", "measure", "time", "number"), zip(*rows, strict=True), strict=True)))

    def stacked(self, name: str) -> FloatArray:
        """One curve of all seeds: ``cumulative_reward``, ``regret``, ``evaluation`` ..., shape (n_seeds, n_times)."""
        return np.stack([getattr(record, name) for record in self.records])
