"""Environments that nobody has written: honest ones and liars, put together at random from many parts.

Each is the text of a class. How it keeps its state, how it draws, where it counts its steps, what it does besides, what
it shows, and whether it declares a table are drawn from lists of parts. Half of them lie: from some step on, or in some
outcome, they do something else than before, or than their table says. What has to hold is the same for all: the
stepwise loop is right, and no other way of learning gives other bytes, or does what nobody has asked for.
"""

import decimal
import io
import linecache
import logging
import os
import random
import signal
import sys
import threading
import time
import types
import warnings
from collections import Counter
from contextlib import redirect_stdout, suppress
from string import Template
from textwrap import dedent, indent
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.environments import ageing
from rlsuite.errors import NotLearned, RlsuiteError
from rlsuite.training import budget

LIMIT = sys.getrecursionlimit()
STEPS = 2_500
PATIENCE = 3.0
"""Seconds in which an environment may be asked."""

SOURCE = Template("""\
import collections, contextvars, dataclasses, decimal, functools, itertools, json, linecache, logging, os, random
import signal, sys, threading, types, warnings, weakref
import numpy as np
import gymnasium
from gymnasium import spaces
import rlsuite

class Box:
    def __init__(self, at=0, rng=None):
        self.at, self.rng = at, rng
    def more(self):
        self.at += 1
        return self.at

class Slotted:
    __slots__ = ("at",)
    def __init__(self):
        self.at = 0

@dataclasses.dataclass
class Data:
    at: int = 0

$module

class Generated(gymnasium.Env):
    $body

    def __init__(self):
        self.observation_space = $space
        self.action_space = spaces.Discrete(2)
        self.action_space.seed(0)
        $first
        $begin
        $table

    def reset(self, *, seed=None, options=None):
        tick("reset")
        super().reset(seed=seed)
        $name
        $start
        $put
        return $show, {}

    def step(self, action):
        tick("step")
        x = $get
        truncated = False
        $count
        $move
        $lie
        $effect
        $put
        return $show, r, done, truncated, {}
""")

WALK = """
$draw
y = min(8, max(0, x + (1 if action else -1) * (k - 1) + (k == 2)))
r = float(k == 0) - 0.1 * y
done = y == 8
"""
FROM_TABLE = """
u, total = self.np_random.random(), 0.0
for p, y, r, done in self.rows[x][int(action)]:
    total += p
    if total > u:
        break
else:
    p, y, r, done = self.rows[x][int(action)][0]
"""


class Place(NamedTuple):
    """Where an environment counts its steps."""

    begin: str = "pass"
    """In its constructor."""
    count: str = "pass"
    """In its step."""
    read: str = "0"
    module: str = ""
    """Beside the class."""
    body: str = ""
    """In the class."""


# What sets the state to y, what reads it, what it is at first.
KEPT = {
    "int": ("self.s = y", "int(self.s)", "self.s = 0"),
    "np": ("self.s = np.int64(y)", "int(self.s)", "self.s = np.int64(0)"),
    "tuple": ("self.at = (y // 3, y % 3)", "self.at[0] * 3 + self.at[1]", "self.at = (0, 0)"),
    "two": ("self.row, self.column = divmod(y, 3)", "self.row * 3 + self.column", "self.row = self.column = 0"),
    "list": ("self.at[0] = y", "self.at[0]", "self.at = [0]"),
    "nested": ("self.at['on'][1] = y", "self.at['on'][1]", "self.at = {'on': [3, 0]}"),
    "dict": ("self.at['cell'] = y", "self.at['cell']", "self.at = {'cell': 0}"),
    "array": ("self.at[:] = 0; self.at[y // 3, y % 3] = 1", "int(np.argmax(self.at))", "self.at = np.zeros((3, 3))"),
    "object": ("self.at.at = y", "self.at.at", "self.at = Box()"),
    "dataclass": ("self.at = dataclasses.replace(self.at, at=y)", "self.at.at", "self.at = Data()"),
    "slots": ("self.at.at = y", "self.at.at", "self.at = Slotted()"),
    "text": ("self.at = str(y)", "int(self.at)", "self.at = '0'"),
    "set": ("self.at = {y}", "min(self.at)", "self.at = {0}"),
    "deque": ("self.at.append(y)", "self.at[-1]", "self.at = collections.deque([0], maxlen=1)"),
}

