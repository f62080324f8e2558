"""Tables that are made by asking: right where there is one, and none where a step depends on more than its state."""

import random
import time

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import rlsuite as rl
from rlsuite.environments import ageing, child_process, tabulation
from rlsuite.environments.facts import facts_of
from rlsuite.environments.outcomes import Leaf, draw
from rlsuite.environments.tabulation import NotTabulated, tabulation_of
from rlsuite.errors import UnsuitableEnvironment

NAMES = ("s", "state", "pos", "_where", "agent", "xy", "cell")

# How the state is kept: the line that sets it, the expression that reads it, and what it is in the beginning.
KEPT = {
    "int": ("self.{n} = {v}", "int(self.{n})", "0"),
    "np": ("self.{n} = np.int64({v})", "int(self.{n})", "0"),
    "tuple": ("self.{n} = ({v} // 3, {v} % 3)", "(self.{n}[0] * 3 + self.{n}[1])", "0"),
    "list": ("self.{n}[0] = {v}", "self.{n}[0]", "[0]"),
    "dict": ("self.{n}['at'] = {v}", "self.{n}['at']", "{'at': 0}"),
    "array": ("self.{n}[:] = 0; self.{n}[{v}] = 1", "int(np.argmax(self.{n}))", "np.zeros(12)"),
    "object": ("self.{n}.at = {v}", "self.{n}.at", "Box()"),
    "text": ("self.{n} = str({v})", "int(self.{n})", "0"),
}
# What counts the steps: its beginning, the line that counts, and the expression that reads it.
COUNTED = {
    "int": ("self.{c} = 0", "self.{c} += 1", "self.{c}"),
    "float": ("self.{c} = 0.0", "self.{c} += 1.0", "self.{c}"),
    "list": ("self.{c} = []", "self.{c}.append(state)", "len(self.{c})"),
    "dict": ("self.{c} = {{'n': 0}}", "self.{c}['n'] += 1", "self.{c}['n']"),
    "array": ("self.{c} = np.zeros(2000)", "self.{c}[0] += 1", "self.{c}[0]"),
    "object": ("self.{c} = Box()", "self.{c}.at += 1", "self.{c}.at"),
    "none": ("pass", "pass", "0"),
}
# Counters outside the environment's attributes, or with a state of their own: an honest one is refused, too.
OUTSIDE = {
    "alias": ("self.{c} = []; self.{c}2 = self.{c}", "self.{c}.append(state)", "len(self.{c}2)"),
    "closure": ("pass", "bump()", "count()"),
    "global": ("pass", "global N; N += 1", "N"),
    "class": ("pass", "type(self).total += 1", "type(self).total"),
    "base class": ("pass", "E.total += 1", "E.total"),
    "iterator": ("self.{c} = itertools.count()", "n = next(self.{c})", "n"),
    "default": ("pass", "self.bumped()", "self.bumped(0)"),
    "function": ("pass", "E.bumped.n = getattr(E.bumped, 'n', 0) + 1", "E.bumped.n"),
    "closure in an attribute": ("self.{c} = counter()", "n = self.{c}()", "n"),
    "another module": ("pass", "other.N += 1", "other.N"),
    "a module of numpy": ("pass", "np.N = getattr(np, 'N', 0) + 1", "np.N"),
    "generator": ("pass", "n = next(NUMBERS)", "n"),
    "beside a lock": ("pass", "LOCKED.at += 1", "LOCKED.at"),
    "of a thread": ("pass", "LOCAL.n = getattr(LOCAL, 'n', 0) + 1", "LOCAL.n"),
    "of a context": ("pass", "CONTEXT.set(CONTEXT.get() + 1)", "CONTEXT.get()"),
    "environ": ("pass", "os.environ['N_'] = str(int(os.environ.get('N_', 0)) + 1)", "int(os.environ['N_'])"),
    "view": ("self.{c} = np.zeros(4); self.{c}2 = self.{c}[:2]", "self.{c}[0] += 1", "self.{c}2[0]"),
    "swallowed": ("self.{c} = 0", "self.{c} += 1", "look(self, '{c}')"),
}
DRAWN = (
    "u = self.np_random.random(); k = 0 if u < {a} else (1 if u < {b} else 2)",
    "k = int(np.argmax(np.cumsum([{a}, {b} - {a}, 1 - {b}]) > self.np_random.random()))",
    "k = int(self.np_random.choice(3, p=[{a}, {b} - {a}, 1 - {b}]))",
    "k = int(np.searchsorted(np.cumsum([{a}, {b} - {a}]), self.np_random.random(), side='right'))",
    "k = 2 - int(self.np_random.integers(0, 3))",
    "k = 1 if self.np_random.uniform(0, 10) > {b} * 10 else int(self.np_random.integers(2)) * 2",
    "k = 0",
    "k = int(self.np_random.random() * 3)",
    "k = sum(self.np_random.random() > c for c in ({a}, {b}))",
)
LIES = {
    "reward": "r += 1.0 if {read} > {late} else 0.0",
    "move": "ns = 0 if {read} > {late} else ns",
    "end": "done = done or {read} > {late}",
    "once": "r += {read} == {late}",
}
SOURCE = """
import contextvars, itertools, os, threading, types
import numpy as np, gymnasium as gym
from gymnasium.spaces import Discrete
N = 0
class Box:
    def __init__(self): self.at = 0
other = types.ModuleType("other")
other.N = 0
NUMBERS = (number for number in range(10**9))
LOCKED = Box()
LOCKED.lock = threading.Lock()
LOCAL = threading.local()
CONTEXT = contextvars.ContextVar("steps", default=0)
def counter():
    hidden = 0
    def bump():
        nonlocal hidden
        hidden += 1
        return hidden
    return bump
def look(env, name):
    try:
        return 0 if getattr(env, name) < 0 else getattr(env, name)
    except Exception:
        return 0
def build():
    hidden = 0
    def bump():
        nonlocal hidden
        hidden += 1
    def count(): return hidden
    class E(gym.Env):
        total = 0
        def __init__(self):
            self.observation_space = Discrete(9); self.action_space = Discrete(2)
            self.{n} = {first}
            {begin}
        def bumped(self, by=1, store=[0]):
            store[0] += by
            return store[0]
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            {reset}
            return 0, {{}}
        def step(self, action):
            state = {get}
            {count}
            {draw}
            ns = min(8, max(0, state + (1 if action else -1) * (k - 1) + (k == 2)))
            r = float(k == 0) - 0.1 * ns
            done = ns == 8
            {lie}
            {set}
            return ns, r, done, False, {{"n": 1}}
    return E
"""


