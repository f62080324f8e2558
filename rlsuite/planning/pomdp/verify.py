"""Check a proof about hidden states in exact arithmetic: python verify.py MODEL.pomdp PLAN.cert needs only Python.

MODEL.pomdp is Cassandra's text, written out, a statement in a line; in R:, the last two may be *. Numbers count as they
are written, 0.1 as 1/10; probabilities are divided by their sums. V is the most that any policy earns, discounted. For
x . b = sum x(s) b(s), the lines of PLAN.cert say, with all in the order of the model, and points and vectors from 0 on,
    vector ACTION NEXT... VALUE...  VALUE . b <= V(b): after observation z, the plan goes on with vector NEXT[z]
    upper ACTION VALUE...           V(b) <= max VALUE . b of all uppers, as in the fast informed bound
    point USE... WEIGHT... HIGH     V(b) <= HIGH for the WEIGHTs b, by point USE and the corners, or, for -, the uppers
"""

import re
import sys
from collections import defaultdict
from fractions import Fraction
from math import inf, lcm, nextafter
from pathlib import Path


def demand(holds: object, why: str) -> None:
    """Go on only if it holds."""
    if not holds:
        raise ValueError(why)


def read(text: str, shapes: dict[str, tuple[int, int]]) -> list[list[tuple[list[str], list[Fraction]]]]:
    """Return the lines of each kind: words, and then numbers, as many as its shape says; -1 is any number of them."""
    form = re.compile(r"[-+]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][-+]?[0-9]{1,3})?")
    lines = {kind: list[tuple[list[str], list[Fraction]]]() for kind in shapes}
    for line in filter(str.strip, re.sub(r"(?m)^\s*values\s*:\s*rewards?\s*(?=#|$)|#.*", "", text).splitlines()):
        kind, *words = line.replace(":", " ").split() or [""]
        at, count = (len(words) if k < 0 else k for k in shapes.get(kind, (0, sys.maxsize)))
        demand(len(words) == at + count and all(map(form.fullmatch, words[at:])), f"not understood: {line[:60]!r}")
        lines[kind].append((words[:at], [*map(Fraction, words[at:])]))
    return [*lines.values()]


class Model:
    """rows[s, a] = mean reward, {(observation, next state): a whole number in proportion}, sum of these numbers."""

    def __init__(self, text: str) -> None:
        heads = {"discount": (0, 1), "start": (0, -1)} | dict.fromkeys(("states", "actions", "observations"), (-1, 0))
        *first, moves, seen, paid = read(text, heads | {"T": (3, 1), "O": (3, 1), "R": (4, 1)})
        demand([len(lines) for lines in first] == [1] * 5, f"not one line each of {', '.join(heads)}")
        (_, [self.gamma]), (_, start), *names = (lines[0] for lines in first)
        named = [[*map(str, range(int(w[0])))] if re.fullmatch("[0-9]{1,6}", " ".join(w)) else w for w, _ in names]
        demand(all(len({*words, "*"}) == len(words) + 1 > 1 for words in named), "a name is missing, repeated or *")
        self.states, self.actions, self.seen = S, A, Z = [dict.fromkeys(words) for words in named]
        demand(0 <= self.gamma < 1 and len(start) == len(S), "no discount in [0, 1), or start: is not of all states")
        paid = [([a, s, t, z], r) for (a, s, to, z), r in paid for t in (S if to == "*" else [to])]
        cells = defaultdict[tuple[str, ...], dict[str, Fraction]](dict, {("start",): dict(zip(S, start, strict=True))})
        for kind, lines, columns in ("T", moves, (A, S, S)), ("O", seen, (A, S, Z)), ("R", paid, (A, S, S, {*Z, "*"})):
            for (*at, last), [value] in sorted(lines, key=lambda line: line[0][-1] != "*"):
                row, fine = cells[kind, *at], all(word in of for word, of in zip((*at, last), columns, strict=True))
                demand(fine and not {last, "*"} & row.keys(), f"{kind} {' '.join(at)} {last} is odd, or given twice")
                row[last] = value
        for at in [("start",), *((kind, a, s) for kind in "TO" for a in A for s in S)]:
            fine, total = min(cells[at].values(), default=-1) >= 0, sum(cells[at].values(), Fraction(0))
            demand(fine and abs(total - 1) * 500 <= 1, f"{' '.join(at)} has the sum {float(total)}, not 1, or a minus")
            cells[at] = {last: p / total for last, p in cells[at].items()}
        self.start = cells["start",]
        self.rows = dict[tuple[str, str], tuple[Fraction, dict[tuple[str, str], int], int]]()
        for s, a in ((s, a) for s in S for a in A):
            joint = {(z, t): p * o for t, p in cells["T", a, s].items() for z, o in cells["O", a, t].items()}
            reward = sum(p * (r := cells["R", a, s, t]).get(z, r.get("*", 0)) for (z, t), p in joint.items())
            total = lcm(*(p.denominator for p in joint.values()))
            self.rows[s, a] = Fraction(reward), {at: int(p * total) for at, p in joint.items() if p}, total


