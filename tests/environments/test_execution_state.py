"""Loops that draw until something fits: followed where it is certain that they come back, and else refused."""

import contextlib
import dis
import itertools
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import rlsuite as rl
from rlsuite.environments import execution_state
from rlsuite.environments.execution_state import Slot
from rlsuite.environments.facts import facts_of
from rlsuite.environments.outcomes import Again, draw, nodes_of, outcomes_of
from rlsuite.environments.scripted_generator import ScriptedGenerator
from rlsuite.environments.signal_errors import CannotBeFollowed
from rlsuite.environments.tabulation import NotTabulated, tabulation_of


def until_it_fits(rng):
    while True:
        x = int(rng.integers(9))
        if x not in (1, 5, 6):
            return x


def while_it_does_not(rng):
    x = y = 3
    while x == y or x == 5:
        x = rng.integers(7)
    return int(x)


def uniform_numbers(rng):
    while True:
        x, y = int(rng.random() * 3), int(rng.random() * 3)
        if x != y:
            return x, y


def chosen(rng):
    while (x := rng.choice([2, 3, 5], p=[0.5, 0.25, 0.25])) == 5:
        pass
    return int(x)


def arrays(rng):
    home = np.array([1, 2])
    place = home
    while np.array_equal(place, home) or place[0] > place[1]:
        place = rng.integers(0, 3, size=2)
    return str(place)


def counted_to_three(rng):
    n = 0
    while rng.random() < 0.7:
        n = min(n + 1, 3)
    return n


def roll(rng):
    while True:
        x = int(rng.integers(6))
        if x < 4:
            return x


def two_rolls(rng):
    return roll(rng) + 10 * roll(rng)


def rolls_of_a_generator(rng):
    return tuple(roll(rng) for _ in range(2))


def rolls_by_map(rng):
    return tuple(map(roll, [rng, rng]))


def sorted_by_rolls(rng):
    return str(sorted([1, 2], key=lambda _: roll(rng)))


def walls(rng):
    placed = []
    for _ in [0, 0]:
        while True:
            x = int(rng.integers(4))
            if x not in placed:
                break
        placed.append(x)
    return tuple(placed)


def inner_round(rng):
    total = 0
    for step in range(2):
        x = 3
        while x == 3:
            x = int(rng.integers(4))
        total += x * (step + 1)
    return total


def shuffled(rng):
    while True:
        things = [1, 2, 3]
        rng.shuffle(things)
        if things[0] != 1:
            return tuple(things)


def nested_loops(rng):
    while True:
        x = roll(rng)
        while rng.random() < 0.5:
            x = (x + 1) % 4
        if x:
            return x


def other_function(rng):
    def sample():
        return int(rng.integers(5))

    while (x := sample()) > 2:
        pass
    return x


def in_a_try(rng):
    while True:
        try:
            x = int(rng.integers(5))
            return {0: "a", 1: "b"}[x]
        except KeyError:
            continue


LOOPS = [
    until_it_fits,
    while_it_does_not,
    uniform_numbers,
    chosen,
    arrays,
    counted_to_three,
    two_rolls,
    rolls_of_a_generator,
    rolls_by_map,
    sorted_by_rolls,
    walls,
    inner_round,
    shuffled,
    nested_loops,
    other_function,
    in_a_try,
]


def followed(step):
    rng = ScriptedGenerator()
    return outcomes_of(lambda: step(rng), rng)


def assert_draws_the_same(tree, step, runs=1_000):
    """The same outcomes, and the same state of the generator afterwards."""
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(runs):
        assert draw(tree, one) == step(other)
    assert one.bit_generator.state == other.bit_generator.state


def goes_back(tree):
    return any(isinstance(child, Again) for node in nodes_of(tree) for child in node.children)


@pytest.mark.parametrize("step", LOOPS, ids=lambda step: step.__name__)
def test_a_loop_that_comes_back_is_followed(step):
    tree = followed(step)
    assert goes_back(tree)
    assert len(nodes_of(tree)) < 400
    assert_draws_the_same(tree, step)


def test_what_is_not_read_again_is_not_known():
    """The numbers that did not fit are forgotten: wherever the loop comes from, it is at the same place."""
    assert len(nodes_of(followed(until_it_fits))) == 1