def stranger(seed, counted, lying):
    """An environment with a name and a way of its own for everything; where it lies, it does so late, or rarely."""
    chance = random.Random(seed)
    name = chance.choice(NAMES)
    kept = chance.choice(list(KEPT))
    put, get, first = (part.replace("{n}", name) for part in KEPT[kept])
    begin, count, read = (part.replace("{c}", "count_").replace("{{", "{").replace("}}", "}") for part in counted)
    a = chance.choice([2e-5, 1e-9, round(chance.uniform(0.1, 0.5), 3)])
    b = round(chance.uniform(0.55, 0.9), 3)
    lie = chance.choice(list(LIES.values())).format(read=read, late=chance.choice([300, 7_000, 7_000]))
    source = SOURCE.format(
        n=name,
        first=first,
        begin=begin,
        reset=put.replace("{v}", "0"),
        get=get,
        count=count,
        draw=chance.choice(DRAWN).format(a=a, b=b),
        lie=lie if lying else "pass",
        set=put.replace("{v}", "ns"),
    )
    names = {"__name__": "somebody_elses"}
    exec(compile(source, "somebody_elses", "exec"), names)
    env = names["build"]()()
    env.reset(seed=seed)
    return env


def tabulated(env, seconds=5.0):
    return tabulation_of(facts_of(env), seconds=seconds)


@pytest.mark.cases("0-.*")
@pytest.mark.parametrize("counted", COUNTED)
@pytest.mark.parametrize("seed", range(8))
def test_an_honest_stranger_is_tabulated(counted, seed):
    table = tabulated(stranger(seed, COUNTED[counted], lying=False))
    assert 2 <= table.n_states <= 9


@pytest.mark.cases("0-.*")
@pytest.mark.parametrize("counted", [name for name in (*COUNTED, *OUTSIDE) if name != "none"])
@pytest.mark.parametrize("seed", range(6))
def test_no_liar_is_believed(counted, seed, monkeypatch):
    """What depends on the number of steps is found, in attributes also at many; the second process begins at none."""
    monkeypatch.setattr(ageing, "STEPS", 10_000)
    monkeypatch.setenv("N_", "0")
    monkeypatch.setattr(np, "N", 0, raising=False)
    if counted == "a module of numpy" and seed:
        monkeypatch.delattr(np, "N")
    if counted in OUTSIDE:
        monkeypatch.setattr(tabulation, "in_new_process", child_process.in_new_process)
    env = stranger(seed, (COUNTED | OUTSIDE)[counted], lying=True)
    with pytest.raises(NotTabulated):
        tabulated(env, seconds=3.0)


