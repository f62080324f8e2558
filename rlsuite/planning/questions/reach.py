"""The probability of reaching a goal, within any time or a number of steps. Baier & Katoen 2008, section 10.6.

The largest probability is the largest expected total reward of the model in which a step to the goal ends the episode
for 1, and every other end pays 0. What the graph decides is taken out first: states from which the goal is out of
reach (0), and states from which some policy reaches it surely (1). A policy may stay for ever among the other states,
with the reward 0 in each step; such end components are collapsed, as always with total rewards
(`rlsuite.planning.total_reward.free_components`), and the result is certified from both sides.

For the smallest probability, states in which some policy surely stays away from the goal have 0. No end component is
left then: every policy comes to an end, and the problem is the former with the reward -1.
"""

from typing import NamedTuple, Unpack

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fits_in_memory, one_of, whole_amount
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.models.validation import start_distribution
from rlsuite.planning.certificate import finished
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.mdp.stochastic_shortest_path import best_until_the_end
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.questions.answers import (
    CERTAIN,
    GOAL,
    IMPOSSIBLE,
    OBJECTIVES,
    OPEN,
    Objective,
    ReachSolution,
)
from rlsuite.planning.questions.goals import Question, States, as_decisions, first_action, states_of
from rlsuite.planning.total_reward.endings import soonest_end
from rlsuite.planning.watch import DeadlineTooShort, Watch


