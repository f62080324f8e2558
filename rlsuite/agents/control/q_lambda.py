"""Q(lambda): Q-learning with eligibility traces, in three versions.

Q-learning estimates the value of the greedy policy, but the actions that follow in an episode include exploring ones.
The versions differ in how far back an error is assigned. Watkins (1989): to the last action that was not greedy. Peng
& Williams (1996): to the beginning of the episode, and the errors are those of the state values, max Q, from one state
to the next. Naive Q(lambda): to the beginning of the episode, whether or not the actions were greedy.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rlsuite.agents.control.eligibility import EligibilityAgent, credit
from rlsuite.agents.exploration import NO_ACTION, choose, max_value
from rlsuite.agents.memory import (
    NOWHERE,
    Memory,
    end_step,
    locate,
    locate_next,
    step_size,
    update,
    update_and_decay,
    value,
    visit,
)
from rlsuite.agents.traces import reset_traces
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _naive_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + delta e and e <- gamma lambda e, where delta = r + gamma max_a' Q(s', a') - Q(s, a)."""
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * max_value(memory, next_s)
    credit(memory, s, t.action, step_size(memory, s, t.action), target - value(memory, s, t.action))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    if t.terminated or t.truncated:
        return NO_ACTION
    return choose(memory, next_s, rng)


@compiled(in_place=True)
def _watkins_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Learn as the naive rule does; e <- 0 if the next action is not greedy."""
    next_action = _naive_step(memory, t, rng)
    if next_action != NO_ACTION:
        s = locate(memory, t.next_state)  # the present observation after `_naive_step`
        if memory.q[s, next_action] < max_value(memory, s):
            reset_traces(memory.scratch.traces)
    return next_action


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
    if t.terminated or t.truncated:
        return NO_ACTION
    return choose(memory, next_s, rng)


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

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _watkins_step


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

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _naive_step


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
    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _peng_step
