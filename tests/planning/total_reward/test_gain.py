"""gamma = 1 where the end can be avoided: an error that names a state, and says what is wrong there."""

import re

import numpy as np
import pytest

from rlsuite.errors import ModelError
from rlsuite.models import MDP
from rlsuite.planning import solve


def error_of(successors, reward):
    mdp = MDP.from_successors(successors, reward, gamma=1.0)
    with pytest.raises(ModelError) as error:
        solve(mdp)
    return str(error.value)


def state_in(message):
    found = re.search(r"from state (\d+)", message)
    assert found
    return int(found.group(1))


def test_no_way_to_the_end():
    message = error_of([[1, 2], [1, 1], [None, None]], [-1, -1, 0])
    assert message.startswith("gamma=1, and from state 1 no end can be reached, and no set of states")
    assert "use gamma=0.99 (say)" in message
    assert "horizon=" in message


def test_earning_for_ever():
    message = error_of([[1, 3], [2, 2], [0, 0], [None, None]], [[-1, -1], [-1, -1], [5, -4], [0, 0]])
    assert "the end can be avoided for ever while 1 is earned per step: its total reward is infinite" in message
    assert state_in(message) in {0, 1, 2}


def test_gain_and_loss_in_balance():
    message = error_of([[1, 2], [0, 2], [None, None]], [[1, 0], [-1, 0], [0, 0]])
    assert "the end can be avoided for ever with gains and losses that add up to 0: such a total reward" in message
    assert message.endswith("plan for a number of steps: horizon=100 (say)")
    assert state_in(message) in {0, 1}


def test_gain_and_loss_in_balance_with_chances():
    # Two steps out of three cost 1, one brings 2.
    message = error_of([[{0: 1 / 3, 1: 2 / 3}, 2], [0, 0], [None, None]], [[0.5, 0], [-1 / 3 * 1.5, -1], [0, 0]])
    assert "avoided for ever" in message


def test_a_chance_of_the_end_in_every_step_is_enough():
    mdp = MDP.from_successors([[{0: 0.9, 1: 0.1}], [None]], [[3.0], [0.0]], gamma=1.0)
    assert solve(mdp).value[0] == pytest.approx(30)


def test_the_component_that_pays_is_found_among_many():
    # 400 pairs of states to go back and forth between, at a cost except in one; from each the end is one step away.
    rng = np.random.default_rng(400)
    pays = int(rng.integers(400))
    successors, reward = [], []
    for pair in range(400):
        gain = 1.5 if pair == pays else 0.5
        successors += [[2 * pair + 1, 800], [2 * pair, 800]]
        reward += [[gain, 0], [-1, 0]]
    message = error_of([*successors, [None, None]], [*reward, [0, 0]])
    assert state_in(message) // 2 == pays
    assert "0.25 is earned per step" in message


@pytest.mark.parametrize("cost", [1e-3, 1e-6])
def test_a_small_cost_of_going_round_is_enough(cost):
    mdp = MDP.from_successors([[1, 2], [0, 2], [None, None]], [[1, 0], [-1 - cost, 0], [0, 0]], gamma=1.0)
    np.testing.assert_allclose(solve(mdp).value, [1, 0, 0], atol=1e-6)


def test_large_grid_with_a_coin_that_comes_back():
    side = 60
    cells = side * side
    successors, reward = [], np.full((cells, 4), -1.0)
    for cell in range(cells):
        row, column = divmod(cell, side)
        around = [(row, column - 1), (row, column + 1), (row - 1, column), (row + 1, column)]
        inside = [0 <= r < side and 0 <= c < side for r, c in around]
        successors.append([r * side + c if ok else cell for (r, c), ok in zip(around, inside, strict=True)])
    successors[-1] = [None] * 4
    reward[1234] = 0.9  # back and forth earns 0.9 - 1: not enough to stay
    assert solve(MDP.from_successors(successors, reward, gamma=1.0)).converged
    reward[1234] = 1.1
    with pytest.raises(ModelError, match=r"avoided for ever while 0\.05 is earned") as error:
        solve(MDP.from_successors(successors, reward, gamma=1.0))
    assert state_in(str(error.value)) in {1233, 1234, 1235, 1234 - side, 1234 + side}


def test_losses_that_hardly_ever_come_are_losses():
    # Round and round for nothing, and once in 10**12 rounds one loses 1; or out, for 5. Nothing is paid for staying.
    mdp = MDP.from_successors(
        [[{0: 1 - 1e-12, 1: 1e-12}, 2], [0, 0], [None, None]], [[0, 5], [-1, -1], [0, 0]], gamma=1.0
    )
    assert solve(mdp).value.tolist() == pytest.approx([5, 4, 0])


def test_unlikely_ends_count():
    mdp = MDP.from_successors([[{0: 1 - 1e-6, 1: 1e-6}], [None]], [[-1.0], [0.0]], gamma=1.0)
    assert solve(mdp, tol=1.0).value[0] == pytest.approx(-1e6, rel=1e-6)
