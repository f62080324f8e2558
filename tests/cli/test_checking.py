import pytest

import rlsuite as rl
import rlsuite_envs
from rlsuite.cli import checking
from rlsuite.errors import UnsuitableEnvironment

HEAD = """
import gymnasium
import numpy as np

class Odd(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}
"""


@pytest.mark.parametrize("env_id", [f"rlsuite/{name}" for name in rlsuite_envs.TIME_LIMITS])
def test_our_own_environments_pass(rlsuite_json, env_id):
    findings = rlsuite_json("check", env_id)["findings"]
    assert {finding["verdict"] for finding in findings} == {"ok"}
    assert {finding["what"] for finding in findings} - {"optimum"} == {  # of hidden states it is not computed
        "Gymnasium's rules", "spaces", "answers", "seeds", "table", "compiled loop", "pictures"
    }  # fmt: skip


def verdicts(done):
    """What is said of each check: {("FAIL", "seeds"): sentence}."""
    found = {}
    for line in done.out.splitlines()[1:-1]:
        verdict, rest = line[2:].split(maxsplit=1)
        what, _, sentence = rest.partition("  ")
        found[verdict, what] = sentence.strip()
    return found


def test_an_environment_in_words(rlsuite):
    done = rlsuite("check", "FrozenLake-v1")
    assert done.code == 0
    found = verdicts(done)
    assert found["ok", "spaces"] == "observations Discrete(16), actions Discrete(4)"
    assert found["ok", "table"].startswith("MDP with 16 states and ")
    assert found["ok", "compiled loop"] == "table and step agree in a replay"
    assert done.out.splitlines()[-1] == "next: rlsuite train q-learning FrozenLake-v1"


WALK = """
    def step(self, action):
        return action, float(action), bool(action), False, {}
"""


def test_a_table_that_probing_gives(rlsuite, tmp_path):
    (tmp_path / "odd.py").write_text(HEAD + WALK)
    done = rlsuite("check", "odd.py:Odd")
    assert done.code == 0
    tabulated = "it has been tabulated, 1 state"
    assert verdicts(done)["ok", "table"] == f"no transition table; --tabulate makes one: {tabulated}"
    assert verdicts(done)["ok", "compiled loop"] == "with --tabulate"
    assert done.out.splitlines()[-1] == "next: rlsuite train q-learning odd.py:Odd --tabulate"

    # in the words of `check`, `train` and `solve`, and the same number
    optimum = verdicts(done)["ok", "optimum"].removeprefix("with --tabulate, ").removesuffix(" (gamma 0.99)")
    train = ("train", "q-learning", "odd.py:Odd", "--steps", "50", "--seed", "1")
    assert f"because {tabulated}\n  discounted" in (printed := rlsuite(*train, "--tabulate").out)
    assert f"optimum {optimum} (" in printed
    assert f"value at start  {optimum}\n" in rlsuite("solve", "odd.py:Odd", "--tabulate").out
    lacks = "Odd has no transition table"
    assert f"optimum unknown: {lacks}; --tabulate may make one\n" in (printed := rlsuite(*train).out)
    assert "because it has no transition table; --tabulate may make one, see docs" in printed
    assert f"error: {lacks} (env.unwrapped.P). Build one with --tabulate" in rlsuite("solve", "odd.py:Odd").err


@pytest.mark.slow
def test_a_table_that_probing_does_not_give(rlsuite):
    found = verdicts(rlsuite("check", "Blackjack-v1"))
    reason, twin = "one step has more than 10,000 outcomes", "; rlsuite/Blackjack-v0 has one"
    slow = "there was not enough time to find all outcomes of its steps"  # check takes 5 seconds, on any machine
    assert found["no", "table"] in {
        f"no transition table, and cannot be tabulated: {each}{twin}" for each in (reason, slow)
    }
    for typed in (("train", "q-learning", "Blackjack-v1", "--steps", "9"), ("solve", "Blackjack-v1")):
        assert reason + twin in rlsuite(*typed, "--tabulate").err
    with pytest.raises(UnsuitableEnvironment, match=r"need, and cannot be tabulated: .* rlsuite/Black"):
        rl.QLearning().learn("Blackjack-v1", steps=9, tabulate=True)
    assert found["no", "compiled loop"] == "no compiled dynamics (env.unwrapped.dynamics): agents learn stepwise"


def test_a_table_that_does_not_tell_all(rlsuite):
    done = rlsuite("check", "Taxi-v4", "--env", "fickle_passenger=True")
    assert done.code == 0  # it can be learned, stepwise
    assert verdicts(done)["no", "compiled loop"].endswith("; agents learn stepwise")


def test_observations_that_are_not_discrete(rlsuite):
    done = rlsuite("check", "CartPole-v1")
    assert done.code == 0
    assert verdicts(done)["ok", "spaces"].endswith(
        "actions Discrete(2); agents with features can learn in it (vectors of 4 numbers), tabular agents cannot"
    )
    assert verdicts(done)["no", "table"] == (
        "no transition table (env.unwrapped.P or .model): planners cannot solve it"
    )


