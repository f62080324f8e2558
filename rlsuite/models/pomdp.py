"""A partially observable Markov decision process: an MDP whose states are seen only through observations.

The observation that follows action a in the new state s' is z with probability O[a, s', z] = Pr(z | a, s') (KLC98,
section 3). What is known of the hidden state is the belief b(s); the state estimator SE(b, a, z) is `update_belief`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import whole_number
from rlsuite.errors import FileError, ModelError, ParameterError, UnsuitableEnvironment, unknown
from rlsuite.models import row_checks, validation
from rlsuite.models.aliases import FloatArray
from rlsuite.models.arrays import Order, Tables
from rlsuite.models.files import mdp_from_arrays, mdp_to_arrays, read_arrays, text, text_in, write_arrays
from rlsuite.models.gymnasium_table import name_of, opened
from rlsuite.models.mdp import MDP

if TYPE_CHECKING:
    from os import PathLike

    from gymnasium import Env
    from gymnasium.envs.registration import EnvSpec
    from scipy.sparse import csr_array

    from rlsuite.environment import TabularEnv


@dataclass(frozen=True, eq=False, repr=False)
class POMDP:
    """A finite POMDP: the MDP of its hidden states, and what is seen of them.

    Parameters
    ----------
    mdp : MDP
        The hidden process; its start distribution is the first belief.
    observation : ndarray (A, S, Z) float64
        ``observation[a, s', z]`` = Pr(z | a, s'); each row sums to 1 within 1e-8. Nothing is observed before the first
        action.
    observation_labels : sequence of str, optional
        Z distinct names.

    Raises
    ------
    ModelError
        If the observation model is not one; the message names the offender.

    Examples
    --------
    A machine that is fine or broken, breaks with probability 0.1 a day, and whose product is good with probability
    0.9 or 0.4:

    >>> from rlsuite.models import POMDP
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> machine
    POMDP(n_states=2, n_actions=1, n_observations=2, n_transitions=3, gamma=0.9)
    >>> machine.predict(machine.start, 0).round(3).tolist()
    [0.85, 0.15]
    >>> machine.update_belief(machine.start, 0, 1).round(3).tolist()
    [0.6, 0.4]
    """

    mdp: MDP
    observation: FloatArray
    observation_labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.mdp), MDP):
            raise ModelError(f"mdp is a {type(self.mdp).__name__}, not an MDP")
        table = validation.floats("observation", self.observation)
        if table.ndim != 3 or table.shape[:2] != (self.mdp.n_actions, self.mdp.n_states) or table.shape[2] < 1:
            raise ModelError(
                f"observation has shape {table.shape}, not ({self.mdp.n_actions}, {self.mdp.n_states}, Z): "
                "observation[a, s', z]"
            )
        row_checks.observations(table)
        labels = validation.labels("observation_labels", self.observation_labels, table.shape[2])
        object.__setattr__(self, "observation", validation.frozen(table, self.observation))
        object.__setattr__(self, "observation_labels", labels)

    # ---------------------------------------------------------------------------------------------- ways in

    @classmethod
    def from_arrays(
        cls,
        P: Tables,
        R: Tables,
        O: ArrayLike,  # noqa: E741 - the field's own name
        *,
        gamma: float,
        order: Order = "sas",
        start: ArrayLike | None = None,
        terminated: Tables | None = None,
        legal: ArrayLike | None = None,
        reward_std: ArrayLike | None = None,
        bernoulli: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
        observation_labels: Sequence[str] | None = None,
    ) -> POMDP:
        """Build a model from matrices.

        Parameters
        ----------
        O : array_like (A, S, Z) or (S, Z)
            Pr(z | a, s'), whatever the order of `P`; the second form if the action does not matter.
        observation_labels : sequence of str, optional
            Z distinct names.
        P, R, gamma, order, start, terminated, legal, reward_std, bernoulli, state_labels, action_labels
            As in `MDP.from_arrays`.
        """
        mdp = MDP.from_arrays(
            P,
            R,
            gamma=gamma,
            order=order,
            start=start,
            terminated=terminated,
            legal=legal,
            reward_std=reward_std,
            bernoulli=bernoulli,
            state_labels=state_labels,
            action_labels=action_labels,
        )
        table = validation.floats("O", O)
        if table.ndim == 2:
            table = np.broadcast_to(table, (mdp.n_actions, *table.shape))
        return cls(mdp, table, None if observation_labels is None else tuple(observation_labels))

    @classmethod
    def from_env(cls, env: str | EnvSpec | Env[Any, Any], *, gamma: float, **kwargs: Any) -> POMDP:
        """Read the model of a partially observable environment of ours.

        Parameters
        ----------
        env : str, EnvSpec or gymnasium.Env
            An id, ``"module:Id"``, ``"file.py:Class"`` or an environment; see `rlsuite.finding.find_env`.
        gamma : float
            Discount factor in [0, 1].
        **kwargs
            Passed to the environment when it is made.

        Raises
        ------
        UnsuitableEnvironment
            If the environment has no such model. Gymnasium has no convention for one, so only an environment with
            a POMDP in ``env.unwrapped.model`` will do.
        """
        with opened(env, kwargs) as found:
            model: object = getattr(found.unwrapped, "model", None)
            if isinstance(model, POMDP):
                return model.replace(gamma=gamma)
            if isinstance(model, MDP):
                raise UnsuitableEnvironment(f"{name_of(found)} is fully observable: read it with MDP.from_env")
            raise UnsuitableEnvironment(
                f"{name_of(found)} has no POMDP (env.unwrapped.model); build one with POMDP.from_arrays"
            )

    @classmethod
    def read(cls, path: str | PathLike[str]) -> POMDP:
        """Read a model that `write` wrote.

        Raises
        ------
        FileError
            If the file is missing, truncated, from elsewhere, or holds no valid model.
        """
        arrays = read_arrays(path, "POMDP")
        if "observation" not in arrays:
            raise FileError(f"{path} is malformed: it has no observation")
        observation = arrays.pop("observation")
        labels = arrays.pop("observation_labels", None)
        named = None if labels is None else text_in(path, "observation_labels", labels)
        mdp = mdp_from_arrays(path, arrays)
        try:
            return cls(mdp, observation, named)
        except ModelError as cause:
            raise FileError(f"{path} holds no valid model: {cause}") from cause

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a ``.npz`` file, which appears complete or not at all.

        Raises
        ------
        FileError
            If the name does not end in ``.npz``, or the file cannot be written.
        """
        arrays = {**mdp_to_arrays(self.mdp), "observation": self.observation}
        if self.observation_labels is not None:
            arrays["observation_labels"] = text(self.observation_labels)
        write_arrays(path, "POMDP", arrays)

    def replace(self, **changes: Any) -> POMDP:
        """Return a copy with some fields changed, those of the hidden MDP included, checked anew."""
        own = {field.name for field in fields(self)}
        hidden = {field.name for field in fields(MDP)}
        for name in changes:
            if name not in own | hidden:
                raise ParameterError(unknown("field", name, own | hidden))
        of_mdp = {name: value for name, value in changes.items() if name in hidden}
        of_self = {name: value for name, value in changes.items() if name in own}
        if of_mdp:
            of_self["mdp"] = of_self.get("mdp", self.mdp).replace(**of_mdp)
        return replace(self, **of_self)

    # ------------------------------------------------------------------------------------------- properties

    @property
    def n_states(self) -> int:
        """S."""
        return self.mdp.n_states

    @property
    def n_actions(self) -> int:
        """A."""
        return self.mdp.n_actions

    @property
    def n_observations(self) -> int:
        """Z."""
        return self.observation.shape[2]

    @property
    def gamma(self) -> float:
        """Discount factor per step."""
        return self.mdp.gamma

    @property
    def start(self) -> FloatArray:
        """(S,) float64: the distribution of the first state, which is the first belief."""
        return self.mdp.start

    @property
    def state_labels(self) -> tuple[str, ...] | None:
        """Names of the hidden states."""
        return self.mdp.state_labels

    @property
    def action_labels(self) -> tuple[str, ...] | None:
        """Names of the actions."""
        return self.mdp.action_labels

    # ------------------------------------------------------------------------------------------------ beliefs

    def predict(self, belief: ArrayLike, action: int) -> FloatArray:
        """Return Pr[z | b, a], the distribution of the next observation: (Z,) float64.

        Raises
        ------
        ParameterError
            If `belief` is not a distribution over the states, or `action` is not legal in all states that it holds
            possible.
        """
        b = self._belief(belief, action)
        ahead = cast("FloatArray", self._ahead[action].T @ b)
        return ahead @ self.observation[action]

    def update_belief(self, belief: ArrayLike, action: int, observation: int) -> FloatArray:
        """Return the belief after `action` was taken and `observation` was made: (S,) float64.

        b'(s') = O[a, s', z] sum_s Pr[s' | s, a] b(s) / Pr[z | b, a] (KLC98, section 3.3). One who still asks knows that
        the episode goes on, so only transitions that do not terminate count.

        Parameters
        ----------
        belief : array_like (S,)
            Distribution over the states before the action.
        action, observation : int
            What was done and what was seen.

        Raises
        ------
        ParameterError
            As in `predict`; and if the observation is impossible, or the episode must have ended.
        """
        b = self._belief(belief, action)
        z = whole_number("observation", observation, at_least=0)
        if z >= self.n_observations:
            raise ParameterError(f"observation={z} is not one of 0..{self.n_observations - 1}")
        ahead = cast("FloatArray", self._going_on[action].T @ b)
        joint = self.observation[action, :, z] * ahead
        total = float(joint.sum())
        if total <= 0.0:
            raise ParameterError(
                f"observation={z} cannot follow action={action} in this belief while the episode goes on"
            )
        return joint / total

    @cached_property
    def _ahead(self) -> tuple[csr_array[np.float64], ...]:
        """Pr[s' | s, a] for each action, as sparse (S, S) matrices."""
        return tuple(self.mdp.transition_matrix(a) for a in range(self.n_actions))

    @cached_property
    def _going_on(self) -> tuple[csr_array[np.float64], ...]:
        """Pr[s', not terminated | s, a] for each action, as sparse (S, S) matrices."""
        continuing = np.where(self.mdp.terminated, 0.0, self.mdp.probability)
        matrix = self.mdp.matrix_of(continuing)
        return tuple(matrix[a :: self.n_actions] for a in range(self.n_actions))

    def _belief(self, belief: ArrayLike, action: int) -> FloatArray:
        b = validation.belief(belief, self.n_states)
        if whole_number("action", action, at_least=0) >= self.n_actions:
            raise ParameterError(f"action={action} is not an action; the actions are 0..{self.n_actions - 1}")
        illegal = (b > 0.0) & ~self.mdp.legal[:, action]
        if illegal.any():
            state = int(np.argmax(illegal))
            raise ParameterError(f"action={action} is illegal in state {state}, which has the belief {b[state]:g}")
        return b

    # --------------------------------------------------------------------------------------------- ways out

    def window(self, k: int) -> POMDP:
        """Return the POMDP whose observation is the window of the last `k` (action, observation) pairs.

        A learner that sees this window instead of the last observation has a memory of `k` steps - the history-based
        policy of the lecture notes. See `rlsuite.models.window`.
        """
        from rlsuite.models.window import windowed

        return windowed(self, k)

    def to_env(self, **kwargs: Any) -> TabularEnv:
        """Return an environment whose dynamics are this model; the keywords are those of `TabularEnv`."""
        from rlsuite.environment import TabularEnv

        return TabularEnv(self, **kwargs)

    def __repr__(self) -> str:
        return (
            f"POMDP(n_states={self.n_states}, n_actions={self.n_actions}, n_observations={self.n_observations}, "
            f"n_transitions={self.mdp.n_transitions}, gamma={self.gamma:g})"
        )

    # As for MDP: immutable, so a copy is the model itself, and unpickling goes through the door again.
    def __copy__(self) -> POMDP:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> POMDP:
        return self

    def __reduce__(self) -> tuple[type[POMDP], tuple[object, ...]]:
        return POMDP, (self.mdp, self.observation, self.observation_labels)
