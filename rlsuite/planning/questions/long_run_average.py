"""The share of its time that a run spends in some states, or the reward per step, in the long run. P94 chapter 9.

The share is the average reward per step if a step pays 1 in these states and 0 elsewhere. A run whose episode has ended
stays where it ended.
"""

from typing import Unpack

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import one_of
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.mdp.average_reward_policy_iteration import average_reward_policy_iteration
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.questions.answers import GOAL, OBJECTIVES, OPEN, LongRunSolution, Objective
from rlsuite.planning.questions.goals import States, as_decisions, states_of
from rlsuite.planning.questions.reach import begins


@takes_limits(max_iterations=1_000)
def long_run_average(
    mdp: MDP | MarkovChain,
    of: States | None = None,
    *,
    objective: Objective = "max",
    from_: States | None = None,
    policy: ArrayLike | None = None,
    **limits: Unpack[Limits],
) -> LongRunSolution:
    """Find the largest or smallest share of the steps that is spent in some states in the long run.

    Parameters
    ----------
    mdp : MDP or MarkovChain
        The model; its gamma does not matter.
    of : int, str, sequence of these, or array_like (S,) bool, optional
        The states, as for `reach`. An episode that ends in one of them is there for ever. By default the average is
        that of the reward per step, and an episode that has ended earns 0.
    objective : {"max", "min"}
        The largest average over all policies, or the smallest.
    from_ : as `of`, optional
        Where runs begin, all states with the same probability; by default where the model says.
    policy : array_like (S,) int or (S, A) float, optional
        Answer for this policy instead of the best or the worst one. The answer is then about a model with one action.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    LongRunSolution
        ``value`` (S,) are the averages, ``policy`` (S,) a policy that attains them.

    Raises
    ------
    ParameterError
        If `of` or `from_` name no state of the model, or an option is out of range.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    See Also
    --------
    rlsuite.planning.average_reward_policy_iteration : the average reward, with the bias.

    Examples
    --------
    How often does it rain?

    >>> from rlsuite.models import MarkovChain
    >>> weather = MarkovChain([[0.9, 0.1], [0.5, 0.5]], state_labels=["sun", "rain"])
    >>> long_run_average(weather, of="rain").value.round(9).tolist()
    [0.166666667, 0.166666667]
    """
    one_of("objective", objective, OBJECTIVES)
    model = as_decisions(mdp, policy)
    start = begins(model, from_)
    counted: BoolArray = np.zeros(model.n_states, dtype=np.bool_) if of is None else states_of(model, of, "of")
    sign = 1.0 if objective == "max" else -1.0
    paid = sign * (model.expected_reward() if of is None else np.repeat(counted.astype(np.float64), model.n_actions))
    paying = model if of is None else _with_ends(model, counted)
    reward: FloatArray = np.zeros((paying.n_states, model.n_actions))
    reward[: model.n_states] = paid.reshape(model.n_states, -1)
    reward[model.n_states :, 0] = sign * np.arange(paying.n_states - model.n_states)
    reward[~paying.legal] = 0.0
    found = average_reward_policy_iteration(paying.replace(reward=reward, reward_std=None, bernoulli=None), **limits)
    known: IndexArray = np.where(counted, GOAL, OPEN)
    decisions = found.policy[: model.n_states].copy()
    decisions[~model.legal.any(axis=1)] = -1
    value = 0.0 + sign * found.gain[: model.n_states]
    # The share lies in [0, 1]; rounding may have left it by an error that the bound contains.
    return LongRunSolution(
        value=value if of is None else np.clip(value, 0.0, 1.0),
        policy=decisions,
        converged=found.converged,
        error_bound=found.error_bound,
        iterations=found.iterations,
        seconds=found.seconds,
        method="long_run_average",
        trace=found.trace,
        lookahead=Lookahead(model),
        start=start,
        objective=objective,
        known=known,
    )


def _with_ends(mdp: MDP, counted: BoolArray) -> MDP:
    """Return the model with two states more, in which episodes stay that have ended: elsewhere, and in `counted`."""
    states, actions = mdp.n_states, mdp.n_actions
    dead = ~mdp.legal.any(axis=1)
    if not dead.any() and not mdp.terminated.any():
        return mdp
    end = states + counted.astype(np.int64)
    lengths = np.diff(mdp.indptr).reshape(states, actions)
    lengths[dead, 0] = 1
    lengths = np.concatenate([lengths.reshape(-1), *([1] + [0] * (actions - 1) for _ in range(2))])
    indptr = np.append(0, np.cumsum(lengths))
    # Where nothing is legal, and at both ends, one action stays.
    rows = np.append(np.flatnonzero(dead), [states, states + 1]) * actions
    added: BoolArray = np.zeros(int(indptr[-1]), dtype=np.bool_)
    added[indptr[rows]] = True
    ahead: IndexArray = np.empty(added.size, dtype=np.int64)
    ahead[~added] = np.where(mdp.terminated, end[mdp.next_state], mdp.next_state)
    ahead[added] = np.append(end[dead], [states, states + 1])
    probability: FloatArray = np.ones(added.size)
    probability[~added] = mdp.probability
    return MDP.from_rows(
        indptr,
        ahead,
        probability,
        np.zeros((states + 2, actions)),
        n_actions=actions,
        gamma=1.0,
        terminated=np.zeros(added.size, dtype=np.bool_),
    )
