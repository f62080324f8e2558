"""The deep sea (Osband, Van Roy, Russo & Wen 2019): a treasure on the right, if every step goes there."""

import rlsuite as rl


class DeepSea(rl.TabularEnv):
    """A square of `n` x `n` states; each step goes down, and left (0) or right (1), which costs 0.01 / n."""

    def __init__(self, n: int = 10) -> None:
        def paid(state: tuple[int, int], action: int, successor: tuple[int, int]) -> float:
            return -0.01 / n * action + float(successor == (n, n - 1) and action == 1 and state == (n - 1, n - 1))

        def below(state: tuple[int, int], action: int) -> tuple[int, int]:
            row, column = state
            return row + 1, min(max(column + 2 * action - 1, 0), n - 1)

        super().__init__(
            rl.MDP.from_function(
                below, (0, 0), actions=[0, 1], gamma=0.99, reward=paid, terminal=lambda state: state[0] == n
            )
        )
