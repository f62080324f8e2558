"""A chain of states with moves in both directions, where a few states pay: that of Koller and Parr, and of LSPI."""

from collections.abc import Sequence

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP
from rlsuite_envs.keywords import number, sequence, whole


def two_way_chain(*, n: int = 20, rewarded: Sequence[int] | None = None, slip: float = 0.1, gamma: float = 0.9) -> MDP:
    """Build the chain; the keywords are those of `TwoWayChainEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> two_way_chain(n=4, rewarded=[1, 2]).P[1][0]
    [(0.9, 0, 1.0, False), (0.1, 2, 1.0, False)]
    """
    whole("n", n, 2)
    number("slip", slip, 0, 1)
    last = n - 1
    paid = [0.0] * n
    for state in (0, last) if rewarded is None else sequence("rewarded", rewarded, least=1):
        number("rewarded", state, 0, last)
        paid[whole("rewarded", state, 0)] = 1.0
    successors: list[list[dict[int, float]]] = []
    for state in range(n):
        left, right = max(state - 1, 0), min(state + 1, last)
        successors.append([{left: 1 - slip, right: slip}, {right: 1 - slip, left: slip}])
    return MDP.from_successors(
        successors,
        paid,
        gamma=gamma,
        state_labels=tuple(str(state + 1) for state in range(n)),
        action_labels=("Left", "Right"),
    )


class TwoWayChainEnv(TabularEnv):
    """A chain that is walked both ways, where the states at both ends, or others, pay (Koller & Parr 2000).

    From D. Koller and R. Parr, "Policy iteration for factored MDPs", UAI 2000, and M. Lagoudakis and R. Parr,
    "Least-squares policy iteration", Journal of Machine Learning Research 4 (2003), section 9.1.

    Parameters
    ----------
    n : int
        Number of states: 4, 20 or 50 in the papers.
    rewarded : sequence of int, optional
        States that pay 1, by default the first and the last, as in the paper's chain of 20; [1, 2] in its chain of 4,
        [9, 40] in its chain of 50.
    slip : float
        Probability of going the other way, in [0, 1].
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Actions: 0 Left, 1 Right; at an end, a move outwards stays. The reward is that of the state in which one acts. An
    episode begins anywhere, and continues for ever. The papers count the states from 1, and so do the labels.

    It is optimal to go to the nearest state that pays, and to stay near it. With 4 states and a quadratic in the number
    of the state as features, the approximate policy iteration of Koller and Parr never finds this policy.

    Examples
    --------
    >>> import rlsuite as rl
    >>> "".join("LR"[action] for action in rl.solve(two_way_chain(n=4, rewarded=[1, 2])).policy)
    'RRLL'
    >>> env = TwoWayChainEnv(n=50, rewarded=[9, 40])
    >>> env.reset(seed=7)[0], env.step(1)[0]
    (31, 32)
    """

    def __init__(
        self,
        *,
        n: int = 20,
        rewarded: Sequence[int] | None = None,
        slip: float = 0.1,
        gamma: float = 0.9,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(two_way_chain(n=n, rewarded=rewarded, slip=slip, gamma=gamma), render_mode=render_mode)
