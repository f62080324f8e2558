import csv
import re
import subprocess
import sys

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import MissingPackage, ParameterError
from rlsuite.experiments import Comparison
from rlsuite.experiments.comparison import aggregate, interquartile_mean, profile
from rlsuite.training.results import Bounds, Record, Results


def test_the_interquartile_mean_cuts_a_quarter_at_either_end():
    scores = np.random.default_rng(0).normal(size=(3, 10))
    ordered = np.sort(scores, axis=1)
    assert interquartile_mean(scores) == pytest.approx(ordered[:, 2:8].mean(axis=1))  # 2.5 rounded down


@pytest.mark.parametrize(("statistic", "compute"), [("mean", np.mean), ("median", np.median)])
def test_statistics_are_of_all_runs(statistic, compute):
    scores = [np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.3])]
    assert aggregate(scores, statistic).value == pytest.approx(compute(np.concatenate(scores)))


def test_an_unknown_statistic_is_named():
    with pytest.raises(ParameterError, match="unknown statistic 'mode'"):
        aggregate([np.zeros(3)], "mode")


def test_seeds_are_drawn_within_each_environment():
    """Two environments without any variation within them leave no interval, however far they are apart."""
    found = aggregate([np.zeros(5), np.ones(5)], "mean")
    assert found == (0.5, 0.5, 0.5)


def test_the_same_scores_give_the_same_interval():
    scores = [np.random.default_rng(1).normal(size=12)]
    assert aggregate(scores) == aggregate(scores)