class Cells(gym.Env):
    """Nine cells, to one of which each step leads."""

    def __init__(self):
        self.observation_space, self.action_space = Discrete(9), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self.cell, {}

    def step(self, action):
        self.cell = self.following(action)
        return self.cell, float(action), self.cell == 8, False, {}


class DrawsOften(Cells):
    def following(self, action):
        return int(sum(self.np_random.random() < 0.1 for _ in range(1_500)) > 150)


class FailsRarely(Cells):
    def following(self, action):
        return int(self.np_random.integers(0 if self.np_random.random() < 1e-9 else 9))


class HasSlots(Cells):
    __slots__ = ("count",)

    def following(self, action):
        self.count = getattr(self, "count", 0) + 1
        return int(self.count > 7_000)


class TakesItsTime(Cells):
    def following(self, action):
        time.sleep(1e-3)
        return int(sum(self.np_random.random() < 0.5 for _ in range(12)) % 9)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (DrawsOften, "one step or reset may draw for ever|there was not enough time"),
        (FailsRarely, "put into one of its states, it raised ValueError: low >= high"),
        (HasSlots, "with its own generator it behaves differently after 7,001 steps"),
    ],
)
@pytest.mark.usefixtures("aged")
def test_what_once_hung_or_raised_is_refused_in_words(kind, reason):
    env = kind()
    env.reset(seed=1)
    with pytest.raises(NotTabulated, match=reason):
        tabulated(env, seconds=2.0)
    agent = rl.QLearning().learn(kind(), steps=300, seed=1)
    with pytest.raises(UnsuitableEnvironment, match=reason):
        rl.QLearning().learn(kind(), steps=300, seed=1, tabulate=True)
    assert agent.record_.loop == "stepwise"


def test_the_deadline_is_looked_at_while_outcomes_are_listed():
    env = TakesItsTime()
    env.reset(seed=1)
    began = time.monotonic()
    with pytest.raises(NotTabulated, match="there was not enough time"):
        tabulated(env, seconds=0.5)
    assert time.monotonic() - began < 2.0


FIFTIES = [pytest.param(0, marks=pytest.mark.slow)]
FIFTIES += [pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 10)]


@pytest.mark.parametrize("part", FIFTIES)
def test_a_thousand_strangers(part, monkeypatch):
    believed, refused = 0, 0
    for seed in range(part, 500, 10):
        counted = list(COUNTED.values())[seed % len(COUNTED)]
        liar = list((COUNTED | OUTSIDE).values())[seed % (len(COUNTED) + len(OUTSIDE))]
        try:
            tabulated(stranger(seed, counted, lying=False))
        except NotTabulated:
            refused += 1
        if "pass" not in liar[1]:
            monkeypatch.setattr(tabulation, "in_new_process", child_process.in_new_process)
            try:
                tabulated(stranger(seed, liar, lying=True), seconds=0.3)
                believed += 1
            except NotTabulated:
                pass
            monkeypatch.setattr(tabulation, "in_new_process", lambda *_: None)
    assert believed == 0
    assert refused == 0


def probabilities(tree, chance=1.0):
    """All answers below a tree, each with its probability."""
    if isinstance(tree, Leaf):
        return [(chance, tree.outcome)]
    if hasattr(tree, "bounds"):
        widths = np.diff([0.0, *tree.bounds, 1.0])
    else:
        widths = np.full(len(tree.children), 1.0 / len(tree.children))
    parts = zip(widths.tolist(), tree.children, strict=True)
    return [found for width, child in parts for found in probabilities(child, chance * width)]


