"""Two small problems on which learning with bootstrapped targets, off policy and with linear features diverges.

All rewards are 0, and so are all values; the features can represent them exactly. Three things together make learning
diverge, and no two of them do: bootstrapping, other states than those that the policy visits, and features shared by
states (S&B2 section 11.3, "the deadly triad").
"""

import numpy as np
from numpy.typing import NDArray

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP
from rlsuite_envs.keywords import number, whole


def baird_star(*, n: int = 7, gamma: float = 0.99) -> MDP:
    """Build Baird's star; the keywords are those of `BairdStarEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> baird_star(n=3).P[0]
    {0: [(0.5, 0, 0.0, False), (0.5, 1, 0.0, False)], 1: [(1.0, 2, 0.0, False)]}
    """
    whole("n", n, 2)
    last = n - 1
    return MDP.from_successors(
        [[set(range(last)), last]] * n,
        [0.0] * n,
        gamma=gamma,
        state_labels=tuple(str(state + 1) for state in range(n)),
        action_labels=("dashed", "solid"),
    )


def baird_star_features(n: int = 7) -> NDArray[np.float64]:
    """Return the features (n, n + 1) of the states of Baird's star (S&B2 Figure 11.1).

    >>> baird_star_features(3)
    array([[2., 0., 0., 1.],
           [0., 2., 0., 1.],
           [0., 0., 1., 2.]])
    """
    features = np.zeros((n, n + 1))
    for state in range(n - 1):
        features[state, state] = 2.0
        features[state, n] = 1.0
    features[n - 1, n - 1] = 1.0
    features[n - 1, n] = 2.0
    return features


def two_states(*, epsilon: float = 0.01, gamma: float = 0.99) -> MDP:
    """Build the counterexample of Tsitsiklis and Van Roy; the keywords are those of `TwoStatesEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> two_states(epsilon=0.25).P[1][0]
    [(0.75, 1, 0.0, False), (0.25, 2, 0.0, True)]
    """
    number("epsilon", epsilon, 0, 1)
    end = 2
    return MDP.from_successors(
        [[1], [{1: 1 - epsilon, end: epsilon}], [end]],
        [0.0] * 3,
        gamma=gamma,
        start=[0.5, 0.5, 0.0],
        terminated=[False, False, True],
        state_labels=("w", "2w", "end"),
        action_labels=("Go",),
    )


def two_states_features() -> NDArray[np.float64]:
    """Return the features (3, 1) of the two states and of the end: 1, 2 and 0 (S&B2 Example 11.1).

    >>> two_states_features().ravel().tolist()
    [1.0, 2.0, 0.0]
    """
    return np.array([[1.0], [2.0], [0.0]])


class BairdStarEnv(TabularEnv):
    """Baird's counterexample, in the form of S&B2 Figure 11.1: a star whose weights grow for ever.

    From L. Baird, "Residual algorithms: reinforcement learning with function approximation", ICML 1995.

    Parameters
    ----------
    n : int
        Number of states, at least 2; 7 in the book.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Attributes
    ----------
    features : ndarray (n, n + 1) float64
        The features of each state: see `baird_star_features`.

    Notes
    -----
    Actions, everywhere: 0 dashed, to one of the first n - 1 states, each equally likely; 1 solid, to the last one. The
    policy that is learned about always takes solid. The policy that is followed takes dashed with probability
    (n - 1) / n, so that it visits all states equally often. The book begins with the weights 1, 1, 1, 1, 1, 1, 10, 1
    and moves by 0.01. An episode begins anywhere, and continues for ever.

    Examples
    --------
    >>> env = BairdStarEnv()
    >>> env.reset(seed=7)[0], env.step(1)[:2]
    (4, (6, 0.0))
    """

    def __init__(self, *, n: int = 7, gamma: float = 0.99, render_mode: str | None = None) -> None:
        super().__init__(baird_star(n=n, gamma=gamma), render_mode=render_mode)

    @property
    def features(self) -> NDArray[np.float64]:
        """(n, n + 1) float64: the features of each state."""
        return baird_star_features(self.model.n_states)


class TwoStatesEnv(TabularEnv):
    """The counterexample of Tsitsiklis and Van Roy (S&B2 Example 11.1): two states, and one weight that diverges.

    From J. Tsitsiklis and B. Van Roy, "Feature-based methods for large scale dynamic programming", Machine Learning 22
    (1996).

    Parameters
    ----------
    epsilon : float
        Probability that the second state ends the episode, in [0, 1].
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Attributes
    ----------
    features : ndarray (3, 1) float64
        1 for the first state, 2 for the second, 0 for the end.

    Notes
    -----
    There is one action, Go: from the first state to the second, where it stays. Fitting the weight to the targets of
    both states, again and again, multiplies it by gamma (6 - 4 epsilon) / 5 each time. An episode begins in either
    state and is truncated after one step, so that both are left equally often: with ``max_episode_steps=1000`` the
    second state is left far more often, and nothing diverges.

    Examples
    --------
    >>> env = TwoStatesEnv()
    >>> env.reset(seed=7)[0], env.step(0)[:2]
    (1, (1, 0.0))
    """

    def __init__(self, *, epsilon: float = 0.01, gamma: float = 0.99, render_mode: str | None = None) -> None:
        super().__init__(two_states(epsilon=epsilon, gamma=gamma), render_mode=render_mode)

    @property
    def features(self) -> NDArray[np.float64]:
        """(3, 1) float64: the feature of each state."""
        return two_states_features()
