"""The bandit with n arms: one state, and an action for each arm (lecture notes, Fig. 9.5; S&B2 chapter 2)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.rendering import BoxesDrawing, Drawing
from rlsuite_envs.keywords import choice, number, sequence, whole

KINDS = ("deterministic", "normal", "bernoulli")


def bandit(values: Sequence[float], *, kind: str = "normal", std: float = 1.0, gamma: float = 0.0) -> MDP:
    """Build a bandit with given arms.

    Parameters
    ----------
    values : sequence of A floats
        Mean reward of each arm; in [0, 1] if ``kind="bernoulli"``.
    kind : {"deterministic", "normal", "bernoulli"}
        The reward is the mean; it is normal around it; it is 1 with the mean as its probability, and 0 otherwise.
    std : float
        Standard deviation of normal rewards.
    gamma : float
        Discount of the model. A pull has no consequences, so that 0 makes V* the best mean.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> bandit([0.1, 0.9], kind="bernoulli").expected_reward()
    array([[0.1, 0.9]])
    """
    rules = rules_of(None, kind, values, std, 0.0)
    return _model(np.array(rules.values), rules, gamma)


ORDERS = ("random", "in turn")


def contextual_bandit(
    means: ArrayLike, *, kind: str = "normal", std: float = 1.0, order: str = "random", gamma: float = 0.0
) -> MDP:
    """Build a bandit whose arms depend on the state, which no pull can influence.

    ``order="in turn"`` turns it into many bandits that are played side by side: with one row of means for each, a run
    of 2,000 x 1,000 steps pulls 2,000 bandits in turn, 1,000 times each, by an agent with statistics for each state.

    Parameters
    ----------
    means : array_like (S, A)
        Mean reward of each arm in each state; in [0, 1] if ``kind="bernoulli"``.
    kind : {"deterministic", "normal", "bernoulli"}
        The reward is the mean; it is normal around it; it is 1 with the mean as its probability, and 0 otherwise.
    std : float
        Standard deviation of normal rewards.
    order : {"random", "in turn"}
        States follow one another at random, each as likely as any other; or 0, 1, ..., S - 1, and 0 again.
    gamma : float
        Discount of the model.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> contextual_bandit([[0.0, 1.0], [1.0, 0.0]]).expected_reward()
    array([[0., 1.],
           [1., 0.]])
    """
    table = np.atleast_2d(np.asarray(means, dtype=np.float64))
    if table.ndim != 2 or table.size == 0:
        raise ParameterError(f"means have the shape {table.shape}, not (states, arms)")
    rules = Rules(table.shape[1], kind, std, 0.0, tuple(table.ravel().tolist())).checked()
    choice("order", order, ORDERS)
    return _model(table, rules, gamma, order)


class Rules(NamedTuple):
    """What is fixed about a bandit, before its arms are drawn."""

    arms: int
    kind: str
    std: float
    drift: float
    values: tuple[float, ...] | None
    """Mean rewards, None if they are drawn."""

    def checked(self) -> Self:
        """Return the rules, or raise `ParameterError` naming the keyword that is wrong."""
        choice("kind", self.kind, KINDS)
        number("std", self.std, 0.0)
        number("drift", self.drift, 0.0)
        whole("arms", self.arms, 1)
        if self.values is not None:
            low, high = (0.0, 1.0) if self.kind == "bernoulli" else (-np.inf, np.inf)
            for arm, value in enumerate(self.values):
                number(f"values[{arm}]", value, low, high)
        return self

    def draw_values(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw the arms of new bandits: standard normal means, uniform ones for Bernoulli arms."""
        return rng.random(shape) if self.kind == "bernoulli" else rng.standard_normal(shape)

    def drifted(self, means: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the means after one more pull; a probability that would leave [0, 1] stops at the edge."""
        moved = means + self.drift * rng.standard_normal(means.shape)
        return np.clip(moved, 0.0, 1.0) if self.kind == "bernoulli" else moved


def rules_of(arms: int | None, kind: str, values: Sequence[float] | None, std: float, drift: float) -> Rules:
    """Check the keywords that `BanditEnv` and its vector form share.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values, or `arms` and `values` disagree.
    """
    if values is None:
        return Rules(10 if arms is None else arms, kind, std, drift, None).checked()
    listed = sequence("values", values, least=1)
    if arms not in (None, len(listed)):
        raise ParameterError(f"arms={arms}, but values has {len(listed)} entries; leave arms out")
    return Rules(len(listed), kind, std, drift, listed).checked()


def _model(means: NDArray[np.float64], rules: Rules, gamma: float, order: str = "in turn") -> MDP:
    states, arms = (int(size) for size in np.atleast_2d(means).shape)
    pairs = states * arms
    pair = np.arange(pairs)
    if order == "random":
        ahead, next_state = states, np.tile(np.arange(states), pairs)
    else:
        ahead, next_state = 1, (pair // arms + 1) % states
    return MDP.from_rows(
        ahead * np.arange(pairs + 1),
        next_state,
        np.full(pairs * ahead, 1.0 / ahead),
        np.repeat(means.ravel(), ahead),
        n_actions=arms,
        gamma=gamma,
        start=None if order == "random" else np.eye(1, states)[0],
        reward_std=np.full(pairs, rules.std) if rules.kind == "normal" else None,
        bernoulli=np.ones(pairs, dtype=np.bool_) if rules.kind == "bernoulli" else None,
        action_labels=[f"arm {arm}" for arm in range(arms)],
    )


class BanditEnv(TabularEnv):
    """A bandit with n arms; ``info["regret"]`` is the regret of each pull.

    Parameters
    ----------
    arms : int, optional
        Number of arms; by default 10, or as many as `values` names.
    kind : {"deterministic", "normal", "bernoulli"}
        The reward is the mean of the arm; it is normal around it; it is 1 with the mean as its probability, else 0.
    values : sequence of float, optional
        Mean reward of each arm. By default they are drawn whenever `reset` is given a seed: standard normal numbers
        (the 10-armed testbed, S&B2 section 2.3), uniform ones in [0, 1] for Bernoulli arms. Until then the arms are
        those of an unseeded draw.
    std : float
        Standard deviation of normal rewards.
    drift : float
        Standard deviation of what is added to every mean after every pull (0.01 in S&B2 Exercise 2.5). The arms of a
        drifting bandit are not a table: it has neither `model` nor `P`.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Attributes
    ----------
    means : ndarray (A,) float64
        Mean rewards now.
    model : MDP
        The bandit with its present arms; missing if they drift.

    Notes
    -----
    ``info["regret"]`` is the mean of the best arm less that of the arm pulled, at the time of the pull;
    ``info["optimal_action"]`` is the best arm (the first of several). Values that are given and drift start again at
    each `reset` with a seed; drawn ones are drawn again.

    Draws: as `rlsuite.TabularEnv`; `reset` with a seed then draws the A arms, and every pull of a drifting bandit ends
    with A standard normal numbers.

    Examples
    --------
    >>> env = BanditEnv(values=[0.2, 0.5], kind="deterministic")
    >>> env.reset(seed=7)
    (0, {'prob': 1.0, 'optimal_action': 1})
    >>> env.step(0)
    (0, 0.2, False, False, {'prob': 1.0, 'optimal_action': 1, 'regret': 0.3})
    """

    def __init__(
        self,
        *,
        arms: int | None = None,
        kind: str = "normal",
        values: Sequence[float] | None = None,
        std: float = 1.0,
        drift: float = 0.0,
        gamma: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        self._rules = rules_of(arms, kind, values, std, drift)
        self.means = self._new_arms()
        super().__init__(_model(self.means, self._rules, gamma), render_mode=render_mode)

    @property
    def model(self) -> MDP | POMDP:
        """The bandit with its present arms."""
        if self._rules.drift > 0.0:
            raise AttributeError("a drifting bandit has no model: its arms change with every pull")
        return super().model

    @model.setter
    def model(self, model: MDP | POMDP) -> None:
        raise AttributeError(
            "model cannot be set: the arms of a bandit are set by values=, or drawn by reset(seed=...)"
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin an episode, and with a seed a new bandit; see `TabularEnv.reset`."""
        observation, info = super().reset(seed=seed, options=options)
        if seed is not None:
            self.means = self._new_arms()
            self._adopt(_model(self.means, self._rules, self._model.gamma))
        info["optimal_action"] = int(self.means.argmax())
        return observation, info

    def step(self, action: SupportsIndex) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Pull an arm; see `TabularEnv.step`."""
        observation, reward, terminated, truncated, info = super().step(action)
        best = int(self.means.argmax())
        info["optimal_action"] = best
        info["regret"] = float(self.means[best] - self.means[cast("int", self.lastaction)])
        if self._rules.drift > 0.0:
            self.means = self._rules.drifted(self.means, self.np_random)
        return observation, reward, terminated, truncated, info

    def draw_reward(self, pair: int, mean: float) -> float:
        """Draw from the arm as it is now, which for a drifting bandit differs from the table."""
        if self._rules.drift == 0.0:
            return super().draw_reward(pair, mean)
        mean = float(self.means[pair])
        if self._rules.kind == "bernoulli":
            return float(self.np_random.random() < mean)
        noise = self._rules.std * float(self.np_random.standard_normal()) if self._rules.kind == "normal" else 0.0
        return mean + noise

    def default_drawing(self) -> Drawing:
        """Return a drawing with one box per arm, the one pulled last in colour."""
        return BoxesDrawing([f"arm {arm}" for arm in range(self._rules.arms)], follow="action")

    def _new_arms(self) -> NDArray[np.float64]:
        if self._rules.values is None:
            return self._rules.draw_values(self.np_random, (self._rules.arms,))
        return np.array(self._rules.values)