def rounds(rng):
    """Gives up after 30 rounds, of which nothing but the iterator knows."""
    for _ in [0] * 30:
        if rng.random() < 0.4:
            return "found"
    return "none"


def one_line(rng):
    for _ in [0] * 30: x = rng.random() < 0.4  # fmt: skip  # noqa: E701
    return x


def count(rng):
    numbers = itertools.count()
    while rng.random() < 0.6:
        next(numbers)
    return next(numbers)


def closure(rng):
    n = 0

    def fails():
        nonlocal n
        n += 1
        return rng.random() < 0.6

    while fails():
        pass
    return n


def locals_are_read(rng):
    n = 0
    while rng.random() < 0.6:
        n += 1
    return locals()["n"]


def log(rng):
    drawn = []
    while rng.random() < 0.6:
        drawn.append(0)
    return len(drawn)


def generator(rng):
    def fails():
        for n in range(30):
            if rng.random() < 0.4:
                yield n

    return next(fails(), -1)


def repeated_function(rng):
    return sum(1 for _ in iter(lambda: rng.random() < 0.4, True))


def array(rng):
    n = np.zeros(1)
    while rng.random() < 0.6:
        n += 1
    return float(n[0])


def attribute_of_a_function(rng):
    def fails():
        fails.n += 1
        return rng.random() < 0.6

    fails.n = 0
    while fails():
        pass
    return fails.n


def default(rng):
    def fails(seen=[]):  # noqa: B006 - the state that is looked for
        seen.append(0)
        return len(seen) if rng.random() < 0.4 else 0

    while not (n := fails()):
        pass
    return n


def first_of_two(rng):
    """Whether it is the one or the other that waits to be added, nothing but the stack knows."""
    a = total = 0
    while total < 3:
        b = total
        total = (b if total else a) + int(rng.integers(2))
    return total


def second_of_two(rng):
    a = total = 0
    while total < 3:
        b = total
        total = (a if not total else b) + int(rng.integers(2))
    return total


N = 0


def global_name(rng):
    """Which is afterwards as it was before."""
    global N
    while rng.random() < 0.6:
        N += 1
    n, N = N, 0
    return n


HIDDEN = [
    global_name,
    rounds,
    one_line,
    count,
    closure,
    locals_are_read,
    log,
    generator,
    repeated_function,
    array,
    attribute_of_a_function,
    default,
    first_of_two,
    second_of_two,
]


@pytest.mark.cases("rounds", "count", "closure", "generator", "locals_are_read", ".*_of_two")
@pytest.mark.parametrize("step", HIDDEN, ids=lambda step: step.__name__)
def test_no_loop_that_knows_more_is_taken_for_one_that_comes_back(step):
    """A number of rounds, wherever it is kept, makes another draw of it."""
    tree = None
    with contextlib.suppress(CannotBeFollowed):
        tree = followed(step)
    assert (tree is not None) == (step in (rounds, generator))
    if tree is not None:
        assert not goes_back(tree)
        assert_draws_the_same(tree, step)


class ClassCounts(gym.Env):
    """Counts in an attribute of its class, which is afterwards as it was before."""

    observation_space, action_space = Discrete(9), Discrete(2)
    n = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        while self.np_random.random() < 0.6:
            ClassCounts.n += 1
        n, ClassCounts.n = ClassCounts.n, 0
        return min(n, 8), 0.0, False, False, {}


def test_what_a_class_counts_is_known():
    env = ClassCounts()
    env.reset(seed=0)
    with pytest.raises(NotTabulated, match=r"more than 400 numbers|changes, the class attribute ClassCounts\.n"):
        tabulation_of(facts_of(env), seconds=20.0)


@pytest.mark.slow
def test_byte_code_that_is_not_known_is_no_reason_to_believe_anything(monkeypatch):
    """An instruction of another Python may leave more on the stack if it jumps than it is known to do."""
    known = execution_state._stack_after
    monkeypatch.setattr(execution_state, "_known", {})
    monkeypatch.setattr(
        execution_state, "_stack_after", lambda one, stack, jump, lines: known(one, stack, jump, lines) + (True,) * jump
    )
    with pytest.raises(CannotBeFollowed, match=r"more than 400 numbers; .* draws in the middle of a computation"):
        followed(until_it_fits)


