"""States in a row: the random walk, the chain, and RiverSwim."""

from collections import Counter
from collections.abc import Sequence

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP
from rlsuite_envs.keywords import choice, number, sequence, whole


def random_walk(
    *,
    n: int = 5,
    reach: int = 1,
    mover: str = "agent",
    left_reward: float = 0.0,
    right_reward: float = 1.0,
    gamma: float = 1.0,
) -> MDP:
    """Build a random walk; the keywords are those of `RandomWalkEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model = random_walk(n=1, mover="chance")
    >>> model.P[1][0]
    [(0.5, 0, 0.0, True), (0.5, 2, 1.0, True)]
    """
    whole("n", n, 1)
    whole("reach", reach, 1)
    choice("mover", mover, ["agent", "chance"])
    right_end = n + 1
    reward = {0: number("left_reward", left_reward), right_end: number("right_reward", right_reward)}
    actions = ((-1,), (1,)) if mover == "agent" else ((-1, 1),)
    successors: list[list[dict[int, float]]] = []
    for state in range(n + 2):
        row: list[dict[int, float]] = []
        for directions in actions:
            # a step beyond an end leads to that end
            ways = Counter(
                state if state in reward else min(max(state + direction * far, 0), right_end)
                for direction in directions
                for far in range(1, reach + 1)
            )
            row.append({ahead: count / (len(directions) * reach) for ahead, count in ways.items()})
        successors.append(row)
    return MDP.from_successors(
        successors,
        lambda s, a, ahead: 0.0 if s in reward else reward.get(ahead, 0.0),
        gamma=gamma,
        start=(n + 1) // 2,
        terminated=[state in reward for state in range(n + 2)],
        state_labels=("left", *(str(state) for state in range(1, right_end)), "right"),
        action_labels=("Left", "Right") if mover == "agent" else ("Walk",),
    )


def chain(*, n: int = 5, slip: float = 0.2, small: float = 2.0, large: float = 10.0, gamma: float = 0.95) -> MDP:
    """Build the chain problem; the keywords are those of `ChainEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> chain(n=2).P[1][0]
    [(0.8, 1, 10.0, False), (0.2, 0, 2.0, False)]
    """
    whole("n", n, 2)
    number("slip", slip, 0, 1)
    number("small", small)
    number("large", large)
    last = n - 1
    successors: list[list[dict[int, float]]] = []
    for state in range(n):
        ahead = min(state + 1, last)
        successors.append([{ahead: 1 - slip, 0: slip}, {0: 1 - slip, ahead: slip}])
    # The reward depends on what happens, not on the action: a slip from Forward to Back brings the small reward.
    return MDP.from_successors(
        successors,
        lambda s, a, ahead: small if ahead == 0 else large if s == last else 0.0,
        gamma=gamma,
        start=0,
        state_labels=tuple(str(state + 1) for state in range(n)),
        action_labels=("Forward", "Back"),
    )


def river_swim(
    *,
    n: int = 6,
    start: Sequence[int] = (1, 2),
    forward: float = 0.3,
    back: float = 0.1,
    washed_back: float = 0.7,
    left_reward: float = 5.0,
    right_reward: float = 10_000.0,
    gamma: float = 0.95,
) -> MDP:
    """Build the river; the keywords are those of `RiverSwimEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> river_swim().P[1][1]
    [(0.1, 0, 0.0, False), (0.6, 1, 0.0, False), (0.3, 2, 0.0, False)]
    """
    whole("n", n, 2)
    number("forward", forward, 0, 1)
    number("back", back, 0, 1 - forward)
    number("washed_back", washed_back, 0, 1)
    number("left_reward", left_reward)
    number("right_reward", right_reward)
    last = n - 1
    begin = [0.0] * n
    starts = sequence("start", start, least=1)
    for state in starts:
        number("start", state, 0, last)
        begin[whole("start", state, 0)] += 1 / len(starts)
    stay = max(0.0, 1 - forward - back)
    successors: list[list[dict[int, float]]] = []
    for state in range(n):
        swim = {state - 1: back, state: stay, state + 1: forward}
        if state == 0:
            swim = {0: 1 - forward, 1: forward}
        elif state == last:
            swim = {state - 1: washed_back, state: 1 - washed_back}
        successors.append([{max(state - 1, 0): 1.0}, swim])
    reward = {(0, 0, 0): left_reward, (last, 1, last): right_reward}
    return MDP.from_successors(
        successors,
        lambda s, a, ahead: reward.get((s, a, ahead), 0.0),
        gamma=gamma,
        start=begin,
        action_labels=("Left", "Right"),
    )