@pytest.mark.cases("(FrozenLake|CliffWalking)-v1-.*")
@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("FrozenLake-v1", {}),
        ("FrozenLake-v1", {"is_slippery": False}),
        ("CliffWalking-v1", {}),
        ("CliffWalking-v1", {"is_slippery": True}),
        ("Taxi-v4", {}),
        ("Taxi-v4", {"is_rainy": True}),
    ],
)
def test_tables_equal_those_that_environments_have(env, options):
    """The probability of each transition, from the tree of its draws and from Gymnasium's own table."""
    made = gym.make(env, **options)
    made.reset(seed=0)
    table = tabulated(made, seconds=30.0)
    P = made.unwrapped.P
    for number, snapshot in enumerate(table.probe.states):
        if table.rows[number] is None:
            continue
        for action, tree in enumerate(table.rows[number]):
            expected = {}
            for chance, state, reward, end in P[int(snapshot.plain["s"])][action]:
                key = (int(state), float(reward), bool(end))
                expected[key] = expected.get(key, 0.0) + chance
            found = {}
            for chance, answer in probabilities(tree):
                key = (answer.observation, answer.reward, answer.terminated)
                found[key] = found.get(key, 0.0) + chance
            expected = {key: chance for key, chance in expected.items() if chance > 0.0}
            assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_a_passenger_who_changes_her_mind_is_part_of_the_state():
    """Gymnasium's own table does not know that the passenger is fickle."""
    env = gym.make("Taxi-v4", fickle_passenger=True)
    env.reset(seed=0)
    table = tabulated(env, seconds=30.0)
    assert table.probe.in_state == {"s", "fickle_step"}
    rng, base = np.random.default_rng(4), env.unwrapped
    base.np_random = np.random.default_rng(4)
    chooser = np.random.default_rng(5)
    state = -1
    for _ in range(5_000):
        if state < 0:
            observation, _ = env.unwrapped.reset()
            answer = draw(table.start, rng)
            assert observation == answer.observation
        else:
            action = int(chooser.integers(6))
            observation, reward, terminated, _, _ = base.step(action)
            answer = draw(table.rows[state][action], rng)
            assert (observation, reward, terminated) == (answer.observation, answer.reward, answer.terminated)
        state = -1 if answer.terminated else answer.state
    assert rng.bit_generator.state == base.np_random.bit_generator.state


class Walk(gym.Env):
    """Up and down the numbers 0 to 4."""

    observation_space = Discrete(5)
    action_space = Discrete(2)

    def __init__(self):
        self.where = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.where = 2
        return 2, {}

    def step(self, action):
        self.where = min(4, max(0, self.where + (1 if action else -1)))
        return self.where, float(self.where), self.where == 4, False, {}


class Printing(Walk):
    def step(self, action):
        print(action)
        return super().step(action)


class Writing(Walk):
    def step(self, action):
        with open("log.txt", "a") as file:
            file.write("step")
        return super().step(action)


class Timed(Walk):
    def step(self, action):
        import time

        return (*super().step(action)[:1], time.time(), False, False, {})


class GlobalGenerator(Walk):
    def step(self, action):
        return super().step(int(np.random.random() < 0.5))  # noqa: NPY002


class Normal(Walk):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return (observation, self.np_random.normal(), *rest)


class Endless(Walk):
    observation_space = Discrete(10**9)

    def step(self, action):
        self.where += 1
        return self.where, 0.0, False, False, {}


class Guarded(Walk):
    """Raises where it is put into a state by hand."""

    def __init__(self):
        super().__init__()
        self.steps = 0

    def step(self, action):
        self.steps += 1
        if self.steps == 1 and self.where != 2:
            raise RuntimeError("this is not where I left it")
        return super().step(action)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed)


class NewGenerator(Walk):
    def reset(self, *, seed=None, options=None):
        answer = super().reset(seed=seed)
        self.np_random = np.random.default_rng(0)
        return answer


