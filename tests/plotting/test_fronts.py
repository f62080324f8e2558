import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite.planning import pareto


def test_the_corners_are_drawn_as_they_are():
    mdp = rl.MDP.from_successors([[0, 0, 0]], [[10, 4, 0]], gamma=0.9)
    front = pareto(mdp, ("reward", [[-5, -1, 0]]), names=("earned", "worn"))
    ax = rl.plotting.pareto_front(front)
    assert np.array_equal(ax.get_lines()[0].get_xydata(), front.points + 0.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("earned", "worn")
    single = pareto(mdp, ("reward", "reward"))
    assert len(single.points) == 1
    rl.plotting.pareto_front(single)
    plt.close("all")
