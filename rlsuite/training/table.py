"""An environment's model in the form that the compiled loop reads."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.models import MDP, POMDP


class Table(NamedTuple):
    """The dynamics of a model; row ``s * n_actions + a`` holds the outcomes of action ``a`` in state ``s``.

    Empty arrays stand for what the model does not have: random rewards, observations, known optimality gaps.
    """

    n_actions: int
    indptr: NDArray[np.int64]  # (S * A + 1,)
    next_state: NDArray[np.int32]  # (N,)
    probability: NDArray[np.float64]  # (N,)
    reward: NDArray[np.float64]  # (N,), means
    terminated: NDArray[np.bool_]  # (N,)
    start: NDArray[np.float64]  # (S,), running sums
    reward_std: NDArray[np.float64]  # (S * A,) or (0,)
    bernoulli: NDArray[np.bool_]  # (S * A,) or (0,)
    observation: NDArray[np.float64]  # (A, S, Z), running sums over Z, or (0, 0, 0)


def tabulate(model: MDP | POMDP) -> Table:
    """Return the table of a model for the compiled loop; the large arrays are shared, not copied."""
    mdp = model.mdp if isinstance(model, POMDP) else model
    observation = np.cumsum(model.observation, axis=2) if isinstance(model, POMDP) else np.zeros((0, 0, 0))
    return Table(
        n_actions=mdp.n_actions,
        indptr=mdp.indptr,
        next_state=mdp.next_state,
        probability=mdp.probability,
        reward=mdp.rows.reward,
        terminated=mdp.terminated,
        start=np.cumsum(mdp.start),
        reward_std=_read_only(np.zeros(0) if mdp.reward_std is None else mdp.reward_std),
        bernoulli=_read_only(np.zeros(0, dtype=np.bool_) if mdp.bernoulli is None else mdp.bernoulli),
        observation=observation,
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, as those of a model are: numba would compile the loop again for writable ones."""
    array.flags.writeable = False
    return array