def test_the_interval_covers_the_true_mean():
    """Of 300 experiments with 3 x 20 seeds about 94 %; four standard deviations are 5.5 %."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(300):
        found = aggregate([rng.normal(shift, 1.0, 20) for shift in (-1.0, 0.0, 1.0)], "mean")
        covered += found.low <= 0.0 <= found.high
    assert covered / 300 == pytest.approx(0.94, abs=0.055)


def test_a_profile_falls_from_one_and_counts_environments_alike():
    scores = [np.array([0.2, 0.8]), np.array([0.5, 0.5, 0.5, 0.5])]
    share, low, high = profile(scores, np.array([0.0, 0.5, 0.6, 1.0]))
    assert share.tolist() == [1.0, 0.75, 0.25, 0.0]
    assert (low <= share).all()
    assert (share <= high).all()


def results(agent, values, gamma=0.9, low=0.0, high=1.0, uniform=0.0, seeds=None, regret=(), ends=None):
    chosen = range(len(values)) if seeds is None else seeds
    records = [
        Record(
            seed=seed,
            loop="compiled",
            unit="steps",
            episode_return=np.array([value]),
            episode_length=np.ones(1, dtype=np.int64),
            regret=np.asarray(regret, dtype=np.float64),
            evaluation_time=np.array([10]),
            evaluation=np.array([value]),
            evaluation_return=np.array([2.0 * value]),
            optimal_value=high,
            end_probability=None if ends is None else float(value in ends),
            value_bounds=Bounds(low, high, uniform),
            return_bounds=Bounds(2.0 * low, 2.0 * high, 2.0 * uniform),
        )
        for seed, value in zip(chosen, values, strict=True)
    ]
    return Results(agent, "env", records, gamma=gamma)


GOOD, POOR = np.linspace(0.8, 1.0, 12), np.linspace(0.1, 0.5, 12)


@pytest.fixture
def comparison():
    good, poor = results("good", GOOD, regret=[1.0, 3.0]), results("poor", POOR, regret=[2.0, 5.0])
    maze = [results("good", 2 * GOOD, high=2.0), results("poor", 2 * POOR, high=2.0)]
    return rl.compare({"lake": [good, poor], "maze": maze})


def test_it_is_a_sequence_of_its_rows(comparison):
    assert [(row.environment, row.agent) for row in comparison] == [
        ("lake", "good"),
        ("lake", "poor"),
        ("maze", "good"),
        ("maze", "poor"),
    ]
    assert len(comparison) == 4
    assert comparison[-1] is comparison.rows[3]
    assert comparison.agents == ["good", "poor"]


def test_scores_are_shares_of_the_way_from_the_uniform_policy_to_the_optimum(comparison):
    assert comparison.scores["good"][1] == pytest.approx(GOOD)
    assert comparison.aggregate("mean")["poor"].value == pytest.approx(POOR.mean())
    assert comparison.profile(np.array([0.7]))["good"][0].tolist() == [1.0]
    cliff = rl.compare([results("a", [-10.0, -300.0], low=-10_000.0, high=-10.0, uniform=-155.0)])
    assert cliff.scores["a"][0].tolist() == [1.0, -1.0]


def test_agents_are_not_equal_where_one_arrives_less_often():
    """The shares of an interval of 10,000 that a policy down the cliff has said so of these two."""
    cliff = {"low": -10_000.0, "high": -12.25, "uniform": -1_072.0, "ends": [-12.25]}
    lost = results("sarsa", np.tile([-90.0, *[-12.25] * 3], 700), **cliff)
    found = Comparison({"cliff": [lost, results("q-learning", [-12.25] * 2_800, **cliff)]}, margin="2%")
    (verdict,) = found.verdicts.values()
    assert verdict.word == "second"
    assert re.fullmatch(r"q-learning is better than sarsa by 19\.4 \[.*\], after \d+ seeds", found.sentences()[0])
    as_good = results("also", lost.stacked("evaluation")[:, 0], **cliff)
    alike = Comparison({"cliff": [lost, as_good]}, margin="2%")
    assert re.fullmatch(
        r"sarsa and also are equal within 21\.2, 2 % of the way .*, after \d+ seeds: they differ by 0 .*",
        alike.sentences()[0],
    )
    assert next(iter(Comparison(alike.results, margin=5.0).verdicts.values())).word == "undecided"
    with pytest.raises(ParameterError, match="margin=1e5: no two policies in cliff differ by more than 9988"):
        Comparison(alike.results, margin="1e5").sentences()


def test_a_sentence_says_which_is_better_and_how_sure_it_is(comparison):
    first = comparison.sentences()[0]
    pair = comparison.pairs[0]
    assert first == (
        f"lake: good is better than poor by 0.6 [{pair.low:.3g}, {pair.high:.3g}] (p = {pair.p_value:.1g})"
        f": {comparison.rows[0].measure}"
    )
    assert pair.p_value == pytest.approx(2 * 2.0 / 2**12)  # two pairs; the smallest p value of 12 seeds
    assert comparison.rows[0].regret == 3.0
    assert comparison.sentences("lake") == [first.removeprefix("lake: ")]
    with pytest.raises(ParameterError, match="unknown environment 'lak'; did you mean 'lake'"):
        comparison.sentences("lak")


def test_agents_that_cannot_be_told_apart_need_more_seeds():
    noise = np.array([0.1, -0.1, 0.2, -0.15, 0.05, 0.0])
    found = rl.compare({"lake": [results("a", 0.5 + noise), results("b", 0.5 - noise)]})
    needed = found.pairs[0].seeds_needed - 6
    assert found.sentences() == [
        f"a and b cannot be told apart (p = {found.pairs[0].p_value:.2g}); about {needed} more seeds would be needed"
    ]
    many = rl.compare([results(name, 0.5 + scale * noise) for name, scale in zip("abcd", (1, 2, 3, 4), strict=True)])
    assert re.fullmatch(
        r"d cannot be told apart from a, b, c \(p at least 1\); about \d+ to \d+ more seeds would be needed",
        many.sentences("env")[0],
    )
    same = rl.compare({"lake": [results("a", GOOD), results("b", GOOD)]})
    assert same.sentences() == ["a and b have the same mean"]


def test_pairs_are_those_of_common_seeds():
    found = rl.compare({"lake": [results("a", GOOD), results("b", POOR[:4], seeds=[3, 2, 99, 5])]})
    (pair,) = found.pairs
    assert pair.seeds == 3
    assert pair.difference == pytest.approx((GOOD[[3, 2, 5]] - POOR[[0, 1, 3]]).mean())


def test_agents_that_discount_differently_are_compared_by_their_undiscounted_return():
    found = rl.compare({"lake": [results("a", GOOD, gamma=0.9), results("b", POOR, gamma=0.99)]})
    assert {row.measure for row in found} == {"undiscounted return of the greedy policy"}
    assert found[0].mean == pytest.approx(2 * GOOD.mean())
    assert found.scores["a"][0] == pytest.approx(GOOD)


def test_scores_need_bounds():
    found = rl.compare({"lake": [results("a", GOOD, low=-np.inf), results("b", POOR)]})
    with pytest.raises(ParameterError, match="lake: the values of the optimal and the uniform policy are unknown"):
        found.aggregate()
    found = rl.compare({"lake": [results("a", [1.0, 1.0], uniform=1.0)]})
    with pytest.raises(ParameterError, match="the uniform policy is optimal"):
        found.aggregate()
    found = rl.compare({"lake": [results("a", GOOD)], "maze": [results("b", GOOD)]})
    with pytest.raises(ParameterError, match="a has results in 1 of 2 environments only"):
        found.aggregate()


def test_it_shows_itself_in_few_lines(comparison):
    assert len(repr(comparison).splitlines()) <= 5
    assert repr(comparison).startswith("Comparison(2 agents in 2 environments, 12 seeds)")
    assert str(comparison).splitlines()[-1] == comparison.sentences()[-1]
    assert "<td>poor</td>" in comparison._repr_html_()
    assert "&lt;b&gt;" in rl.compare({"<b>": [results("a", GOOD)]})._repr_html_()


def test_tables_for_documents(comparison, tmp_path):
    markdown = comparison.to_markdown().splitlines()
    assert len(markdown) == 6
    assert {line.count("|") for line in markdown} == {8}  # nothing is known of ends
    latex = rl.compare({"a_b": [results("50 %", GOOD)]}).to_latex()
    assert r"a\_b & 50 \% & 12" in latex
    below = rl.compare([results("a-1", GOOD - 20_000)]).to_latex()
    assert "a-1 & 12 & $-$20000 & [$-$20000, $-$20000]" in below
    assert latex.endswith(r"\end{tabular}")
    alone = rl.compare([results("a", GOOD, high=float("inf"))])  # without a regret, ends, and a known optimum
    assert " & reach an end" not in alone.to_latex()
    assert list(alone.columns())[:4] == ["environment", "agent", "seeds", "value of the greedy policy"]
    comparison.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == ["good", "poor", "good", "poor"]
    assert float(rows[0]["mean"]) == comparison[0].mean
    assert rows[0]["optimum"] == "1.0"


def test_frames_need_pandas(comparison):
    pandas = None
    try:
        import pandas
    except ImportError:
        with pytest.raises(MissingPackage, match=r"pip install 'rlsuite\[pandas\]'"):
            comparison.to_frame()
    if pandas is not None:
        assert comparison.to_frame()["agent"].tolist() == ["good", "poor", "good", "poor"]


def test_no_results_make_an_empty_comparison():
    nothing = rl.compare({})
    assert (list(nothing), nothing.pairs, nothing.sentences(), nothing.to_markdown().count("\n")) == ([], [], [], 1)


def test_one_agent_or_one_seed_is_not_compared():
    assert rl.compare({"lake": [results("a", GOOD)]}).sentences() == [
        "a is alone: give another agent to compare it with"
    ]
    lonely = rl.compare({"lake": [results("a", [0.5]), results("b", [0.6])]})
    assert lonely.sentences()[0].startswith("agents are told apart by at least two seeds in common")
    with pytest.raises(ParameterError, match="two results in lake are labelled 'a': give each agent a label"):
        rl.compare({"lake": [results("a", GOOD), results("a", GOOD)]})
    lost = rl.compare({"lake": [results("a", GOOD), results("b", [*GOOD[:-1], float("nan")])]})
    with pytest.raises(ParameterError, match=r"b in .*, seed \d+: .* is nan, which has no mean with others; learn"):
        repr(lost)
    assert lonely.pairs == []


def test_tables_and_figures_load_no_statistics_that_they_do_not_need():
    """scipy.stats takes half a second; only pairs and aggregates need it."""
    code = "import sys, rlsuite.experiments.comparing, rlsuite.plotting.reporting; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
