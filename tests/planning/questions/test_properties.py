"""Properties in PRISM's words against the functions that answer them, and what is said about all others."""

from pathlib import Path

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.planning import check_property, expected_until, long_run_average, reach

STATES = ["ready", "waiting", "done", "lost"]


@pytest.fixture
def gamble():
    """One may wait at no cost, or gamble for 2; the model pays for each step."""
    table = [[1, 1], [0, {2: 0.5, 3: 0.5}], [2, 2], [3, {0: 0.25, 3: 0.75}]]
    reward = [[-1, -1], [0, -2], [0, 0], [-3, -1]]
    return rl.MDP.from_successors(table, reward, gamma=0.9, start=0, state_labels=STATES)


def test_properties_mean_what_the_functions_compute(gamble):
    done = [2]
    for text, values in (
        ('Pmax=? [F "done"]', reach(gamble, done).value),
        ('Pmin=? [ F "done" ]', reach(gamble, done, objective="min").value),
        ('Pmax=?[!"lost" U "done"]', reach(gamble, done, avoid="lost").value),
        ('Pmax=? ["ready"|"waiting" U<=3 "done"]', reach(gamble, done, avoid="lost", within=3).value),
        ('Pmin=? [F<=4 ("done" & !"ready") | "lost"]', reach(gamble, [2, 3], within=4, objective="min").value),
        ('Pmax=? [G !"done"]', 1 - reach(gamble, done, objective="min").value),
        ('Pmin=? [G<=3 "ready" => "waiting"]', 1 - reach(gamble, 0, within=3).value),
        ('Pmax=? [F "2"]', reach(gamble, done).value),
        ("Pmax=? [F false]", np.zeros(4)),
        ("Pmax=? [F true]", np.ones(4)),
        ('Pmax=? [true U "init"]', reach(gamble, 0).value),
        ('Pmax=? [F "deadlock"]', np.zeros(4)),
        ('Rmax=? [F "done"]', expected_until(gamble, done).value),
        ('Tmin=? [F "done"]', expected_until(gamble, done, of="steps", objective="min").value),
        ('Tmin =? [ F "done"]', expected_until(gamble, done, of="steps", objective="min").value),
        ("Rmax=? [C<=3]", rl.solve(gamble.replace(gamma=1.0), horizon=3).value),
        ("Rmin=? [C<=3]", -rl.solve(gamble.replace(gamma=1.0, reward=-gamble.reward), horizon=3).value),
        ("Rmax=? [S]", long_run_average(gamble).value),
        ('LRAmin=? ["lost"]', long_run_average(gamble, "lost", objective="min").value),
        ('Smax=? ["done"]', long_run_average(gamble, "done").value),
    ):
        found = check_property(gamble, text)
        assert found.values.tolist() == values.tolist(), text
        assert found.value == values[0] or np.isnan(values[0]), text
        assert found.holds is None
        assert found.converged


def test_comparisons_hold_for_every_policy(gamble):
    largest = reach(gamble, 2).value[0]
    for text, holds in (
        (f'P<={largest + 1e-6} [F "done"]', True),
        (f'P<{largest - 1e-6} [F "done"]', False),
        (f'P<={largest} [F "done" ]', True if largest == 1.0 else None),
        ('P>=0 [F "done"]', True),
        ('P>0 [F "done"]', False),
        ('P>=1 [F "init"]', True),
        ('P<=0.5 [F<=2 "done"]', None),
        ('P<=0.51 [F<=2 "done"]', True),
        ('R<=-1 [F "done"]', True),
        ('T<100 [F "done"]', False),
        ("R>=-100 [C<=3]", True),
    ):
        assert check_property(gamble, text).holds is holds, text
    # A chain has no decisions, so neither max nor min is needed.
    chain = rl.MarkovChain([[0.5, 0.5], [0, 1]], state_labels=["toss", "heads"])
    assert check_property(chain, 'P=? [F<=2 "heads"]').values.tolist() == [0.75, 1.0]
    assert check_property(chain, 'T=? [F "heads"]').values.tolist() == [2.0, 0.0]
    # Labels are sets of states.
    marked = gamble.replace(labels={"over": [2, 3], "done": [2], "lost": [0, 3]})
    assert (
        check_property(marked, 'Pmin=? [F "over"]').values.tolist()
        == reach(gamble, [2, 3], objective="min").value.tolist()
    )
    assert check_property(marked, 'P>=1 [F "done" | "ready" | "waiting" | "over"]').holds is True
    with pytest.raises(ParameterError, match="a label of 2 states and the name of another"):
        check_property(marked, 'Pmax=? [F "lost"]')
    with pytest.raises(ParameterError, match="did you mean 'over'"):
        reach(marked, "ovr")
    # From two starts it must hold in both.
    both = gamble.replace(start=[0.5, 0, 0.5, 0])
    assert check_property(both, 'P<=0.9 [F "done"]').holds is False


