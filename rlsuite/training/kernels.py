"""The two loops' compiled halves: a whole run on a table, and one step at a time for any other environment.

Both drive an agent through the same two functions and keep the same books, in the same order; that is why their results
agree to the last bit.

``begin(memory, state, rng) -> action``
    chooses the first action of an episode.
``step(memory, state, action, reward, next_state, terminated, truncated, rng) -> next action``
    learns from one transition and chooses the next action (ignored when the episode is over).

Two generators are drawn from: the agent's, and the environment's. The compiled run draws from the latter exactly as
Gymnasium's table environments and `rlsuite.TabularEnv` do: one uniform number for the successor, then one for a random
reward, then one for an observation; one uniform number for the start.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.compilation import Compiled, compiled
from rlsuite.exploration import Legality
from rlsuite.training.table import Table

Begin = Compiled[..., int]
Step = Compiled[..., int]


class Rule(NamedTuple):
    """An agent's behaviour: its two compiled functions."""

    begin: Begin
    step: Step


class Books(NamedTuple):
    """Where a run stands and what it has collected; the loops write into it.

    ``place`` holds [hidden state, observation, chosen action or NONE, steps in this episode, steps in all, episodes in
    all]; ``sums`` holds [return and regret of this episode, reward and regret in all].
    """

    place: NDArray[np.int64]  # (6,)
    sums: NDArray[np.float64]  # (4,)


STATE, OBSERVATION, ACTION, ELAPSED, STEPS, EPISODES = range(6)
RETURN, REGRET, ALL_REWARD, ALL_REGRET = range(4)

NONE = -1  # no action chosen yet: an episode is about to begin; no observation: it has to be reset first
OVER = -1  # yielded by `session` when an episode is over
BAD_OBSERVATION, BAD_REWARD, BAD_ACTION = -2, -3, -4
FINE = 0

NO_ROOM = -2
"""What a rule returns instead of an action when an episode has become longer than it can remember."""


def new_books() -> Books:
    """Books of a run that has not started."""
    return Books(np.array([NONE, NONE, NONE, 0, 0, 0]), np.zeros(4))


@compiled(in_place=True)
def _is_index(value: float, size: int) -> bool:
    return 0.0 <= value < size and value == np.floor(value)


@compiled(in_place=True)
def run_on_table(
    table: Table,
    rule: Rule,
    memory: Any,
    legal: NDArray[np.bool_],
    legality: Legality,
    gap: NDArray[np.float64],
    rng: np.random.Generator,
    env_rng: np.random.Generator,
    books: Books,
    steps: int,
    episodes: int,
    time_limit: int,
    finished: NDArray[np.float64],
) -> int:
    """Learn for a number of steps or episodes, whichever is reached first.

    The return, regret and length of each finished episode go to the rows of ``finished`` (capacity, 3). Returns FINE or
    BAD_ACTION.
    """
    hidden = table.observation.size > 0
    n_observations = table.observation.shape[2]
    known_gap = gap.size > 0
    place, sums = books
    state, observation, action, elapsed = place[STATE], place[OBSERVATION], place[ACTION], place[ELAPSED]
    episode_return, episode_regret = sums[RETURN], sums[REGRET]
    all_reward, all_regret = sums[ALL_REWARD], sums[ALL_REGRET]
    code = FINE
    steps_done = 0
    episodes_done = 0
    while steps_done < steps and episodes_done < episodes:
        if observation == NONE:
            state = np.searchsorted(table.start, env_rng.random(), side="right")
            if state == table.start.size:
                state = 0
            observation = n_observations if hidden else state
        if action == NONE:
            action = rule.begin(memory, observation, rng)
        while steps_done < steps:
            if not (0 <= action < legal.shape[1] and legality(legal, observation, action)):
                code = BAD_ACTION
                break

            pair = state * table.n_actions + action
            outcome = table.indptr[pair]
            u = env_rng.random()
            total = 0.0
            for candidate in range(table.indptr[pair], table.indptr[pair + 1]):
                total += table.probability[candidate]
                if total > u:
                    outcome = candidate
                    break
            state = np.int64(table.next_state[outcome])
            reward = table.reward[outcome]
            terminated = table.terminated[outcome]
            if table.bernoulli.size > 0 and table.bernoulli[pair]:
                reward = 1.0 if env_rng.random() < reward else 0.0
            elif table.reward_std.size > 0 and table.reward_std[pair] > 0.0:
                reward += table.reward_std[pair] * env_rng.standard_normal()
            next_observation = state
            if hidden:
                u = env_rng.random()
                next_observation = 0
                for candidate in range(n_observations):
                    if table.observation[action, state, candidate] > u:
                        next_observation = candidate
                        break

            steps_done += 1
            elapsed += 1
            episode_return += reward
            all_reward += reward
            if known_gap:
                episode_regret += gap[observation, action]
                all_regret += gap[observation, action]
            truncated = elapsed >= time_limit
            action = rule.step(memory, observation, action, reward, next_observation, terminated, truncated, rng)
            observation = next_observation
            if terminated or truncated:
                finished[episodes_done, 0] = episode_return
                finished[episodes_done, 1] = episode_regret
                finished[episodes_done, 2] = elapsed
                episodes_done += 1
                observation = action = NONE
                elapsed = 0
                episode_return = episode_regret = 0.0
                break
        if code != FINE:
            break
    place[STATE], place[OBSERVATION], place[ACTION], place[ELAPSED] = state, observation, action, elapsed
    place[STEPS] += steps_done
    place[EPISODES] += episodes_done
    sums[RETURN], sums[REGRET] = episode_return, episode_regret
    sums[ALL_REWARD], sums[ALL_REGRET] = all_reward, all_regret
    return code


