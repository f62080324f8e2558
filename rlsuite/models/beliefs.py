"""Belief updates of a POMDP: the state estimator SE(b, a, z) of KLC98, section 3.3, and its normalising constant.

b'(s') = O[a, s', z] sum_s Pr[s' | s, a] b(s) / Pr[z | b, a]

A belief is needed only while the episode continues, so only transitions that do not terminate count in b'.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import BeliefLike, BoolArray, CsrMatrix, FloatArray, IndexArray, StateArray
from rlsuite.models.observation_model import matrix_of_rows
from rlsuite.models.pomdp_fields import PomdpFields
from rlsuite.models.row_checks import distributions

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from rlsuite.models.belief_kernels import BeliefTables


TINY = float(np.finfo(np.float64).tiny)
"""The least probability that float64 holds with all its digits."""


class Improbable(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """A belief (S,), or beliefs (n, S), in which some probabilities are too small for float64.

    An update starts from their logarithms, so that what has become improbable can become probable again.
    """

    logarithms: FloatArray | None = None

    def __getitem__(self, key: Any) -> Any:
        """Return a part, with its logarithms."""
        part: Any = super().__getitem__(key)
        if isinstance(part, Improbable) and self.logarithms is not None:
            part.logarithms = self.logarithms[key]
        return part


class Beliefs(PomdpFields):
    """The methods of `POMDP` that are about beliefs."""

    def observation_matrix(self, action: int) -> csr_array[np.float64]:
        """Return Pr(z | action, s') as a sparse (S, Z) matrix.

        Raises
        ------
        ParameterError
            If there is no such action.
        """
        return matrix_of_rows(self.observation_rows, self._action(action), self.mdp.n_states)

    def predict(self, belief: BeliefLike, action: int | str) -> FloatArray:
        """Return Pr[z | b, a], the distribution of the next observation: (Z,) float64; arguments as `update_belief`.

        Raises
        ------
        ParameterError
            If `belief` is not a distribution over the states, or `action` is not legal in every state of its support.
        """
        b, chosen = self._belief(belief, action)
        return self._emitting[chosen] @ (self._entering[chosen] @ b)

    def update_belief(self, belief: BeliefLike, action: int | str, observation: int | str) -> FloatArray:
        """Return the belief after `action` was taken and `observation` was made: (S,) float64.

        Probabilities below 1e-308 are shown as 0 and are not forgotten: the next update of the same array counts them.

        Parameters
        ----------
        belief : array_like (S,) or dict
            Distribution over the states before the action: an array, or the probabilities of some states by name.
        action, observation : int or str
            What was done and what was seen, by number or by name.

        Raises
        ------
        ParameterError
            As in `predict`; if the observation is impossible, or the episode must have ended; or if the model has no
            such names.

        Examples
        --------
        >>> from rlsuite.models import POMDP
        >>> machine = POMDP.from_arrays(
        ...     [[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, action_labels=["run"],
        ...     state_labels=["ok", "broken"], observation_labels=["good", "bad"],
        ... )
        >>> machine.update_belief({"ok": 1.0}, "run", "bad").round(3).tolist()
        [0.6, 0.4]
        """
        checked, chosen = self._belief(belief, action)
        return self.followed(belief if isinstance(belief, Improbable) else checked, chosen, observation)[0]

    @says_what_to_write
    def followed(
        self, belief: FloatArray, action: int, observation: int | str | None, *, terminated: bool = False
    ) -> tuple[FloatArray, float]:
        """Return what `update_belief` does, and ln Pr[z, and the episode continues | b, a].

        Parameters
        ----------
        belief, action, observation, terminated
            As in `joint`; the belief sums to 1.

        Raises
        ------
        ParameterError
            If this is impossible, or there is no such action or observation.
        """
        before = getattr(belief, "logarithms", None)
        known: FloatArray = np.asarray(belief)
        if before is None or not np.array_equal(np.exp(before), known):
            if known[known > 0.0].min() * self._least >= TINY:
                joint = self.joint(known, action, observation, terminated=terminated)
                total = float(joint.sum())
                if total <= 0.0:
                    raise _impossible(observation, action)
                return joint / total, float(np.log(total))
            before = _logarithms(known)
        entering, emitting = (self._ending if terminated else self._going_on)[action], self._emitting[action]
        after = np.full(known.size, -np.inf)
        states = np.repeat(np.arange(known.size), np.diff(entering.indptr))
        np.logaddexp.at(after, states, _logarithms(entering.data) + before[entering.indices])
        if observation is not None:
            inside = self._emitters(emitting, observation)
            seen = np.full(known.size, -np.inf)
            seen[emitting.indices[inside]] = _logarithms(emitting.data[inside])
            after += seen
        total = float(np.logaddexp.reduce(after))
        if total == -np.inf:
            raise _impossible(observation, action)
        after -= total
        return _remembering(np.exp(after), after), total

    def update_beliefs(self, beliefs: ArrayLike, actions: ArrayLike, observations: ArrayLike) -> FloatArray:
        """Return the beliefs after many (action, observation) pairs at once: (n, S) float64.

        Compiled on first use; from a few hundred beliefs on, much faster than `update_belief` for each of them.

        Parameters
        ----------
        beliefs : array_like (n, S)
            Distributions over the states before the actions.
        actions, observations : int or array_like (n,) int
            What was done and what was seen; a number stands for the same in every row.

        Raises
        ------
        ParameterError
            As in `update_belief`; the message names the row.

        Examples
        --------
        >>> from rlsuite.models import POMDP
        >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9)
        >>> machine.update_beliefs([[1, 0], [0.5, 0.5]], 0, [1, 1]).round(3).tolist()
        [[0.6, 0.4], [0.12, 0.88]]
        """
        from rlsuite.models.belief_kernels import update_all

        states, mdp = self.mdp.n_states, self.mdp
        b = self._beliefs(beliefs)
        a = _numbers("actions", actions, len(b), mdp.n_actions)
        z = _numbers("observations", observations, len(b), self.observation_rows.n_observations)
        stuck = (b > 0.0) & ~mdp.legal.T[a]
        if stuck.any():
            row, state = (int(i) for i in np.argwhere(stuck)[0])
            raise self._stuck(f"actions[{row}]={a[row]}", state, f"{b[row, state]:g} in beliefs[{row}]")
        after, likelihood = np.zeros((len(b), states)), np.zeros(len(b))
        update_all(self.belief_tables, b, a, z, after, likelihood)
        kept = getattr(beliefs, "logarithms", None)
        improbable = np.min(b, axis=1, where=b > 0.0, initial=1.0) * self._least < TINY
        if kept is not None:
            improbable |= ((kept > -np.inf) & (b == 0.0)).any(axis=1)
        if improbable.any():
            before, logs = b if kept is None else cast("FloatArray", beliefs), _logarithms(after)
            for row in np.flatnonzero(improbable).tolist():
                try:
                    found, _ = self.followed(before[row], int(a[row]), int(z[row]))
                except ParameterError:
                    continue  # the row is named below
                after[row], likelihood[row], logs[row] = found, 1.0, _logarithms(found)
            after = _remembering(after, logs)
        impossible = ~(likelihood > 0.0)
        if impossible.any():
            row = int(np.argmax(impossible))
            raise ParameterError(
                f"observations[{row}]={z[row]} cannot follow actions[{row}]={a[row]} in beliefs[{row}] "
                "while the episode continues"
            )
        return after

    def joint(
        self, belief: FloatArray, action: int | str, observation: int | str | None, *, terminated: bool = False
    ) -> FloatArray:
        """Return Pr[s', z, and the episode continues | b, a], which `update_belief` normalises: (S,) float64.

        Parameters
        ----------
        belief : ndarray (S,) float64
            Weights of the states, at least 0. States in which the action is illegal are left by nothing, so they count
            for nothing.
        action, observation : int or str
            What was done and what was seen, by number or by name; None for an observation that is missing.
        terminated : bool
            Take the transitions that end the episode instead of those that continue.

        Raises
        ------
        ParameterError
            If there is no such action or observation.
        """
        chosen = self._action(action)
        ahead = (self._ending if terminated else self._going_on)[chosen] @ belief
        if observation is None:
            return ahead
        joint = np.zeros_like(ahead)
        emitting = self._emitting[chosen]
        inside = self._emitters(emitting, observation)
        where = emitting.indices[inside]
        joint[where] = emitting.data[inside] * ahead[where]
        return joint

    @cached_property
    def belief_tables(self) -> BeliefTables:
        """The arrays with which compiled code updates beliefs; see `rlsuite.models.belief_kernels.update`."""
        from rlsuite.models.belief_kernels import BeliefTables

        states, actions = self.mdp.n_states, self.mdp.n_actions
        return BeliefTables(
            *_stacked(self._emitting),
            *_stacked(self._going_on),
            n_states=states,
            n_actions=actions,
            n_observations=self.observation_rows.n_observations,
        )

    # ---------------------------------------------------------------------------------------------- details

    # The rows of the matrices are observations or next states: the update of a belief reads whole rows.

    @cached_property
    def _emitting(self) -> tuple[CsrMatrix, ...]:
        """Pr(z | a, s') for each action, as sparse (Z, S) matrices."""
        return tuple(_transposed(self.observation_matrix(a)) for a in range(self.mdp.n_actions))

    @cached_property
    def _entering(self) -> tuple[CsrMatrix, ...]:
        """Pr[s' | s, a] for each action, as sparse (S', S) matrices."""
        return self._where(np.ones_like(self.mdp.terminated))

    @cached_property
    def _going_on(self) -> tuple[CsrMatrix, ...]:
        """Pr[s', not terminated | s, a] for each action, as sparse (S', S) matrices."""
        return self._where(~self.mdp.terminated)

    @cached_property
    def _ending(self) -> tuple[CsrMatrix, ...]:
        """Pr[s', terminated | s, a] for each action, as sparse (S', S) matrices."""
        return self._where(self.mdp.terminated)

    def _where(self, chosen: BoolArray) -> tuple[CsrMatrix, ...]:
        matrix = self.mdp.matrix_of(np.where(chosen, self.mdp.probability, 0.0))
        return tuple(_transposed(matrix[a :: self.mdp.n_actions]) for a in range(self.mdp.n_actions))

    def _action(self, action: int | str) -> int:
        return validation.number_of("action", action, self.mdp.n_actions, self.mdp.action_labels)

    def _belief(self, belief: BeliefLike, action: int | str) -> tuple[FloatArray, int]:
        """Return a belief as an array and an action as a number."""
        b = validation.belief(belief, self.mdp.n_states, self.mdp.state_labels)
        chosen = self._action(action)
        illegal = (b > 0.0) & ~self.mdp.legal[:, chosen]
        if illegal.any():
            state = int(np.argmax(illegal))
            raise self._stuck(f"action={action}", state, f"{b[state]:g}")
        return b, chosen

    def _stuck(self, action: str, state: int, probability: str) -> ParameterError:
        """Return the error that an action cannot be taken in a state of this probability."""
        labels = self.mdp.state_labels
        where = f"state {state if labels is None else labels[state]}, which has the probability {probability}"
        if self.mdp.legal[state].any():
            return ParameterError(f"{action} is illegal in {where}")
        return ParameterError(
            f"the episode has ended in {where}: no action and no observation follow; reset the belief"
        )

    @cached_property
    def _least(self) -> float:
        """The least factor, but 0, by which an update multiplies a probability."""
        return float(_positive(self.mdp.probability).min() * _positive(self.observation_rows.probability).min())

    def _emitters(self, emitting: CsrMatrix, observation: int | str) -> slice:
        """Return the entries of the states that may emit an observation."""
        z = validation.number_of("observation", observation, self.n_observations, self.observation_labels)
        return slice(emitting.indptr[z], emitting.indptr[z + 1])

    def _beliefs(self, beliefs: ArrayLike) -> FloatArray:
        states = self.mdp.n_states
        try:
            b = validation.floats("beliefs", beliefs)
            if b.ndim != 2 or b.shape[1] != states:
                raise ModelError(f"beliefs has shape {b.shape}, not (n, {states})")
            distributions(b.reshape(-1), np.arange(len(b) + 1) * states, lambda row: f"beliefs[{row}]")
        except ModelError as cause:
            raise ParameterError(str(cause)) from cause
        return np.ascontiguousarray(b)


def _positive(values: FloatArray) -> FloatArray:
    return values[values > 0.0]


def _logarithms(values: FloatArray) -> FloatArray:
    kept: FloatArray | None = getattr(values, "logarithms", None)
    if kept is not None:
        return kept
    with np.errstate(divide="ignore"):
        return np.log(values)


def _remembering(belief: FloatArray, logarithms: FloatArray) -> FloatArray:
    """Return beliefs, which keep their logarithms where float64 cannot hold them."""
    if not (belief < TINY)[logarithms > -np.inf].any():
        return belief
    known = belief.view(Improbable)
    known.logarithms = logarithms
    return known


def _impossible(observation: int | str | None, action: int | str) -> ParameterError:
    seen = "an observation" if observation is None else f"observation={observation}"
    return ParameterError(f"{seen} cannot follow action={action} in this belief while the episode continues")


def _numbers(name: str, values: ArrayLike, count: int, size: int) -> IndexArray:
    """Return one number below `size` per row: (count,) int64."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu" or given.shape not in ((), (count,)):
        raise ParameterError(
            f"{name} has dtype {given.dtype} and shape {given.shape}; one integer, or an array of {count}, is needed"
        )
    wide = np.broadcast_to(given, (count,)).astype(np.int64)
    outside = (wide < 0) | (wide >= size)
    if outside.any():
        row = int(np.argmax(outside))
        raise ParameterError(f"{name}[{row}]={wide[row]} is not one of 0..{size - 1}")
    return wide


def _transposed(matrix: csr_array[np.float64]) -> CsrMatrix:
    return cast("CsrMatrix", matrix.T.tocsr())


def _stacked(matrices: tuple[CsrMatrix, ...]) -> tuple[IndexArray, StateArray, FloatArray]:
    """Return the rows of all matrices, one matrix after the other, as pointers, indices and values."""
    lengths = np.concatenate([np.diff(one.indptr) for one in matrices])
    indptr = validation.pointers(lengths)
    indices = np.concatenate([one.indices for one in matrices]).astype(np.int32)
    return indptr, indices, np.concatenate([one.data for one in matrices])