class RandomWalkEnv(TabularEnv):
    """A walk along n states from the middle to one of two ends (S&B2 Examples 6.2, 7.1 and 9.1).

    Parameters
    ----------
    n : int
        Number of states between the ends: 5 in Example 6.2, 19 in Example 7.1, 1000 in Example 9.1.
    reach : int
        How far a step may lead: to any of so many states on that side, each equally likely; what lies beyond the end is
        the end. 1 in Examples 6.2 and 7.1, 100 in Example 9.1.
    mover : {"agent", "chance"}
        Who decides where to go: the agent, by the actions 0 Left and 1 Right, or a fair coin, so that there is one
        action, Walk, and nothing but a value function to learn. Under the uniformly random policy both are the same.
    left_reward, right_reward : float
        Reward for reaching the ends: 0 and 1 in Example 6.2, -1 and 1 in Examples 7.1 and 9.1.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    State 0 is the left end, state n + 1 the right end; the walk starts at (n + 1) // 2. Of a random walk the value
    of state i is i / (n + 1) with the rewards of Example 6.2, and i / 10 - 1 in Example 7.1.

    Examples
    --------
    >>> env = RandomWalkEnv(n=19, left_reward=-1)
    >>> env.reset(seed=7)[0], env.step(1)[0]
    (10, 11)
    >>> env = RandomWalkEnv(n=1000, reach=100, mover="chance", left_reward=-1)
    >>> env.reset(seed=7)[0], env.step(0)[0]
    (500, 580)
    """

    def __init__(
        self,
        *,
        n: int = 5,
        reach: int = 1,
        mover: str = "agent",
        left_reward: float = 0.0,
        right_reward: float = 1.0,
        gamma: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        model = random_walk(
            n=n, reach=reach, mover=mover, left_reward=left_reward, right_reward=right_reward, gamma=gamma
        )
        super().__init__(model, render_mode=render_mode)


class ChainEnv(TabularEnv):
    """The chain: go forward through states that pay nothing, or back for a small reward.

    From R. Dearden, N. Friedman and S. Russell, "Bayesian Q-learning", AAAI 1998, and M. Strens, "A Bayesian framework
    for reinforcement learning", ICML 2000.

    Parameters
    ----------
    n : int
        Number of states.
    slip : float
        Probability that the other action happens, in [0, 1].
    small : float
        Reward for going back to the first state.
    large : float
        Reward for going forward in the last state, which stays there.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Actions: 0 Forward, 1 Back. The task continues for ever; the literature compares the reward of 1000 steps. Going
    forward for ever brings 0.8^5 * 10 + 0.2 * 2 = 3.6768 per step in the long run, and is optimal.

    Examples
    --------
    >>> env = ChainEnv(slip=0)
    >>> env.reset(seed=7)[0], env.step(1)[:2]
    (0, (0, 2.0))
    """

    def __init__(
        self,
        *,
        n: int = 5,
        slip: float = 0.2,
        small: float = 2.0,
        large: float = 10.0,
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(chain(n=n, slip=slip, small=small, large=large, gamma=gamma), render_mode=render_mode)


class RiverSwimEnv(TabularEnv):
    """A river: drifting down is easy and pays a little, swimming up is hard and pays much.

    From A. Strehl and M. Littman, "An analysis of model-based interval estimation for Markov decision processes",
    Journal of Computer and System Sciences 74 (2008).

    Parameters
    ----------
    n : int
        Number of states.
    start : sequence of int
        States among which the start is drawn, uniformly.
    forward, back : float
        Probabilities that swimming (Right) gets one state up, and that it is carried one down; it stays put otherwise.
        In state 0 it cannot be carried down.
    washed_back : float
        Probability that swimming in the last state is carried one down.
    left_reward : float
        Reward for Left in state 0.
    right_reward : float
        Reward for swimming in the last state without being carried down.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Actions: 0 Left, which always gets one state down, and 1 Right. The task continues for ever.

    Examples
    --------
    >>> env = RiverSwimEnv(start=[0])
    >>> env.reset(seed=7)[0], env.step(0)[:2]
    (0, (0, 5.0))
    """

    def __init__(
        self,
        *,
        n: int = 6,
        start: Sequence[int] = (1, 2),
        forward: float = 0.3,
        back: float = 0.1,
        washed_back: float = 0.7,
        left_reward: float = 5.0,
        right_reward: float = 10_000.0,
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        model = river_swim(
            n=n,
            start=start,
            forward=forward,
            back=back,
            washed_back=washed_back,
            left_reward=left_reward,
            right_reward=right_reward,
            gamma=gamma,
        )
        super().__init__(model, render_mode=render_mode)