class ResetRemembers(Walk):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.began = getattr(self, "began", 0) + 1
        self.where = self.began % 3
        return self.where, {}


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Printing, "prints"),
        (Writing, r"opens a file \(open .log.txt.\)"),
        (Timed, "reads a clock"),
        (GlobalGenerator, "global generator of numpy.random"),
        (Normal, r"normal\(\)"),
        (Endless, "more states than can be tabulated"),
        (Guarded, "attribute `steps` has had"),
        (NewGenerator, "makes a new generator"),
        (ResetRemembers, "more states|reset depends on"),
    ],
)
def test_what_cannot_be_tabulated_is_said_and_left_unharmed(kind, why, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    env = kind()
    env.reset(seed=1)
    before = dict(vars(env))
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    with pytest.raises(NotTabulated, match=why):
        tabulated(env, seconds=0.5)
    assert vars(env) == before
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_agents_learn_the_same_bytes():
    for seed in range(6):
        env = stranger(seed, COUNTED["list"], lying=False)
        compiled = rl.QLearning(gamma=0.9).learn(env, steps=3_000, seed=seed, loop="compiled")
        compiled.learn(env, steps=500)
        other = stranger(seed, COUNTED["list"], lying=False)
        stepwise = rl.QLearning(gamma=0.9).learn(other, steps=3_500, seed=seed, loop="stepwise")
        assert np.array_equal(compiled.q_, stepwise.q_)
        assert env.np_random.bit_generator.state == other.np_random.bit_generator.state


def asked(env):
    env.reset(seed=1)
    return tabulated(env)


class AsksForItsType(gym.Env):
    """Does something else with a number that is a float, as only those of the real generator are."""

    observation_space = gym.spaces.Discrete(4)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0
        return 0, {}

    def step(self, action):
        u = self.np_random.random()
        forward = type(u) is float or u < 0.5
        self.x = min(self.x + 1, 3) if forward else 0
        return self.x, float(self.x == 3), self.x == 3, False, {}


def test_what_only_its_own_steps_show_is_found_by_them(monkeypatch):
    with pytest.raises(NotTabulated, match=r"with its own generator it behaves differently after 1 steps: at state"):
        asked(AsksForItsType())
    monkeypatch.setattr(ageing.Ageing, "age", lambda *_: 0)
    assert asked(AsksForItsType()).n_states == 4  # nothing else had found it


class BeginsWhereItWas(gym.Env):
    """Begins elsewhere after an episode that ended in one of many states."""

    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)

    def __init__(self):
        self.x = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 1 if self.x == 4 else 0
        return self.x, {}

    def step(self, action):
        self.x += 1 if self.x < 8 else 0
        return self.x, 0.0, action == 1, False, {}


def test_a_reset_that_depends_on_one_of_many_states_is_found():
    with pytest.raises(NotTabulated, match="its reset depends on the state in which the last episode ended"):
        asked(BeginsWhereItWas())


class Careful(Walk):
    """Asks for the classes of all numbers, as functions of libraries do."""

    def __init__(self):
        super().__init__()
        self.taken, self.total, self.log = 0, 0.0, [0, 0]

    def step(self, action):
        u, v = self.np_random.random(), self.np_random.random(2)[1]
        steps = self.np_random.integers(1, 3)
        self.taken += 1
        self.total += 0.5
        self.log[0] += 1
        numbers = isinstance(u, float) and isinstance(v * 2.0, np.float64) and isinstance(steps, np.integer)
        counters = isinstance(self.taken, (int, np.integer)) and isinstance(self.total, float)
        wrong = isinstance(u, np.floating) or isinstance(self.taken, str) or not isinstance(self.log, list)
        if wrong or not (numbers and counters):
            raise TypeError("these are other numbers")
        self.where = min(4, self.where + int(steps)) if u < 0.5 and v < 0.5 else max(0, self.where - action)
        return self.where, 1.0, self.where == 4, False, {}


class Suspicious(Careful):
    """Counts, and looks at the number only after it has asked for its class."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return (observation, reward + (isinstance(self.taken, int) and self.taken > 7_000), *rest)


class Mixed(Careful):
    """A sum that is an integer at first, and a float later."""

    def reset(self, *, seed=None, options=None):
        self.total = 0
        return super().reset(seed=seed)

    def step(self, action):
        whole = isinstance(self.total, int)
        self.total = self.total + 0.5
        observation, _, *rest = Walk.step(self, action)
        return (observation, float(whole), *rest)


def test_counters_that_are_looked_at_in_passing_decide_nothing():
    table = asked(Careful())
    assert table.probe.in_state == {"where"}
    assert {"taken", "total", "log"} <= table.probe.dropped
    one, other = Careful(), Careful()
    learned = rl.QLearning().learn(one, steps=2_000, seed=1, tabulate=True)
    assert learned.record_.loop == "compiled"
    assert learned.q_.tobytes() == rl.QLearning().learn(other, steps=2_000, seed=1, loop="stepwise").q_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [(Suspicious, "taken"), (Mixed, "total")])
def test_a_class_that_is_asked_for_hides_nothing(kind, name):
    env = kind()
    env.reset(seed=1)
    with pytest.raises(NotTabulated, match=f"attribute `{name}` has had"):
        tabulation_of(facts_of(env), seconds=5.0, max_states=500)