ATTRIBUTE = {
    "int": Place("self.n = 0", "self.n += 1", "self.n"),
    "float": Place("self.n = 0.0", "self.n += 1.0", "self.n"),
    "list": Place("self.n = []", "self.n.append(x)", "len(self.n)"),
    "in a list": Place("self.n = [0]", "self.n[0] += 1", "self.n[0]"),
    "dict": Place("self.n = {'n': 0}", "self.n['n'] += 1", "self.n['n']"),
    "array": Place("self.n = np.zeros(2_000)", "self.n[0] += 1", "self.n[0]"),
    "large array": Place("self.n = np.zeros(40_000, dtype=int)", "self.n[777] += 1", "self.n[777]"),
    "object": Place("self.n = Box()", "self.n.at += 1", "self.n.at"),
    "method": Place("self.n = Box()", "self.n.more()", "self.n.at"),
    "slotted object": Place("self.n = Slotted()", "self.n.at += 1", "self.n.at"),
    "Counter": Place("self.n = collections.Counter()", "self.n['n'] += 1", "self.n['n']"),
    "text": Place("self.n = ''", "self.n += '.'", "len(self.n)"),
    "bytes": Place("self.n = bytearray()", "self.n.append(1)", "len(self.n)"),
    "deque": Place("self.n = collections.deque()", "self.n.append(x)", "len(self.n)"),
    "setattr": Place("self.n = 0", "object.__setattr__(self, 'n', self.n + 1)", "self.n"),
    "property": Place(
        "self.n = 0", "self.more", "self.n", body="more = property(lambda self: setattr(self, 'n', self.n + 1))"
    ),
    "swallowed": Place(
        "self.n = 0",
        "self.n += 1",
        "look(self)",
        module="""
        def look(env):
            try:
                return 0 if env.n < 0 else env.n
            except Exception:
                return 0
        """,
    ),
}
CALLED = """
class Called(Box):
    def __call__(self):
        return self.more()
N = Called()
"""
OUTSIDE = {
    "alias": Place("self.n = self.m = []", "self.n.append(x)", "len(self.m)"),
    "view": Place("self.n = np.zeros(4); self.m = self.n[:2]", "self.n[0] += 1", "self.m[0]"),
    "iterator": Place("self.n = itertools.count()", "n = next(self.n)", "n"),
    "global": Place(count="global N; N += 1", read="N", module="N = 0"),
    "in a global list": Place(count="N.append(0)", read="len(N)", module="N = []"),
    "global object": Place(count="N.more()", read="N.at", module="N = Box()"),
    "class": Place(count="type(self).total += 1", read="type(self).total", body="total = 0"),
    "in a class's list": Place(count="self.total[0] += 1", read="self.total[0]", body="total = [0]"),
    "default": Place(
        count="self.more()", read="self.more(0)", body="def more(self, by=1, n=[0]): n[0] += by; return n[0]"
    ),
    "function": Place(count="more.n = getattr(more, 'n', 0) + 1", read="more.n", module="def more(): pass"),
    "slots": Place("self.n = 0", "self.n += 1", "self.n", body="__slots__ = ('n',)"),
    "module": Place(count="other.N += 1", read="other.N", module="other = types.ModuleType('other'); other.N = 0"),
    "numpy": Place(count="np.N_ = getattr(np, 'N_', 0) + 1", read="np.N_"),
    "sys": Place(count="sys.N_ = getattr(sys, 'N_', 0) + 1", read="sys.N_"),
    "yield": Place(
        count="n = next(NUMBERS)",
        read="n",
        module="""
        def numbers():
            n = 0
            while True:
                n += 1
                yield n
        NUMBERS = numbers()
        """,
    ),
    "yield in an attribute": Place("self.n = (n for n in range(10**9))", "n = next(self.n)", "n"),
    "closure": Place(
        count="more()",
        read="more(0)",
        module="""
        def counter():
            n = 0
            def more(by=1):
                nonlocal n
                n += by
                return n
            return more
        more = counter()
        """,
    ),
    "closure in an attribute": Place(
        "self.more = counter()",
        "n = self.more()",
        "n",
        module="""
        def counter():
            n = 0
            def more():
                nonlocal n
                n += 1
                return n
            return more
        """,
    ),
    "lambda": Place("n = [0]; self.more = lambda: n.append(0) or len(n)", "n = self.more()", "n"),
    "lock": Place(count="N.more()", read="N.at", module="N = Box(); N.lock = threading.Lock()"),
    "thread": Place(count="N.n = getattr(N, 'n', 0) + 1", read="N.n", module="N = threading.local()"),
    "context": Place(count="N.set(N.get() + 1)", read="N.get()", module="N = contextvars.ContextVar('N', default=0)"),
    "weak": Place(count="N[self] = N.get(self, 0) + 1", read="N[self]", module="N = weakref.WeakKeyDictionary()"),
    "environ": Place(count="os.environ['N_'] = str(int(os.environ.get('N_', 0)) + 1)", read="int(os.environ['N_'])"),
    "cache": Place(
        count="more(object())",
        read="more.cache_info().misses",
        module="more = functools.lru_cache(maxsize=None)(lambda one: 0)",
    ),
}
# Where nobody looks: of a table that is declared, a run takes too few steps to see what counts there.
HIDDEN = {
    "callable": Place(count="N()", read="N.at", module=CALLED),
    "callable of the class": Place(count="type(self).n()", read="type(self).n.at", module=CALLED, body="n = Called()"),
    "hidden": Place(count="more._n = getattr(more, '_n', 0) + 1", read="more._n", module="def more(): pass"),
    "docstring": Place(count="type(self).__doc__ = (type(self).__doc__ or '') + '.'", read="len(type(self).__doc__)"),
    "annotations": Place(
        count="type(self).__annotations__['n'] += 1",
        read="type(self).__annotations__['n']",
        body="__annotations__ = {'n': 0}",
    ),
    "descriptor": Place(
        count="self.n",
        read="type(self).__dict__['n'].at",
        module="""
        class Described(Box):
            def __get__(self, one, kind):
                return self.more()
        """,
        body="n = Described()",
    ),
    "dict of its own": Place(
        "self.n = Kept()",
        "self.n.n += 1",
        "self.n.n",
        module="""
        class Kept(dict):
            n = 0
            def __reduce__(self):
                return Kept, ()
        """,
    ),
    "singleton": Place(
        count="N.at += 1",
        read="N.at",
        module="""
        class Single(Box):
            def __reduce__(self):
                return "N"
        N = Single()
        """,
    ),
    "decimal": Place(count="decimal.getcontext().prec += 1", read="decimal.getcontext().prec - 28"),
    "logger": Place(count="LOG.setLevel(LOG.level + 1)", read="LOG.level", module="LOG = logging.getLogger('counted')"),
    "recursion": Place(
        count="sys.setrecursionlimit(sys.getrecursionlimit() + 1)",
        read="sys.getrecursionlimit() - LIMIT",
        module="LIMIT = sys.getrecursionlimit()",
    ),
    "print options": Place(
        count="np.set_printoptions(edgeitems=np.get_printoptions()['edgeitems'] + 1)",
        read="np.get_printoptions()['edgeitems'] - 3",
    ),
    "current thread": Place(
        count="N = vars(threading.current_thread()); N['n_'] = N.get('n_', 0) + 1",
        read="threading.current_thread().n_",
    ),
    "line cache": Place(
        count="linecache.cache['n_'] = (linecache.cache.get('n_', (0,))[0] + 1,)", read="linecache.cache['n_'][0]"
    ),
    "size": Place("self.n = []", "self.n.append(0)", "sys.getsizeof(self.n) // 8"),
    "signal": Place(
        count="signal.signal(signal.SIGUSR1, functools.partial(print, count() + 1))",
        read="count()",
        module="def count(): return getattr(signal.getsignal(signal.SIGUSR1), 'args', (0,))[0]",
    ),
}
NOWHERE = {"none": Place()}

