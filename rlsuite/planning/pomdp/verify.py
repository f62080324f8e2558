"""Check a proof about hidden states in exact arithmetic: python verify.py MODEL.pomdp PLAN.cert needs only Python.

MODEL.pomdp is Cassandra's text, a statement in a line: discount: values: states: actions: observations: start: and then
T: ACTION : STATE : NEXT P, O: ACTION : NEXT : OBSERVATION P, R: ACTION : STATE : NEXT : OBSERVATION REWARD; in R:, and
for the ACTION of O:, * is any. Numbers count as written, 0.1 as 1/10. Rows of probabilities are divided by their sums,
which must be within 1/500 of 1. V is the most that any policy earns, discounted; x . b is sum x(s) b(s).

vector ACTION NEXT... VALUE...  a plan: after observation z it goes on with vector NEXT[z] (the first is 0). VALUE is at
                                most the reward and, discounted, what follows, in each hidden state.
upper ACTION VALUE...           V(b) <= max VALUE . b of all uppers: VALUE is at least the reward of ACTION and,
                                discounted, what the best upper says after each observation (fast informed bound).
point USE... HIGH WEIGHT...     V(b) <= HIGH in the belief b of the WEIGHTs: HIGH is at least what each action earns if
                                what follows is bounded, for each action and observation, by the uppers, if USE is -, or
                                else by point USE (the first is 0) and the corners, as V is convex.
value LOW HIGH                  LOW <= V <= HIGH at the start, by the first vector, and by the best point or upper.
sha256 HEX                      of the model; may be left out.
"""

import re
import sys
from fractions import Fraction
from hashlib import sha256
from itertools import product
from math import lcm
from pathlib import Path

NUMBER = re.compile(r"[-+]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][-+]?[0-9]{1,3})?")
KINDS = "states", "actions", "observations"
NAMES = {"T": "actions states states", "O": "actions* states observations"}
NAMES["R"] = "actions* states* states* observations*"  # of what the names are, and where * may be any


class Refused(ValueError):
    """The proof does not hold, or a file is damaged."""


def demand(holds: object, why: str, by: Fraction | None = None) -> None:
    """Go on only if it holds."""
    if not holds:
        raise Refused(why if by is None else f"{why}, by {float(min(by, Fraction(10) ** 300)):.6g}")


def number(word: str) -> Fraction:
    """Return the exact number."""
    demand(NUMBER.fullmatch(word), f"{word[:40]!r} is not a number")
    return Fraction(word)


def shares(what: str, row: dict[str, Fraction]) -> dict[str, Fraction]:
    """Return probabilities, divided by their sum."""
    total = sum(row.values(), Fraction(0))
    demand(abs(total - 1) * 500 <= 1 and min(row.values()) >= 0, f"{what} has a minus or the sum {float(total)}, not 1")
    return {k: p / total for k, p in row.items() if p}


