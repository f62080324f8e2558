"""The tiger problem (KLC98, section 2.3): two doors or more, a tiger behind one of them, and unreliable hearing."""

import numpy as np

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import POMDP
from rlsuite.rendering import BoxesDrawing, Drawing
from rlsuite_envs.keywords import choice, number, whole

LISTEN = 0


def door_names(doors: int) -> tuple[str, ...]:
    """Return the names of the doors: sides where there are two, numbers where there are more.

    >>> door_names(2), door_names(3)
    (('left', 'right'), ('1', '2', '3'))
    """
    return ("left", "right") if doors == 2 else tuple(str(number) for number in range(1, doors + 1))


def tiger(
    *,
    doors: int = 2,
    accuracy: float = 0.85,
    listen_cost: float = 1.0,
    right_reward: float = 10.0,
    tiger_cost: float = 100.0,
    opening: str = "continue",
    window: int | None = None,
    gamma: float = 0.95,
) -> POMDP:
    """Build the tiger problem; the keywords are those of `TigerEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> problem = tiger()
    >>> heard_left = problem.update_belief([0.5, 0.5], 0, 0)
    >>> heard_left.round(4).tolist(), problem.update_belief(heard_left, 0, 0).round(4).tolist()
    ([0.85, 0.15], [0.9698, 0.0302])
    """
    n_states = whole("doors", doors, 2)
    number("accuracy", accuracy, 0, 1)
    number("listen_cost", listen_cost)
    number("right_reward", right_reward)
    number("tiger_cost", tiger_cost)
    choice("opening", opening, ["continue", "end"])
    n_actions = n_states + 1
    names = door_names(n_states)
    transition = np.full((n_states, n_actions, n_states), 1.0 / n_states)
    transition[:, LISTEN] = np.eye(n_states)
    reward = np.full((n_states, n_actions), right_reward)
    reward[:, LISTEN] = -listen_cost
    reward[np.arange(n_states), np.arange(1, n_actions)] = -tiger_cost
    terminated = np.zeros(transition.shape, dtype=np.bool_)
    terminated[:, 1:] = opening == "end"
    # After a door was opened the tiger is placed at random again, and the observation carries no information.
    observation = np.full((n_actions, n_states, n_states), 1.0 / n_states)
    # 1 - 0.85 is 0.15000000000000002: without rounding, the two sides would need different alpha vectors
    observation[LISTEN] = round((1 - accuracy) / (n_states - 1), 15)
    np.fill_diagonal(observation[LISTEN], accuracy)
    problem = POMDP.from_arrays(
        transition,
        reward,
        observation,
        gamma=gamma,
        start=np.full(n_states, 1.0 / n_states),
        terminated=terminated,
        state_labels=[f"tiger {name}" for name in names],
        action_labels=["listen", *(f"open {name}" for name in names)],
        observation_labels=[f"hear {name}" for name in names],
    )
    return problem if window is None else problem.window(whole("window", window, 1))


class TigerEnv(TabularEnv):
    """Doors and a tiger: listen as often as it pays, then open a door that does not hide it (KLC98, section 2.3).

    Parameters
    ----------
    doors : int
        Number of doors, at least 2; behind one of them is the tiger.
    accuracy : float
        Probability of hearing the tiger where it is, in [0, 1]; otherwise it is heard behind any of the other doors.
    listen_cost : float
        Cost of listening.
    right_reward : float
        Reward for opening a door without the tiger.
    tiger_cost : float
        Cost of opening the door with the tiger.
    opening : {"continue", "end"}
        After a door was opened the tiger is placed again, uniformly, and the game continues, as in the paper; or the
        episode ends.
    window : int, optional
        Show this many of the last (action, observation) pairs instead of the last observation alone
        (`rlsuite.POMDP.window`): a memory for agents that have none.
    gamma : float
        Discount of the model: 0.75 in KLC98, 0.95 in most later papers.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`; what is drawn is what the agent knows, never where the tiger is.

    Notes
    -----
    Actions: 0 listen, 1 open left, 2 open right. Observations: 0 hear left, 1 hear right, 2 nothing yet. More doors are
    numbered from 1: action i opens door i. After opening, all sounds are equally likely. The horizon is the time limit
    of the registered id (``gymnasium.make(..., max_episode_steps=...)`` changes it).

    Examples
    --------
    >>> env = TigerEnv(render_mode="ansi")
    >>> env.reset(seed=7)[0], env.step(0)[:2]
    (2, (1, -1.0))
    >>> print(env.render(), end="")
     left   right
    listen, reward -1 | observed: hear right
    """

    def __init__(
        self,
        *,
        doors: int = 2,
        accuracy: float = 0.85,
        listen_cost: float = 1.0,
        right_reward: float = 10.0,
        tiger_cost: float = 100.0,
        opening: str = "continue",
        window: int | None = None,
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        model = tiger(
            doors=doors,
            accuracy=accuracy,
            listen_cost=listen_cost,
            right_reward=right_reward,
            tiger_cost=tiger_cost,
            opening=opening,
            window=window,
            gamma=gamma,
        )
        super().__init__(model, render_mode=render_mode)

    def default_drawing(self) -> Drawing:
        """Return a drawing of the doors, the one opened last in colour."""
        labels = self.model.action_labels or ()
        names = door_names(len(labels) - 1)
        return BoxesDrawing(names, follow="action", boxes=[None, *range(len(names))], action_labels=labels)