# k is one of 0, 1, 2.
DRAWN = {
    "compared": "u = $rng.random(); k = 0 if u < $a else (1 if u < $b else 2)",
    "argmax": "k = int(np.argmax(np.cumsum([$a, $b - $a, 1 - $b]) > $rng.random()))",
    "choice p": "k = int($rng.choice(3, p=[$a, $b - $a, 1 - $b]))",
    "choice": "k = int($rng.choice([2, 0, 1]))",
    "choice of text": "k = len(str($rng.choice(['', 'a', 'aa'])))",
    "searchsorted": "k = int(np.searchsorted(np.cumsum([$a, $b - $a]), $rng.random(), side='right'))",
    "integers": "k = 2 - int($rng.integers(0, 3))",
    "endpoint": "k = int($rng.integers(0, 2, endpoint=True))",
    "uniform": "k = 1 if $rng.uniform(0, 10) > $b * 10 else int($rng.integers(2)) * 2",
    "nothing": "k = 0",
    "scaled": "k = int($rng.random() * 3)",
    "many": "k = sum($rng.random() > one for one in ($a, $b))",
    "size": "k = int(($rng.random(2) < $b).sum())",
    "two integers": "k = int($rng.integers(2)) + int($rng.integers(2))",
    "sometimes": "k = int($rng.integers(3)) if action else 1",
}
DRAWN_AGAIN = {
    "until below": "k = 3\nwhile k > 2:\n    k = int($rng.integers(4))",
    "until other": "while True:\n    k = int($rng.integers(3))\n    if k != x % 3:\n        break",
    "until cell": "while True:\n    cell = int($rng.integers(9))\n    if cell != x:\n        break\nk = cell % 3",
    "geometric": "k = 0\nwhile $rng.random() < 0.3:\n    k = (k + 1) % 3",
    "scaled until": "k = int($rng.random() * 4)\nwhile k == 3:\n    k = int($rng.random() * 4)",
}
DRAWN_AT_MOST = {
    "a few times": "for _ in range(5):\n    k = int($rng.integers(4))\n    if k < 3:\n        break\nelse:\n    k = 0",
    "at most twice": "k = 0\nwhile k < 2 and $rng.random() < 0.3:\n    k += 1",
}
DRAWN_IN_ORDER = {
    "modulo": "k = int(($rng.random() * 5) % 3)",
    "square": "k = 2 * int($rng.random() ** 2 < $b)",
    "shuffle": "cards = [0, 1, 2]; $rng.shuffle(cards); k = cards[0]",
    "permutation": "k = int($rng.permutation(3)[0])",
    "without replacement": "k = int($rng.choice(3, size=2, replace=False)[1])",
    "int32": "k = int($rng.integers(3, dtype=np.int32))",
}
DRAWN_OTHERWISE = {
    "rare error": "k = int($rng.integers(0 if $rng.random() < 1e-9 else 3))",
    "normal": "k = int(np.clip(round($rng.normal()) + 1, 0, 2))",
    "binomial": "k = int($rng.binomial(2, $b))",
    "poisson": "k = min(2, int($rng.poisson($b)))",
    "two compared": "k = 2 * int($rng.random() < $rng.random())",
    "largest": "k = int(np.argmax($rng.random(3)))",
    "beta": "k = int($rng.beta(2, 3) * 3)",
    "random of Python": "k = random.randrange(3)",
    "random of NumPy": "k = int(np.random.randint(3))",
    "of the space": "k = int(self.action_space.sample()) + 1",
    "own RandomState": "k = int(OWN.randint(3))",
    "own generator": "k = int(OWN.integers(3))",
    "shown": "k = 0; x = int($rng.random() < 0.5)",
}
BESIDE = {"own RandomState": "OWN = np.random.RandomState(3)", "own generator": "OWN = np.random.default_rng(3)"}

