"""Check a proof about a decision problem in exact arithmetic: python verify.py MODEL.mdp PLAN.cert needs only Python.

MODEL.mdp is Cassandra's text, a statement in a line: discount: values: states: actions: and then T: ACTION : STATE :
NEXT P and R: ACTION : STATE : NEXT REWARD; in R:, * is any. Numbers count as they are written, 0.1 as 1/10. What
follows a pair is divided by its sum, which must be within 1/500 of 1. A pair without T: is not legal; a state without
legal pairs is an end and earns 0. V is the most that any policy earns: discounted, and for discount 1 in total.

PLAN.cert has a line "state S LOW HIGH [ACTION [RANK RANK]]" for each state; ACTION is - if there is none. With rewards
r, probabilities p and discount g, what is checked in every state is
    HIGH(s) >= r(s, a) + g sum p(t | s, a) HIGH(t)  for all a;  LOW(s) <= the same of LOW  for ACTION, or for some a.
So LOW <= V <= HIGH if g < 1, and who takes the ACTIONs for ever earns at least LOW. For g = 1 this needs two ranks, one
for HIGH and all a, one for LOW and ACTION: where the two sides are equal, a rank above 0 is smaller in some t, and a
rank of 0 is 0 in every t. And where it is 0, LOW(s) <= 0 <= HIGH(s): so what is still to come vanishes.
"""

import re
import sys
from fractions import Fraction
from math import lcm
from pathlib import Path

NUMBER = re.compile(r"[-+]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][-+]?[0-9]{1,3})?")


def demand(holds: object, why: str, by: Fraction | None = None) -> None:
    """Go on only if it holds."""
    if not holds:
        raise ValueError(why if by is None else f"{why}, by {float(min(by, Fraction(10) ** 300)):.6g}")


def number(word: str) -> Fraction:
    """Return the exact number."""
    demand(NUMBER.fullmatch(word), f"{word[:40]!r} is not a number")
    return Fraction(word)


class Model:
    """rows[s][a] = mean reward, {t: a whole number in proportion to p(t | s, a)}, sum of these numbers."""

    def __init__(self, text: str) -> None:
        head, known = dict[str, list[str]](), {"states": {"*"}, "actions": {"*"}}
        cells = {key: dict[tuple[str, str], dict[str, Fraction]]() for key in ("T", "R")}
        for line in filter(str.strip, re.sub("#.*", "", text).splitlines()):
            match line.replace(":", " ").split():
                case ["T" | "R" as key, action, state, after, *none, value] if none in ([], ["*"]):
                    row = cells[key].setdefault((action, state), {})
                    fine = action in known["actions"] and state in known["states"] and after in known["states"]
                    demand(fine and after not in row, f"not of an action and two states, or twice: {line[:60]!r}")
                    row[after] = number(value)
                case ["discount" | "values" | "start" | "states" | "actions" as key, *rest] if rest and key not in head:
                    count = key in known and re.fullmatch("[0-9]{1,6}", " ".join(rest))
                    head[key] = [str(k) for k in range(int(rest[0]))] if count else rest
                    known[key] = {"*", *head[key]}
                case _:
                    raise ValueError(f"an unknown statement, or given twice: {line[:60]!r}")
        fine = "discount" in head and all(1 < len(known[key]) == len(head[key]) + 1 for key in ("states", "actions"))
        demand(fine, "no discount:, no states: or no actions:, or equal states or actions")
        self.gamma, kind = number(" ".join(head["discount"])), " ".join(head.get("values", ["reward"]))
        demand(0 <= self.gamma <= 1, "no discount in [0, 1]")
        demand(kind.rstrip("s") in ("reward", "cost"), f"values: {kind[:40]!r} is neither reward nor cost")
        self.actions, sign = head["actions"], 1 if kind.startswith("reward") else -1
        self.rows = {state: dict[str, tuple[Fraction, dict[str, int], int]]() for state in head["states"]}
        for (action, state), row in cells["T"].items():
            scale, reward = lcm(*(p.denominator for p in row.values())), Fraction(0)
            weights = {after: int(p * scale) for after, p in row.items() if p}
            total = sum(weights.values())
            fine = "*" not in (action, state, *row) and min(row.values()) >= 0 and abs(total - scale) * 500 <= scale
            demand(fine, f"T: {action} : {state} has a * or a minus, or sums to {total / scale}, not 1")
            about = [cells["R"].get(pair, {}) for pair in ((action, state), (action, "*"), ("*", state), ("*", "*"))]
            for after, weight in weights.items():
                paid = [rewards[t] for rewards in about for t in (after, "*") if t in rewards]
                demand(len(paid) < 2, f"two lines R: are about {action} : {state} : {after}")
                reward += sum(paid) * weight
            self.rows[state][action] = sign * reward / total, weights, total


def check(model_text: str, proof_text: str) -> str:
    """Return what is proved, in words, or raise ValueError; bounds and ranks are in units of 1/scale."""
    model, claims = Model(model_text), dict[str, list[str]]()
    for line in filter(str.strip, re.sub("#.*", "", proof_text).splitlines()):
        match line.split():
            case ["state", s, low, high, *rest] if s not in claims and len(rest) in (0, 1, 3):
                claims[s] = [low, high, *rest, *["-", "0", "0"][len(rest) :]]
            case _:
                raise ValueError(f"odd, or twice: {line[:60]!r}")
    odd = sorted(model.rows.keys() ^ claims.keys())
    demand(not odd, f"state {odd[:1]} has no line, or there is no such state")
    scale = lcm(*(number(word).denominator for claim in claims.values() for word in claim[:2] + claim[3:]))
    low, high, up, down = ({s: int(number(claim[k]) * scale) for s, claim in claims.items()} for k in (0, 1, 3, 4))
    for sign, most, bound, rank, what in (1, max, high, up, "HIGH is too low"), (-1, min, low, down, "LOW is too high"):
        for s, (_, _, action, *_) in claims.items():
            rows, excess = model.rows[s], list[Fraction]()
            demand(action == "-" or action in rows, f"state {s}: {action[:40]!r} is not legal")
            demand(action != "-" or model.gamma < 1 or not rows, f"state {s}: discount 1 needs ACTION and ranks")
            for a in rows if sign > 0 or action == "-" else [action]:
                reward, weights, total = rows[a]
                later = Fraction(sum(w * bound[t] for t, w in weights.items()), total)
                excess.append(sign * (reward * scale + model.gamma * later - bound[s]))
                falls = any(rank[t] < rank[s] for t in weights) if rank[s] > 0 else all(rank[t] <= 0 for t in weights)
                demand(model.gamma < 1 or excess[-1] != 0 or falls, f"state {s}: the rank does not fall after {a}")
            by = Fraction(most(excess, default=-sign * bound[s])) / scale
            demand(by <= 0, f"state {s}: {what}", by)
            demand(model.gamma < 1 or rank[s] > 0 or sign * bound[s] >= 0, f"state {s}: {what} for rank 0")
    sure = "; who takes the actions earns at least LOW" * all(claims[s][2] != "-" or not model.rows[s] for s in claims)
    wide = max(claims, key=lambda s: high[s] - low[s])
    return f"V is in the interval of each of {len(claims)} states, the widest that of {wide}: {claims[wide][:2]}{sure}"


if __name__ == "__main__":
    try:
        print("right:", check(*(Path(name).read_text("utf-8-sig", "replace") for name in sys.argv[1:])))
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as wrong:
        sys.exit(f"refused: {wrong}")
