"""Eligibility traces whose cost grows with the eligible entries, not with the table (S&B2 sections 12.2 to 12.5).

A trace is the share of the next error that a state, or a pair of state and action, is updated with. All but the latest
have decayed to nothing, so a list holds the entries that have not: the cost of a step grows with 1 / (1 - gamma
lambda), and not with the number of states. The traces are indexed by the entry of a flat table: the state, or
``state * n_actions + action``.

A trace holds the step size of the moment of the visit: it is the ``alpha z`` of the book, where the step size is the
same for all. So each visit moves its value towards its lambda-return by its own step size, as the forward view does
(van Seijen et al. 2016), also where step sizes differ from entry to entry, as they do with a schedule per visits.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import Compiled, Numba, compiled, intrinsic
from rlsuite.core.declared import Array

FADED = 1e-16
"""Traces below this share of the largest fresh one, 1, are dropped: they hardly change a sum of double precision."""

TraceUpdate = Compiled[[float, float, float, float], float]
"""``(trace, overlap, x, step_size) -> trace`` after a visit.

`x` is the feature that the trace belongs to, 1 for an entry of a table; `overlap` is the sum of all features, each
times its trace: the trace itself for a table.
"""


class Traces(NamedTuple):
    """The eligible entries of a table."""

    trace: NDArray[np.float64]  # (n_entries,), 0 unless listed
    listed: Annotated[NDArray[np.int64], Array(at_least=0, below="trace")]
    # (n_entries,), the first n_listed[0] are the eligible entries, in no particular order
    n_listed: Annotated[NDArray[np.int64], Array(at_least=0, at_most="trace")]  # (1,)

    def check(self, sizes: Mapping[str, int]) -> None:
        """Raise ValueError unless the entries that are listed are those with a trace, each once."""
        listed = np.sort(self.listed[: self.n_listed[0]])
        if not np.array_equal(listed, np.flatnonzero(self.trace)):
            raise ValueError("the eligible entries of its traces are not those that have a trace")


def new_traces(n_entries: int) -> Traces:
    """Make the traces of a table, none of them eligible."""
    return Traces(np.zeros(n_entries), np.zeros(n_entries, dtype=np.int64), np.zeros(1, dtype=np.int64))


@compiled(in_place=True)
def accumulating(trace: float, overlap: float, x: float, step_size: float) -> float:
    """Return e + alpha x: each visit counts (S&B2 eq. 12.5)."""
    return trace + step_size * x


@compiled(in_place=True)
def replacing(trace: float, overlap: float, x: float, step_size: float) -> float:
    """Return alpha x: the latest visit counts (Singh & Sutton 1996; S&B2 eq. 12.12, for features 0 and 1)."""
    return step_size * x


@compiled(in_place=True)
def dutch(trace: float, overlap: float, x: float, step_size: float) -> float:
    """Return e + alpha (1 - e . x) x, which is a mean of the visits for a table (S&B2 eq. 12.11, times alpha)."""
    return trace + step_size * (1.0 - overlap) * x


TRACE_UPDATES: dict[str, TraceUpdate] = {"accumulating": accumulating, "replacing": replacing, "dutch": dutch}
"""How a visit changes a trace, by the name it has in a constructor."""

CLEARING = "clearing"
"""Replacing traces, where a visit also clears those of the other actions (Singh & Sutton 1996; S&B2 Figure 12.11)."""

PAIR_TRACES: dict[str, TraceUpdate] = {**TRACE_UPDATES, CLEARING: replacing}
"""The same for the traces of pairs of state and action."""


@compiled(in_place=True)
def set_trace(traces: Traces, entry: int, trace: float) -> None:
    """Make the trace of an entry another one, and the entry eligible.

    One that becomes 0 is not to be set again before `update_eligible`, which takes it off the list.
    """
    if traces.trace[entry] == 0.0 and trace != 0.0:
        traces.listed[traces.n_listed[0]] = entry
        traces.n_listed[0] += 1
    traces.trace[entry] = trace


@compiled(in_place=True)
def add_to_trace(traces: Traces, entry: int, amount: float) -> None:
    """Add to the trace of an entry: e + x."""
    set_trace(traces, entry, traces.trace[entry] + amount)


@compiled(in_place=True)
def visit_entry(traces: Traces, entry: int, kind: TraceUpdate, step_size: float) -> None:
    """Visit an entry of a table."""
    trace = traces.trace[entry]
    set_trace(traces, entry, kind(trace, trace, 1.0, step_size))


@compiled(in_place=True)
def _drop(traces: Traces, k: int) -> None:
    """Remove the k-th entry from the list; the last one replaces it."""
    traces.trace[traces.listed[k]] = 0.0
    traces.n_listed[0] -= 1
    traces.listed[k] = traces.listed[traces.n_listed[0]]


def _flat(context: Numba, array: Numba) -> Numba:
    """Write what `flat` does: numba's own ``reshape`` calls a function in C, which takes longer than a short update."""
    types: Numba = import_module("numba.core.types")  # once something is compiled
    arrays: Numba = import_module("numba.np.arrayobj")

    def build(context: Numba, builder: Numba, signature: Numba, arguments: Numba) -> Numba:
        known: Numba = arrays.make_array(array)(context, builder, arguments[0])
        made: Numba = arrays.make_array(signature.return_type)(context, builder)
        shape = {"shape": [known.nitems], "strides": [known.itemsize], "itemsize": known.itemsize}
        arrays.populate_array(made, data=known.data, meminfo=known.meminfo, parent=known.parent, **shape)
        return made._getvalue()

    return types.Array(array.dtype, 1, "C")(array), build


@intrinsic(_flat)
def flat(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entries of a contiguous table as one row, which is a view."""
    return table.reshape(table.size)


@compiled(in_place=True)
def update_eligible(traces: Traces, table: NDArray[np.float64], amount: float, decay: float) -> None:
    """Add ``amount * trace`` to each eligible entry of a table, then multiply all traces by `decay`."""
    k, entries = 0, flat(table)
    while k < traces.n_listed[0]:
        entry = traces.listed[k]
        entries[entry] += amount * traces.trace[entry]
        traces.trace[entry] *= decay
        if abs(traces.trace[entry]) < FADED:
            _drop(traces, k)
        else:
            k += 1


@compiled(in_place=True)
def reset_traces(traces: Traces) -> None:
    """Make every trace 0, as at the beginning of an episode."""
    for k in range(traces.n_listed[0]):
        traces.trace[traces.listed[k]] = 0.0
    traces.n_listed[0] = 0


def check_kind(name: str, value: Any, kinds: Mapping[str, TraceUpdate] = TRACE_UPDATES) -> str:
    """Return `value` if it names a kind of trace.

    Raises
    ------
    ParameterError
        If it does not.
    """
    from rlsuite.errors import ParameterError, unknown

    if not isinstance(value, str) or value not in kinds:
        raise ParameterError(f"{name}: " + unknown("kind of trace", str(value), kinds))
    return value