# The generator under another name: what reset does, and how it is called.
GENERATOR = {"np_random": ("pass", "self.np_random")}
ALIASES = {
    "attribute": ("self.rng = self.np_random", "self.rng"),
    "list": ("self.rngs = [self.np_random]", "self.rngs[0]"),
    "object": ("self.dice = Box(rng=self.np_random)", "self.dice.rng"),
}

START = {
    "fixed": "y = 0",
    "integers": "y = int($rng.integers(3))",
    "choice": "y = int($rng.choice([0, 2, 5]))",
    "uniform": "y = int($rng.random() * 4)",
}

SHOWN = {
    "state": ("spaces.Discrete(9)", "y"),
    "np": ("spaces.Discrete(9)", "np.int64(y)"),
    "start": ("spaces.Discrete(9, start=5)", "y + 5"),
    "tuple": ("spaces.Tuple((spaces.Discrete(3), spaces.Discrete(3)))", "(y // 3, y % 3)"),
    "multi": ("spaces.MultiDiscrete([3, 3])", "np.array([y // 3, y % 3])"),
    "dict": ("spaces.Dict({'x': spaces.Discrete(9)})", "{'x': y}"),
    "half": ("spaces.Discrete(5)", "y // 2"),
}

EFFECTS = {
    "open": "with open('effect.txt', 'a') as file:\n    file.write('.')",
    "print": "print('.')",
    "stdout": "sys.stdout.write('.')",
    "savetxt": "np.savetxt('effect.txt', [1.0])",
    "os": "os.close(os.open('effect.txt', os.O_CREAT | os.O_WRONLY))",
    "warning": "warnings.warn('.')",
    "logging": "logging.getLogger('generated').warning('.')",
    "list": "EFFECT.append(0)",
    "random of Python": "random.random()",
}

