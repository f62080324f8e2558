"""The problem on which the maximum of noisy estimates misleads (S&B2 Example 6.7)."""

import numpy as np

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP
from rlsuite_envs.keywords import number, whole


def maximization_bias(*, n_actions: int = 10, mean: float = -0.1, std: float = 1.0, gamma: float = 1.0) -> MDP:
    """Build the problem; the keywords are those of `MaximizationBiasEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model = maximization_bias(n_actions=2)
    >>> model.P[0][0], model.P[1][1]
    ([(1.0, 1, 0.0, False)], [(1.0, 2, -0.1, True)])
    """
    whole("n_actions", n_actions, 2)
    number("mean", mean)
    number("std", std, 0.0)
    end = 2
    noise = np.zeros((3, n_actions))
    noise[1] = std
    return MDP.from_successors(
        [[1, end, *[None] * (n_actions - 2)], [end] * n_actions, [None] * n_actions],
        lambda s, a, ahead: mean if s == 1 else 0.0,
        gamma=gamma,
        start=0,
        terminated=[False, False, True],
        reward_std=noise,
        state_labels=("A", "B", "end"),
        action_labels=("Left", "Right", *(f"action {number}" for number in range(2, n_actions))),
    )


class MaximizationBiasEnv(TabularEnv):
    """Two states, A and B: from A one can end at once, or go to B, whose mean reward is negative.

    Q-learning prefers B for a long time, because the best of its noisy estimates there is positive (S&B2 Example 6.7).

    Parameters
    ----------
    n_actions : int
        Number of actions in B, at least 2.
    mean, std : float
        Mean and standard deviation of the normal reward of every action in B.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Observations: 0 for A, where episodes begin, 1 for B, 2 for the end. In A there are the actions 0 Left (to B) and 1
    Right (to the end), both for no reward; in B all actions end the episode. An episode of two steps has gone left.

    Examples
    --------
    >>> env = MaximizationBiasEnv()
    >>> env.reset(seed=7)[0], env.step(1)[:3]
    (0, (2, 0.0, True))
    """

    def __init__(
        self,
        *,
        n_actions: int = 10,
        mean: float = -0.1,
        std: float = 1.0,
        gamma: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        model = maximization_bias(n_actions=n_actions, mean=mean, std=std, gamma=gamma)
        super().__init__(model, render_mode=render_mode)