def check(model_text: str, proof_text: str) -> str:
    """Return what is proved, in words, or raise ValueError; whole numbers are in units of 1/scale."""
    model = Model(model_text)
    S, A, n = model.states, model.actions, len(model.seen)
    kinds = read(proof_text, {"vector": (1 + n, len(S)), "upper": (1, len(S)), "point": (n * len(A), len(S) + 1)})
    scale = lcm(*(x.denominator for lines in kinds for _, row in lines for x in row))
    vectors, uppers, points = ([(words, [int(x * scale) for x in row]) for words, row in lines] for lines in kinds)
    demand(vectors and {a for [a], _ in uppers} == A.keys(), "no line vector, or not an upper of each action")
    planes = {f"vector {k}": [dict(zip(S, row, strict=True))] for k, (_, row) in enumerate(vectors)}
    planes["-"] = [dict(zip(S, row, strict=True)) for _, row in uppers]
    beliefs = {str(k): {s: w for s, w in zip(S, row[:-1], strict=True) if w} for k, (_, row) in enumerate(points)}
    demand(all(min(b.values(), default=0) > 0 for b in beliefs.values()), "a WEIGHT is below 0, or all are 0")
    high = {str(k): row[-1] for k, (_, row) in enumerate(points)}
    corner = {s: min([max(u[s] for u in planes["-"]), *(high[k] for k in high if [*beliefs[k]] == [s])]) for s in S}
    gain = {k: sum(w * (high[k] - corner[s]) for s, w in belief.items()) for k, belief in beliefs.items()}

    def bound(part: dict[str, int] | dict[str, Fraction], use: str) -> Fraction | int:
        """Return the bound of a vector, of the uppers, or of a point and the corners, times the sum of a part."""
        if use in planes:
            return max(sum(w * plane[s] for s, w in part.items()) for plane in planes[use])
        share = min(Fraction(part.get(s, 0), w) for s, w in beliefs[use].items())  # the rest is at corners
        return sum(w * corner[s] for s, w in part.items()) + share * gain[use]

    def hold(what: str, sign: int, belief: dict[str, int], action: str, uses: list[str], claim: int) -> None:
        """Demand that a claim is at least, or at most for -1, the reward and, discounted, bounds of what follows."""
        demand(action in A and all(z in planes or z in beliefs for z in uses), f"{what}: no such action or NEXT or USE")
        rows, parts = {s: model.rows[s, action] for s in belief}, {z: dict[str, int]() for z in model.seen}
        total = lcm(*(own for _, _, own in rows.values()))
        for s, (_, weights, own) in rows.items():
            for (z, t), w in weights.items():
                parts[z][t] = parts[z].get(t, 0) + belief[s] * (total // own) * w
        later = sum(bound(part, use) for part, use in zip(parts.values(), uses, strict=True) if part)
        earned = sum(mean * belief[s] for s, (mean, _, _) in rows.items()) + model.gamma * later / (total * scale)
        by = sign * (earned / sum(belief.values()) - Fraction(claim, scale))
        demand(by <= 0, f"{what}: it does not hold, by {float(min(max(by, 0), Fraction(10) ** 300)):.6g}")

    for kind, sign, lines in ("vector", -1, vectors), ("upper", 1, uppers):
        for k, ([a, *then], row) in enumerate(lines):
            for s, value in zip(S, row, strict=True):
                hold(f"{kind} {k}, state {s}", sign, {s: 1}, a, [f"vector {z}" for z in then] or ["-"] * n, value)
    for (k, belief), (uses, _) in zip(beliefs.items(), points, strict=True):
        for i, a in enumerate(A):
            hold(f"point {k}, action {a}", 1, belief, a, uses[i * n : i * n + n], high[k])
    low, most = bound(model.start, "vector 0") / scale, min(bound(model.start, use) for use in ("-", *beliefs)) / scale
    return f"the value at the start is between {nextafter(low, -inf)} and {nextafter(most, inf)}"


if __name__ == "__main__":
    try:
        print("right:", check(*(Path(name).read_text("utf-8-sig", "replace") for name in sys.argv[1:])))
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as wrong:
        sys.exit(f"refused: {wrong}")
