"""The rules with eligibility traces of pairs: Sarsa(lambda), true online and expected, and three forms of Q(lambda).

An error says how much better or worse than expected a step was. Not only the last pair of state and action
is updated, but all that led there, each in proportion to its trace; `credit` updates them, and decays the traces.

The traces hold step sizes (see `rlsuite.agents.traces`). With the step size of the pair just taken for all of them,
what Peng's Q(lambda) tends to would depend on how often each pair is visited.

Q-learning estimates the value of the greedy policy, but the actions that follow in an episode include exploring ones.
The forms of Q(lambda) differ in how far back an error is assigned. Watkins (1989): to the last action that was not
greedy. Peng & Williams (1996): to the beginning of the episode, and the errors are those of the state values, max Q,
from one state to the next. Naive: to the beginning of the episode, whether or not the actions were greedy.

True online Sarsa(lambda) has the values that the lambda-return would give, at every moment (van Seijen & Sutton 2014).
The forward view is this. After each step, undo all updates of the episode, and go through it again from its beginning:
each value moves towards the lambda-return of what is known by now. That is one pass per step; a dutch trace and two
corrections give the same numbers at the cost of Sarsa(lambda).

In plain NumPy: `rlsuite.reference.learning.sarsa_lambda`.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.control.expected_sarsa import expected_value
from rlsuite.agents.exploration import NO_ACTION, choose, max_value
from rlsuite.agents.memory import (
    NOWHERE,
    Memory,
    Observation,
    begin,
    end_step,
    locate,
    locate_first,
    locate_next,
    step_size,
    update,
    update_and_decay,
    value,
    visit,
)
from rlsuite.agents.traces import (
    CLEARING,
    PAIR_TRACES,
    Traces,
    TraceUpdate,
    check_kind,
    dutch,
    new_traces,
    reset_traces,
)
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class Eligibility(NamedTuple):
    """What the rules keep of the present episode."""

    traces: Traces  # of the n_states * n_actions pairs, step sizes included
    kind: TraceUpdate  # how a visit changes a trace
    lambda_: float
    clears: bool  # whether a visit clears the traces of the other actions
    probabilities: NDArray[np.float64]  # (n_actions,), room for those of one state
    former: NDArray[np.float64]  # (1,), value of the present pair when the last error was computed


@compiled(in_place=True)
def begin_eligible(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Reset all traces, which may be those of an episode that was abandoned, and choose the first action."""
    reset_traces(memory.scratch.traces)
    return begin(memory, state, rng)


@compiled(in_place=True)
def credit(memory: Memory, row: int, action: int, step_size: float, error: float) -> None:
    """Visit (s, a); Q <- Q + delta e for all that is eligible; e <- gamma lambda e."""
    eligible = memory.scratch
    if eligible.clears:
        for other in range(memory.q.shape[1]):
            if other != action:
                visit(memory, row, other, eligible.kind, 0.0)  # which replaces the trace by 0
    visit(memory, row, action, eligible.kind, step_size)
    update_and_decay(memory, eligible.traces, error, memory.gamma * eligible.lambda_)


@compiled(in_place=True)
def _learn(memory: Memory, t: Transition, s: int, target: float) -> None:
    """Credit the error of a target for Q(s, a), and count the step."""
    credit(memory, s, t.action, step_size(memory, s, t.action), target - value(memory, s, t.action))
    end_step(memory, s, t.action, t.terminated or t.truncated)


@dataclass(eq=False, kw_only=True)
class EligibilityAgent(ActionValueAgent):
    """Base of the agents with eligibility traces.

    Parameters
    ----------
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1]: 0 is learning from one step, 1 from whole episodes.
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace e: e + alpha, alpha, or (1 - alpha) e + alpha; or alpha, and those of the other
        actions become 0.
    gamma, exploration, learning_rate, initial_value
        As for `TabularAgent`.
    """

    begin: ClassVar[Begin] = begin_eligible
    renews: ClassVar[bool] = True

    lambda_: float = 0.9
    traces: str = "accumulating"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)
        self.traces = check_kind("traces", self.traces, PAIR_TRACES)

    def scratch(self, n_states: int, n_actions: int) -> Eligibility:
        """Make the traces of all pairs, none of them eligible."""
        traces, kind = new_traces(n_states * n_actions), PAIR_TRACES[self.traces]
        clears = self.traces == CLEARING
        return Eligibility(traces, kind, self.lambda_, clears, np.zeros(n_actions), np.zeros(1))


