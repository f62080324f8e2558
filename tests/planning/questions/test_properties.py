"""Properties in PRISM's words against the functions that answer them, and what is said about all others."""

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
        ('R{"steps"}min=? [F "done"]', expected_until(gamble, done, of="steps", objective="min").value),
        ('Rmin{"time"}=? [F "done"]', expected_until(gamble, done, of="steps", objective="min").value),
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
        ('R{"steps"}<100 [F "done"]', False),
        ("R>=-100 [C<=3]", True),
    ):
        assert check_property(gamble, text).holds is holds, text
    # A chain has no decisions, so neither max nor min is needed.
    chain = rl.MarkovChain([[0.5, 0.5], [0, 1]], state_labels=["toss", "heads"])
    assert check_property(chain, 'P=? [F<=2 "heads"]').values.tolist() == [0.75, 1.0]
    assert check_property(chain, 'R{"steps"}=? [F "heads"]').values.tolist() == [2.0, 0.0]
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
        ("", "it is empty"),
        ("   ", "it is empty"),
        ('Pmax [F "done"]', r"Pmax is followed by '\['"),
        ('P=? [F "done"]', "the model has decisions, so write Pmax=. or Pmin=."),
        ('Qmax=? [F "done"]', "begins with 'Qmax', not with P, R or LRA"),
        ('Pmax=? [X "done"]', "X is the next step, which is not supported"),
        ('Pmax=? ["done" W "lost"]', "W is weak until, which is not supported"),
        ("Pmax=? [F done]", "done is not in quotes"),
        ("Pmax=? [F s=3]", "s is not in quotes|'=' is not understood"),
        ('Pmax=? [F "dome"]', "did you mean 'done'"),
        ('Pmax=? [F "done"', "']' is expected here, and the text ends"),
        ('Pmax=? [F "done"] [F "lost"]', "follows after the end"),
        ('Pmax=? [F ("done"]', "'[)]' is expected here, not ']'"),
        ('Pmax=? [F<3 "done"]', "limited by <=, not by <"),
        ('Pmax=? [F<=2.5 "done"]', "2.5 is not a whole number of steps"),
        ('Pmax=? [F<= "done"]', "a number of steps is expected"),
        ("Pmax=? [F]", "a label is expected, not ']'"),
        ("Pmax=? [", "a label is expected, and the text ends"),
        ('Pmax>=0.5 [F "done"]', "max and min go with =."),
        ('P>=x [F "done"]', "a number is expected, not 'x'"),
        ("Rmax=? [C]", "C needs a number of steps"),
        ("Rmax=? [I=3]", "'=' is not understood|instantaneous"),
        ('Pmax=? [F "done"] $', "'[$]' is not understood"),
        ("Pmax=? [F " + "!" * 1_000 + '"done"]', "at most 300 are read"),
        (None, "is not text"),
    ):
        with pytest.raises(ParameterError, match=words):
            check_property(gamble, text)
