"""Check a proof about a decision problem in exact arithmetic: python verify.py MODEL.mdp PLAN.cert needs only Python.

MODEL.mdp is Cassandra's text, a statement in a line: discount: values: states: actions: T: ACTION : STATE : NEXT P and
R: ACTION : STATE : NEXT REWARD, where * is any. Numbers count as they are written, 0.1 as 1/10. What follows a pair is
divided by its sum, which must be within 1/500 of 1. A pair without T: is not legal; a state without legal pairs is an
end and earns 0. V is the most that any policy earns: discounted, and for discount 1 in total.

PLAN.cert has a line "state S LOW HIGH [ACTION [RANK RANK]]" for each state, ACTION - if there is none, and may have a
line "sha256 HEX" about the model. With rewards r, probabilities p and discount g, what is checked in every state is
    HIGH(s) >= r(s, a) + g sum p(t | s, a) HIGH(t)  for all a;  LOW(s) <= the same of LOW  for ACTION, or for some a.
So LOW <= V <= HIGH if g < 1, and who takes the ACTIONs for ever earns at least LOW. For g = 1 this needs two ranks, one
for HIGH and all a, one for LOW and ACTION: where the two sides are equal, a rank above 0 is smaller in some t, and a
rank of 0 is 0 in every t. And where it is 0, LOW(s) <= 0 <= HIGH(s): so what is still to come vanishes.
"""

import re
import sys
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import product
from math import lcm
from pathlib import Path

NUMBER = re.compile(r"[-+]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][-+]?[0-9]{1,3})?")


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


