"""The checker of proofs about hidden states."""

import math
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from rlsuite.models import POMDP
from rlsuite.planning import proof, solve
from rlsuite.planning.pomdp import verify
from rlsuite.planning.pomdp.proof import proof_of_plan
from rlsuite.planning.pomdp.solution import AlphaVectorSolution

PROBLEMS = Path(__file__).parents[2] / "problems"

EARS = """discount: 0.5
values: reward
states: l r
actions: listen
observations: hl hr
start: 0.5 0.5
T: listen : l : l 1
T: listen : r : r 1
O: listen : l : hl 0.8
O: listen : l : hr 0.2
O: listen : r : hr 0.8
O: listen : r : hl 0.2
R: listen : l : l : hl -1
R: listen : r : r : hl -1
R: listen : l : l : hr -3
R: listen : r : r : hr -3
"""
"""Who hears hl pays 1, who hears hr 3: in l 1.4 on average, in r 2.6, and for ever twice that."""

RIGHT = "vector listen 0 0 -2.8 -5.2\nupper listen -2.8 -5.2\npoint 0 0 1 1 -4\n"


def written(name: str) -> tuple[str, str, AlphaVectorSolution]:
    """The text of a model, its proof, and the plan that is proved."""
    model = POMDP.read(PROBLEMS / f"{name}.pomdp")
    plan = solve(model, "sarsop", gap=1e-4)
    text = proof.text_of(model)
    return text, proof_of_plan(text, 0, plan.alpha_vectors, plan.actions), plan


