import numpy as np

import rlsuite as rl
from rlsuite.training.optimum import Optima

SIZE = 30
CORNER = SIZE * SIZE - 1


def slippery_moves(square):
    """Right, down and back on a square grid that ends in a corner; the first two slip into each other."""
    if square == CORNER:
        return [None] * 3
    row, column = divmod(square, SIZE)
    right, down = row * SIZE + min(column + 1, SIZE - 1), min(row + 1, SIZE - 1) * SIZE + column
    back = max(row - 1, 0) * SIZE + max(column - 1, 0)
    return [{right: 0.8, down: 0.2}, {right: 0.2, down: 0.8}, back]


def test_optimal_actions_of_a_model_that_is_swept_cost_nothing_at_all():
    # Right and down are equally good on the diagonal, but a sweep sees one of their successors before the other.
    squares = np.arange(SIZE * SIZE)
    reward = np.where((squares == CORNER - 1) | (squares == CORNER - SIZE), 10.0, 0.0)
    mdp = rl.MDP.from_successors(list(map(slippery_moves, squares.tolist())), reward, gamma=0.99, start=0)
    gap = Optima().of(mdp).gap
    diagonal = squares[: -1 : SIZE + 1]
    assert rl.solve(mdp).method != "policy_iteration"
    assert (gap[diagonal][:, :2] == 0.0).all()
    assert (gap[diagonal][1:, 2] > 0.0).all()
    exact = rl.solve(mdp, "policy_iteration")
    np.testing.assert_allclose(gap, np.where(mdp.legal, exact.value[:, None] - exact.q, 0.0), atol=4e-6)