class Model:
    """rows[s][a] = mean reward, {(observation, next state): a whole number in proportion}, sum of these numbers."""

    def __init__(self, text: str) -> None:
        head, known = dict[str, list[str]](), {(kind + "*", "*") for kind in KINDS}
        cells = {key: dict[tuple[str, ...], dict[str, Fraction]]() for key in NAMES}
        for line in filter(str.strip, (line.partition("#")[0] for line in text.splitlines())):
            match line.replace(":", " ").split():
                case ["T" | "O" | "R" as key, *cell, value]:
                    row, kinds = cells[key].setdefault((*cell[:-1],), {}), NAMES[key].split()
                    fine = len(cell) == len(kinds) and {*zip(kinds, cell, strict=True)} <= known and cell[-1] not in row
                    demand(fine, f"not of {NAMES[key]}, or given twice: {line[:60]!r}")
                    row[cell[-1]] = number(value)
                case [key, *rest] if rest and key in ("discount", "values", "start", *KINDS) and key not in head:
                    count = key in KINDS and re.fullmatch("[0-9]{1,6}", " ".join(rest))
                    head[key] = [str(k) for k in range(int(rest[0]))] if count else rest
                    known |= {*product((key, key + "*"), head[key])}
                case _:
                    raise Refused(f"an unknown statement, or given twice: {line[:60]!r}")
        fine = "discount" in head and all(1 < len({*head.get(key, []), "*"}) == len(head[key]) + 1 for key in KINDS)
        demand(fine, "no discount:, states:, actions: or observations:, or equal ones")
        self.states, self.actions, self.seen = (head[key] for key in KINDS)
        self.gamma, kind = number(" ".join(head["discount"])), " ".join(head.get("values", ["reward"]))
        demand(0 <= self.gamma < 1, "no discount in [0, 1)")
        demand(kind.rstrip("s") in ("reward", "cost"), f"values: {kind[:40]!r} is neither reward nor cost")
        sign, start = 1 if kind.startswith("reward") else -1, head.get("start", ["uniform"])
        chosen = [s for s in self.states if start in (["uniform"], [s])]
        demand(chosen or len(start) == len(self.states), "start: is neither a state nor a number for each")
        given = [Fraction(s in chosen, len(chosen)) for s in self.states] if chosen else map(number, start)
        self.start = shares("start:", dict(zip(self.states, given, strict=True)))
        self.rows = {state: dict[str, tuple[Fraction, dict[tuple[str, str], int], int]]() for state in self.states}
        views = {at: shares(f"O: {' : '.join(at)}", row) for at, row in cells["O"].items()}
        for state, action in product(self.states, self.actions):
            joint, reward = dict[tuple[str, str], Fraction](), Fraction(0)
            for after, p in shares(f"T: {action} : {state}", cells["T"].get((action, state), {})).items():
                found = [views[at] for at in ((action, after), ("*", after)) if at in views]
                demand(len(found) == 1, f"O: {action} : {after} is missing, or given twice")
                about = [cells["R"].get(at, {}) for at in product((action, "*"), (state, "*"), (after, "*"))]
                for view, o in found[0].items():
                    paid = [rewards[z] for rewards in about for z in (view, "*") if z in rewards]
                    demand(len(paid) < 2, f"two lines R: are about {action} : {state} : {after} : {view}")
                    joint[view, after] = p * o
                    reward += sum(paid) * joint[view, after]
            total = lcm(*(p.denominator for p in joint.values()))
            weights = {at: p.numerator * (total // p.denominator) for at, p in joint.items()}
            self.rows[state][action] = sign * reward, weights, total


def check(model_text: str, proof_text: str) -> str:
    """Return what is proved, in words, or raise Refused."""
    model = Model(model_text)
    states, actions, n = model.states, model.actions, len(model.seen)
    forms = {"vector": (1 + n, states), "upper": (1, states), "point": (len(actions) * n, ["HIGH ", *states])}
    forms |= {"value": (2, []), "sha256": (1, [])}  # so many words, and then a number for each of these
    words, exact = {kind: dict[str, list[str]]() for kind in forms}, dict[tuple[str, str, str], Fraction]()
    for line in filter(str.strip, (line.partition("#")[0] for line in proof_text.splitlines())):
        kind, *rest = line.split()
        count, columns = forms.get(kind, (0, []))
        demand(kind in forms and len(rest) == count + len(columns), f"odd, or not of so many words: {line[:60]!r}")
        k = str(len(words[kind]))
        words[kind][k] = rest[:count]
        exact |= {(kind, k, column): number(word) for column, word in zip(columns, rest[count:], strict=True)}
    scale = lcm(*(x.denominator for x in exact.values()))
    values = {at: x.numerator * (scale // x.denominator) for at, x in exact.items()}
    own = [sha256(model_text.encode()).hexdigest()]
    demand([*words["sha256"].values()] in ([], [own]), "the proof is about another text of a model")
    demand(sorted(words["upper"].values()) == sorted([a] for a in actions), "not one line 'upper' for each action")
    demand(words["vector"] and len(words["value"]) == 1, "there is no line 'vector', or not one line 'value'")
    for i, (action, *follows) in words["vector"].items():
        demand(action in actions, f"vector {i}: {action[:40]!r} is not an action")
        demand({*follows} <= words["vector"].keys(), f"vector {i} goes on with one that does not exist")
        then = dict(zip(model.seen, follows, strict=True))
        for s in states:
            reward, weights, total = model.rows[s][action]
            later = sum(w * values["vector", then[z], t] for (z, t), w in weights.items())
            by = exact["vector", i, s] - reward - model.gamma * later / (total * scale)
            demand(by <= 0, f"vector {i}, state {s}: VALUE is too high", by)
    beliefs = {k: {s: values["point", k, s] for s in states if values["point", k, s]} for k in words["point"]}
    demand(all(min(belief.values(), default=0) > 0 for belief in beliefs.values()), "a WEIGHT is below 0, or all are 0")
    corner = {s: max(values["upper", k, s] for k in words["upper"]) for s in states}
    for k, [s] in ((k, belief) for k, belief in beliefs.items() if len(belief) == 1):
        corner[s] = min(corner[s], values["point", k, "HIGH "])

    def bound(weights: dict[str, int] | dict[str, Fraction], use: str) -> Fraction | int:
        """Return the bound of the uppers, or of a point and the corners, in units of 1/scale."""
        if use == "-":
            return max(sum(w * values["upper", k, s] for s, w in weights.items()) for k in words["upper"])
        share = min(Fraction(weights.get(s, 0), w) for s, w in beliefs[use].items())  # the rest is at corners
        gain = sum(w * (values["point", use, "HIGH "] - corner[s]) for s, w in beliefs[use].items())
        return sum(w * corner[s] for s, w in weights.items()) + share * gain

    def earned(belief: dict[str, int], action: str, uses: list[str]) -> Fraction:
        """Return the mean reward and, discounted, the bounds of what follows each observation."""
        rows, parts = {s: model.rows[s][action] for s in belief}, {view: dict[str, int]() for view in model.seen}
        total = lcm(*(own for _, _, own in rows.values()))
        for s, (_, weights, own) in rows.items():
            times = belief[s] * (total // own)
            for (view, after), w in weights.items():
                parts[view][after] = parts[view].get(after, 0) + times * w
        later = sum(bound(part, use) for part, use in zip(parts.values(), uses, strict=True) if part)
        reward = sum(mean * belief[s] for s, (mean, _, _) in rows.items())
        return (reward + model.gamma * later / (total * scale)) / sum(belief.values())

    for (k, [action]), s in product(words["upper"].items(), states):
        by = earned({s: 1}, action, ["-"] * n) - exact["upper", k, s]
        demand(by <= 0, f"upper {action}, state {s}: VALUE is too low", by)
    for k, uses in words["point"].items():
        demand({*uses} <= {"-", *beliefs}, f"point {k} uses one that does not exist")
        for i, action in enumerate(actions):
            by = earned(beliefs[k], action, uses[i * n : i * n + n]) - exact["point", k, "HIGH "]
            demand(by <= 0, f"point {k}, action {action}: HIGH is too low", by)
    low, high = words["value"]["0"]
    by = number(low) - sum(p * exact["vector", "0", s] for s, p in model.start.items())
    demand(by <= 0, "value: LOW is too high", by)
    by = Fraction(min(bound(model.start, k) for k in ("-", *beliefs))) / scale - number(high)
    demand(by <= 0, "value: HIGH is too low", by)
    return f"the value at the start is between {low} and {high}"


if __name__ == "__main__":
    try:
        print("right:", check(*(Path(name).read_text("utf-8-sig", "replace") for name in sys.argv[1:])))
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as wrong:
        sys.exit(f"refused: {wrong}")
