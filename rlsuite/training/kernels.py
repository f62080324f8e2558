"""The compiled parts of the two loops: a whole run in a compiled environment, or one step at a time in any other.

Both call an agent's two functions and update the same records in the same order; that is why their results agree to
the last bit.

``begin(memory, state, rng) -> action``
    chooses the first action of an episode.
``step(memory, t, rng) -> next action``
    learns from one `Transition` and chooses the next action (ignored when the episode is over).

What a rule observes, an id or a vector, is its *view*; the loops store an id, or the number of the row that holds the
vector, and give the rule the id or the vector itself (`rlsuite.environments.observation_view`). Two generators are
drawn from: the agent's, and the environment's, from which its compiled functions draw exactly as the environment does
(`rlsuite.environments.forms.form`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rlsuite.core.aliases import Observation
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.environments.forms.form import EnvironmentFunctions
from rlsuite.environments.observation_view import BAD, NONE, Receive, View, observed
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.training.legality import Legality
from rlsuite.training.seen import Seen, is_seen

Begin = Compiled[..., int]
Step = Compiled[..., int]


class Transition(NamedTuple):
    """One step of an environment, as a rule is given it.

    ``state`` and ``next_state`` are ids, counted from 0, or vectors (d,) of float64 that are overwritten two steps
    later: a rule that keeps one for longer has to copy it.
    """

    state: Observation
    action: int
    reward: float
    next_state: Observation
    terminated: bool
    """Whether the episode has ended in a terminal state: no reward follows, whatever the next state is."""
    truncated: bool
    """Whether the episode was cut off, as by a time limit: the target still bootstraps from the next state."""


class Rule(NamedTuple):
    """An agent's two compiled functions."""

    begin: Begin
    step: Step


class RunState(NamedTuple):
    """The state of a run and its totals; the loops write into it.

    ``position`` holds [observation, chosen action or NONE, steps in this episode, steps in all, episodes in all];
    ``totals`` holds [return and regret of this episode, reward and regret in all].
    """

    position: IndexArray  # (5,)
    totals: FloatArray  # (4,)


OBSERVATION, ACTION, ELAPSED, ALL_STEPS, ALL_EPISODES = range(5)
RETURN, REGRET, ALL_REWARD, ALL_REGRET = range(4)

OVER = -1  # yielded by `session` when an episode is over
BAD_OBSERVATION, BAD_REWARD, BAD_ACTION, OVERFLOW, FRESH = BAD, -3, -4, -5, -6
FINE = 0

EPISODE_TOO_LONG = -2
"""What a rule returns instead of an action when an episode has become longer than it can store."""


def new_run_state() -> RunState:
    """The records of a run that has not started."""
    return RunState(np.array([NONE, NONE, 0, 0, 0]), np.zeros(4))


def abandon_episode(run_state: RunState) -> None:
    """Let the next step begin a new episode."""
    position, totals = run_state
    position[OBSERVATION] = position[ACTION] = NONE
    position[ELAPSED] = 0
    totals[RETURN] = totals[REGRET] = 0.0


@compiled(in_place=True)
def run_compiled(
    functions: EnvironmentFunctions,
    view: View,
    rule: Rule,
    memory: object,
    legal: BoolArray,
    legality: Legality,
    gap: FloatArray,
    rng: np.random.Generator,
    env_rng: np.random.Generator,
    run_state: RunState,
    time_limit: int,
    shown: Seen,
    state: object,
    steps: int,
    clock: int,
    times: IndexArray,
    recorded: FloatArray,
    finished: FloatArray,
) -> tuple[int, int, object]:
    """Learn until the clock, ALL_STEPS or ALL_EPISODES, shows the last time, or for a number of steps if that is less.

    The reward and regret in all at each time go to the rows of ``recorded`` (n_times, 2), and the return, regret and
    length of each finished episode to those of ``finished`` (capacity, 3). Before an outcome that is not among those of
    ``shown`` the run stops, as if its step had not been taken; without any entry it never does. Returns FINE,
    BAD_ACTION, OVERFLOW or FRESH, how many times were recorded, and the state of the environment.
    """
    # 1. Take up the run where it was left: all that changes is in local variables until the end.
    known_gap = gap.size > 0
    stops = shown.first.size > 0
    position, totals = run_state
    observation, action, elapsed = position[OBSERVATION], position[ACTION], position[ELAPSED]
    episode_return, episode_regret = totals[RETURN], totals[REGRET]
    all_reward, all_regret = totals[ALL_REWARD], totals[ALL_REGRET]
    code = FINE
    steps_done = 0
    episodes_done = 0
    n_recorded = 0
    # 2. From one time to the next, as far as the limits of this call allow.
    for time in times:
        ahead = time - position[clock]  # of where this call began
        last_step = min(ahead, steps) if clock == ALL_STEPS else steps
        last_episode = ahead if clock == ALL_EPISODES else steps
        while steps_done < last_step and episodes_done < last_episode:
            # 3. Begin an episode, unless the last call ended within one.
            if observation == NONE:
                state, observation = functions.begin(functions.data, view, env_rng)
            if action == NONE:
                action = rule.begin(memory, observed(view, observation), rng)
            while steps_done < last_step:
                # 4. Take a step: check the action, ask the environment, count, and let the rule learn and choose.
                if not (0 <= action < legal.shape[1] and legality(legal, observation, action)):
                    code = BAD_ACTION
                    break
                low, high, half = shown.state[0], shown.state[1], shown.half[0]
                before = state

                state, reward, terminated, truncated, next_observation = functions.step(
                    functions.data, state, action, observation, view, env_rng
                )

                if stops:
                    over = terminated or truncated or elapsed + 1 >= time_limit
                    following = NONE if over else next_observation
                    if not is_seen(shown, (observation, action), following, reward, terminated):
                        shown.state[0], shown.state[1], shown.half[0] = low, high, half
                        state = before
                        code = FRESH
                        break
                steps_done += 1
                elapsed += 1
                episode_return += reward
                all_reward += reward
                if known_gap:
                    episode_regret += gap[observation, action]
                    all_regret += gap[observation, action]
                truncated = truncated or elapsed >= time_limit
                seen, next_seen = observed(view, observation), observed(view, next_observation)
                action = rule.step(memory, Transition(seen, action, reward, next_seen, terminated, truncated), rng)
                observation = next_observation
                # 5. Record the episode that is over.
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
        # 6. Record the sums, if the time was reached.
        if code == FINE and not np.isfinite(all_reward):
            code = OVERFLOW
        if code != FINE or (steps_done if clock == ALL_STEPS else episodes_done) < ahead:
            break
        recorded[n_recorded, 0], recorded[n_recorded, 1] = all_reward, all_regret
        n_recorded += 1
    # 7. Leave the run where the next call takes it up.
    position[OBSERVATION], position[ACTION], position[ELAPSED] = observation, action, elapsed
    position[ALL_STEPS] += steps_done
    position[ALL_EPISODES] += episodes_done
    totals[RETURN], totals[REGRET] = episode_return, episode_regret
    totals[ALL_REWARD], totals[ALL_REGRET] = all_reward, all_regret
    return code, n_recorded, state