def integers(values: dict[str, Fraction]) -> tuple[dict[str, int], int]:
    """Return the values in units of 1/scale, and the scale."""
    scale = lcm(*(x.denominator for x in values.values()))
    return {k: x.numerator * (scale // x.denominator) for k, x in values.items()}, scale


class Model:
    """rows[s][a] = mean reward, {t: a whole number in proportion to p(t | s, a)}, sum of these numbers."""

    def __init__(self, text: str) -> None:
        head = dict[str, list[str]]()
        cells: dict[str, dict[tuple[str, ...], Fraction]] = {"T": {}, "R": {}}
        for line in filter(str.strip, (line.partition("#")[0] for line in text.splitlines())):
            key, *words = line.replace(":", " ").split()
            if key in cells:
                *cell, last = words[:3] + words[4 if words[3:4] == ["*"] else 3 :]
                demand(len(cell) == 3 and tuple(cell) not in cells[key], f"not plain, or given twice: {line[:60]!r}")
                cells[key][*cell] = number(last)
            else:
                count = key in ("states", "actions") and len(words) == 1 and words[0].isdecimal() and len(words[0]) < 7
                fine = key in ("discount", "values", "start", "states", "actions") and words and key not in head
                demand(fine, f"an unknown statement, or given twice: {line[:60]!r}")
                head[key] = [str(k) for k in range(int(words[0]))] if count else words
        for key, default in (("discount", "no discount:"), ("values", "reward"), ("states", ""), ("actions", "")):
            head.setdefault(key, [default])
        self.gamma, [kind] = number(head["discount"][0]), head["values"]
        self.rows = {state: dict[str, tuple[Fraction, dict[str, int], int]]() for state in head["states"]}
        demand(0 <= self.gamma <= 1 and len(self.rows) == len(head["states"]), "no discount in [0, 1], or equal states")
        demand(kind.rstrip("s") in ("reward", "cost"), f"values: {kind[:40]!r} is neither reward nor cost")
        self.actions, moves, rewards = head["actions"], dict[tuple[str, str], dict[str, Fraction]](), cells["R"]
        named, placed = {"*", *self.actions}, {"*", *self.rows}
        for action, state, after in (*cells["T"], *rewards):
            known = action in named and state in placed and after in placed
            demand(known, f"{action} : {state} : {after} are not an action and two states")
        for (action, state, after), p in cells["T"].items():
            demand(p >= 0 and "*" not in (action, state, after), f"T: {action} : {state} : {after} has a * or a minus")
            moves.setdefault((action, state), {})[after] = p
        for (action, state), row in moves.items():
            weights, scale = integers({after: p for after, p in row.items() if p})
            total, reward = sum(weights.values()), Fraction(0)
            demand(abs(total - scale) * 500 <= scale, f"T: {action} : {state} sums to {total / scale}, not 1")
            for after, weight in weights.items():
                about = {*product((action, "*"), (state, "*"), (after, "*"))} & rewards.keys()
                demand(len(about) < 2, f"two lines R: are about {action} : {state} : {after}")
                reward += sum(rewards[cell] for cell in about) * weight
            self.rows[state][action] = (reward if kind.startswith("reward") else -reward) / total, weights, total


def check(model_text: str, proof_text: str) -> str:
    """Return what is proved, in words, or raise Refused."""
    model, claims = Model(model_text), dict[str, list[str]]()
    for line in filter(str.strip, (line.partition("#")[0] for line in proof_text.splitlines())):
        key, *words = line.split()
        if key == "sha256":
            demand(words == [sha256(model_text.encode()).hexdigest()], "the proof is about another text of a model")
        else:
            fine = key == "state" and len(words) in (3, 4, 6) and words[0] not in claims
            demand(fine, f"odd, or twice: {line[:60]!r}")
            claims[words[0]] = [*words[1:], *["-", "0", "0"][len(words) - 3 :]]
    odd = [*(s for s in model.rows if s not in claims), *(s for s in claims if s not in model.rows)]
    demand(not odd, f"state {odd[:1]} has no line, or there is no such state")
    low, high, *ranks = ({s: number(claim[k]) for s, claim in claims.items()} for k in (0, 1, 3, 4))
    sides = (high, ranks[0], 1, max, "HIGH is too low"), (low, ranks[1], -1, min, "LOW is too high")
    for (bound, rank, sign, worst, wrong), (values, scale) in zip(sides, map(integers, (high, low)), strict=True):
        for s, claim in claims.items():
            actions = model.rows[s] if sign > 0 or claim[2] == "-" else [claim[2]]
            demand(claim[2] == "-" or claim[2] in model.rows[s], f"state {s}: {claim[2][:40]!r} is not legal")
            demand(claim[2] != "-" or model.gamma < 1 or not actions, f"state {s}: discount 1 needs ACTION and ranks")
            excess = dict[str, Fraction]()
            for action in actions:
                reward, weights, total = model.rows[s][action]
                later = Fraction(sum(w * values[t] for t, w in weights.items()), total * scale)
                excess[action] = sign * (reward + model.gamma * later - bound[s])
            by = worst(excess.values(), default=-sign * bound[s])
            demand(by <= 0, f"state {s}: {wrong}", by)
            demand(model.gamma < 1 or rank[s] > 0 or sign * bound[s] >= 0, f"state {s}: {wrong} for rank 0")
            for action in excess if model.gamma == 1 else ():
                after = [rank[t] for t in model.rows[s][action][1]]
                falls = min(after) < rank[s] if rank[s] > 0 else max(after) <= 0
                demand(excess[action] < 0 or falls, f"state {s}: the rank does not fall after {action}")
    sure = "; who takes the actions earns at least LOW" * all(
        c[2] != "-" or not model.rows[s] for s, c in claims.items()
    )
    widest = max(claims, key=lambda s: high[s] - low[s])
    return (
        f"V is in the interval of each of {len(claims)} states, the widest that of {widest}: {claims[widest][:2]}{sure}"
    )


if __name__ == "__main__":
    try:
        print("right:", check(*(Path(name).read_text("utf-8-sig", "replace") for name in sys.argv[1:])))
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as wrong:
        sys.exit(f"refused: {wrong}")