@compiled(in_place=True)
def session(
    rule: Rule,
    memory: Any,
    legal: NDArray[np.bool_],
    legality: Legality,
    gap: NDArray[np.float64],
    rng: np.random.Generator,
    books: Books,
    inbox: NDArray[np.float64],
    finished: NDArray[np.float64],
) -> Iterator[int]:
    """Serve actions one at a time; between two of them the caller puts the environment's answer into ``inbox``.

    ``inbox`` holds [observation, reward, terminated, truncated]. Yields an action, OVER at the end of an episode (its
    row is then in ``finished`` (1, 3), and the next answer is that of `reset`), or one of the BAD codes. A generator
    keeps its arguments unpacked between two steps; calling a compiled function with them anew would cost more than a
    step of the environment. It has one place to stop at: each costs a fifth of a second to compile.
    """
    served = NONE
    while True:
        place, sums = books
        asked = served >= 0 and place[ACTION] != NONE  # no longer, if the episode has been abandoned meanwhile
        served = FINE
        if asked or place[ACTION] == NONE:
            if not _is_index(inbox[0], legal.shape[0]):
                served = BAD_OBSERVATION
            elif asked and not np.isfinite(inbox[1]):
                served = BAD_REWARD
            elif asked:
                reward = inbox[1]
                terminated = inbox[2] != 0.0
                truncated = inbox[3] != 0.0
                observation, action, next_observation = place[OBSERVATION], place[ACTION], np.int64(inbox[0])
                place[STEPS] += 1
                place[ELAPSED] += 1
                sums[RETURN] += reward
                sums[ALL_REWARD] += reward
                if gap.size > 0:
                    sums[REGRET] += gap[observation, action]
                    sums[ALL_REGRET] += gap[observation, action]
                place[ACTION] = rule.step(
                    memory, observation, action, reward, next_observation, terminated, truncated, rng
                )
                place[OBSERVATION] = next_observation
                if terminated or truncated:
                    finished[0, 0] = sums[RETURN]
                    finished[0, 1] = sums[REGRET]
                    finished[0, 2] = place[ELAPSED]
                    place[EPISODES] += 1
                    place[OBSERVATION] = place[ACTION] = NONE
                    place[ELAPSED] = 0
                    sums[RETURN] = sums[REGRET] = 0.0
                    served = OVER
            else:
                place[OBSERVATION] = np.int64(inbox[0])
                place[ACTION] = rule.begin(memory, place[OBSERVATION], rng)
        if served == FINE:
            served = place[ACTION]
            if not (0 <= served < legal.shape[1] and legality(legal, place[OBSERVATION], served)):
                served = BAD_ACTION
        yield served
