"""Durations of hidden states: areas of the decoded segments under the lines of the model."""

import rlsuite as rl
from rlsuite import plotting


def test_areas_are_the_shares_of_whole_segments():
    light = rl.HSMM([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], [[0, 0.5, 0.5], [1, 0, 0]])
    ax = plotting.state_durations(light, [[0, 0, 1, 0, 0, 0, 1, 0], [0, 0, 1]])
    shares = {patch.get_label(): patch.get_data().values.round(3).tolist() for patch in ax.patches}
    assert shares == {"_state 0": [0, 0.667, 0.333], "_state 1": [1, 0, 0]}
    both = plotting.state_posteriors(light, [0, 0, 1, 0, 0], path=True)
    assert "best path" in [tick.get_text() for tick in both.get_yticklabels()]
    assert plotting.diagram(light).texts[0].get_text() == "state 0\n0: 1\nlasts 2.5\nsteps"