@pytest.mark.parametrize(
    ("step", "what", "sentence"),
    [
        (
            "return int(np.random.default_rng().integers(2)), 0.0, False, False, {}",
            "seeds",
            "two copies with the same seed differ from step ",
        ),
        ("return 0, 1 / 0, False, False, {}", "answers", "raised ZeroDivisionError: division by zero"),
        (
            "return 5, 0.0, False, False, {}",
            "answers",
            "step 1 returned observation 5, not in Discrete(2)",
        ),
        (
            "return 0, float('nan'), False, False, {}",
            "answers",
            "Odd, step 1: the environment returned the reward nan; rewards must be finite numbers",
        ),
        ("return 0, 0.0, False", "Gymnasium's rules", ""),
    ],
)
def test_what_is_wrong_with_an_environment_of_ones_own(rlsuite, tmp_path, step, what, sentence):
    (tmp_path / "odd.py").write_text(f"{HEAD}\n    def step(self, action):\n        {step}\n")
    done = rlsuite("check", "odd.py:Odd")
    assert done.code == 1
    assert verdicts(done)["FAIL", what].startswith(sentence)
    assert done.out.splitlines()[-1] == "some checks failed: see FAIL above"


def test_an_environment_that_cannot_be_closed(rlsuite, tmp_path):
    methods = "    def step(self, action):\n        return 0, 0.0, False, False, {}\n"
    (tmp_path / "odd.py").write_text(f"{HEAD}\n{methods}\n    def close(self):\n        self.viewer.close()\n")
    done = rlsuite("check", "odd.py:Odd")
    assert done.code == 0
    assert verdicts(done)["warn", "Gymnasium's rules"].startswith("Odd: its close() raised AttributeError: 'Odd'")


@pytest.mark.cases("step-.*")
@pytest.mark.parametrize(("method", "what"), [("step", "Gymnasium's rules"), ("render", "pictures")])
def test_a_step_that_never_ends_is_named(rlsuite, tmp_path, monkeypatch, method, what):
    """The checks before it are told; those after it are not made."""
    monkeypatch.setattr(checking, "DEADLINE", 1.0 if method == "step" else 5.0)
    loop = f"""
    metadata = {{"render_modes": ["rgb_array"]}}
    render_mode = None

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def {method}(self, action=0):
        try:
            while True:
                pass
        except Exception:
            return 0, 0.0, False, False, {{}}
"""
    (tmp_path / "odd.py").write_text(HEAD + (WALK if method == "render" else "") + loop)
    done = rlsuite("check", "odd.py:Odd")
    assert done.code == 1
    found = verdicts(done)
    assert found["FAIL", what].startswith(f"after {checking.DEADLINE:g} s this check was still in Odd.{method}(), ")
    assert found["FAIL", what].endswith("; the checks after it were not made")
    assert [key for key in found if key[0] == "FAIL"] == [("FAIL", what)]
    assert (("ok", "answers") in found) == (method == "render")
    assert [key for key in found if key[1] == "pictures"] == ([("FAIL", "pictures")] if method == "render" else [])


def test_a_table_that_is_no_table(rlsuite, tmp_path):
    table = "    P = {0: {0: [(0.5, 0, 0.0, False)]}}\n"
    step = "    def step(self, action):\n        return 0, 0.0, False, False, {}\n"
    (tmp_path / "odd.py").write_text(HEAD + table + step)
    done = rlsuite("check", "odd.py:Odd")
    assert done.code == 1
    assert verdicts(done)["FAIL", "table"]


def test_an_environment_that_cannot_be_made(rlsuite):
    done = rlsuite("check", "FrozenLake-v1", "--env", "map_name=9x9")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rlsuite: error: FrozenLake-v1 does not accept map_name='9x9'")


def test_a_picture_that_is_none(rlsuite, tmp_path):
    step = "    def step(self, action):\n        return 0, 0.0, False, False, {}\n"
    drawn = '    metadata = {"render_modes": ["rgb_array"]}\n    def __init__(self, render_mode=None):\n        pass\n'
    (tmp_path / "odd.py").write_text(HEAD + step + drawn + "    def render(self):\n        return None\n")
    done = rlsuite("check", "odd.py:Odd")
    assert done.code == 1
    assert verdicts(done)["FAIL", "pictures"].startswith("rgb_array: render() returned NoneType; ")


def test_warnings_of_gymnasium_are_findings(rlsuite):
    done = rlsuite("check", "CartPole-v1")
    assert "observation space maximum value is infinity" in verdicts(done)["warn", "Gymnasium's rules"]
    assert "\x1b" not in done.out
    assert done.err == ""
    assert verdicts(done)["ok", "compiled loop"].startswith("compiled dynamics and step agree in a replay")
    assert done.out.splitlines()[-1] == "next: rlsuite train sarsa CartPole-v1 --features tile-coding"


def test_actions_that_are_not_discrete(rlsuite):
    done = rlsuite("check", "Pendulum-v1")
    assert done.code == 1
    assert "Discrete action space" in verdicts(done)["FAIL", "spaces"]
