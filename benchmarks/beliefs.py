"""Reading large ``.pomdp`` files, and updating beliefs: ``python benchmarks/beliefs.py``.

The files are written here, of 19 MB each, in the layouts in which programs write them. Beliefs are updated on a maze of
the size of Cassandra's tiger-grid (or on that itself, where its file is found), along episodes of the model, in
compiled code; the particle filter runs beside it.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from measuring import Line, Target, print_heading, print_line, rate, seconds

from rlsuite.core.compilation import compiled
from rlsuite.inference.particle_filter import ParticleFilter
from rlsuite.models import POMDP
from rlsuite.models.belief_kernels import BeliefTables, update
from rlsuite.planning.pomdp.simulation import simulate_beliefs

SIZE = 19_000_000
TIGER_GRID = Path(__file__).parents[2] / "shared" / "pomdp" / "tiger-grid.pomdp"


def by_table(rng: np.random.Generator, states: int) -> Iterator[str]:
    """All transitions, then all observations, then all rewards, with names."""
    actions = [f"move-{a}" for a in range(13)]
    yield f"states: {' '.join(f's{s}' for s in range(states))}\nactions: {' '.join(actions)}\n"
    yield "observations: none good bad\n"
    for a in actions:
        yield from (f"T: {a} : s{s} : s{t} 1.000000\n" for s, t in enumerate(rng.integers(0, states, states)))
    for a in actions:
        for s, p in enumerate(rng.random(states)):
            yield f"O: {a} : s{s} : good {p:.8f}\nO: {a} : s{s} : bad {1 - p:.8f}\n"
    for a in actions:
        yield from (f"R: {a} : s{s} : * : * {r}.0\n" for s, r in enumerate(rng.integers(-10, 10, states)))


def by_pair(rng: np.random.Generator, states: int) -> Iterator[str]:
    """All that there is to say of a pair, then of the next, with numbers; observations and rewards as rows."""
    yield f"states: {states}\nactions: 13\nobservations: 3\n"
    for s in range(states):
        for a, (t, p) in enumerate(zip(rng.integers(0, states, 13), rng.random(13), strict=True)):
            yield f"T: {a} : {s} : {t} 1.0\nO: {a} : {s}\n0.0 {p:.8f} {1 - p:.8f}\nR: {a} : {s} : {t}\n1.0 2.0 3.0\n"


def by_matrix(rng: np.random.Generator, states: int) -> Iterator[str]:
    """Dense matrices."""
    yield f"states: {states}\nactions: 2\nobservations: 2\nO: * uniform\nR: * : 0 : * : * 1\n"
    for a in range(2):
        yield f"T: {a}\n"
        for _ in range(states):
            row = np.round(rng.dirichlet(np.ones(states)), 9)
            row[0] += 1.0 - row.sum()
            yield " ".join(f"{p:.9f}" for p in row) + "\n"


LAYOUTS: dict[str, tuple[Callable[[np.random.Generator, int], Iterator[str]], int]] = {
    "one line per number, table after table, names": (by_table, 11_500),
    "all about one pair after the other, rows": (by_pair, 14_500),
    "dense matrices": (by_matrix, 890),
}


def maze() -> POMDP:
    """36 states with four headings, 5 actions and 17 observations of walls, which err."""
    rng = np.random.default_rng(1)
    P = np.zeros((36, 5, 36))
    for s in range(36):
        for a in range(5):
            ahead = rng.choice(36, 4, replace=False)
            P[s, a, ahead] = rng.dirichlet(np.ones(4))
    O = np.zeros((5, 36, 17))  # noqa: E741 - the field's own name
    for s in range(36):
        O[:, s, rng.choice(17, 9, replace=False)] = rng.dirichlet(np.ones(9))
    return POMDP.from_arrays(P, rng.normal(size=(36, 5)), O, gamma=0.95)


@compiled(in_place=True)
def follow(
    tables: BeliefTables,
    start: np.ndarray,
    actions: np.ndarray,
    observations: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
) -> float:
    """Update a belief along an episode; return the last likelihood."""
    likelihood = 0.0
    for s in range(start.size):
        one[s] = start[s]
    for t in range(actions.size):
        likelihood = update(tables, one, actions[t], observations[t], other)
        for s in range(start.size):
            one[s] = other[s]
    return likelihood


def reading() -> bool:
    """Print the table of the reader; whether all targets are met."""
    fine = True
    print_heading("Reading a .pomdp file of 19 MB, seconds of the processor (of the clock)")
    with tempfile.TemporaryDirectory() as folder:
        for name, (layout, states) in LAYOUTS.items():
            path = Path(folder, "model.pomdp")
            with path.open("w", encoding="ascii") as file:
                file.write("discount: 0.95\n")
                file.writelines(layout(np.random.default_rng(0), states))
            clock = time.perf_counter()
            cost = min(seconds(partial(POMDP.read, path)) for _ in range(3))
            clock = (time.perf_counter() - clock) / 3
            line = Line(name, cost, "s", Target("<=", 1.5), f"{path.stat().st_size / 1e6:.1f} MB ({clock:.2f} s)")
            print_line(line)
            fine &= Target("<=", 1.5).met(cost)
    return fine


def updating() -> bool:
    """Print the table of belief updates; whether the target is met."""
    found = TIGER_GRID.exists()
    pomdp = POMDP.read(TIGER_GRID) if found else maze()
    print_heading(f"Belief updates per second on {'tiger-grid' if found else 'a maze of the size of tiger-grid'}")
    rng = np.random.default_rng(0)
    lived = simulate_beliefs(pomdp, lambda _: int(rng.integers(pomdp.n_actions)), steps=2000, seed=2)
    actions, observations = lived.actions[0], lived.observations[0]
    scratch = np.zeros(pomdp.n_states), np.zeros(pomdp.n_states)

    def along() -> None:
        for _ in range(500):
            follow(pomdp.belief_tables, pomdp.start, actions, observations, *scratch)

    follow(pomdp.belief_tables, pomdp.start, actions, observations, *scratch)
    each = min(seconds(along) for _ in range(5)) / (500 * actions.size)
    target = Target(">=", 1.0)
    print_line(Line("compiled, one belief after the other", 1e-6 / each, "M/s", target))
    few = rng.dirichlet(np.ones(pomdp.n_states), 100)
    action = rng.integers(0, pomdp.n_actions, len(few))
    seen = np.array([int(np.argmax(pomdp.predict(b, int(a)))) for b, a in zip(few, action, strict=True)])
    many, action, seen = np.tile(few, (1000, 1)), np.tile(action, 1000), np.tile(seen, 1000)
    pomdp.update_beliefs(many, action, seen)
    cost = min(seconds(lambda: pomdp.update_beliefs(many, action, seen)) for _ in range(5)) / len(many)
    print_line(Line("update_beliefs, 100,000 at once, checks included", 1e-6 / cost, "M/s"))
    one = seconds(lambda: [pomdp.update_belief(many[k], int(action[k]), int(seen[k])) for k in range(5000)]) / 5000
    print_line(Line("update_belief from Python", 1e-3 / one, "k/s"))
    known = ParticleFilter(pomdp, 1000, seed=0)
    known.update(int(actions[0]), int(observations[0]))
    cost = seconds(lambda: [known.update(int(actions[t]), int(observations[t])) for t in range(1, 1000)]) / 999
    print_line(Line("particle filter, 1,000 particles", 1e-3 / cost, "k/s", detail=f"{rate(cost / 1000)} particles"))
    return target.met(1e-6 / each)


def main() -> int:
    """Print the tables; status 1 if a target is missed."""
    fine = [reading(), updating()]
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
