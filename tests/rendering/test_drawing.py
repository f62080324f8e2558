"""The line below a picture."""

from rlsuite.rendering.drawing import status


def test_it_names_action_reward_and_remarks():
    assert status("", None, "heard: left") == "start | heard: left"
    assert status("listen", None, "") == "listen"
    assert status("up", -0.123456, "wall") == "up, reward -0.1235 | wall"
