"""A field of a class of one's own, and the number in the memory of its rule."""

import pytest

import rlsuite as rl
from rlsuite.agents import end_step, locate, locate_next, update, value
from rlsuite.approximation import OneHot
from rlsuite.errors import CallError, CompilationError, ParameterError
from rlsuite.experiments import AgentEntry, EnvironmentEntry, Experiment


@rl.compiled(in_place=True)
def hysteretic(memory, t, rng):
    """Q-learning that learns less from disappointments (Matignon, Laurent & Le Fort-Piat 2007)."""
    s, next_s, target = locate(memory, t.state), -1, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target += memory.gamma * rl.max_value(memory, next_s)
    error = target - value(memory, s, t.action)
    if memory.parameters.patient and error < 0.0:
        error *= memory.parameters.share / memory.parameters.parts
    update(memory, s, t.action, rl.step_size(memory, s, t.action) * error)
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return -1 if t.terminated or t.truncated else rl.choose(memory, next_s, rng)


class Hysteretic(rl.ActionValueAgent):
    step = hysteretic

    share: rl.Parameter[float] = 1.0
    parts: "rl.Parameter[int]" = 1
    patient: rl.Parameter[bool] = True


class MoreHysteretic(Hysteretic):
    share: rl.Parameter[float] = 0.5

    def __post_init__(self):
        super().__post_init__()
        if not 0.0 <= self.share <= 1.0:
            raise ParameterError(f"share={self.share:g} is not in [0, 1]")


@rl.compiled
def evaluate_by_half(memory, t, rng):
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.q[t.next_state, 0]
    memory.q[t.state, 0] += memory.parameters.half * (target - memory.q[t.state, 0])
    memory.clock[0] += 1
    memory.clock[1] += t.terminated or t.truncated
    return -1 if t.terminated or t.truncated else rl.follow(memory, t.next_state, rng)


class HalfTD(rl.Predictor):
    step = evaluate_by_half

    half: rl.Parameter[float] = 0.5


def learned(agent, loop="auto"):
    return agent.learn("CliffWalking-v1", steps=2_000, seed=1, loop=loop)


@pytest.mark.cases("None-stepwise")
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
@pytest.mark.parametrize("features", [None, OneHot()])
def test_the_rule_sees_the_number(loop, features):
    plain = learned(rl.QLearning(features=features), loop)
    assert learned(Hysteretic(features=features), loop).q_.tobytes() == plain.q_.tobytes()
    slower = learned(Hysteretic(features=features, share=0.5), loop)
    assert slower.q_.tobytes() != plain.q_.tobytes()
    assert learned(Hysteretic(features=features, parts=2), loop).q_.tobytes() == slower.q_.tobytes()
    assert learned(Hysteretic(features=features, share=0.5, patient=False), loop).q_.tobytes() == plain.q_.tobytes()


def test_a_predictor_has_them_too():
    agent = HalfTD(half=0.25).learn("FrozenLake-v1", steps=5_000, seed=1)
    twin = rl.TD(learning_rate=0.25).learn("FrozenLake-v1", steps=5_000, seed=1)
    assert agent.value_.tobytes() == twin.value_.tobytes()


def test_it_is_a_parameter_as_all_others(tmp_path):
    agent = Hysteretic(share=1, gamma=0.9)
    assert repr(agent).endswith("features=None, share=1.0, parts=1, patient=True)")
    learned(agent).save(tmp_path / "a.npz")
    assert repr(rl.load(tmp_path / "a.npz")) == repr(agent)
    with pytest.raises(ParameterError, match="share= cannot be changed once this Hysteretic has begun to learn"):
        agent.share = 0.3
    with pytest.raises(CallError, match=r"has no parameter 'shar'; did you mean share=0\.1\?"):
        Hysteretic(shar=0.1)
    entries = {"environments": [EnvironmentEntry("FrozenLake-v1")], "agents": [AgentEntry(Hysteretic(share=0.25))]}
    assert Experiment(**entries, steps=10, seeds=1).plain()["agents"][0]["share"] == 0.25


@pytest.mark.slow
def test_a_subclass_inherits_them_and_changes_defaults():
    agent = MoreHysteretic()
    assert (agent.share, agent.parts) == (0.5, 1)
    assert learned(agent).q_.tobytes() == learned(Hysteretic(share=0.5)).q_.tobytes()
    with pytest.raises(ParameterError, match=r"^share=2 is not in \[0, 1\]$"):
        MoreHysteretic(share=2.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": "much"}, "share='much' is not a finite number"),
        ({"share": None}, "share=None is not a finite number"),
        ({"parts": 2.5}, "parts=2.5 is not a whole number"),
        ({"patient": 1}, "patient=1 is not True or False"),
    ],
)
def test_other_values_are_named(given, message):
    with pytest.raises(ParameterError) as caught:
        Hysteretic(**given)
    assert str(caught.value) == message


def test_a_rule_sees_numbers_only():
    for hint in (rl.Parameter, rl.Parameter[str], "rl.Parameter[list]"):
        with pytest.raises(
            ParameterError, match=r"Wordy\.words: a rule sees numbers only; .* rlsuite.Parameter\[float\] ="
        ):
            type("Wordy", (rl.TabularAgent,), {"__annotations__": {"words": hint}, "__module__": __name__, "words": 1})


class Undeclared(rl.Predictor):
    step = evaluate_by_half
    half = 0.5


class WithoutDefault(rl.Predictor):
    step = evaluate_by_half
    half: rl.Parameter[float]


class Constructing(rl.Predictor):
    step = evaluate_by_half

    def __init__(self, half):
        self.half = half


def test_a_parameter_that_is_not_declared_is_answered_with_its_declaration():
    declared = r"write half: rlsuite.Parameter\[float\] = 0.5 in the class"
    with pytest.raises(CallError, match=r"no parameter 'half' .*Undeclared.half is not a parameter yet: " + declared):
        Undeclared(half=0.3)
    with pytest.raises(
        CompilationError, match=r"half is not a parameter of the agent. Declare it in the class: half: rl"
    ):
        Undeclared().learn("FrozenLake-v1", steps=10, seed=1)
    with pytest.raises(CallError, match=r"WithoutDefault needs half: write WithoutDefault\(gamma=0.5, half=...\)"):
        WithoutDefault(gamma=0.5)
    with pytest.raises(
        ParameterError, match=r"Constructing.__init__ has to call super\(\).__init__\(...\); a number of"
    ):
        Constructing(0.5).learn("FrozenLake-v1", steps=10, seed=1)


@pytest.mark.slow
def test_it_conforms():
    rl.testing.check_agent(Hysteretic(share=0.5))
