"""Every exception and warning that rlsuite raises on purpose.

::

    RlsuiteError
    |-- ParameterError        an argument outside its allowed values            (also a ValueError)
    |   `-- CallError         an unknown keyword, or a missing one            (also a TypeError)
    |-- ModelError            arrays that do not define a decision problem      (also a ValueError)
    |-- EnvironmentNotFound   an id, module or file that leads to no environment
    |-- UnsuitableEnvironment an environment that this method cannot work with
    |   `-- UntrustedTable    its transition table and its `step` disagree
    |-- FileError             a missing, malformed, truncated or foreign file
    |-- CompilationError      a rule or another function that numba cannot compile (also a TypeError)
    |-- LearningError         a run that had to stop: NaN reward, impossible action ...
    |   `-- LimitReached      a cell of an experiment that ran past its limits
    |-- NotLearned            an agent asked for what it has not learned yet
    |-- MissingPackage        an optional package that is not installed           (also an ImportError)
    `-- ConformanceError      an agent that does not meet the requirements    (also an AssertionError)

    RlsuiteWarning            (a UserWarning)
    |-- ConvergenceWarning    a result whose error bound exceeds the tolerance asked for
    |-- DivergenceWarning     learned numbers that grow beyond what any return can be
    |-- CollapseWarning       a learned distribution that is as narrow as it may be
    |-- RoundingWarning       probabilities in a file that had to be changed to sum to one
    |-- RewardWarning         rewards outside the range that an agent expects
    |-- DiscountWarning       an agent's default discount in a model of another discount
    |-- StateNumberWarning    features of the number of a state that lies on a grid
    |-- CutEpisodesWarning    episodes of an evaluation that had to be cut, as they did not end
    |-- CloseWarning          an environment that cannot be closed; what was done in it is kept
    |-- OutsideWarning        observations outside of the range of those learned from
    |-- NewRunWarning         a run that cannot continue after it was saved
    |-- OneProcessWarning     runs that other processes cannot help with
    |-- NoWorkersWarning      an experiment that waits, as no worker of a cluster is connected
    |-- FailedRunsWarning     some of many runs had to stop
    |-- SlowWarning           nothing can be compiled: everything runs in Python
    |-- CheckpointWarning     a run that could not be saved meanwhile, as the disk is full
    `-- StepwiseWarning       `loop="auto"` had to leave the compiled loop
"""

from collections.abc import Callable, Iterable

from rlsuite.synonyms import nearest


class RlsuiteError(Exception):
    """Base class of all errors raised by rlsuite."""


class ParameterError(RlsuiteError, ValueError):
    """An argument lies outside its allowed values."""


class CallError(ParameterError, TypeError):
    """A call has an unknown keyword, or lacks an argument; the message says what to write instead."""


class ModelError(RlsuiteError, ValueError):
    """Arrays, a function or a map do not define a finite decision problem."""


class EnvironmentNotFound(RlsuiteError):
    """An id, a ``module:Id`` or a ``file.py:Class`` leads to no environment."""


class UnsuitableEnvironment(RlsuiteError):
    """The environment exists, but the method asked for cannot work with it."""


class UntrustedTable(UnsuitableEnvironment):
    """The transition table of an environment disagrees with its ``step``."""


class FileError(RlsuiteError):
    """A file is missing, malformed, truncated, or was written by something else."""


class CompilationError(RlsuiteError, TypeError):
    """A function that is to be compiled, such as a rule of your own, uses something that numba does not know."""


class LearningError(RlsuiteError):
    """A run had to stop; what was learned until then is kept."""


class LimitReached(LearningError):
    """A cell of an experiment took more time or memory than its limits allow."""


class NotLearned(RlsuiteError):
    """The agent was asked for something that it has not learned yet."""


class MissingPackage(RlsuiteError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class ConformanceError(RlsuiteError, AssertionError):
    """An agent does not meet a requirement for all agents; see `rlsuite.testing`."""


class RlsuiteWarning(UserWarning):
    """Base class of all warnings issued by rlsuite."""


class ConvergenceWarning(RlsuiteWarning):
    """The error bound of a result exceeds the tolerance that was asked for."""


class DivergenceWarning(RlsuiteWarning):
    """Learned values grow without bound."""


class CollapseWarning(RlsuiteWarning):
    """A learned distribution is as narrow as it may be: its state has collapsed onto a few equal observations."""


class RoundingWarning(RlsuiteWarning):
    """Probabilities in a text file are off by more than the rounding of a few decimals; they were rescaled."""


class RewardWarning(RlsuiteWarning):
    """An environment has rewards outside the range that an agent expects."""


class DiscountWarning(RlsuiteWarning):
    """An agent learns with its default discount in a model of the user's, which has another one."""


class StateNumberWarning(RlsuiteWarning):
    """Features are computed from the number of a state, where its row and column, or its label, can be shown."""


class CutEpisodesWarning(RlsuiteWarning):
    """Episodes of an evaluation did not end, and were cut: what they earned later is missing."""


class CloseWarning(RlsuiteWarning):
    """An environment raises an error as it is closed; what was done in it is kept."""


class OutsideWarning(RlsuiteWarning):
    """An agent is asked about observations outside of the range of those that it has learned from."""


class NewRunWarning(RlsuiteWarning):
    """A run that was saved, or is to be saved, cannot continue: `learn` begins a new one with what was learned."""


class OneProcessWarning(RlsuiteWarning):
    """Seeds are learned in this process alone: the agent or the environment cannot be sent to others, or one ended."""


class NoWorkersWarning(RlsuiteWarning):
    """An experiment waits for workers: none of the cluster that it was told to use is connected."""


class SlowWarning(RlsuiteWarning):
    """Numba is missing or broken: everything runs in Python, with the same results, and far more slowly."""


class CheckpointWarning(RlsuiteWarning):
    """A run could not be saved, and continues."""


class FailedRunsWarning(RlsuiteWarning):
    """Some runs had to stop; the others were completed, and are kept."""


class StepwiseWarning(RlsuiteWarning):
    """``loop="auto"`` could not use the compiled loop and says why."""


def level_of_the_caller() -> int:
    """The stacklevel, for a warning in the function that asks, of the first line that is not rlsuite's."""
    import inspect

    level, frame = 0, inspect.currentframe()
    # decorators of rlsuite's are in contextlib
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("rlsuite", "contextlib"):
        level, frame = level + 1, frame.f_back
    return level


def unknown_suffix(suffix: str, choices: Iterable[str]) -> str:
    """Sentence for a file of a kind that is not read or written: a near suffix would be another kind of file.

    >>> unknown_suffix(".pomdb", [".npz", ".pomdp"])
    "unknown suffix '.pomdb' (choices: .npz, .pomdp)"
    """
    return f"unknown suffix {suffix!r} (choices: {', '.join(sorted(choices))})"


def unknown(what: str, name: object, choices: Iterable[str], spelled: Callable[[str], str] = str) -> str:
    """Sentence for a misspelt name: the nearest choice first, then all of them, each as `spelled` writes it.

    >>> unknown("method", "value_iteraton", ["policy_iteration", "value_iteration"])
    "unknown method 'value_iteraton'; did you mean 'value_iteration'? (choices: policy_iteration, value_iteration)"
    """
    listed = sorted(choices)
    near = nearest(str(name), listed)
    hint = f"; did you mean {spelled(near[0])!r}?" if near else ""
    return f"unknown {what} {name!r}{hint} (choices: {', '.join(map(spelled, listed))})"
