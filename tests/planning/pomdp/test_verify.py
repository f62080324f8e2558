"""The checker of proofs about hidden states."""

import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import rlsuite.planning.verify as plain
from rlsuite.models import POMDP
from rlsuite.planning import proof, solve
from rlsuite.planning.pomdp import verify
from rlsuite.planning.pomdp.proof import proof_of_plan
from rlsuite.planning.pomdp.solution import AlphaVectorSolution

PROBLEMS = Path(__file__).parents[2] / "problems"

EARS = """discount: 0.5
values: cost
states: l r
actions: listen
observations: hl hr
start: 0.5 0.5
T: listen : l : l 1
T: listen : r : r 1
O: * : l : hl 0.8
O: * : l : hr 0.2
O: * : r : hr 0.8
O: * : r : hl 0.2
R: listen : * : * : hl 1
R: listen : * : * : hr 3
"""
"""Who hears hl pays 1, who hears hr 3: in l 1.4 on average, in r 2.6, and for ever twice that."""

RIGHT = "vector listen 0 0 -2.8 -5.2\nupper listen -2.8 -5.2\npoint 0 0 -4 1 1\nvalue -4 -4\n"


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
        assert verify.check(EARS, right) == "the value at the start is between -4 and -4"


def test_it_runs_alone(tmp_path):
    (tmp_path / "ears.pomdp").write_text(EARS)
    (tmp_path / "plan.cert").write_text(RIGHT)
    command = [sys.executable, "-I", "-S", verify.__file__, tmp_path / "ears.pomdp", tmp_path / "plan.cert"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "right: the value at the start is between -4 and -4\n")


def test_it_is_short():
    assert len(Path(verify.__file__).read_text().splitlines()) <= 180


def test_what_both_checkers_have_in_common_is_the_same():
    def shared(path: str) -> str:
        found = re.search(r"\nNUMBER = .*\n|$", Path(path).read_text())
        common = re.search(r"class Refused[\s\S]*?\n\n\n(?=class Model|def shares)", Path(path).read_text())
        assert found is not None
        assert common is not None
        return found[0] + common[0]

    assert shared(plain.__file__) == shared(verify.__file__)


def test_refusals_name_what_is_wrong():
    for change, sentence in [
        (("0 0 -2.8 -5.2", "0 0 -2.8 -5"), "vector 0, state r: VALUE is too high, by 0.1"),
        (("upper listen -2.8", "upper listen -3"), "upper listen, state l: VALUE is too low, by 0.1"),
        (("0 -4 1", "0 -4.5 1"), "point 0, action listen: HIGH is too low, by 0.4"),
        (("value -4 -4", "value -3.5 -3"), "value: LOW is too high, by 0.5"),
        (("value -4 -4", "value -4 -5"), "value: HIGH is too low, by 1"),
        (("vector listen 0 0", "vector listen 0 1"), "goes on with one that does not exist"),
        (("vector listen 0 0", "vector listen 1 1 -9 -9\nvector listen 1 1"), "value: LOW is too high, by 5"),
        (("vector listen 0 0", "vector listen 0 -1"), "goes on with one that does not exist"),
        (("vector listen 0 0", "vector listen 0"), "odd, or not of so many words: 'vector listen 0 -2.8 -5.2'"),
        (("vector listen", "vector speak"), "vector 0: 'speak' is not an action"),
        (("vector listen 0 0 -2.8 -5.2\n", ""), "no line 'vector'"),
        (("upper listen -2.8 -5.2\n", ""), "not one line 'upper' for each action"),
        (("upper listen", "upper speak"), "not one line 'upper' for each action"),
        (("-4 1 1", "-4 0 0"), "a WEIGHT is below 0, or all are 0"),
        (("-4 1 1", "-4 1 -1"), "a WEIGHT is below 0, or all are 0"),
        (("-4 1 1", "-4 1"), "odd, or not of so many words: 'point 0 0 -4 1'"),
        (("point 0 0", "point 1 0"), "uses one that does not exist"),
        (("point 0 0", "point -1 0"), "uses one that does not exist"),
        (("value -4 -4\n", ""), "not one line 'value'"),
        (("value -4 -4", "value -4 nan"), "'nan' is not a number"),
        (("value -4", "state l -3 -3\nvalue -4"), "odd, or not of so many words: 'state l -3 -3'"),
        (("value -4", "sha256 00\nvalue -4"), "another text"),
    ]:
        assert change[0] in RIGHT
        with pytest.raises(verify.Refused, match=sentence):
            verify.check(EARS, RIGHT.replace(*change))


