"""Check a proof about hidden states in exact arithmetic: python verify.py MODEL.pomdp PLAN.cert needs only Python.

MODEL.pomdp is Cassandra's text, a statement in a line: discount: values: states: actions: observations: start:,
T: ACTION : STATE : NEXT P, O: ACTION : NEXT : OBSERVATION P, R: ACTION : STATE : NEXT : OBSERVATION REWARD; in R:, and
for the ACTION of O:, * is any. Numbers count as written, 0.1 as 1/10. Rows of probabilities are divided by their sums,
which must be within 1/500 of 1. V is the most that any policy earns, discounted; x . b is sum x(s) b(s).

vector ACTION NEXT... VALUE...      a plan: after observation z it goes on with vector NEXT[z] (the first is 0). VALUE
                                    is at most the reward and, discounted, what follows, in each hidden state.
upper ACTION VALUE...               V(b) <= max VALUE . b of all uppers: VALUE is at least the reward of ACTION and,
                                    discounted, what the best upper says after each observation (fast informed bound).
point HIGH USE... STATE=WEIGHT...   V(b) <= HIGH in the belief b of the WEIGHTs: HIGH is at least what each action earns
                                    if what follows is bounded, for each action and observation, by the uppers, if USE
                                    is -1, or else by point USE (the first is 0) and the corners, as V is convex.
value LOW HIGH                      LOW <= V <= HIGH at the start, by the best vector, and by the best point or upper.
sha256 HEX                          of the model; may be left out.
"""

import re
import sys
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import product
from math import lcm
from pathlib import Path
from typing import TypeVar

NUMBER = re.compile(r"[-+]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][-+]?[0-9]{1,3})?")
SLOTS = {"T": ["actions", "states", "states"], "O": ["actions", "states", "observations"]}
SLOTS["R"] = [*SLOTS["T"], "observations"]
K = TypeVar("K")
Numbers = dict[str, Fraction]
Part = dict[str, int]
Lines = dict[str, list[list[str]]]


class Refused(ValueError):
    """The proof does not hold, or a file is damaged."""


def demand(holds: object, why: str, by: Fraction | None = None) -> None:
    """Go on only if it holds."""
    if not holds:
        raise Refused(why if by is None else f"{why}, by {float(min(by, Fraction(10) ** 300)):.6g}")


@cache
def number(word: str) -> Fraction:
    """Return the exact number."""
    demand(NUMBER.fullmatch(word), f"{word[:40]!r} is not a number")
    return Fraction(word)


