"""The expected sum until a goal is reached: steps, rewards, or anything else that is paid by the step.

What a run is worth that never reaches the goal is a convention: infinity, for time and for costs, as in the books and
tools of verification; for rewards that are costs with the opposite sign, minus infinity. So with the *bad* infinity,

- the best policy is one that reaches the goal with probability 1; where there is none, the value is infinite. The best
  of these solves a stochastic shortest path problem (Bertsekas & Tsitsiklis 1991) in which staying in an end component
  is not allowed, even where it costs nothing;
- the worst policy has an infinite value if it can miss the goal with any probability; where no policy can, every one of
  them comes to the end.
"""

from typing import Literal, TypeAlias, Unpack

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import one_of
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.validation import floats
from rlsuite.planning.certificate import finished
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.mdp.stochastic_shortest_path import best_until_the_end
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.questions.answers import GOAL, IMPOSSIBLE, OBJECTIVES, OPEN, ExpectedSolution, Objective
from rlsuite.planning.questions.goals import Question, States, as_decisions, first_action, states_of
from rlsuite.planning.questions.reach import begins, ending_at
from rlsuite.planning.watch import Watch

Sum: TypeAlias = Literal["steps", "reward"] | ArrayLike
SUMS = ("steps", "reward")


@takes_limits(max_iterations=100_000)
def expected_until(
    mdp: MDP | MarkovChain,
    goal: States,
    *,
    of: Sum = "reward",
    objective: Objective = "max",
    missed: float | None = None,
    from_: States | None = None,
    policy: ArrayLike | None = None,
    **limits: Unpack[Limits],
) -> ExpectedSolution:
    """Find the largest or smallest expected sum of rewards, or number of steps, until a goal is reached.

    Parameters
    ----------
    mdp : MDP or MarkovChain
        The model; its gamma does not matter.
    goal : int, str, sequence of these, or array_like (S,) bool
        The states to reach, as for `reach`. The sum includes the step into the goal, and nothing after it.
    of : {"reward", "steps"} or array_like (S,) or (S, A)
        What each step adds: the mean reward of the model, 1, or numbers of your own.
    objective : {"max", "min"}
        The largest sum over all policies, or the smallest.
    missed : float, optional
        The sum of a run that never reaches the goal: infinity or minus infinity. By default infinity if no step adds
        less than 0, and minus infinity if no step adds more than 0, as rewards that are costs do.
    from_ : as `goal`, optional
        Where runs begin, all states with the same probability; by default where the model says.
    policy : array_like (S,) int or (S, A) float, optional
        Answer for this policy instead of the best or the worst one. The answer is then about a model with one action.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    ExpectedSolution
        ``value`` (S,) are the sums, ``infinite`` (S,) the states where they are infinite, ``policy`` (S,) a policy that
        attains them.

    Raises
    ------
    ParameterError
        If `goal` or `from_` name no state of the model, or an option is out of range; or if steps add numbers of both
        signs and `missed` is not given.
    ModelError
        If a policy can put off the goal for ever with gains that are as large as the losses, or larger; the message
        names a state.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    A die with six sides: how often must it be thrown until it shows a six?

    >>> from rlsuite.models import MarkovChain
    >>> throws = MarkovChain([[5 / 6, 1 / 6], [0, 1]])
    >>> expected_until(throws, goal=1, of="steps").value.round(9).tolist()
    [6.0, 0.0]

    The goal can be reached in two ways, surely for 3 or with luck for 1; but it can also be missed:

    >>> from rlsuite.models import MDP
    >>> cost = [[3, 1], [0, 0], [0, 0]]
    >>> mdp = MDP.from_successors([[1, {0: 0.5, 1: 0.5}], [1, 1], [2, 1]], cost, gamma=1.0)
    >>> best, worst = (expected_until(mdp, goal=1, objective=objective) for objective in ("min", "max"))
    >>> best.value.tolist(), best.policy.tolist(), worst.value.tolist()
    ([2.0, 0.0, 0.0], [1, 0, 1], [3.0, 0.0, inf])
    """
    one_of("objective", objective, OBJECTIVES)
    watch = Watch("expected_until", **limits)
    model = as_decisions(mdp, policy)
    wanted = states_of(model, goal, "goal")
    start = begins(model, from_)
    paid = paid_by(model, of)
    bad = _missed(paid[model.legal & ~wanted[:, np.newaxis]], missed)
    question = Question(model, wanted, np.zeros_like(wanted))
    best = (objective == "min") == (bad > 0.0)
    finite = question.some_surely if best else question.every_surely
    known: IndexArray = np.where(question.goal, GOAL, np.where(finite, OPEN, IMPOSSIBLE))
    value: FloatArray = np.where(finite, 0.0, bad)
    decisions = first_action(model).astype(np.int64)
    bound = 0.0
    asked = known == OPEN
    if asked.any():
        sign = 1.0 if objective == "max" else -1.0
        ending = ending_at(question, asked, question.goal)
        if best:  # pairs after which the goal may be missed cost infinitely much
            ending = _only(ending, question.safe.reshape(model.legal.shape))
        ending = ending.replace(reward=np.where(ending.legal, sign * paid, 0.0))
        found = best_until_the_end(Lookahead(ending), watch, may_stay=False)
        bound = found.error_bound
        value[asked] = 0.0 + sign * found.value[asked]
        decisions[asked] = found.policy[asked]
    watch.record(bound)
    watch.measure(value[finite])
    return finished(
        ExpectedSolution,
        watch,
        bound,
        value=value,
        policy=decisions,
        lookahead=Lookahead(model),
        start=start,
        objective=objective,
        known=known,
        paid=paid,
        missed=bad,
    )