@compiled(in_place=True)
def session(
    receive: Receive,
    view: View,
    rule: Rule,
    memory: object,
    legal: BoolArray,
    legality: Legality,
    gap: FloatArray,
    rng: np.random.Generator,
    run_state: RunState,
    buffer: FloatArray,
    finished: FloatArray,
) -> Iterator[int]:
    """Serve actions one at a time; between two of them the caller puts the environment's answer into ``buffer``.

    ``buffer`` holds [observation, reward, terminated, truncated]; a vector is written into the view.

    Yields an action, OVER at the end of an episode (its row is then in ``finished`` (1, 3), and the next answer is that
    of `reset`), or one of the BAD codes. A generator keeps its arguments unpacked between two steps; calling a compiled
    function with them again would cost more than a step of the environment. It has a single ``yield``, because each
    takes a fifth of a second to compile.
    """
    served = NONE
    while True:
        # 1. What is due: the answer to an action, the first observation of an episode, or nothing after an error.
        position, totals = run_state
        asked = served >= 0 and position[ACTION] != NONE  # False after Ctrl-C, which abandons the episode
        served = FINE
        if asked or position[ACTION] == NONE:
            observation = position[OBSERVATION] if asked else NONE
            # 2. Receive what the environment has answered, and check it.
            arrived = receive(view, buffer[0], legal.shape[0], observation)
            if arrived == BAD_OBSERVATION:
                served = BAD_OBSERVATION
            elif asked and not np.isfinite(buffer[1]):
                served = BAD_REWARD
            elif asked:
                # 3. Count the step, and let the rule learn and choose.
                reward = buffer[1]
                terminated = buffer[2] != 0.0
                truncated = buffer[3] != 0.0
                action = position[ACTION]
                position[ALL_STEPS] += 1
                position[ELAPSED] += 1
                totals[RETURN] += reward
                totals[ALL_REWARD] += reward
                if gap.size > 0:
                    totals[REGRET] += gap[observation, action]
                    totals[ALL_REGRET] += gap[observation, action]
                seen, next_seen = observed(view, observation), observed(view, arrived)
                t = Transition(seen, action, reward, next_seen, terminated, truncated)
                position[ACTION] = rule.step(memory, t, rng) | 0  # which refuses a fraction, and None
                position[OBSERVATION] = arrived
                # 4. Record the episode that is over.
                if terminated or truncated:
                    finished[0, 0] = totals[RETURN]
                    finished[0, 1] = totals[REGRET]
                    finished[0, 2] = position[ELAPSED]
                    position[ALL_EPISODES] += 1
                    position[OBSERVATION] = position[ACTION] = NONE
                    position[ELAPSED] = 0
                    totals[RETURN] = totals[REGRET] = 0.0
                    served = OVER
            else:
                # 5. Begin an episode.
                position[OBSERVATION] = arrived
                position[ACTION] = rule.begin(memory, observed(view, arrived), rng) | 0
        # 6. Serve the action that was chosen, unless the episode is over or something is wrong.
        if served == FINE:
            served = position[ACTION]
            if not (0 <= served < legal.shape[1] and legality(legal, position[OBSERVATION], served)):
                served = BAD_ACTION
        yield served