LIES = {
    "reward": "if $read > $late:\n    r += 1.0",
    "move": "if $read > $late:\n    y = 0; done = False",
    "end": "done = done or $read > $late",
    "once": "r += float($read == $late)",
    "draw": "if $read > $late:\n    self.np_random.random()",
    "now and then": "r += float($read % 7 == 3)",
    "raise": "if $read > $late:\n    raise RuntimeError('out of order')",
}
# What a table says that is untrue: the code changes the row P[$state][$action], whose outcomes are lists.
UNTRUE = {
    "probability": "row[0][0], row[1][0] = row[1][0], row[0][0]",
    "small probability": "row[0][0] += 0.01; row[1][0] -= 0.01",
    "reward": "row[0][2] += 1.0",
    "reward of the rare": "row[-1][2] += 1.0",
    "terminated": "row[0][3] = not row[0][3]",
    "next": "row[0][1] = (row[0][1] + 1) % 8",
    "next of the rare": "row[-1][1] = (row[-1][1] + 1) % 8",
}
LATE = (0, 40, 300, 1_030, 1_500, 2_400, 10**6)
TABLE = Template("""
chance = np.random.default_rng($seed)
self.rows = {}
for s in range(9):
    self.rows[s] = {}
    for a in range(2):
        p, q = [(0.7, 0.2), (0.5, 0.25), (0.6, 0.3989)][chance.integers(3)]
        ends = [int(chance.integers(9)), min(s + 1, 8), max(s - 1, 0)]
        self.rows[s][a] = [[c, e, float(chance.integers(4)), e == 8] for c, e in zip((p, q, 1 - p - q), ends)]
self.P = {s: {a: [list(one) for one in row] for a, row in rows.items()} for s, rows in self.rows.items()}
self.initial_state_distrib = np.array([0.5, 0.25, 0.25, 0, 0, 0, 0, 0, 0])
row = self.P[$state][$action]
$untrue
self.P = {s: {a: [tuple(one) for one in row] for a, row in rows.items()} for s, rows in self.P.items()}
$model
""")
MODEL = """
self.model = rlsuite.MDP.from_table(self.P, gamma=0.9, start=self.initial_state_distrib)
del self.P
"""


