"""The policy graph of a plan for an infinite horizon, and the policy tree of one with a horizon. KLC98 4.1, 4.4.

An alpha vector is the value of a plan: an action, and for each observation a plan that follows. That is a finite-state
controller: it needs no belief, only the present node. With a horizon the plans get shorter with every step, and the
graph has no cycles: unrolled, it is the policy tree.
"""

from dataclasses import dataclass, field

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.shown import ShowsItself
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP, validation
from rlsuite.models.aliases import BeliefLike, FloatArray, IndexArray
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, UpperBoundSolution

MOST_LINES = 10_000
"""Lines of a tree that are written."""


@dataclass(frozen=True, eq=False)
class PolicyGraph(ShowsItself):
    """A finite-state controller: n nodes, each with an action, and an edge for each observation.

    Attributes
    ----------
    pomdp : POMDP
        The model.
    actions : ndarray (n,) int64
        The action of each node; the first node is where to begin. -1 where no step is left.
    successors : ndarray (n, Z) int64
        The node that follows each observation; -1 if it is impossible, or nothing follows.
    vectors : ndarray (n,) int64
        The number of the alpha vector of each node; with a horizon, of those with `steps_left` to go.
    steps_left : ndarray (n,) int64 or None
        How many steps are still to come, if the plan has a horizon.
    beliefs : ndarray (n, S) float64
        A belief in which each node is reached, by the shortest way.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import incremental_pruning, policy_graph
    >>> stay, again = np.eye(2), np.full((2, 2), 0.5)
    >>> tiger = POMDP.from_arrays(
    ...     [stay, again, again], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], again, again],
    ...     order="ass", gamma=0.95, start=[0.5, 0.5], action_labels=["listen", "open left", "open right"],
    ... )
    >>> graph = policy_graph(incremental_pruning(tiger))
    >>> graph.n_nodes, graph.actions.tolist(), graph.successors[0].tolist()
    (5, [0, 0, 0, 2, 1], [1, 2])
    """

    pomdp: POMDP = field(repr=False)
    actions: IndexArray
    successors: IndexArray = field(repr=False)
    vectors: IndexArray = field(repr=False)
    steps_left: IndexArray | None = field(repr=False)
    beliefs: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        for array in (self.actions, self.successors, self.vectors, self.steps_left, self.beliefs):
            if array is not None:
                array.setflags(write=False)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.actions.size

    def act(self, node: int = 0) -> int:
        """Return the action of a node, -1 if no step is left there."""
        return int(self.actions[self._checked(node)])

    def follow(self, node: int, observation: int | str) -> int:
        """Return the node that follows an observation, given by its number or its name.

        Raises
        ------
        ParameterError
            If there is no such node or observation, or the observation is impossible there.
        """
        pomdp = self.pomdp
        z = validation.number_of("observation", observation, pomdp.n_observations, pomdp.observation_labels)
        then = int(self.successors[self._checked(node), z])
        if then < 0:
            raise ParameterError(f"observation={z} is impossible in node {node}, or the plan ends with it")
        return then

    def tree(self, depth: int, node: int = 0) -> str:
        """Return the policy tree below a node, as indented text, `depth` steps deep.

        Examples
        --------
        >>> from rlsuite.models import POMDP
        >>> from rlsuite.planning import incremental_pruning, policy_graph
        >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
        >>> cups = POMDP.from_arrays(
        ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
        ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
        ...     action_labels=["look", "left", "right"], observation_labels=["coin left", "coin right"],
        ... )
        >>> print(policy_graph(incremental_pruning(cups)).tree(depth=2))
        look
          coin left: left
          coin right: right
        """
        depth = whole_number("depth", depth)
        names = self.pomdp.action_labels or [str(a) for a in range(self.pomdp.n_actions)]
        symbols = self.pomdp.observation_labels or [str(z) for z in range(self.pomdp.n_observations)]
        lines: list[str] = []
        waiting = [(self._checked(node), 0, "")]
        while waiting and len(lines) <= MOST_LINES:
            at, level, after = waiting.pop()
            if level == depth or self.actions[at] < 0:
                continue
            lines.append(f"{'  ' * level}{after and f'{after}: '}{names[self.actions[at]]}")
            followed = [(int(then), level + 1, symbols[z]) for z, then in enumerate(self.successors[at]) if then >= 0]
            waiting += reversed(followed)
        if len(lines) > MOST_LINES:
            lines[-1] = f"... more than {MOST_LINES} lines: a smaller depth= shows the top of the tree"
        return "\n".join(lines)

    def _checked(self, node: object) -> int:
        number = whole_number("node", node, at_least=0)
        if number >= self.n_nodes:
            raise ParameterError(f"node={number} is not one of 0..{self.n_nodes - 1}")
        return number


@says_what_to_write
def policy_graph(solution: AlphaVectorSolution, belief: BeliefLike | None = None) -> PolicyGraph:
    """Return the part of a plan that can be reached from a belief, as a graph.

    Parameters
    ----------
    solution : AlphaVectorSolution
        The plan. Exact methods know what follows what. Of another plan it is read off the beliefs in which the vectors
        are met for the first time, which is what the plan does there, if not everywhere.
    belief : array_like (S,), optional
        Where to begin; by default the start belief.

    Returns
    -------
    PolicyGraph
        For a plan with a horizon its nodes are (steps left, vector), and the last ones have nothing to do.

    Raises
    ------
    ParameterError
        If `belief` is not a distribution over the states, or the solution is an upper bound, whose vectors are not
        plans.
    """
    if not hasattr(solution, "alpha_vectors"):
        raise ParameterError(f"{solution!r} is no plan of alpha vectors; solve by method='sarsop'")
    if isinstance(solution, UpperBoundSolution):
        raise ParameterError(
            f"the vectors of {solution.method} are upper bounds, not plans, so there is no graph of them; solve "
            "by method='sarsop' or 'incremental_pruning'"
        )
    pomdp = solution.pomdp
    first = pomdp.start if belief is None else validation.belief(belief, pomdp.n_states, pomdp.state_labels)
    left = -1 if solution.horizon is None else solution.horizon
    begin = (left, solution.vector(first))
    number = {begin: 0}
    nodes, beliefs = [begin], [first]
    successors: list[list[int]] = []
    for t, vector in nodes:  # the list grows during the loop
        b = beliefs[len(successors)]
        plans = solution.vectors_with(None if t < 0 else t)
        action = int(plans.actions[vector])
        row = [-1] * pomdp.n_observations
        successors.append(row)
        if action < 0:
            continue
        possible = pomdp.predict(b, action) > 0.0
        for z in np.flatnonzero(possible).tolist():
            try:
                follows = pomdp.update_belief(b, action, z)
            except ParameterError:  # the episode is certain to have ended
                continue
            then = int(plans.successors[vector, z]) if plans.successors.size else -1
            if then < 0:
                then = solution.vector(follows, None if t < 0 else t - 1)
            key = (t if t < 0 else t - 1, then)
            if key not in number:
                number[key] = len(nodes)
                nodes.append(key)
                beliefs.append(follows)
            row[z] = number[key]
    table = np.array(nodes, dtype=np.int64)
    actions = [int(solution.vectors_with(None if t < 0 else t).actions[vector]) for t, vector in nodes]
    return PolicyGraph(
        pomdp=pomdp,
        actions=np.array(actions, dtype=np.int64),
        successors=np.array(successors, dtype=np.int64),
        vectors=table[:, 1].copy(),
        steps_left=None if left < 0 else table[:, 0].copy(),
        beliefs=np.array(beliefs),
    )