def integers(values: dict[K, Fraction]) -> tuple[dict[K, int], int]:
    """Return the values in units of 1/scale, and the scale."""
    scale = lcm(*(x.denominator for x in values.values()))
    return {k: x.numerator * (scale // x.denominator) for k, x in values.items()}, scale


def shares(what: str, row: Numbers) -> Numbers:
    """Return probabilities, divided by their sum."""
    total = sum(row.values(), Fraction(0))
    demand(min(row.values()) >= 0 and abs(total - 1) <= Fraction(1, 500), f"{what} has the sum {float(total)}, not 1")
    return {k: p / total for k, p in row.items() if p}


class Model:
    """rows[s][a] = mean reward, {observation: {next state: weight}}, sum of the weights."""

    def __init__(self, text: str) -> None:
        head: dict[str, list[str]] = {"values": ["reward"], "start": ["uniform"], "discount": ["no discount:"]}
        names, said, cells = (
            dict[str, dict[str, int]](),
            set[str](),
            {key: dict[tuple[str, ...], Numbers]() for key in SLOTS},
        )
        for line in filter(str.strip, (line.partition("#")[0] for line in text.splitlines())):
            key, *words = line.replace(":", " ").split()
            if key in SLOTS:
                demand(len(words) == len(SLOTS[key]) + 1, f"not a plain statement: {line[:60]!r}")
                for slot, (kind, name) in enumerate(zip(SLOTS[key], words, strict=False)):
                    free = name == "*" and (key == "R" or (key == "O" and slot == 0))
                    demand(
                        free or name in names.get(kind, ()), f"{name[:40]!r} is not one of the {kind}: {line[:60]!r}"
                    )
                row = cells[key].setdefault((*words[:-2],), {})
                demand(words[-2] not in row, f"given twice: {line[:60]!r}")
                row[words[-2]] = number(words[-1])
            else:
                fine = words and key in {*head, *SLOTS["R"]} - said
                demand(fine, f"an unknown statement, or given twice: {line[:60]!r}")
                said.add(key)
                head[key] = words
                if key in SLOTS["R"]:
                    n = int(words[0]) if len(words) == 1 and words[0].isdecimal() and len(words[0]) < 7 else 0
                    names[key] = {name: k for k, name in enumerate(map(str, range(n)) if n else words)}
                    demand(0 < len(names[key]) == (n or len(words)), f"{key}: none, or one of them twice")
        self.states, self.actions, self.seen = ([*names.get(kind, ())] for kind in ("states", *SLOTS["O"][::2]))
        self.gamma, [kind] = number(head["discount"][0]), head["values"]
        demand(kind.rstrip("s") in ("reward", "cost"), f"values: {kind[:40]!r} is neither reward nor cost")
        demand(
            0 <= self.gamma < 1 and self.states and self.seen, "no discount: in [0, 1), no states:, or no observations:"
        )
        self.rows = {state: dict[str, tuple[Fraction, dict[str, Part], int]]() for state in self.states}
        views = {at: shares(f"O: {' : '.join(at)}", row) for at, row in cells["O"].items()}
        for (action, state), row in cells["T"].items():
            joint, reward = dict[tuple[str, str], Fraction](), Fraction(0)
            for after, p in shares(f"T: {action} : {state}", row).items():
                found = [views[a, after] for a in (action, "*") if (a, after) in views]
                demand(len(found) == 1, f"O: {action} : {after} is missing, or given twice")
                about = [cells["R"].get(at, {}) for at in product((action, "*"), (state, "*"), (after, "*"))]
                for view, o in found[0].items():
                    paid = [rewards[z] for rewards in about for z in (view, "*") if z in rewards]
                    demand(len(paid) < 2, f"two lines R: are about {action} : {state} : {after} : {view}")
                    joint[view, after] = p * o
                    reward += p * o * sum(paid)
            (weights, total), parts = integers(joint), dict[str, Part]()
            for (view, after), weight in weights.items():
                parts.setdefault(view, {})[after] = weight
            self.rows[state][action] = reward if kind.startswith("reward") else -reward, parts, total
        missing = [(s, a) for s, a in product(self.states, self.actions) if a not in self.rows[s]]
        demand(not missing, f"T: is missing for the state and the action {missing[:1]}")
        chosen = [s for s in self.states if head["start"] in (["uniform"], [s])]
        given = {s: Fraction(1, len(chosen)) for s in chosen}
        given = given or {s: number(p) for s, p in zip(self.states, head["start"], strict=True)}
        self.start, _ = integers(shares("start:", given))


def proved(model: Model, lines: Lines) -> str:
    """Return what the lines prove."""
    states, actions, seen, rows, n = model.states, model.actions, model.seen, model.rows, len(model.seen)
    vectors, uppers, points = (lines.get(kind, []) for kind in ("vector", "upper", "point"))
    demand(sorted(line[0] for line in uppers) == sorted(actions), "there is not one line 'upper' for each action")
    exact = {(i, s): number(x) for i, (_, *line) in enumerate(vectors) for s, x in zip(states, line[n:], strict=True)}
    exact |= {(a, s): number(x) for a, *line in uppers for s, x in zip(states, line, strict=True)}
    exact |= {("point", str(k)): number(line[0]) for k, line in enumerate(points)}
    values, scale = integers(exact)

    def ahead(s: str, a: str, later: int | Fraction) -> Fraction:
        return rows[s][a][0] + model.gamma * later / (rows[s][a][2] * scale)

    for i, (a, *line) in enumerate(vectors):
        follows = {z: int(word) for z, word in zip(seen, line, strict=False)}
        demand({*follows.values()} <= {*range(len(vectors))}, f"vector {i} goes on with one that does not exist")
        for s in states:
            later = sum(w * values[follows[z], t] for z, part in rows[s][a][1].items() for t, w in part.items())
            demand((by := exact[i, s] - ahead(s, a, later)) <= 0, f"vector {i}, state {s}: VALUE is too high", by)

    def linear(part: Part) -> int:
        return max(sum(w * values[a, t] for t, w in part.items()) for a in actions)

    for s, a in product(states, actions):
        by = ahead(s, a, sum(map(linear, rows[s][a][1].values()))) - exact[a, s]
        demand(by <= 0, f"upper {a}, state {s}: VALUE is too low", by)
    cut = 1 + len(actions) * n
    beliefs = [integers({s: number(w) for s, w in (word.split("=") for word in line[cut:])})[0] for line in points]
    demand(all(min(belief.values()) > 0 for belief in beliefs), "a WEIGHT is not positive")
    corner = {s: linear({s: 1}) for s in states}
    for k, belief in enumerate(beliefs):
        for s in belief if len(belief) == 1 else ():
            corner[s] = min(corner[s], values["point", str(k)])
    gains = [
        sum(w * (values["point", str(k)] - corner[s]) for s, w in belief.items()) for k, belief in enumerate(beliefs)
    ]

    def bound(part: Part, use: int) -> int | Fraction:
        if use == -1:
            return linear(part)
        share = min(Fraction(part.get(s, 0), w) for s, w in beliefs[use].items())
        return sum(w * corner[t] for t, w in part.items()) + share * gains[use]

    for k, (belief, line) in enumerate(zip(beliefs, points, strict=True)):
        uses = [int(word) for word in line[1:cut]]
        demand({*uses} <= {*range(-1, len(points))}, f"point {k} uses one that does not exist")
        for i, a in enumerate(actions):
            total, weight, reward = lcm(*(rows[s][a][2] for s in belief)), sum(belief.values()), Fraction(0)
            parts = {z: dict[str, int]() for z in seen}
            for s, b in belief.items():
                reward += rows[s][a][0] * b / weight
                for z, t, w in ((z, t, w) for z, part in rows[s][a][1].items() for t, w in part.items()):
                    parts[z][t] = parts[z].get(t, 0) + b * w * (total // rows[s][a][2])
            later = sum(bound(part, uses[i * n + j]) for j, part in enumerate(parts.values()) if part)
            by = reward + model.gamma * later / (total * weight * scale) - exact["point", str(k)]
            demand(by <= 0, f"point {k}, action {a}: HIGH is too low", by)
    [[low, high]], start, unit = lines["value"], model.start, sum(model.start.values()) * scale
    best = Fraction(max(sum(w * values[i, s] for s, w in start.items()) for i in range(len(vectors))), unit)
    least = Fraction(min(bound(start, k) for k in range(-1, len(points)))) / unit
    demand(number(low) <= best, "value: LOW is too high", number(low) - best)
    demand(number(high) >= least, "value: HIGH is too low", least - number(high))
    return f"the value at the start is between {low} and {high}"


def check(model_text: str, proof_text: str) -> str:
    """Return what is proved, in words, or raise Refused."""
    try:
        model, lines = Model(model_text), Lines()
        for word, *rest in filter(None, (line.partition("#")[0].split() for line in proof_text.splitlines())):
            lines.setdefault(word, []).append(rest)
        odd = lines.keys() - {"sha256", "vector", "upper", "point", "value"}
        demand(not odd, f"lines of an unknown kind: {sorted(odd)[:1]}")
        own = [[sha256(model_text.encode()).hexdigest()]]
        demand(lines.get("sha256", own) == own, "the proof is about another text of a model")
        return proved(model, lines)
    except (ArithmeticError, LookupError, ValueError) as error:
        raise error if isinstance(error, Refused) else Refused(f"a line is damaged or missing: {error}") from error


if __name__ == "__main__":
    try:
        print("right:", check(*(Path(name).read_text("utf-8-sig", "replace") for name in sys.argv[1:])))
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as wrong:
        sys.exit(f"refused: {wrong}")