class Written(NamedTuple):
    """The text of a class, and of what it was put together."""

    source: str
    kinds: dict[str, str]
    honest: bool
    seed: int

    @property
    def declares(self) -> bool:
        """Whether it has a table."""
        return self.kinds["table"] != "none"

    @property
    def sentence(self) -> str:
        """Its parts."""
        return f"seed {self.seed}: " + ", ".join(f"{name} {kind}" for name, kind in self.kinds.items() if kind)


class Parts(NamedTuple):
    """What environments are put together from; each with its share."""

    counted: dict[str, Place]
    drawn: dict[str, str]
    generator: dict[str, tuple[str, str]]
    effects: dict[str, str]
    share_counted: float = 0.5
    """Of the environments that count where nothing has to."""
    share_effects: float = 0.1
    share_declared: float = 0.35


ALL = Parts(
    ATTRIBUTE | OUTSIDE | HIDDEN,
    DRAWN | DRAWN_AT_MOST | DRAWN_AGAIN | DRAWN_IN_ORDER | DRAWN_OTHERWISE,
    GENERATOR | ALIASES,
    EFFECTS,
)


def written(seed: int, parts: Parts = ALL) -> Written:
    """Write a class; every second one is a liar."""
    chance = random.Random(seed)
    honest = seed % 2 == 0
    declares = chance.random() < parts.share_declared
    kinds = dict.fromkeys(("table", "kept", "counted", "drawn", "generator", "start", "shown", "effect", "lie"), "")
    kinds["table"] = chance.choice(["P", "P", "model"]) if declares else "none"
    untrue = declares and not honest and chance.random() < 0.5
    counts = chance.random() < parts.share_counted if honest or untrue else True
    places = [name for name in parts.counted if not (declares and name in HIDDEN)]
    kinds["counted"] = chance.choice(places) if counts else "none"
    place = (parts.counted | NOWHERE)[kinds["counted"]]
    kinds["kept"] = chance.choice(["int", "np"] if declares else list(KEPT))
    put, get, first = KEPT[kinds["kept"]]
    kinds["generator"] = "np_random" if declares or chance.random() < 0.7 else chance.choice(list(parts.generator))
    name, rng = (GENERATOR | ALIASES)[kinds["generator"]]
    shown = (
        SHOWN[kinds["shown"]]
        if (kinds := kinds | {"shown": "state" if declares else chance.choice(list(SHOWN))})
        else ()
    )
    module, move, lie, table = dedent(place.module), FROM_TABLE, "pass", "pass"
    start = "y = int(np.argmax(np.cumsum(self.initial_state_distrib) > self.np_random.random()))"
    if not declares:
        kinds["drawn"], kinds["start"] = chance.choice(list(parts.drawn)), chance.choice(list(START))
        a = chance.choice([2e-5, 1e-9, round(chance.uniform(0.1, 0.5), 3)])
        numbers = {"rng": rng, "a": a, "b": round(chance.uniform(0.55, 0.9), 3)}
        move = Template(WALK).substitute(draw=Template(parts.drawn[kinds["drawn"]]).substitute(numbers))
        start = Template(START[kinds["start"]]).substitute(rng=rng)
        module += "\n" + BESIDE.get(kinds["drawn"], "")
    elif declares:
        kinds["lie"] = chance.choice(list(UNTRUE)) if untrue else ""
        table = TABLE.substitute(
            seed=chance.randrange(10**6),
            state=chance.randrange(8),
            action=chance.randrange(2),
            untrue=UNTRUE[kinds["lie"]] if untrue else "pass",
            model=MODEL if kinds["table"] == "model" else "pass",
        )
    if not honest and not untrue:
        kinds["lie"] = chance.choice(list(LIES))
        late = chance.choice(LATE)
        lie = Template(LIES[kinds["lie"]]).substitute(read=place.read, late=late)
        kinds["lie"] += f" {late:,}"
    kinds["effect"] = chance.choice(list(parts.effects)) if chance.random() < parts.share_effects else ""
    kinds["limit"] = chance.choice(["", "60"])
    lines = {
        "body": place.body or "pass",
        "first": first,
        "begin": place.begin,
        "table": table,
        "name": name,
        "start": start,
        "count": place.count,
        "move": move,
        "lie": lie,
        "effect": parts.effects.get(kinds["effect"], "pass"),
    }
    lines = {one: indent(dedent(text), "    " if one == "body" else "        ").strip() for one, text in lines.items()}
    source = SOURCE.substitute(lines, module=module, space=shown[0], show=shown[1], put=put, get=get)
    return Written(source, kinds, honest, seed)