def paid_by(mdp: MDP, of: Sum) -> FloatArray:
    """Return what each pair (S, A) adds; 0 where it is not legal."""
    shape = (mdp.n_states, mdp.n_actions)
    if isinstance(of, str):
        if of not in SUMS:
            raise ParameterError(unknown("sum: of", of, SUMS))
        paid = np.ones(shape) if of == "steps" else mdp.expected_reward().reshape(shape)
    else:
        paid = floats("of", of)
        if paid.shape == (mdp.n_states,):
            paid = np.repeat(paid[:, np.newaxis], mdp.n_actions, axis=1)
        if paid.shape != shape:
            raise ParameterError(f"of has shape {paid.shape}, not ({mdp.n_states},) or {shape}")
    return np.where(mdp.legal, paid, 0.0)


def _missed(paid: FloatArray, given: float | None) -> float:
    """Return the sum of a run that never reaches the goal."""
    if given is not None:
        if given not in (np.inf, -np.inf):
            raise ParameterError(f"missed={given!r} is neither infinity nor minus infinity: pass math.inf or -math.inf")
        return float(given)
    if (paid < 0.0).any() and (paid > 0.0).any():
        raise ParameterError(
            "some steps add more than 0 and some less, so a run that never reaches the goal may be worth anything: "
            "pass missed=-math.inf if that is bad as for rewards, missed=math.inf if it is bad as for costs"
        )
    return -np.inf if (paid < 0.0).any() else np.inf


def _only(mdp: MDP, kept: np.ndarray) -> MDP:
    """Return the model without the pairs that are not `kept` (S, A)."""
    pairs = kept.reshape(-1)
    lengths = np.diff(mdp.indptr)
    stays = np.repeat(pairs, lengths)
    return mdp.replace(
        indptr=np.append(0, np.cumsum(np.where(pairs, lengths, 0))),
        next_state=mdp.next_state[stays],
        probability=mdp.probability[stays],
        terminated=mdp.terminated[stays],
        reward=np.zeros((mdp.n_states, mdp.n_actions)),
    )
