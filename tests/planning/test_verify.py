"""The checker of proofs, against an oracle of its own arithmetic, and with damaged proofs."""

import ast
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rlsuite.models import MDP
from rlsuite.planning import proof, solve, verify

COUNTS = ["0.1 0.2 0.7", "0.333 0.333 0.334", "0.3333 0.3333 0.3333", "1", "0.5 0.5", "0.25 0.75"]
FILE = Path(verify.__file__)


def random_text(rng: random.Random, gamma: str) -> str:
    """A model of few states as text; with gamma = 1 every policy ends, as each step may."""
    states, actions = rng.randint(2, 5), rng.randint(1, 3)
    end = states - 1 if gamma == "1" or rng.random() < 0.5 else None
    lines = [f"discount: {gamma}", "values: reward", f"states: {states}", f"actions: {actions}"]
    for s in range(states):
        legal = [] if s == end else rng.sample(range(actions), rng.randint(1, actions))
        for a in legal:
            row = [p for p in rng.choice(COUNTS).split()][: states - 1] if gamma != "1" else ["0.5", "0.5"]
            row = row if sum(map(Fraction, row)) > Fraction(99, 100) else ["1"]
            after = rng.sample([t for t in range(states) if t != end or gamma != "1"], min(len(row), states - 1))
            after = [*after[: len(row) - 1], end] if gamma == "1" else after
            row = row if len(row) == len(after) else ["1"] * len(after)
            for t, p in zip(after, row, strict=True):
                lines.append(f"T: {a} : {s} : {t} {p}")
                if rng.random() < 0.7:
                    lines.append(f"R: {a} : {s} : {t} {rng.randint(-900, 900) / 100}")
    return "\n".join(lines) + "\n"


class Oracle:
    """A model read, solved and checked in another way: dense fractions, policies evaluated by elimination."""

    def __init__(self, text: str) -> None:
        words = re.search(r"discount: (\S+)[\s\S]*states: (\d+)\nactions: (\d+)", text)
        assert words is not None
        self.text, self.gamma, self.n = text, Fraction(words[1]), int(words[2])
        moves = re.findall(r"T: (\d+) : (\d+) : (\d+) (\S+)", text)
        paid = {
            key: Fraction(r) for *key_, r in re.findall(r"R: (\d+) : (\d+) : (\d+) (\S+)", text) for key in [(*key_,)]
        }
        self.rows: list[dict[str, list[tuple[int, Fraction, Fraction]]]] = [{} for _ in range(self.n)]
        for a, s, t, p in moves:
            self.rows[int(s)].setdefault(a, []).append((int(t), Fraction(p), paid.get((a, s, t), Fraction(0))))
        for row in self.rows:
            for a, each in row.items():
                total = sum(p for _, p, _ in each)
                row[a] = [(t, p / total, r) for t, p, r in each]

    def q(self, value: list[Fraction], s: int, a: str) -> Fraction:
        return sum((p * (r + self.gamma * value[t]) for t, p, r in self.rows[s][a]), Fraction(0))

    def value_of(self, policy: list[str | None]) -> list[Fraction]:
        """Gauss-Jordan elimination."""
        table = []
        for s, a in enumerate(policy):
            row = [Fraction(int(s == t)) for t in range(self.n)] + [Fraction(0)]
            for t, p, r in self.rows[s][a] if a is not None else ():
                row[t] -= self.gamma * p
                row[-1] += p * r
            table.append(row)
        for k in range(self.n):
            pivot = next(i for i in range(k, self.n) if table[i][k])
            table[k], table[pivot] = table[pivot], table[k]
            table[k] = [x / table[k][k] for x in table[k]]
            for i in range(self.n):
                if i != k:
                    table[i] = [x - table[i][k] * y for x, y in zip(table[i], table[k], strict=True)]
        return [row[-1] for row in table]

    def optimum(self) -> list[Fraction]:
        """Howard's policy iteration."""
        policy = [next(iter(row), None) for row in self.rows]
        while True:
            value = self.value_of(policy)
            better = [max(row, key=lambda a: self.q(value, s, a), default=None) for s, row in enumerate(self.rows)]
            better = [
                a if a is not None and self.q(value, s, a) > value[s] else old
                for s, (a, old) in enumerate(zip(better, policy, strict=True))
            ]
            if better == policy:
                return value
            policy = better

    def accepts(self, text: str) -> bool:
        """Whether the lines of a proof hold; False for what cannot be read."""
        claims: dict[int, list[str]] = {}
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if not words:
                continue
            if words[0] != "state" or len(words) not in (4, 5, 7) or not re.fullmatch(r"[0-9]|[1-9][0-9]+", words[1]):
                return False
            if any(
                not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", w)
                for w in words[2:4] + words[5:]
            ):
                return False
            if int(words[1]) in claims:
                return False
            claims[int(words[1])] = words[2:]
        if sorted(claims) != list(range(self.n)):
            return False
        low, high = ([Fraction(claims[s][k]) for s in range(self.n)] for k in (0, 1))
        for s, row in enumerate(self.rows):
            action = claims[s][2] if len(claims[s]) > 2 else "-"
            if action != "-" and action not in row:
                return False
            if max((self.q(high, s, a) for a in row), default=Fraction(0)) > high[s]:
                return False
            chosen = row if action == "-" else [action]
            if max((self.q(low, s, a) for a in chosen), default=Fraction(0)) < low[s]:
                return False
            if self.gamma == 1 and row:
                if action == "-":
                    return False
                up, down = (Fraction(claims[s][k]) if len(claims[s]) > 3 else Fraction(0) for k in (3, 4))
                for rank, k, bound, sign, actions in ((up, 3, high, 1, row), (down, 4, low, -1, [action])):
                    ranks = [Fraction(claims[t][k]) if len(claims[t]) > 3 else Fraction(0) for t in range(self.n)]
                    if rank <= 0 and sign * bound[s] < 0:
                        return False
                    for a in actions:
                        if self.q(bound, s, a) == bound[s]:
                            after = [ranks[t] for t, _, _ in self.rows[s][a]]
                            if (min(after) >= rank) if rank > 0 else (max(after) > 0):
                                return False
        return True