class Ticks:
    """Counts calls where nobody sees it: neither its code nor what it counts is looked at."""

    def __init__(self, calls: Counter[str]) -> None:
        self.calls = calls

    def __call__(self, method: str) -> None:
        self.calls[method] += 1

    def __reduce__(self) -> Any:
        return str, ("tick",)


Ticks.__module__ = Ticks.__call__.__module__ = "typing"


class Found(NamedTuple):
    """What came of a run."""

    learned: tuple[Any, ...]
    loop: str
    reason: str
    calls: Counter[str]
    effects: tuple[Any, ...]
    error: str
    seconds: float


def forget() -> None:
    """Begin to count again, wherever Python and NumPy keep something."""
    os.environ.pop("N_", None)
    decimal.getcontext().prec = 28
    logging.getLogger("counted").setLevel(0)
    sys.setrecursionlimit(LIMIT)
    np.set_printoptions(edgeitems=3)
    vars(threading.current_thread()).pop("n_", None)
    linecache.cache.pop("n_", None)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)


def ran(one: Written, steps: int = STEPS, **options: Any) -> Found:
    """Learn in an environment, made from its text as if nobody had used it before."""
    for holder in (np, sys):
        if hasattr(holder, "N_"):
            del holder.N_
    forget()
    random.seed(one.seed)
    np.random.seed(one.seed)  # noqa: NPY002 - some environments draw from it
    if os.path.exists("effect.txt"):
        os.remove("effect.txt")
    name = "generated_" + str(one.seed)
    module = types.ModuleType(name)
    calls, effect = Counter[str](), list[int]()
    vars(module).update(tick=Ticks(calls), EFFECT=effect)
    linecache.cache[name] = len(one.source), None, one.source.splitlines(keepends=True), name
    sys.modules[name] = module
    logger = logging.getLogger("generated")
    logger.handlers[:], logger.propagate = [logging.StreamHandler(logged := io.StringIO())], False
    output, error, agent = io.StringIO(), "", rl.QLearning(gamma=0.9, exploration=rl.EpsilonGreedy(0.3))
    try:
        exec(compile(one.source, name, "exec"), vars(module))
        env = module.Generated()
        wrapped = gymnasium.wrappers.TimeLimit(env, 60) if one.kinds["limit"] else env
        with redirect_stdout(output), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            began = time.monotonic()
            try:
                agent.learn(wrapped, steps=steps, seed=one.seed, **options)
            except Exception as found:
                error = f"{type(found).__name__}: {found}"
                if not isinstance(found, RlsuiteError) and "out of order" not in error:
                    error = "FOREIGN " + error
            seconds = time.monotonic() - began
    finally:
        del sys.modules[name], linecache.cache[name]
    learned: tuple[Any, ...] = ()
    record = None
    with suppress(NotLearned):
        record = agent.record_
        arrays = [agent.q_, agent.visits_, agent.legal_, record.cumulative_reward, record.episode_return]
        arrays += [record.episode_length, record.time]
        learned = (*(part.tobytes() for part in arrays), str(env.np_random.bit_generator.state))
    written_ = os.path.getsize("effect.txt") if os.path.exists("effect.txt") else -1
    ours = [one for one in said if issubclass(one.category, UserWarning) and str(one.message) == "."]
    state = random.getstate(), np.random.get_state()[1].tobytes(), np.random.get_state()[2]  # noqa: NPY002
    places = getattr(np, "N_", 0), getattr(sys, "N_", 0), os.environ.get("N_")
    effects = output.getvalue(), logged.getvalue(), written_, len(ours), len(effect), state, places
    loop, reason = (record.loop, record.loop_reason) if record is not None else ("", "")
    return Found(learned, loop, reason, calls, effects, error, seconds)