def bounds(sentence: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?[0-9.]+", sentence)]


def test_by_hand():
    for use in ("0 0", "- 0", "- -"):
        right = RIGHT.replace("point 0 0", f"point {use}")
        low, high = bounds(verify.check(EARS, right))
        assert low == math.nextafter(-4, -math.inf)
        assert high == math.nextafter(-4, math.inf)
    two = RIGHT.replace("vector listen 0 0", "vector listen 1 1 -9 -9\nvector listen 1 1")
    assert bounds(verify.check(EARS, two))[0] == math.nextafter(-9, -math.inf)
    assert verify.check(EARS, RIGHT + "vector listen 0 1 -1e400 -1e400\n") == verify.check(EARS, RIGHT)


def test_names_that_are_numbers_and_rewards_for_any_observation():
    """The same with numbers for names, and a reward for any observation."""
    text = EARS.replace("states: l r", "states: 2").replace("observations: hl hr", "observations: 2")
    text = re.sub(r"\b(l|hl)\b", "0", re.sub(r"\b(r|hr)\b", "1", text))
    assert verify.check(text, RIGHT) == verify.check(EARS, RIGHT)
    for line in ("values : rewards  ", "values: reward # or cost", "# R: \x0c T: \u2028 x\nvalues:reward"):
        assert verify.check(EARS.replace("values: reward", line), RIGHT) == verify.check(EARS, RIGHT)
    one = re.sub(r"(?m)^R: .*hr.*\n", "", EARS).replace(": hl -1", ": * -1")
    right = RIGHT.replace("-2.8 -5.2", "-2 -2").replace("-4", "-2")
    assert bounds(verify.check(one, right)) == [math.nextafter(-2, -math.inf), math.nextafter(-2, math.inf)]


def test_it_runs_alone(tmp_path):
    (tmp_path / "ears.pomdp").write_text(EARS)
    (tmp_path / "plan.cert").write_text(RIGHT)
    command = [sys.executable, "-I", "-S", verify.__file__, tmp_path / "ears.pomdp", tmp_path / "plan.cert"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"right: {verify.check(EARS, RIGHT)}\n")


def test_it_is_short():
    assert len(Path(verify.__file__).read_text().splitlines()) <= 120


def test_refusals_name_what_is_wrong():
    for change, sentence in [
        (("0 0 -2.8 -5.2", "0 0 -2.8 -5"), "vector 0, state r: it does not hold, by 0.1"),
        (("upper listen -2.8", "upper listen -3"), "upper 0, state l: it does not hold, by 0.1"),
        (("1 1 -4", "1 1 -4.5"), "point 0, action listen: it does not hold, by 0.4"),
        (("vector listen 0 0", "vector listen 0 1"), "vector 0, state l: no such action or NEXT or USE"),
        (("vector listen 0 0", "vector listen 0 -1"), "no such action or NEXT or USE"),
        (("vector listen 0 0", "vector listen 0 -"), "no such action or NEXT or USE"),
        (("vector listen 0 0", "vector listen 0"), "not understood: 'vector listen 0 -2.8 -5.2'"),
        (("vector listen", "vector speak"), "vector 0, state l: no such action or NEXT or USE"),
        (("vector listen 0 0 -2.8 -5.2\n", ""), "no line vector"),
        (("upper listen -2.8 -5.2\n", ""), "not an upper of each action"),
        (("upper listen", "upper speak"), "not an upper of each action"),
        (("1 1 -4", "0 0 -4"), "a WEIGHT is below 0, or all are 0"),
        (("1 1 -4", "1 -1 -4"), "a WEIGHT is below 0, or all are 0"),
        (("1 1 -4", "1 -4"), "not understood: 'point 0 0 1 -4'"),
        (("point 0 0", "point 1 0"), "point 0, action listen: no such action or NEXT or USE"),
        (("point 0 0", "point -1 0"), "no such action or NEXT or USE"),
        (("1 1 -4", "1 1 -4\n:"), "not understood: ':'"),
        (("1 1 -4", "1 1 nan"), "not understood: 'point 0 0 1 1 nan'"),
        (("1 1 -4", "1 1 -1/3"), "not understood"),
        (("1 1 -4", "1 1 -4e9999"), "not understood"),
        (("point 0", "state l -3 -3\npoint 0"), "not understood: 'state l -3 -3'"),
    ]:
        assert change[0] in RIGHT
        with pytest.raises(ValueError, match=sentence):
            verify.check(EARS, RIGHT.replace(*change))


def test_vectors_are_no_upper_bounds():
    """A point must not rest on what a plan earns."""
    low = RIGHT.replace("-2.8 -5.2\nupper", "-9 -9\nupper").replace("1 1 -4", "1 1 -6")
    for use in ("0 0", "- -", "vector_0 0"):
        with pytest.raises(ValueError, match="point 0, action listen"):
            verify.check(EARS, low.replace("point 0 0", f"point {use}"))


def test_damaged_models_are_refused():
    for change, sentence in [
        (("discount: 0.5", "discount: 1"), "no discount"),
        (("discount: 0.5", "discount: 0.5 0.5"), "not understood"),
        (("discount: 0.5", "discount: 0.5\ndiscount: 0.6"), "not one line each of discount, start, states"),
        (("states: l r", "states: l r\nstates: l r"), "not one line each"),
        (("actions: listen\n", ""), "not one line each"),
        (("values: reward", "values: cost"), "not understood: 'values: cost'"),
        (("T: listen : l : l 1\n", ""), "T listen l has the sum 0.0, not 1, or a minus"),
        (
            ("T: listen : l : l 1", "T: listen : l : l 2\nT: listen : l : r -1"),
            "T listen l has the sum 1.0, not 1, or a",
        ),
        (("states: l r", "states: l r q"), "start: is not of all states"),
        (("states: l r", "states: l r r"), "a name is missing, repeated or *"),
        (("observations: hl hr", "observations: hl hr hl"), "a name is missing, repeated or *"),
        (("actions: listen", "actions: listen *"), "a name is missing, repeated or *"),
        (("actions: listen", "actions:"), "a name is missing, repeated or *"),
        (("start: 0.5 0.5", "start: 0.5 0.5 0"), "start: is not of all states"),
        (("O: listen : l : hl 0.8", "O: listen : * : hl 0.8"), r"O listen \* hl is odd, or given twice"),
        (("O: listen : l : hl 0.8", "O: listen : l : * 0.8"), r"O listen l \* is odd, or given twice"),
        (("O: listen : l : hl 0.8\nO: listen : l : hr 0.2\n", ""), "O listen l has the sum 0.0"),
        (("O: listen : l : hl 0.8", "O: listen : l : hl 0.7"), "has the sum 0.9, not 1"),
        (("O: listen : l : hl 0.8", "O: listen : l : hl 0.8\nO: listen : l : hl 0.8"), "or given twice"),
        (("hl -1\n", "hl -1\nR: listen : l : l : * 1\n"), "R listen l l hl is odd, or given twice"),
        (("hl -1\n", "hl -1\nR: listen : l : l : hl 1\n"), "R listen l l hl is odd, or given twice"),
        (("R: listen : l : l : hl -1", "R: listen : l : l -1"), "not understood"),
        (("R: listen : l : l : hl -1", "R: listen : l : l : x -1"), "R listen l l x is odd"),
        (("T: listen : l : l 1", "T: listen\nidentity"), "not understood: 'T: listen'"),
        (("T: listen : l : l 1", "T: listen : * : l 1"), r"T listen \* l is odd"),
        (("T: listen : l : l 1", "T: listen : l : x 1"), "T listen l x is odd"),
        (("start: 0.5 0.5", "start: uniform"), "not understood"),
        (("start: 0.5 0.5", "start: 0.5 0.6"), "start has the sum 1.1, not 1"),
    ]:
        assert change[0] in EARS
        with pytest.raises(ValueError, match=sentence):
            verify.check(EARS.replace(change[0], change[1], 1), RIGHT)


def mutated(rng: random.Random, text: str) -> str:
    """A proof with one change that makes it false: nothing in it can be better by as much."""
    lines = text.splitlines()
    while True:
        k = rng.randrange(len(lines))
        words = lines[k].split()
        kind = rng.randrange(4)
        first = len(words) - 1 if words[0] == "point" else 0
        places = [at for at in range(first, len(words)) if "." in words[at]]
        if kind == 0 and places:  # a bound that is better by 1
            at = rng.choice(places)
            better = 1 if words[0] == "vector" else -1
            if words[0] == "upper":  # the others may be what counts
                continue
            words[at] = f"{float(Fraction(words[at]) + better)!r}"
        elif kind == 1 and places:
            words[rng.choice(places)] = rng.choice(["nan", "inf", "1e999999", "x"])
        elif kind == 2 and words[0] == "upper":
            words = []
        elif kind == 3 and words[0] in ("vector", "upper"):
            words[1] = "nothing"
        else:
            continue
        return "\n".join([*lines[:k], " ".join(words), *lines[k + 1 :]])


def refused_mutants(names: list[str], wanted: int) -> None:
    rng = random.Random(2)
    for name in names:
        text, lines, _ = written(name)
        verify.check(text, lines)
        for _ in range(wanted // len(names)):
            mutant = mutated(rng, lines)
            with pytest.raises(ValueError, match=r"\w"):
                verify.check(text, mutant)


def test_50_mutants_are_refused():
    refused_mutants(["two-doors", "cups"], 50)


@pytest.mark.slow
def test_1000_mutants_are_refused():
    refused_mutants(["two-doors", "cups", "ferry", "mouse"], 1000)


def test_point_of_the_tiger_is_the_published_optimum():
    """19.3713683559 by pomdp-solve, which goes on until a sweep changes 1e-9: it is below the optimum by up to 2e-8."""
    text, lines, _ = written("two-doors")
    low, high = bounds(verify.check(text, lines))
    assert 19.3713683559 <= low <= high <= 19.3713683559 + 2.1e-8
    assert high - low < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in PROBLEMS.glob("*.pomdp")))
def test_every_file_of_examples_is_proved_as_closely_as_it_was_solved(name):
    text, lines, plan = written(name)
    low, high = bounds(verify.check(text, lines))
    assert low <= plan.upper_bound
    assert high >= plan.lower_bound
    assert high - low <= 2e-4