A, B, C = (Slot("global", name) for name in "abc")
X, Y, CELL, ATTRIBUTE = Slot("local", "x"), Slot("local", "y"), Slot("cell", "x"), Slot("attribute", "x")
METHOD, ROUND = Slot("method", "m"), Slot("iterator", line=7)
CONSTANT, COMPUTED = Slot("constant"), Slot("computed")
INSTRUCTIONS = [  # its name, its argument, what it adds to the stack, the stack before and after
    *(((name, 4), 1, (A,), (A, CONSTANT)) for name in ("LOAD_CONST", "PUSH_NULL", "LOAD_SMALL_INT", "LOAD_CLOSURE")),
    (("LOAD_GLOBAL", "b"), 1, (A,), (A, B)),
    (("LOAD_GLOBAL", "b"), 2, (A,), (A, CONSTANT, B)),
    (("LOAD_DEREF", "x"), 1, (A,), (A, CELL)),
    (("LOAD_METHOD", "m"), 1, (X, A, B), (X, A, METHOD, B)),
    (("LOAD_ATTR", "x"), 0, (A, B), (A, ATTRIBUTE)),
    (("LOAD_SUPER_ATTR", "m"), -1, (A, A, B, C), (A, METHOD, C)),
    (("LOAD_SUPER_ATTR", "m"), -2, (A, A, B, C), (A, METHOD)),
    (("COPY", 2), 1, (A, B, C), (A, B, C, B)),
    (("SWAP", 2), 0, (A, B, C), (A, C, B)),
    (("SWAP", 3), 0, (X, A, B, C), (X, C, B, A)),
    (("FOR_ITER", 4), 1, (A, B), (A, ROUND, COMPUTED)),
    (("FOR_ITER", 4), -1, (A, B), (A,)),
    (("GET_ITER", None), 0, (A, B), (A, COMPUTED)),
    (("LOAD_FAST", "x"), 1, (A,), (A, X)),
    (("LOAD_FAST_LOAD_FAST", ("x", "y")), 2, (A,), (A, X, Y)),
    (("LOAD_FAST_AND_CLEAR", "x"), 1, (X,), (COMPUTED, COMPUTED)),
    (("STORE_FAST", "x"), -1, (X, Y, CELL, A), (COMPUTED, Y, CELL)),
    (("DELETE_FAST", "x"), 0, (X, Y), (COMPUTED, Y)),
    (("STORE_FAST_LOAD_FAST", ("x", "y")), 0, (X, Y, A), (COMPUTED, COMPUTED, Y)),
    (("STORE_FAST_STORE_FAST", ("x", "y")), -2, (X, Y, B, A, A), (COMPUTED, COMPUTED, B)),
    (("BINARY_OP", 0), -1, (CELL, ATTRIBUTE, A, B), (CELL, ATTRIBUTE, COMPUTED)),
    (("CALL", 1), -2, (CELL, ATTRIBUTE, COMPUTED, X, A, B, C), (COMPUTED, COMPUTED, COMPUTED, X, COMPUTED)),
    (("MAKE_FUNCTION", 0), 0, (CELL, B), (CELL, COMPUTED)),
    (("POP_TOP", None), -1, (A, B), (A,)),
    (("NOP", None), 0, (A, B), (A, B)),
    (("STORE_AND_PUSH", None), 1, (A,), (COMPUTED, COMPUTED)),  # of a Python that is not known yet
    (("NEW", None), 0, (A,), (COMPUTED,)),
]


def test_what_an_instruction_of_any_python_leaves_on_the_stack(monkeypatch):
    for i, ((name, value), effect, before, after) in enumerate(INSTRUCTIONS):
        for jump in (False, True):
            arg = None if value is None else 2 * i
            effects = {(i, arg, jump): effect, (i, arg, not jump): 10}
            monkeypatch.setattr(dis, "stack_effect", lambda op, arg, *, jump, of=effects: of[op, arg, jump])
            one = SimpleNamespace(opname=name, opcode=i, arg=arg, argval=value, offset=2 * i)
            assert execution_state._stack_after(one, before, jump, {2 * i: 7}) == after, name
    attribute = (A, Slot("attribute", "m"))
    for newer, arg, after in ((True, 3, (A, METHOD, B)), (True, 2, attribute), (False, 3, attribute)):
        monkeypatch.setattr(execution_state, "_METHODS_ARE_ATTRIBUTES", newer)
        monkeypatch.setattr(dis, "stack_effect", lambda op, arg, *, jump: arg % 2)
        one = SimpleNamespace(opname="LOAD_ATTR", opcode=0, arg=arg, argval="m", offset=0)
        assert execution_state._stack_after(one, (A, B), False, {}) == after