@takes_limits(max_iterations=100_000)
def reach(
    mdp: MDP | MarkovChain,
    goal: States,
    *,
    avoid: States | None = None,
    within: int | None = None,
    objective: Objective = "max",
    from_: States | None = None,
    policy: ArrayLike | None = None,
    **limits: Unpack[Limits],
) -> ReachSolution:
    """Find the largest or smallest probability of reaching a goal, with a bound on its error.

    Parameters
    ----------
    mdp : MDP or MarkovChain
        The model; its gamma and its rewards do not matter.
    goal : int, str, sequence of these, or array_like (S,) bool
        The states to reach: a label of the model, the number of a state, its name, a sequence of these, or a mask. A
        run that begins in the goal has reached it.
    avoid : as `goal`, optional
        States that must not be visited before the goal is reached ("until"). A state of the goal may be among them.
    within : int, optional
        The number of steps after which it is too late, at least 0; by default any number will do.
    objective : {"max", "min"}
        The probability under the best policy, or under the worst. For a chain both are the same.
    from_ : as `goal`, optional
        Where runs begin, all states with the same probability; by default where the model says: a chain by its label
        "init", and without one in all states. It matters for ``value_at_start`` alone.
    policy : array_like (S,) int or (S, A) float, optional
        Answer for this policy instead of the best or the worst one. The answer is then about a model with one action.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    ReachSolution
        ``value`` (S,) are the probabilities, ``certain`` and ``impossible`` (S,) the states where they are exactly 1
        and 0, ``policy`` (S,) a policy that attains them.

    Raises
    ------
    ParameterError
        If `goal`, `avoid` or `from_` name no state of the model, or an option is out of range.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    One may wait for ever at no cost, or gamble: the goal, or a trap, with equal probability. Waiting does not help:

    >>> from rlsuite.models import MDP
    >>> mdp = MDP.from_successors([[1, 1], [0, {2: 0.5, 3: 0.5}], [2, 2], [3, 3]], [0] * 4, gamma=1.0)
    >>> best = reach(mdp, goal=2)
    >>> best.value.tolist(), best.policy.tolist(), best.impossible.tolist()
    ([0.5, 0.5, 1.0, 0.0], [0, 1, 0, 0], [False, False, False, True])
    >>> reach(mdp, goal=2, objective="min").value.tolist()
    [0.0, 0.0, 1.0, 0.0]
    >>> reach(mdp, goal=[2, 3], within=1).value.tolist()
    [0.0, 1.0, 1.0, 1.0]
    >>> reach(mdp, goal=2, policy=[0, 0, 0, 0]).value.tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    one_of("objective", objective, OBJECTIVES)
    watch = Watch("reach", **limits)
    model = as_decisions(mdp, policy)
    wanted = states_of(model, goal, "goal")
    avoided = np.zeros_like(wanted) if avoid is None else states_of(model, avoid, "avoid") & ~wanted
    start = begins(model, from_)
    question = Question(model, wanted, avoided)
    steps = None if within is None else whole_amount("within", within, at_least=0)
    found = _at_any_time(question, objective, watch) if steps is None else _within(question, steps, objective, watch)
    watch.record(found.bound)
    watch.measure(found.value, 1.0)
    return finished(
        ReachSolution,
        watch,
        found.bound,
        value=found.value,
        policy=found.policy,
        lookahead=Lookahead(model),
        start=start,
        objective=objective,
        known=found.known,
        policies=found.policies,
    )


class _Found(NamedTuple):
    """Probabilities, what attains them, and what is known for sure."""

    value: FloatArray
    policy: IndexArray
    bound: float
    known: IndexArray
    policies: IndexArray | None = None


def begins(model: MDP, from_: States | None) -> FloatArray:
    """Return the distribution (S,) of the first state."""
    if from_ is None:
        return model.start.copy()
    states = states_of(model, from_, "from_")
    return start_distribution(states / states.sum(), states)


def _at_any_time(question: Question, objective: Objective, watch: Watch) -> _Found:
    mdp, largest = question.mdp, objective == "max"
    possible = question.some_may if largest else question.every_may
    certain = question.some_surely if largest else question.every_surely
    known: IndexArray = np.where(certain, CERTAIN, np.where(possible, OPEN, IMPOSSIBLE))
    known[question.goal] = GOAL
    value: FloatArray = certain.astype(np.float64)
    policy = first_action(mdp).astype(np.int64)
    # Where the answer is 1 or 0, the policy must attain it.
    if largest:
        surely = surely_to_the_goal(question)
        policy = np.where(surely >= 0, surely, policy)
    else:
        away = pairs_that_stay_away(question)
        policy = np.where(~possible & away.any(axis=1), away.argmax(axis=1), policy)
    bound = 0.0
    undecided = known == OPEN
    if undecided.any():
        model = ending_at(question, undecided, certain | question.goal, 1.0 if largest else -1.0)
        found = best_until_the_end(Lookahead(model), watch)
        bound = min(found.error_bound, 1.0)  # nothing is further from a probability
        value[undecided] = np.clip(np.abs(found.value[undecided]), 0.0, 1.0)
        policy[undecided] = found.policy[undecided]
    return _Found(value, policy, bound, known)


def _within(question: Question, steps: int, objective: Objective, watch: Watch) -> _Found:
    """Backward induction: with k steps to go, V_k(s) = max_a sum_s' p(s' | s, a) V_(k-1)(s') in open states."""
    mdp, largest = question.mdp, objective == "max"
    fits_in_memory(f"within={steps} with {mdp.n_states} states", 8 * steps * mdp.n_states)
    value: FloatArray = question.goal.astype(np.float64)
    policies: IndexArray = np.tile(first_action(mdp).astype(np.int64), (steps, 1))
    possible = question.some_may if largest else question.every_may
    asked = question.open & possible
    bound = 0.0
    if asked.any():
        lookahead = Lookahead(ending_at(question, asked, question.goal, 1.0 if largest else -1.0))
        result: FloatArray = np.zeros(mdp.n_states)
        for t in reversed(range(steps)):
            if watch.hurries:
                done = f"{watch.iterations} of these steps were computed. Pass a longer deadline= or a smaller within="
                raise DeadlineTooShort(watch.deadline or 0.0, f"within={steps}: {done}")
            ahead = lookahead.ahead(result)
            rounding = lookahead.rounding(ahead)
            decision: IndexArray = np.empty(mdp.n_states, dtype=np.int64)
            lookahead.back_up_greedily(ahead, 2.0 * rounding, result, decision)
            policies[t, asked] = decision[asked]
            bound = (lookahead.modulus * bound + rounding) * (1.0 + 4.0 * EPS)
            watch.iterations += 1
        value[asked] = np.clip(np.abs(result[asked]), 0.0, 1.0)
    if not largest:
        away = pairs_that_stay_away(question)
        policies[:, ~possible & away.any(axis=1)] = away.argmax(axis=1)[~possible & away.any(axis=1)]
    known: IndexArray = np.where(question.goal, GOAL, np.where(asked, OPEN, IMPOSSIBLE))
    policy = policies[0].copy() if steps else first_action(mdp).astype(np.int64)
    return _Found(value, policy, bound, known, policies)


def ending_at(question: Question, kept: BoolArray, ends: BoolArray, reward: float = 1.0) -> MDP:
    """Return the model of the states `kept`: a step into `ends` ends the episode for a reward, any other end for 0."""
    mdp = question.mdp
    stays = kept[question.state]
    lengths = np.where(np.repeat(kept, mdp.n_actions), np.diff(mdp.indptr), 0)
    ahead = mdp.next_state[stays]
    arrives = ends[ahead] & ~question.fails[stays]
    return MDP.from_rows(
        np.append(0, np.cumsum(lengths)),
        ahead,
        mdp.probability[stays],
        np.where(arrives, reward, 0.0),
        n_actions=mdp.n_actions,
        gamma=1.0,
        terminated=arrives | mdp.terminated[stays] | ~kept[ahead],
        start=kept / kept.sum() if kept.any() else None,
    )


def surely_to_the_goal(question: Question) -> StateArray:
    """Return actions (S,) int32 by which open states reach the goal with probability 1; -1 where none does."""
    states = question.some_surely & question.open
    if not states.any():
        return np.full(states.size, -1, dtype=np.int32)
    return soonest_end(ending_at(question, states, question.goal), ~states, question.safe)


def pairs_that_stay_away(question: Question) -> BoolArray:
    """Return the pairs (S, A) bool that surely do not lead to a state from which every policy may reach the goal."""
    mdp = question.mdp
    leads: BoolArray = np.zeros(mdp.legal.size, dtype=np.bool_)
    leads[mdp.pairs()[question.hits | (question.edges & question.every_may[mdp.next_state])]] = True
    return mdp.legal & ~leads.reshape(mdp.legal.shape)