@compiled(in_place=True)
def _sarsa_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + delta e and e <- gamma lambda e, where delta = r + gamma Q(s', a') - Q(s, a).

    On truncation the target still bootstraps, so a' is also chosen then.
    """
    s = locate(memory, t.state)
    target, next_action = t.reward, NO_ACTION
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        next_action = choose(memory, next_s, rng)
        target = t.reward + memory.gamma * memory.q[next_s, next_action]
    _learn(memory, t, s, target)
    return next_action


@dataclass(eq=False, kw_only=True)
class SarsaLambda(EligibilityAgent):
    """Sarsa with eligibility traces (S&B2 section 12.7, for a table).

    One reward changes the values of all pairs that led to it, the recent ones most: where rewards are rare this saves
    most of the episodes that Sarsa needs. The cost of a step grows with 1 / (1 - gamma lambda), as that many pairs
    are eligible, and not with the size of the table. With ``lambda_=0`` it is `Sarsa`, to the last bit.

    A pair that is visited again while it is eligible may learn too much from accumulating traces: with many of such
    visits and a large step size the values diverge. Replacing and dutch traces prevent that; `TrueOnlineSarsaLambda`
    follows the lambda-return exactly.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace e, which includes the step size: e + alpha, alpha (Singh & Sutton 1996), or
        (1 - alpha) e + alpha (S&B2 eq. 12.11). Clearing traces are replacing ones, where a visit also sets the traces
        of the other actions of the state to 0 (Singh & Sutton 1996).
    initial_value : float
        Value of every action before it is tried.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    Thirty episodes in the windy grid, where nothing is learned before the goal is found:

    >>> import rlsuite as rl, rlsuite_envs
    >>> for lambda_ in (0.0, 0.9):
    ...     agent = rl.SarsaLambda(gamma=1.0, learning_rate=0.1, lambda_=lambda_, traces="replacing")
    ...     agent = agent.learn("rlsuite/WindyGrid-v0", episodes=30, seed=7)
    ...     print("last episode under 100 steps:", bool(agent.episodes_["length"][-1] < 100))
    last episode under 100 steps: False
    last episode under 100 steps: True
    """

    step: ClassVar[Step] = _sarsa_step


@compiled(in_place=True)
def _expected_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + delta e and e <- gamma lambda e, where delta = r + gamma sum_a' pi(a' | s') Q(s', a') - Q(s, a)."""
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * expected_value(memory, next_s, memory.scratch.probabilities)
    _learn(memory, t, s, target)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class ExpectedSarsaLambda(EligibilityAgent):
    """Expected Sarsa with eligibility traces (S&B2 eq. 12.20, for the policy that is followed).

    It has the errors of `ExpectedSarsa`, whose targets do not depend on the draw of the next action. Each error
    updates all pairs that led to it, as in `SarsaLambda`. With ``lambda_=0`` it is `ExpectedSarsa`, to the last bit.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        The policy that is followed and evaluated; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace; see `SarsaLambda`.
    initial_value : float
        Value of every action before it is tried.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.ExpectedSarsaLambda(gamma=1.0, learning_rate=0.5, lambda_=0.8)
    >>> agent = agent.learn("CliffWalking-v1", episodes=200, seed=7)
    >>> bool(agent.episodes_["return"][-50:].mean() > -60)
    True
    """

    step: ClassVar[Step] = _expected_step


@compiled(in_place=True)
def _naive_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + delta e and e <- gamma lambda e, where delta = r + gamma max_a' Q(s', a') - Q(s, a)."""
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * max_value(memory, next_s)
    _learn(memory, t, s, target)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class NaiveQLambda(EligibilityAgent):
    """Naive Q(lambda): traces are never cut (Sutton & Barto 1998, section 7.6).

    Errors are assigned across exploring actions. At Q* all errors are 0 in the mean, whichever actions are tried, and
    the values tend to Q* while lambda < (1 - gamma) / (2 gamma). With a larger one, and a behaviour far from greedy,
    they may grow without bound (Harutyunyan et al. 2016). With ``lambda_=0`` it is `QLearning`, to the last bit.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace e, which includes the step size: e + alpha, alpha, or (1 - alpha) e + alpha.
    initial_value : float
        Value of every action before it is tried.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.NaiveQLambda(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.2))
    >>> agent.learn("rlsuite/GridGoal-v0", episodes=200, seed=7).policy()[1].argmax() in (1, 2)
    True
    """

    step: ClassVar[Step] = _naive_step