def test_the_middle_of_a_computation_is_told():
    def step(rng):
        while sum([int(rng.integers(3)) for _ in range(2)]) == 0:
            pass

    with pytest.raises(CannotBeFollowed, match="draws in the middle of a computation"):
        followed(step)


class Cells(gym.Env):
    """A grid of nine cells; two of them are walls."""

    def __init__(self):
        self.observation_space, self.action_space = Discrete(9), Discrete(2)
        self.walls = [3, 7]
        self.cell, self.rejected = 0, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place()
        return self.cell, {}

    def place(self):
        self.cell = 0

    def step(self, action):
        self.cell = int(self.following(action))
        return self.cell, float(action), self.cell == 8, False, {}

    def following(self, action):
        return (self.cell + action) % 9


class Jumps(Cells):
    """Jumps to another cell that is free."""

    def following(self, action):
        while True:
            cell = int(self.np_random.integers(9))
            if cell != self.cell and self.free(cell):
                return cell
            self.rejected += 1

    def free(self, cell):
        return all(cell != wall for wall in self.walls)


class Placed(Cells):
    """Begins in a free cell; the attribute itself is drawn again."""

    def place(self):
        self.cell = int(self.np_random.integers(9))
        while self.cell in self.walls:
            self.cell = int(self.np_random.integers(9))


class Target(Cells):
    """The example of Gymnasium's documentation: agent and target are at different places."""

    def place(self):
        self.agent = self.np_random.integers(0, 3, size=2, dtype=int)
        self.target = self.agent
        while np.array_equal(self.target, self.agent):
            self.target = self.np_random.integers(0, 3, size=2, dtype=int)
        self.cell = int(self.agent[0] * 3 + self.agent[1])

    def following(self, action):
        self.agent = np.clip(self.agent + np.array([1 - action, action]), 0, 2)
        return 8 if np.array_equal(self.agent, self.target) else int(self.agent[0] * 3 + self.agent[1]) % 8


class Walls(Cells):
    """Has other walls in each episode."""

    def place(self):
        self.cell, self.walls = 0, []
        for _ in range(2):
            while (wall := int(self.np_random.integers(1, 6))) in self.walls:
                pass
            self.walls = sorted([*self.walls, wall])

    def following(self, action):
        return self.cell if self.cell + 1 in self.walls and action else (self.cell + 1) % 9


class ReadsInLoop(Cells):
    """What only the rejected draws read belongs to the state, too."""

    def place(self):
        self.cell, self.tired = 0, 0

    def following(self, action):
        while (cell := int(self.np_random.integers(9))) == self.cell:
            if self.tired == 2:
                return 8
        self.tired = min(self.tired + action, 2)
        return cell % 8


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Jumps, Placed, Target, Walls, ReadsInLoop])
def test_agents_learn_the_same_bytes(kind):
    env, other = kind(), kind()
    compiled = rl.QLearning(gamma=0.9).learn(env, steps=3_000, seed=1, tabulate=True)
    stepwise = rl.QLearning(gamma=0.9).learn(other, steps=3_000, seed=1, loop="stepwise")
    assert compiled.record_.loop == "compiled"
    assert np.array_equal(compiled.q_, stepwise.q_)
    assert env.np_random.bit_generator.state == other.np_random.bit_generator.state


def test_a_model_has_the_probabilities_of_what_fits():
    mdp = rl.tabulate(Jumps())
    assert sorted(mdp.P[0][0]) == [(1 / 6, cell, 0.0, cell == 8) for cell in (1, 2, 4, 5, 6, 8)]
    assert rl.tabulate(Placed()).start.tolist() == [0 if cell in (3, 7) else 1 / 7 for cell in range(9)]
