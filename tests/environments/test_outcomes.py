"""All outcomes of a step, found by running it once for each of them."""

import bisect
import contextlib
import itertools
import math
from fractions import Fraction

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import rlsuite as rl
from rlsuite.environments.child_process import CannotBeFollowed
from rlsuite.environments.outcomes import (
    Again,
    IntegerNode,
    Leaf,
    UniformNode,
    draw,
    leaves_of,
    nodes_of,
    outcomes_of,
    probabilities_of,
)
from rlsuite.environments.scripted_generator import ScriptedGenerator


def shuffled(rng, things):
    rng.shuffle(things)
    return str(things)


WAYS = {
    "compared": lambda rng: rng.random() < 0.1,
    "from the other side": lambda rng: 0.7 <= rng.random(),  # noqa: SIM300 - the order is what is tested
    "cumulated": lambda rng: int(np.argmax(np.cumsum([0.1, 0.2, 0.7]) > rng.random())),
    "array first": lambda rng: int(np.argmax(rng.random() < np.cumsum([0.1, 0.2, 0.7]))),
    "searchsorted": lambda rng: int(np.searchsorted(np.cumsum([1 / 3] * 3), rng.random(), side="right")),
    "searchsorted left": lambda rng: int(np.searchsorted([0.25, 0.5], rng.random())),
    "bisect": lambda rng: bisect.bisect([0.1, 0.5], rng.random()),
    "chosen": lambda rng: str(rng.choice(["a", "b", "c"], p=[1e-12, 0.5, 0.5 - 1e-12])),
    "chosen evenly": lambda rng: int(rng.choice([3, 5, 8])),
    "scaled": lambda rng: int(rng.random() * 4),
    "rounded": lambda rng: round(10 * rng.random() - 3),
    "floor": lambda rng: math.floor(3 * rng.random() + 1),
    "numpy floor": lambda rng: int(np.floor(rng.random() * 2)),
    "floor division": lambda rng: rng.random() // 0.3,
    "divided": lambda rng: rng.random() / 2 > 0.2,
    "mirrored": lambda rng: 1 - rng.random() <= 0.25,
    "negative": lambda rng: -rng.random() > -0.5,
    "between": lambda rng: 0.3 < rng.random() <= 0.6,
    "equal": lambda rng: rng.random() == 0.5,
    "uniform": lambda rng: rng.uniform(-1, 1) > 0.5,
    "integers": lambda rng: int(rng.integers(2, 7)),
    "endpoint": lambda rng: int(rng.integers(1, 3, endpoint=True)),
    "nothing to draw": lambda rng: int(rng.integers(1)),
    "several": lambda rng: tuple((rng.random(3) < 0.5).tolist()),
    "several integers": lambda rng: tuple(rng.integers(3, size=2).tolist()),
    "draws after draws": lambda rng: rng.integers(3) if rng.random() < 0.2 else (rng.random() < 0.9) + 10,
    "nothing": lambda rng: "always",
    "remainder": lambda rng: 10 * rng.random() % 3 < 1.5,
    "remainder of what may be negative": lambda rng: int((20 * rng.random() - 10) % 0.7 * 10),
    "remainder of an integer": lambda rng: int(rng.random() * 12) % 5,
    "remainder by a draw": lambda rng: 7 % (1 + 5 * rng.random()) > 1,
    "np.mod": lambda rng: np.mod(10 * rng.random(), 3) < 1.5,
    "divmod": lambda rng: tuple(map(int, divmod(10 * rng.random() - 3, 2.5))),
    "absolute": lambda rng: abs(rng.random() - 0.3) > 0.2,
    "np.abs": lambda rng: np.abs(rng.random() - 0.3) > 0.2,
    "squared": lambda rng: (rng.random() - 0.3) ** 2 > 0.2,
    "np.square": lambda rng: np.square(rng.random() - 0.3) > 0.2,
    "cubed": lambda rng: int(20 * (rng.random() - 0.3) ** 3),
    "root": lambda rng: int(np.sqrt(rng.random()) * 7),
    "power": lambda rng: int(rng.random() ** 0.5 * 7),
    "inverse": lambda rng: 1 / (rng.random() + 0.1) > 3,
    "negative power": lambda rng: (rng.random() + 0.1) ** -1 > 3,
    "floor of the inverse": lambda rng: 3 // (rng.random() + 0.1),
    "least": lambda rng: min(rng.random(), 0.5) > 0.2,
    "np.minimum": lambda rng: np.minimum(rng.random(), 0.5) > 0.2,
    "np.round": lambda rng: int(np.round(5 * rng.random())),
    "np.trunc": lambda rng: int(np.trunc(5 * rng.random() - 2)),
    "trunc": lambda rng: math.trunc(5 * rng.random() - 2),
    "shuffled": lambda rng: shuffled(rng, [3, 4, 5, 6]),
    "an array shuffled": lambda rng: shuffled(rng, np.arange(5)),
    "rows shuffled": lambda rng: shuffled(rng, np.arange(6).reshape(3, 2)),
    "one thing shuffled": lambda rng: shuffled(rng, ["a"]),
    "permuted": lambda rng: str(rng.permutation(5)),
    "a list permuted": lambda rng: str(rng.permutation(["a", "b", "c"])),
    "different ones": lambda rng: str(rng.choice(6, size=3, replace=False)),
    "a different one": lambda rng: str(rng.choice([2, 4, 6], replace=False)),
    "all of them": lambda rng: str(rng.choice(["a", "b", "c"], size=3, replace=False)),
    "in their order": lambda rng: str(rng.choice(6, size=2, replace=False, shuffle=False)),
    "different ones with probabilities": lambda rng: str(rng.choice(4, 3, replace=False, p=[0.1, 0.2, 0.3, 0.4])),
    "a table of different ones": lambda rng: str(rng.choice(5, (2, 2), replace=False, p=[0.1, 0.2, 0.3, 0, 0.4])),
    "32 bits": lambda rng: int(rng.integers(5, dtype=np.int32)) + int(rng.integers(0, 3, 2, dtype=np.uint32).sum()),
    "an integer after a shuffle": lambda rng: (shuffled(rng, [1, 2, 3]), int(rng.integers(3))),
    "two integers compared": lambda rng: rng.integers(6) < rng.integers(6),
    "the larger of two integers": lambda rng: int(max(rng.integers(6), rng.integers(6))),
    "integers computed with": lambda rng: int(abs(rng.integers(-3, 4)) ** 2 % 5 - -rng.integers(2) // 2),
    "a key": lambda rng: {0: "a", 1: "b", 2: "c"}[rng.integers(3)],
    "an index": lambda rng: "abc"[rng.integers(3)],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_tree_draws_what_the_step_draws(way):
    """The same outcomes and the same state of the generator afterwards, over 2,000 steps of one stream."""
    step = WAYS[way]
    rng = ScriptedGenerator()
    tree = outcomes_of(lambda: step(rng), rng)
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(2_000):
        assert draw(tree, one) == step(other)
    assert one.bit_generator.state == other.bit_generator.state


def test_a_step_that_draws_at_times_is_refused():
    """As one that counts in a global name, which no copy has of its own."""
    rng, calls = ScriptedGenerator(), []

    def step():
        calls.append(None)
        return "rest" if len(calls) % 2 == 0 else rng.random() < 0.5

    with pytest.raises(CannotBeFollowed, match="does not do the same each time"):
        outcomes_of(step, rng)


def test_a_tree_is_as_deep_as_the_draws():
    rng = ScriptedGenerator()
    tree = outcomes_of(lambda: rng.random() < 0.5 and int(rng.integers(4, 6)), rng)
    assert tree == UniformNode((0.5,), (IntegerNode(4, (Leaf(4), Leaf(5))), Leaf(False)))


def followed(step):
    """The tree of a function of a generator."""
    rng = ScriptedGenerator()
    return outcomes_of(lambda: step(rng), rng)


def two_of_five(rng):
    while True:
        x = int(rng.integers(5))
        if x > 2:
            return x


def walk_home(rng):
    """From 2, left or right with the same probability; one arrives at 0 or at 5."""
    x = 2
    while 0 < x < 5:
        x += 1 if rng.random() < 0.5 else -1
    return x


def endless(rng):
    while True:
        rng.integers(2)


def test_a_loop_is_a_draw_that_is_made_again():
    tree = followed(two_of_five)
    assert tree == IntegerNode(0, (Again(0), Again(0), Again(0), Leaf(3), Leaf(4)))
    assert [*probabilities_of(tree)] == [(0.5, 3), (0.5, 4)]
    assert nodes_of(tree) == [tree]
    assert [*leaves_of(tree)] == [3, 4]


def test_probabilities_of_loops_are_exact():
    """The ruin of a gambler: who has 2 of 5 wins with probability 2 / 5."""
    tree = followed(walk_home)
    found = {}
    for chance, outcome in probabilities_of(tree):
        found[outcome] = found.get(outcome, Fraction(0)) + Fraction(chance)
    assert found == {0: Fraction(0.6), 5: Fraction(0.4)}


def test_a_step_that_never_ends_is_refused():
    with pytest.raises(CannotBeFollowed, match="one step or reset may draw for ever"):
        followed(endless)


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


def shuffled_again(rng):
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
    shuffled_again,
    nested_loops,
    other_function,
    in_a_try,
]


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
    assert (tree is not None) == (step in (rounds, generator, first_of_two, second_of_two))
    if tree is not None:
        assert_draws_the_same(tree, step)


def gives_up(rng, after):
    """Rejects what does not fit, but not for ever."""
    for _ in range(after):
        if (x := int(rng.integers(5))) > 1:
            return x
    return -1


def remembers(rng):
    """The number that did not fit decides afterwards."""
    last = 1.0
    while (u := rng.random()) < 0.5:
        last = u
    return last < 0.25


@pytest.mark.parametrize("step", [lambda rng: gives_up(rng, 5), lambda rng: gives_up(rng, 300), remembers])
def test_a_loop_that_ends_otherwise_after_many_rounds_is_another_one(step):
    with contextlib.suppress(CannotBeFollowed):
        assert_draws_the_same(followed(step), step, 20_000)


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
