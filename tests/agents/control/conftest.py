"""Lives through transitions without rhyme or reason, which the tests of single rules replay in plain Python."""

from typing import NamedTuple

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.training.legality import listed_actions

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]], dtype=bool)
EPSILON = 0.3
CUT = 9


class Lived(NamedTuple):
    """One step: what happened, the action chosen next, and the memory's arrays after it."""

    state: int
    action: int
    reward: float
    next_state: int
    terminated: bool
    truncated: bool
    next_action: int
    after: dict[str, np.ndarray]

    @property
    def over(self):
        return self.terminated or self.truncated


def snapshot(memory):
    learned = memory.learned._asdict() if memory.learned else {}
    return {name: value.copy() for name, value in {"q": memory.q, **learned}.items() if isinstance(value, np.ndarray)}


def live(agent, steps=300, seed=0):
    """Live through transitions that have no rhyme or reason; return the first tables and the steps."""
    rng = np.random.default_rng(seed)
    memory = agent.init_memory(LEGAL.copy(), listed_actions)
    memory.q[...] = rng.normal(size=LEGAL.shape)  # continuous values: no ties
    for name in ("tables", "present", "before"):
        if name in getattr(memory.learned, "_fields", ()):
            getattr(memory.learned, name)[...] = memory.q
    first = snapshot(memory)
    lived = []
    state, length = 0, 0
    action = type(agent).begin(memory, state, rng)
    while len(lived) < steps:
        length += 1
        next_state, reward = int(rng.integers(len(LEGAL))), float(rng.normal())
        terminated, truncated = bool(rng.random() < 0.12), length == CUT
        t = rl.Transition(state, action, reward, next_state, terminated, truncated)
        chosen = type(agent).step(memory, t, rng)
        lived.append(Lived(*t, int(chosen), snapshot(memory)))
        state, action = next_state, chosen
        if terminated or truncated:
            state, length = int(rng.integers(len(LEGAL))), 0
            action = type(agent).begin(memory, state, rng)
    assert any(each.truncated and not each.terminated for each in lived)
    assert any(each.terminated for each in lived)
    return first, lived


@pytest.fixture(scope="session", name="live")
def fixture_of_live():
    return live


def followed(q, state, epsilon=EPSILON):
    """Probabilities of the epsilon-greedy policy; greedy if epsilon is 0."""
    legal = LEGAL[state]
    best = np.flatnonzero(legal & (q[state] == q[state][legal].max()))
    chances = epsilon * legal / legal.sum()
    chances[best] += (1 - epsilon) / len(best)
    return chances


@pytest.fixture(scope="session", name="followed")
def fixture_of_followed():
    return followed


class Episode(NamedTuple):
    """The book's S_0 .. S_T, A_0 .. A_T, R_1 .. R_T (R[0] is not used), whether S_T is an end, and Q before an update.

    Where an episode is cut, all remaining pairs learn from the value that S_T has before any of them learns.
    """

    S: list[int]
    A: list[int]
    R: list[float]
    ended: bool
    sigma: list[float]
    rho: list[float]
    before: np.ndarray


def n_step(lived, first, n, target, *, sigma=lambda done: 0.0, pi=followed):
    """Replay the loop of S&B2 p. 147: the pair of time tau learns at tau + n, the last ones at the end."""
    q, visits, tables = first["q"].copy(), np.zeros(LEGAL.shape), []
    begin = True
    for done, each in enumerate(lived):
        if begin:
            S, A, R, alphas, sigmas, rhos = [each.state], [each.action], [0.0], [], [], []
            sigmas.append(sigma(done))
            rhos.append(pi(q, each.state)[each.action] / followed(q, each.state)[each.action])
        t = len(S) - 1
        assert (S[t], A[t]) == (each.state, each.action)
        alphas.append(0.8 / (1 + visits[each.state, each.action]) ** 0.6)
        S.append(each.next_state)
        A.append(each.next_action)
        R.append(each.reward)
        episode = Episode(S, A, R, each.terminated, sigmas, rhos, q.copy())
        for tau in range(max(t - n + 1, 0), t + 1 if each.over else t - n + 2):
            q[S[tau], A[tau]] += alphas[tau] * (target(q, episode, tau, t + 1) - q[S[tau], A[tau]])
        visits[each.state, each.action] += 1
        tables.append(q.copy())
        begin = each.over
        if not begin:
            sigmas.append(sigma(done + 1))
            rhos.append(pi(q, each.next_state)[each.next_action] / followed(q, each.next_state)[each.next_action])
    return tables


@pytest.fixture(scope="session", name="n_step")
def fixture_of_n_step():
    return n_step


def greedy(q, state):
    return followed(q, state, epsilon=0.0)


@pytest.fixture(scope="session", params=["greedy", "behaviour"])
def target(request):
    """The name of a target policy, and its probabilities."""
    return request.param, {"greedy": greedy, "behaviour": followed}[request.param]