def test_damaged_models_are_refused():
    for change, sentence in [
        (("discount: 0.5", "discount: 1"), "no discount"),
        (("discount: 0.5", "discount: 0.5\ndiscount: 0.6"), "an unknown statement, or given twice"),
        (("states: l r", "states: l r\nstates: l r"), "an unknown statement, or given twice"),
        (("values: cost", "values: fun"), "'fun' is neither reward nor cost"),
        (("T: listen : l : l 1\n", ""), "T: listen : l has a minus or the sum 0.0, not 1"),
        (("T: listen : l : l 1", "T: listen : l : l 2\nT: listen : l : r -1"), "T: listen : l has a minus"),
        (("states: l r", "states: l r r"), "or equal ones"),
        (("states: l r", "states: l r *"), "or equal ones"),
        (("O: * : l : hl 0.8", "O: * : * : hl 0.8"), r"not of actions\* states observations"),
        (("O: * : l : hl 0.8\nO: * : l : hr 0.2\n", ""), "O: listen : l is missing"),
        (("O: * : l : hl 0.8", "O: * : l : hl 0.7"), "or the sum 0.9, not 1"),
        (("O: * : l : hl 0.8", "O: listen : l : hl 1\nO: * : l : hl 0.8"), "given twice"),
        (("R: listen : * : * : hl 1", "R: listen : * : * : hl 1\nR: listen : l : * : * 1"), "two lines R:"),
        (("R: listen : * : * : hl 1", "R: listen : * : * 1"), r"not of actions\* states\* states\* observations\*"),
        (("R: listen : * : * : hl 1", "R: listen : * : * : x 1"), r"not of actions\* states\* states\* observations\*"),
        (("T: listen : l : l 1", "T: listen\nidentity"), "not of actions states states, or given twice: 'T: listen'"),
        (("T: listen : l : l 1", "T: listen : * : l 1"), "not of actions states states"),
        (("T: listen : l : l 1", "T: listen : l : x 1"), "not of actions states states"),
        (("start: 0.5 0.5", "start: somewhere"), "start: is neither a state nor a number for each"),
        (("start: 0.5 0.5", "start: 0.5 0.6"), "start: has a minus or the sum 1.1, not 1"),
    ]:
        assert change[0] in EARS
        with pytest.raises(verify.Refused, match=sentence):
            verify.check(EARS.replace(*change), RIGHT)


def mutated(rng: random.Random, text: str) -> str:
    """A proof with one change that makes it false: nothing in it can be better by as much."""
    lines = text.splitlines()
    states = len(next(line for line in lines if line.startswith("upper")).split()) - 2
    while True:
        k = rng.randrange(len(lines))
        words = lines[k].split()
        kind = rng.randrange(4)
        bounds = words[:-states] if words[0] == "point" else words
        places = [at for at, word in enumerate(bounds) if "." in word]
        if kind == 0 and places:  # a bound that is better by 1
            at = rng.choice(places)
            better = 1 if words[0] == "vector" or (words[0] == "value" and at == 1) else -1
            if words[0] == "upper":  # the others may be what counts
                continue
            words[at] = f"{float(Fraction(words[at]) + better)!r}"
        elif kind == 1 and places:
            words[rng.choice(places)] = rng.choice(["nan", "inf", "1e999999", "x"])
        elif kind == 2 and words[0] in ("value", "upper"):
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
            with pytest.raises(verify.Refused):
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