def faults(seed: int) -> list[str]:
    """What is wrong with learning in one environment, compared with the stepwise loop; nothing, if all is well."""
    one = written(seed)
    truth = ran(one, loop="stepwise")
    found = ["stepwise: " + truth.error] if truth.error.startswith("FOREIGN") else []
    auto = ran(one)
    if (auto.error, auto.learned) != (truth.error, truth.learned):
        found.append(f"auto: other bytes {auto.loop} {auto.reason} {auto.error}")
    # a run that goes back takes the steps of its last stretches again
    more = one.honest and not auto.calls <= truth.calls
    if more if one.declares else auto.calls != truth.calls:
        found.append(f"auto: other calls {auto.calls} {truth.calls}")
    asked = ran(one, tabulate=True)
    if asked.error.startswith("FOREIGN") or asked.seconds > PATIENCE + 60.0:
        found.append(f"asked: {asked.seconds:.1f} s {asked.error}")
    if not asked.error or asked.error == truth.error:
        if asked.learned != truth.learned:
            found.append(f"asked: other bytes {asked.loop} {asked.reason}")
    elif asked.effects != ran(one, 0, loop="nothing").effects:
        found.append(f"asked: harm {asked.error}")
    return [f"{one.sentence}: {fault}" for fault in found]


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """A folder of its own, and generators as they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(budget, "PATIENCE", PATIENCE)
    monkeypatch.setattr(ageing, "STEPS", 2 * STEPS)
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    forget()


@pytest.mark.cases("0")
@pytest.mark.parametrize("first", range(0, 16, 4))
def test_no_way_of_learning_gives_other_bytes_or_does_what_nobody_asked_for(first):
    assert [fault for seed in range(first, first + 4) for fault in faults(seed)] == []


@pytest.mark.slow
def test_nor_in_more_of_them():
    assert [fault for seed in range(16, 76) for fault in faults(seed)] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(76, 1_000, 66))
def test_nor_in_a_thousand_of_them(first):
    """But for a declared probability that is wrong by 0.01: the table draws wrongly once in 100 visits of one state.

    It is found only if that happens in a step that is compared. Of these 924 environments seed 465 is not found.
    """
    found = [fault for seed in range(first, first + 66) for fault in faults(seed)]
    assert {fault for fault in found if "lie small probability" not in fault} == set()
    assert {fault.partition(":")[0] for fault in found} <= {"seed 465"}


HONEST = Parts(
    ATTRIBUTE,
    DRAWN | DRAWN_AT_MOST | DRAWN_AGAIN | DRAWN_IN_ORDER,
    GENERATOR | ALIASES,
    EFFECTS,
    share_effects=0.0,
    share_declared=0.0,
)
"""Environments that may count in their attributes, and draw whatever has a list of outcomes."""


FEW, MANY = pytest.param(30, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize("n", [FEW, MANY])
def test_of_the_honest_ones_nine_in_ten_get_a_table(n, monkeypatch):
    monkeypatch.setattr(budget, "PATIENCE", 20.0)
    errors = [ran(written(2 * i, HONEST), 300, tabulate=True).error for i in range(n)]
    assert sum(not error for error in errors) >= 0.9 * n, "\n".join(error for error in errors if error)