def accepted(text: str, lines: str) -> bool:
    try:
        verify.check(text, lines)
    except ValueError:
        return False
    return True


def model_of(text: str) -> MDP:
    """The model as rlsuite has it: through the checker's reading, as doubles."""
    model = verify.Model(text)
    states, actions = list(model.rows), model.actions
    indptr, ahead, p, r = [0], [], [], []
    for s in states:
        for a in actions:
            if a in model.rows[s]:
                reward, weights, total = model.rows[s][a]
                ahead += [states.index(t) for t in weights]
                p += [w / total for w in weights.values()]
                r += [float(reward)] * len(weights)
            indptr.append(len(ahead))
    return MDP.from_rows(indptr, ahead, p, r, n_actions=len(actions), gamma=float(model.gamma))


def proof_for(text: str) -> str:
    solution = solve(model_of(text))
    return proof.proof_of_values(text, 0, solution.value, solution.policy)


def test_it_runs_alone_and_imports_nothing_else(tmp_path):
    text = random_text(random.Random(1), "0.9")
    (tmp_path / "model.mdp").write_text(text)
    (tmp_path / "plan.cert").write_text(proof_for(text))
    command = [sys.executable, "-I", "-S", FILE, tmp_path / "model.mdp", tmp_path / "plan.cert"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:13]) == (0, "right: V is i"), done.stderr
    (tmp_path / "plan.cert").write_text(proof_for(text).replace("state 0", "state 00"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr[:9]) == (1, "", "refused: ")
    names = [
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(ast.parse(FILE.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_it_is_short():
    assert len(FILE.read_text().splitlines()) <= 120


def test_the_page_shows_both_checkers_whole():
    page = (FILE.parents[2] / "docs/certificates.md").read_text()
    shown = re.findall(r"^```py\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert shown == [FILE.read_text(), (FILE.parent / "pomdp/verify.py").read_text()]


def test_intervals_contain_the_exact_optimum_and_are_narrow():
    rng = random.Random(7)
    for k in range(60):
        text = random_text(rng, rng.choice(["0.5", "0.9", "0.999", "1"]))
        lines = proof_for(text)
        oracle = Oracle(text)
        optimum = oracle.optimum()
        assert oracle.accepts(lines), k
        verify.check(text, lines)
        size = max(map(abs, optimum))
        for line in lines.splitlines():
            _, s, low, high, *_ = line.split()
            assert Fraction(low) <= optimum[int(s)] <= Fraction(high)
            assert Fraction(high) - Fraction(low) <= Fraction(1, 10**8) * max(1, size)


def mutated(rng: random.Random, text: str) -> str:
    """A proof with one change."""
    lines = text.splitlines()
    k = rng.randrange(len(lines))
    words = lines[k].split()
    kind = rng.randrange(9)
    if kind == 0:
        return text[: rng.randrange(len(text))]
    if kind == 1:
        return "\n".join(lines[:k] + lines[k + 1 :])
    if kind == 2:
        return "\n".join([*lines, lines[k]])
    if kind == 3:
        words[rng.randrange(len(words))] = rng.choice(["nan", "inf", "-inf", "1e400000", "x", "", "1_0", "٣", "--1"])
    elif kind == 4:
        at = rng.randrange(2, 4)
        words[at] = str(Fraction(words[at]) + rng.choice([-1, 1]) * Fraction(1, 10 ** rng.randrange(0, 16)))
        words[at] = f"{float(Fraction(words[at])):.17f}"
    elif kind == 5 and len(words) > 4:
        words[4] = rng.choice(["0", "1", "2", "3", "-", "7"])
    elif kind == 6:
        words[1] = str(rng.randrange(7))
    elif kind == 7 and len(words) > 5:
        words[rng.choice([5, 6])] = str(rng.randrange(3))
    else:
        at = rng.randrange(len(lines[k]))
        words = (lines[k][:at] + rng.choice("0123456789.-e #") + lines[k][at + 1 :]).split()
    return "\n".join([*lines[:k], " ".join(words), *lines[k + 1 :]])


def refused_mutants(wanted: int) -> None:
    """The checker refuses what the oracle does, and accepts what it does."""
    rng, refused, kept = random.Random(3), 0, 0
    while refused < wanted:
        text = random_text(rng, rng.choice(["0.5", "0.9", "0.999", "1"]))
        lines, oracle = proof_for(text), Oracle(text)
        for _ in range(25):
            mutant = mutated(rng, lines)
            right = oracle.accepts(mutant)
            assert accepted(text, mutant) == right, (text, lines, mutant)
            refused, kept = refused + (not right), kept + right
    assert kept > wanted / 20  # some changes leave it true


def test_50_mutants_are_refused():
    refused_mutants(50)


@pytest.mark.slow
def test_1000_mutants_are_refused():
    refused_mutants(1000)


LAKE = "discount: 0.5\nvalues: reward\nstates: a b\nactions: go\nT: go : a : b 1\nT: go : b : b 1\nR: go : * : b 1\n"


def test_refusals_name_what_is_wrong():
    right = "state a 2 2 go\nstate b 2 2 go\n"
    assert "earns at least LOW" in verify.check(LAKE, right)
    assert "earns" not in verify.check(LAKE, right.replace(" go", ""))
    many = "9" * 10**6
    for change, sentence in [
        (("state a 2", "state a 2.25"), "state a: LOW is too high, by 0.25"),
        (("a 2 2", "a 2 1.5"), "state a: HIGH is too low, by 0.5"),
        (("b 2 2", "b 2 1"), "state b: HIGH is too low, by 0.5"),
        (("state b 2 2 go\n", ""), r"state \['b'\] has no line"),
        (("state b", "state c"), r"state \['b'\] has no line"),
        (("state b", "state a"), "odd, or twice"),
        (("b 2 2 go", "b 2 2 run"), "state b: 'run' is not legal"),
        (("b 2 2 go", "b 2"), "odd"),
        (("b 2", "b nan"), "'nan' is not a number"),
        (("b 2", f"b {many}"), "'9999999999999999999999999999999999999999' is not a number"),
        (("b 2", "b 1e99999999"), "'1e99999999' is not a number"),
        (("state a", "sha256 0123\nstate a"), "odd, or twice: 'sha256 0123'"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            verify.check(LAKE, right.replace(*change))


def test_damaged_models_are_refused():
    right = "state a 2 2 go\nstate b 2 2 go\n"
    for change, sentence in [
        (("discount: 0.5\n", ""), "no discount:"),
        (("discount: 0.5", "discount: 1.5"), "no discount in"),
        (("T: go : a : b 1", "T: go : a : b 0.99"), "sums to 0.99, not 1"),
        (("T: go : a : b 1", "T: go : a : b -1"), "T: go : a has a . or a minus"),
        (("T: go : a : b 1", "T: go : * : b 1"), "T: go : . has a . or a minus"),
        (("T: go : a : b 1", "T: go : a : c 1"), "not of an action and two states, or twice: 'T: go : a : c 1'"),
        (("T: go : a : b 1", "T: go\n0 1\n1 0"), "an unknown statement"),
        (("T: go : a : b 1", "T: go : a : b 1\nT: go : a : b 1"), "or twice: 'T: go : a : b 1'"),
        (("R: go : * : b 1", "R: go : * : b 1\nR: go : a : * 1"), "two lines R: are about go : a : b"),
        (("R: go : * : b 1", "S: go : * : b 1"), "an unknown statement"),
        (("R: go : * : b 1", "R: go : * : c 1"), "not of an action and two states"),
        (("states: a b", "states: a b b"), "equal states"),
        (("states: a b", "states: 0"), "not of an action and two states"),
        (("actions: go\n", ""), "not of an action and two states"),
        (("discount: 0.5", "discount: 0.5\ndiscount: 0.6"), "an unknown statement, or given twice"),
        (("values: reward", "values: fun"), "'fun' is neither reward nor cost"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            verify.check(LAKE.replace(*change), right)


def test_rows_that_are_rounded_are_divided_by_their_sum():
    text = "discount: 0\nstates: 3\nactions: 1\n" + "".join(
        f"T: 0 : {s} : {t} 0.333\nR: 0 : {s} : {t} {t}\n" for s in range(3) for t in range(3)
    )
    assert accepted(
        f"# of old: \x0c R: 0 : 0 : 0 1 \u2028 R: 0 : 0 : 0 1\n{text}", "state 0 1 1\nstate 1 1 1\nstate 2 1 1"
    )
    assert accepted(text, "state 0 1 1 0\nstate 1 1 1 0\nstate 2 1 1 0")
    assert not accepted(text, "state 0 0.999 0.999 0\nstate 1 1 1 0\nstate 2 1 1 0")


def test_for_discount_1_bounds_that_going_around_would_keep_up_are_refused():
    """Staying costs nothing, and leaving costs 1; so -1 is no upper bound, although it is one backup of itself."""
    text = "discount: 1\nstates: in out\nactions: stay leave\nT: stay : in : in 1\nT: leave : in : out 1\n"
    text += "R: leave : in : out -1\n"
    assert accepted(text, "state in -1 0 leave 0 1\nstate out 0 0")
    assert accepted(text, "state in 0 0 stay 0 0\nstate out 0 0")
    for rank in range(3):
        assert not accepted(text, f"state in -1 -1 leave {rank} 1\nstate out 0 0")
        assert not accepted(text, f"state in 5 5 stay 1 {rank}\nstate out 0 0")  # LOW: what is never paid
    assert not accepted(text, "state in -1 0\nstate out 0 0")


@pytest.mark.slow
def test_a_hundred_thousand_transitions_take_less_than_ten_seconds():
    import time

    rng = np.random.default_rng(0)
    rows = 10_000
    mdp = MDP.from_rows(
        np.arange(0, 10 * rows + 1, 10), rng.integers(0, 1000, 10 * rows), rng.dirichlet(np.ones(10), rows).reshape(-1),
        rng.normal(size=10 * rows), n_actions=10, gamma=0.99,
    )  # fmt: skip
    text, solution = proof.text_of(mdp), solve(mdp)
    lines = proof.proof_of_values(text, 0, solution.value, solution.policy)
    begin = time.process_time()
    verify.check(text, lines)
    assert time.process_time() - begin < 10
