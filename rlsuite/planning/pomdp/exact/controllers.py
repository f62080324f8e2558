"""The value of a finite-state controller: a plan that is a graph of actions, with an edge for each observation.

In node i and hidden state s, the controller earns r(s, a_i) and goes on, after observation z, in node i_z:

    x_i(s) = r(s, a_i) + gamma sum_s' c(s' | s, a_i) sum_z O[a_i, s', z] x_{i_z}(s')

(Hansen 1998, KLC98 section 4.4). The vectors x_i are values of plans, so they bound the optimum from below, whatever
the graph. They are computed as one sparse linear system and lowered by what is left over, divided by 1 - beta.
"""

from typing import Any

import numpy as np
from scipy.sparse import csc_array, identity
from scipy.sparse.linalg import splu

from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.operators import EPS
from rlsuite.planning.pomdp.exact.backprojection import Projection

MOST_UNKNOWNS = 5_000
"""Nodes times states, beyond which a controller is not evaluated exactly."""


def controller_value(projection: Projection, actions: IndexArray, successors: IndexArray) -> FloatArray:
    """Return the vectors of a controller: (n, S) float64, none above its true value.

    Parameters
    ----------
    projection : Projection
        The model, prepared; gamma < 1, and every action is legal wherever it is taken.
    actions : ndarray (n,) int64
        The action of each node.
    successors : ndarray (n, Z) int64
        The node that follows each observation, -1 for impossible ones.

    Examples
    --------
    Listening to the tiger for ever costs 1 a step:

    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning.pomdp.exact.controllers import controller_value
    >>> from rlsuite.planning.pomdp.exact.backprojection import Projection
    >>> ears = POMDP.from_arrays([np.eye(2)], [[-1, -1]], [[0.85, 0.15], [0.15, 0.85]], order="ass", gamma=0.95)
    >>> controller_value(Projection(ears), np.array([0]), np.array([[0, 0]])).round(6).tolist()
    [[-20.0, -20.0]]
    """
    n, states = actions.size, projection.pomdp.n_states
    rows: list[IndexArray] = []
    columns: list[IndexArray] = []
    weights: list[FloatArray] = []
    for action in range(projection.pomdp.n_actions):
        nodes: IndexArray = np.flatnonzero(actions == action)
        for z in projection.moves[action]:
            here, there, weight = projection.entries(action, z)
            rows.append((nodes[:, np.newaxis] * states + here).reshape(-1))
            columns.append((successors[nodes, z][:, np.newaxis] * states + there).reshape(-1))
            weights.append(np.tile(weight, nodes.size))
    ahead: Any = csc_array((n * states, n * states))
    if rows:
        where = (np.concatenate(rows), np.concatenate(columns))
        ahead = csc_array((np.concatenate(weights), where), shape=(n * states, n * states))
    reward = projection.reward[actions].reshape(-1)
    factor: Any = splu
    value: FloatArray = factor(csc_array(identity(n * states)) - ahead).solve(reward)
    # If T x >= x - d everywhere, the value is at least x - d / (1 - beta).
    short = float(np.max(value - (reward + ahead @ value)))
    short = max(short, 0.0) + projection.rounding(value)
    return value.reshape(n, states) - short / (1.0 - projection.lookahead.modulus) * (1.0 + 4.0 * EPS)
