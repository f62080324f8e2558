"""Legality as loops ask for it."""

import numpy as np

from rlsuite.training.legality import every_action, listed_actions


def test_a_list_is_obeyed_and_no_list_is_asked_for_where_everything_is_legal():
    legal = np.array([[True, False], [False, True]])
    assert [[listed_actions(legal, s, a) for a in (0, 1)] for s in (0, 1)] == legal.tolist()
    assert all(every_action(legal, s, a) for s in (0, 1) for a in (0, 1))