@compiled(in_place=True)
def _watkins_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Learn as the naive rule does; e <- 0 if the next action is not greedy."""
    next_action = _naive_step(memory, t, rng)
    if next_action != NO_ACTION:
        s = locate(memory, t.next_state)  # the present observation after `_naive_step`
        if memory.q[s, next_action] < max_value(memory, s):
            reset_traces(memory.scratch.traces)
    return next_action


@dataclass(eq=False, kw_only=True)
class WatkinsQLambda(EligibilityAgent):
    """Watkins' Q(lambda): actions that are not greedy cut the traces (Watkins 1989; Sutton & Barto 1998, section 7.6).

    Learns the values of the greedy policy, whichever actions are tried, and converges to Q* as `QLearning` does (Munos
    et al. 2016). The disadvantage: while the agent explores much, traces are short. With ``lambda_=0`` it is
    `QLearning`, to the last bit. The cost of a step does not grow with the size of the table.

    The next action is chosen, and compared with the greedy one, after the update, as in the box of Q-learning (S&B2 p.
    131); the box of Sutton & Barto 1998 (Figure 7.14) chooses before it.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace e, which includes the step size: e + alpha, alpha, or (1 - alpha) e + alpha.
    initial_value : float
        Value of every action before it is tried.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    Three episodes of a deterministic grid give five states a value; `QLearning` reaches three of them:

    >>> import rlsuite as rl, rlsuite_envs
    >>> for kind in (rl.WatkinsQLambda, rl.QLearning):
    ...     agent = kind(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.2))
    ...     print((agent.learn("rlsuite/GridGoal-v0", episodes=3, seed=7).q_.max(axis=1) > 0).sum())
    5
    3
    """

    step: ClassVar[Step] = _watkins_step


@compiled(in_place=True)
def _peng_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + (r + gamma V(s') - V(s)) e and Q(s, a) <- Q(s, a) + alpha (r + gamma V(s') - Q(s, a)), V = max_a Q.

    The first is for the pairs before this one, whose traces have faded since; the second is for this one, which is
    eligible from then on.
    """
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * max_value(memory, next_s)
    error_of_action = target - value(memory, s, t.action)
    error_of_state = target - max_value(memory, s)
    alpha = step_size(memory, s, t.action)
    eligible = memory.scratch
    decay = memory.gamma * eligible.lambda_
    update_and_decay(memory, eligible.traces, error_of_state * decay, decay)
    update(memory, s, t.action, alpha * error_of_action)
    visit(memory, s, t.action, eligible.kind, alpha)
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class PengQLambda(EligibilityAgent):
    """Peng's Q(lambda): the lambda-return of n-step returns that end in a maximum (Peng & Williams 1996).

    This is the Q^lambda of the lecture notes (section 9.2.2): values move towards
    ``r_t + gamma [(1 - lambda) max_a Q(x_t+1, a) + lambda Q^lambda(x_t+1, a_t+1)]``. These are the rewards of the
    policy that is followed: while that explores at a constant rate, the values tend to something between Q of that
    policy and Q*; they tend to Q* if it becomes greedy (Kozuno et al. 2021). With ``lambda_=0`` it is `QLearning`, to
    the last bit.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    initial_value : float
        Value of every action before it is tried.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    The first episode that goes straight to the goal, with lambda = 1/2, beside 0, 0, 100 of one-step learning:

    >>> import numpy as np, rlsuite as rl
    >>> way = rl.MDP.from_successors([[1], [2], [3], [None]], [[0], [0], [100], [0]], gamma=0.9, start=0)
    >>> rl.PengQLambda(gamma=0.9, learning_rate=1.0, lambda_=0.5).learn(way.to_env(), episodes=1, seed=7).q_.ravel()
    array([ 20.25,  45.  , 100.  ,   0.  ])
    """

    traces: str = field(init=False, repr=False, default="accumulating")
    step: ClassVar[Step] = _peng_step


@compiled(in_place=True)
def _begin_online(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Reset all traces, and choose the first action."""
    reset_traces(memory.scratch.traces)
    s = locate_first(memory, state)
    action = choose(memory, s, rng)
    memory.scratch.former[0] = memory.q[s, action]
    return action


@compiled(in_place=True)
def _online_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + (delta + c) e, then Q(s, a) <- Q(s, a) - alpha c, with the change c of Q(s, a) since it was chosen."""
    s = locate(memory, t.state)
    ahead, next_action = 0.0, NO_ACTION
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        next_action = choose(memory, next_s, rng)
        ahead = memory.q[next_s, next_action]
    alpha = step_size(memory, s, t.action)
    traces, former = memory.scratch.traces, memory.scratch.former
    present = value(memory, s, t.action)
    error = t.reward + memory.gamma * ahead - present
    change = present - former[0]
    former[0] = ahead
    visit(memory, s, t.action, dutch, alpha)
    update_and_decay(memory, traces, error + change, memory.gamma * memory.scratch.lambda_)
    update(memory, s, t.action, -(alpha * change))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class TrueOnlineSarsaLambda(EligibilityAgent):
    """True online Sarsa(lambda) (S&B2 section 12.7, the boxed algorithm for a table).

    Its values equal those of the online lambda-return algorithm (S&B2 section 12.4) after every step and for any step
    sizes. With ``lambda_=0`` these are the values of `Sarsa`; with ``lambda_=1``, at the end of an episode, those of
    every-visit Monte Carlo. Unlike accumulating traces it is stable for every step size up to 1.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    initial_value : float
        Value of every action before it is tried.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.TrueOnlineSarsaLambda(gamma=1.0, learning_rate=0.5, lambda_=0.8)
    >>> agent = agent.learn("CliffWalking-v1", episodes=200, seed=7)
    >>> bool(agent.episodes_["return"][-50:].mean() > -60)
    True
    """

    traces: str = field(init=False, repr=False, default="dutch")
    begin: ClassVar[Begin] = _begin_online
    step: ClassVar[Step] = _online_step