def test_what_is_not_supported_is_named(gamble):
    for text, words in (
        *((text, "it is not a letter, =. or a comparison") for text in ("", "  ", "Pmax=? [", 'Pmax [F "done"]')),
        *((text, "it is not a letter, =. or a") for text in ('Qmax=? [F "done"]', 'P>=x [F "a"]', 'P=? [F "done"] $')),
        ('P=? [F "done"]', "the model has decisions, so write Pmax=. or Pmin=."),
        *((f"Pmax=? [{path}]", "is no path") for path in ('X "done"', '"done" W "lost"')),
        ("Pmax=? [F done]", 'done is not supported; variables are not read, labels are, as in "done"'),
        ("Pmax=? [F s=3]", "'s=3' is not understood"),
        ("Pmax=? [F s+3]", "s . 3 is not supported"),
        ('Pmax=? [F "dome"]', "did you mean 'done'"),
        *((f"Pmax=? [F{rest}]", "is not understood") for rest in ('("done"', '<3 "done"', '<=2.5 "done"', "")),
        ('Pmax=? [F "done"] [F "lost"]', "is not"),
        ('Pmax>=0.5 [F "done"]', "max and min go with =."),
        (
            'R{"steps"}max=? [F "done"]',
            "a model has one reward: leave {...} out, and read the file with reward='steps'",
        ),
        *((f"Rmax=? [{path}]", "is no path") for path in ("C", "I=3")),
        ('Rmax=? [G "done"]', r"of R, \[G .done.\] is not supported"),
        ("Pmax=? [F " + "!" * 1_000 + '"done"]', "at most 1000 are read"),
        ("Pmax=? [F " + "!" * 990 + '"done"]', "is not understood"),
        (None, "is not text"),
    ):
        with pytest.raises(ParameterError, match=words):
            check_property(gamble, text)


PROGRAMS = {
    "knuth_yao": ("", ['P=? [F "six"]', 'R=? [F "done"]', 'P=? [F<=6 "done"]']),
    "gambler": ("GOAL=40,START=13,win=0.48", ['P=? [F "rich"]', 'R=? [F "over"]', 'P=? [!"rich" U "over"]']),
    "coupons": ("N=9", ['R=? [F "full"]', 'P=? [F<=20 "full"]']),
    "crowds": ("SIZE=8,BAD=3", ['P=? [F "seen"]', 'P=? [!"noted" U "over"]', 'LRA=? ["seen"]']),
    "herman": ("", ['P=? [F "stable"]', 'R=? [F "stable"]', 'LRA=? ["stable"]']),
    "leader": ("K=5", ['P=? [F "elected"]', 'R=? [F "elected"]']),
    "retransmission": ("N=20,MAX=3", ['P=? [F "lost"]', 'R=? [F "over"]', 'P=? [!"lost" U "over"]']),
    "zeroconf": ("N=6,LOSS=0.1", ['P=? [F "clash"]', 'R=? [F "done"]']),
    "bold_play": ("GOAL=64,win=0.4", ['Pmax=? [F "rich"]', 'Pmin=? [F "over"]', 'Pmax=? [F<=5 "rich"]']),
    "consensus": ("K=4", ['Pmin=? [F "done"]', 'Pmax=? [F "disagree"]', 'Rmin=? [F "done"]', 'Rmax=? [F "done"]']),
    "backoff": ("MOST=4", ['Pmin=? [F "done"]', 'Rmax=? [F "done"]', 'Rmin=? [F "done"]', 'Pmax=? [F<=9 "done"]']),
    "robot": ("SIZE=9", ['Rmin=? [F "home"]', 'Pmax=? [!"middle" U "home"]', 'Pmin=? [F "middle"]']),
}


@pytest.mark.slow
def test_storm_says_the_same_of_programs():
    """Twelve programs in the manner of the quantitative verification benchmark set, 35 properties."""
    storm = pytest.importorskip("stormpy")
    for name, (constants, properties) in PROGRAMS.items():
        file = Path(__file__).parents[3] / "tests/problems/prism" / f"{name}.prism"
        program = storm.parse_prism_program(str(file))
        kind = rl.MarkovChain if "DTMC" in str(program.model_type) else rl.MDP
        keywords = {"constants": constants} if constants else {}
        if name == "robot":
            keywords["reward"] = "moves"
        model = kind.read(file, **keywords)
        for text in properties:
            asked_of_storm = text.replace("R", 'R{"moves"}', 1) if name == "robot" and text[0] == "R" else text
            (asked,) = storm.parse_properties(asked_of_storm, program)
            ready, formula = program, asked
            if constants:
                ready, (formula,) = storm.instantiate_constants(program, constants, [asked])
            built = storm.build_model(ready, [formula])
            said = storm.model_checking(built, formula, environment=storm.environments.sound())
            first = built.initial_states[0]
            ours = check_property(model, text)
            assert ours.value == pytest.approx(said.get_value(first), rel=1e-5, abs=1e-6), (name, text)
            assert ours.converged, (name, text)
