"""Choose the method for the model: exact if it is small, else the kind of sweep that propagates values fastest."""

from typing import Unpack

import numpy as np

from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, StateArray
from rlsuite.planning.blocks import on_blocks
from rlsuite.planning.certificate import discounted, largest_change
from rlsuite.planning.kernels import best_rewards
from rlsuite.planning.limits import Limits, TimeLimits, takes_limits
from rlsuite.planning.mdp.gauss_seidel import sweep_in_place
from rlsuite.planning.mdp.modified_policy_iteration import follow_policies
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.mdp.stochastic_shortest_path import stochastic_shortest_path
from rlsuite.planning.operators import Lookahead, typical_value
from rlsuite.planning.policy_rows import ValueSeries
from rlsuite.planning.solution import Solution
from rlsuite.planning.vectors import vector
from rlsuite.planning.watch import Watch

EXACT = 128
"""Up to this many states a dense linear system per policy costs next to nothing."""

PROBE = 8
"""Sweeps after which the bounds on the value of a policy show how fast its chain mixes."""

MOST_ITERATIONS = 100_000

FAST_MIXING = 0.5
"""Ratio of the widths of the bounds, over the last half of the probe, up to which following policies is faster."""


@takes_limits()
def auto(mdp: MDP, *, max_iterations: int | None = None, **limits: Unpack[TimeLimits]) -> Solution:
    """Solve an MDP by the method that suits it.

    With gamma = 1 that is `stochastic_shortest_path`; otherwise up to 128 states `policy_iteration`, which is exact.
    For larger models a few sweeps that follow the greedy policy of V = 0 show how fast its chain mixes. If the bounds
    on its value come together quickly, `modified_policy_iteration` will need few sweeps for any gamma; if not,
    values have to propagate over many transitions, which `gauss_seidel` does in few sweeps.

    Parameters
    ----------
    mdp : MDP
        The model.
    max_iterations : int, optional
        Limit on what the chosen method counts as iterations; by default its own.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``method`` names the method that was chosen.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    ModelError
        If the rewards are so large that values overflow; or if gamma is 1 and the values may be infinite.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> solve(MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5)).method
    'policy_iteration'
    """
    given: Limits = {**limits}
    if max_iterations is not None:
        given["max_iterations"] = max_iterations
    if mdp.gamma == 1.0:
        return stochastic_shortest_path(mdp, **given)
    if mdp.n_states <= EXACT:
        return policy_iteration(mdp, **given)
    watch = Watch("auto", max_iterations=MOST_ITERATIONS if max_iterations is None else max_iterations, **limits)
    lookahead = discounted(mdp, "auto")
    series = ValueSeries(lookahead)
    value, fall = _probe(lookahead, series)
    if fall <= FAST_MIXING:
        watch.method = "modified_policy_iteration"
        return follow_policies(lookahead, value, series, watch)
    del series, value  # frees memory for the sweeps
    watch.method = "gauss_seidel"
    return sweep_in_place(lookahead, typical_value(lookahead), watch)


def _probe(lookahead: Lookahead, series: ValueSeries) -> tuple[FloatArray, float]:
    """Return the value after the trial sweeps, and how much the bounds narrowed in the second half of them."""
    value, nothing = vector(lookahead.n_states), np.zeros(lookahead.n_states)
    action: StateArray = np.empty(lookahead.n_states, dtype=np.int32)
    n_actions, indptr, *_ = lookahead.rows
    arguments = (n_actions, indptr, lookahead.reward, lookahead.terminal, value, action)
    changes = on_blocks(best_rewards, lookahead.blocks, *arguments)
    scale = largest_change(changes)
    if scale == 0.0:
        return value, 0.0
    series.begin(action, nothing, value, scale)
    widths = [series.add_term()]
    while len(widths) < PROBE and widths[-1] > series.floor:
        widths.append(series.add_term())
    series.settle(value)
    # Bounds as close as rounding allows count as equal.
    return value, 0.0 if widths[-1] <= series.floor else widths[-1] / widths[PROBE // 2 - 1]
