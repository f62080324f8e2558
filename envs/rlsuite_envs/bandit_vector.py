"""Many bandits at once, each with its own arms: a whole testbed in one environment."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rlsuite.environments.vector_env import TabularVectorEnv
from rlsuite.models import MDP, POMDP
from rlsuite_envs.bandits import BanditEnv, bandit, rules_of


class BanditVectorEnv(TabularVectorEnv):
    """N bandits; the keywords are those of `rlsuite_envs.bandits.BanditEnv` and of `rlsuite.TabularVectorEnv`.

    Attributes
    ----------
    means : ndarray (N, A) float64
        Mean rewards of every bandit now.
    model : MDP
        The bandit, where all copies are the same one: values were given, and they do not drift.

    Notes
    -----
    Draws: as `rlsuite.TabularVectorEnv`; `reset` with a seed then draws N x A arms, and a drifting testbed draws
    N x A standard normal numbers after the rewards of every step.

    Examples
    --------
    >>> testbed = BanditVectorEnv(num_envs=2000)
    >>> observations, infos = testbed.reset(seed=7)
    >>> float(testbed.means.max(axis=1).mean().round(2))
    1.52
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        arms: int | None = None,
        kind: str = "normal",
        values: Sequence[float] | None = None,
        std: float = 1.0,
        drift: float = 0.0,
        gamma: float = 0.0,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self._rules = rules_of(arms, kind, values, std, drift)
        # Where every copy has its own arms, those of this model are not used.
        model = bandit([0.0] * self._rules.arms if values is None else values, kind=kind, std=std, gamma=gamma)
        super().__init__(
            model,
            num_envs,
            max_episode_steps=max_episode_steps,
            autoreset_mode=autoreset_mode,
            drawing=None if render_mode is None else BanditEnv(arms=self._rules.arms).default_drawing(),
            render_mode=render_mode,
        )
        self._regret = np.zeros(num_envs)
        self._best = np.zeros(num_envs, dtype=np.int64)
        self.means = self._new_arms()

    @property
    def model(self) -> MDP | POMDP:
        """The model that all copies share."""
        if self._rules.values is None or self._rules.drift > 0.0:
            raise AttributeError("these bandits have no common model: every copy has its own arms, see `means`")
        return super().model

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Begin an episode, and with a seed new bandits; see `TabularVectorEnv.reset`."""
        observations, infos = super().reset(seed=seed, options=options)
        if seed is not None and not (isinstance(seed, Sequence) and None in seed):
            self.means = self._new_arms()
            reported = infos["_optimal_action"]
            infos["optimal_action"][reported] = self.means.argmax(axis=1)[reported]
        return observations, infos

    def draw_rewards(
        self, actions: NDArray[np.int64], pairs: NDArray[np.int64], mean: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Draw one reward from the chosen arm of every bandit; then let the arms drift."""
        copies = np.arange(self.num_envs)
        mean = self.means[copies, actions]
        self._best = self.means.argmax(axis=1)
        self._regret = self.means[copies, self._best] - mean
        rewards = mean
        if self._rules.kind == "normal":
            rewards = mean + self._rules.std * self.np_random.standard_normal(self.num_envs)
        elif self._rules.kind == "bernoulli":
            rewards = (self.np_random.random(self.num_envs) < mean).astype(np.float64)
        if self._rules.drift > 0.0:
            drifted = self._rules.drifted(self.means, self.np_random)
            # A copy that is only being reset pulls no arm.
            self.means = np.where(self.waiting[:, None], self.means, drifted)
        return rewards

    def more_info(self, actions: NDArray[np.int64] | None) -> dict[str, NDArray[Any]]:
        """Return the best arm of every bandit and, after a pull, its regret."""
        if actions is None:
            return {"optimal_action": self.means.argmax(axis=1)}
        return {"optimal_action": self._best, "regret": self._regret}

    def _new_arms(self) -> NDArray[np.float64]:
        if self._rules.values is None:
            return self._rules.draw_values(self.np_random, (self.num_envs, self._rules.arms))
        return np.tile(np.array(self._rules.values), (self.num_envs, 1))
