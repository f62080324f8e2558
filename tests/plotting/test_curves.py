import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import rlsuite as rl
from rlsuite import plotting
from rlsuite.errors import NotLearned, ParameterError, RlsuiteWarning
from rlsuite.plotting.figure_list import figures_of
from rlsuite.training.results import Bounds
from rlsuite.training.statistics import mean_interval, pointwise_band, simultaneous_band


def line_of(ax, label):
    """The mean of an agent: the line that stands in the legend."""
    [line] = [line for line in ax.get_lines() if line.get_label() == label]
    return line


def band_of(ax, index=0):
    """Lower and upper edge of a band, by x."""
    corners = np.unique(ax.collections[index].get_paths()[0].vertices, axis=0)
    x = np.unique(corners[:, 0])
    low = [corners[corners[:, 0] == at, 1].min() for at in x]
    high = [corners[corners[:, 0] == at, 1].max() for at in x]
    return x, np.array(low), np.array(high)


def by_hand(samples):
    """Mean and 95 % interval; Student's is computed by another library."""
    mean = samples.mean(axis=0)
    if len(samples) >= 10:
        return pointwise_band(samples)
    return mean, *stats.t.interval(0.95, len(samples) - 1, loc=mean, scale=stats.sem(samples, axis=0))


@pytest.mark.parametrize("name", ["cumulative_reward", "regret", "evaluation", "evaluation_return"])
def test_line_and_band_are_mean_and_interval_over_seeds(results_of, name):
    results = results_of()
    ax = plotting.figures()[name](results)
    samples = np.stack([getattr(record, name) for record in results.records])
    time = results.evaluation_time if name.startswith("evaluation") else np.insert(results.time, 0, 0)
    if not name.startswith("evaluation"):  # sums begin with 0
        samples = np.insert(samples, 0, 0.0, axis=1)
    mean, low, high = by_hand(samples)
    line = line_of(ax, "QLearning")
    np.testing.assert_array_equal(line.get_xdata(), time)
    np.testing.assert_allclose(line.get_ydata(), mean)
    x, drawn_low, drawn_high = band_of(ax)
    np.testing.assert_array_equal(x, time)
    np.testing.assert_allclose(drawn_low, low)
    np.testing.assert_allclose(drawn_high, high)


def test_returns_against_episodes_are_cut_to_what_all_seeds_finished(results_of, caption_of):
    results = results_of(seeds=10, episodes=[40, 33, *[50] * 8])
    ax = plotting.episode_return(results, smooth=1)
    mean, low, _ = by_hand(np.stack([record.episode_return[:33] for record in results.records]))
    np.testing.assert_array_equal(line_of(ax, "QLearning").get_xdata(), np.arange(1, 34))
    np.testing.assert_allclose(line_of(ax, "QLearning").get_ydata(), mean)
    np.testing.assert_allclose(band_of(ax)[1], low)
    assert "Cut to the episodes that every seed finished (QLearning: 33)." in caption_of(ax)
    assert "latest" not in caption_of(ax)


def test_smoothing_averages_the_latest_episodes_of_each_seed(results_of, caption_of):
    results = results_of()
    ax = plotting.episode_return(results, smooth=4)
    returns = np.stack([record.episode_return for record in results.records])
    smoothed = np.stack([returns[:, max(0, last - 3) : last + 1].mean(axis=1) for last in range(60)], axis=1)
    mean, _, high = by_hand(smoothed)
    np.testing.assert_allclose(line_of(ax, "QLearning").get_ydata(), mean)
    np.testing.assert_allclose(band_of(ax)[2], high)
    assert "Each return is the mean of the latest 4 episodes of its seed." in caption_of(ax)


def test_by_default_a_tenth_of_the_episodes_is_averaged(results_of, caption_of):
    caption = caption_of(plotting.episode_return(results_of(episodes=[500] * 12)))
    assert "latest 50 episodes" in caption


def test_returns_against_steps_are_those_of_the_latest_finished_episodes(results_of):
    results = results_of(seeds=10)
    ax = plotting.episode_return(results, against="steps", smooth=1)
    line = line_of(ax, "QLearning")
    ends = [np.cumsum(record.episode_length) for record in results.records]
    assert line.get_xdata()[0] == max(end[0] for end in ends)
    assert line.get_xdata()[-1] == min(end[-1] for end in ends)
    for step, drawn in zip(line.get_xdata(), line.get_ydata(), strict=True):
        latest = [record.episode_return[end <= step][-1] for record, end in zip(results.records, ends, strict=True)]
        assert drawn == pytest.approx(np.mean(latest))
    assert ax.get_xlabel() == "environment steps"


def test_seeds_without_a_common_time_are_refused(results_of):
    results = results_of(seeds=2, episodes=[1, 1])
    early, late = (dataclasses.replace(results.records[0], episode_length=np.array([steps])) for steps in (5, 6))
    with pytest.raises(ParameterError, match="the seeds of QLearning have no common time"):
        plotting.episode_return(dataclasses.replace(results, records=[early, late]), against="steps")


def test_long_curves_are_drawn_at_evenly_spread_episodes(results_of):
    results = results_of(seeds=10, episodes=[30_000] * 10)
    line = line_of(plotting.episode_return(results, smooth=1), "QLearning")
    episodes = line.get_xdata().astype(int)
    assert (len(episodes), episodes[0], episodes[-1]) == (1000, 1, 30_000)
    assert set(np.diff(episodes)) == {30, 31}
    returns = np.stack([record.episode_return for record in results.records])
    np.testing.assert_allclose(line.get_ydata(), returns[:, episodes - 1].mean(axis=0))


def test_captions_say_what_is_drawn(results_of, caption_of):
    caption = caption_of(plotting.cumulative_reward(results_of(seeds=30)))
    assert caption == (
        "Lines: mean over n = 30 seeds. Bands: 95% confidence interval of the mean (BCa bootstrap, over seeds)."
    )
    episodes = [results_of("QLearning", 5, unit="episodes"), results_of("Sarsa", 7, unit="episodes")]
    ax = plotting.cumulative_reward(episodes)
    assert "mean over seeds (QLearning: n = 5, Sarsa: n = 7)" in caption_of(ax)
    assert ax.get_xlabel() == "episodes"
    assert ax.get_title(loc="left") == "rlsuite/GridGoal-v0"


def test_few_seeds_are_drawn_one_by_one(results_of, caption_of):
    few, many = results_of(seeds=9), results_of(seeds=10)
    ax = plotting.cumulative_reward(few)
    assert len(ax.get_lines()) == 1 + 9
    drawn = sorted(float(line.get_ydata()[-1]) for line in ax.get_lines() if line.get_linewidth() < 1)
    assert drawn == sorted(float(record.cumulative_reward[-1]) for record in few.records)
    assert "Thin lines: single seeds." in caption_of(ax)
    ax = plotting.cumulative_reward(many)
    assert len(ax.get_lines()) == 1
    assert "Thin" not in caption_of(ax)


def test_a_simultaneous_band_is_asked_for(results_of, caption_of):
    results = results_of()
    ax = plotting.regret(results, band="simultaneous")
    _, low, high = simultaneous_band(results.stacked("regret"), bounds=(0.0, np.inf))
    np.testing.assert_allclose(np.array(band_of(ax)[1:])[:, 1:], (low, high))
    assert "Bands: the whole curve of the true mean with 95% confidence (over seeds)." in caption_of(ax)
    with pytest.raises(ParameterError, match="unknown band 'both'"):
        plotting.regret(results, band="both")


def test_one_seed_is_drawn_without_a_band_and_with_a_warning(results_of, caption_of):
    results = results_of(seeds=1)
    with pytest.warns(
        RlsuiteWarning, match=r"one seed for QLearning: no interval can be drawn \(train with seeds=10\)"
    ) as seen:
        ax = plotting.cumulative_reward(results)
    assert seen[0].filename == __file__
    assert len(ax.collections) == 0
    np.testing.assert_array_equal(line_of(ax, "QLearning").get_ydata()[1:], results.records[0].cumulative_reward)
    assert caption_of(ax).startswith("n = 1: no interval over seeds.")


def test_a_single_point_shows_its_interval_as_a_bar(results_of):
    results = results_of(episodes=[1] * 12)
    ax = plotting.episode_return(results)
    mean, low, high = by_hand(np.stack([record.episode_return for record in results.records]))
    assert line_of(ax, "QLearning").get_ydata() == pytest.approx(mean)
    [[bottom, top]] = ax.collections[0].get_segments()
    assert (bottom[1], top[1]) == (pytest.approx(low[0]), pytest.approx(high[0]))
    assert [tick for tick in ax.get_xticks() if ax.get_xlim()[0] < tick < ax.get_xlim()[1]] == [1.0]


def test_the_band_of_returns_stays_within_what_an_episode_can_return(caption_of):
    results = rl.train(rl.QLearning(gamma=0.9), "FrozenLake-v1", steps=2_000, seeds=4)
    for against in ("episodes", "steps"):
        ax = plotting.episode_return(results, against=against, smooth=3)
        _, low, high = band_of(ax)
        samples = np.stack([line.get_ydata() for line in ax.get_lines()[:4]])
        assert (mean_interval(samples).low < 0.0).any()
        assert low.min() == 0.0
        assert high.max() <= 1.0
        assert "Student t, cut at known bounds" in caption_of(ax)


def test_the_optimum_is_one_dashed_line(results_of, caption_of):
    ax = plotting.evaluation([results_of("QLearning"), results_of("Sarsa")])
    assert ax.get_legend_handles_labels()[1] == ["QLearning", "Sarsa", "optimum"]
    line = line_of(ax, "optimum")
    assert set(line.get_ydata()) == {81.0}
    assert line.get_color() == "#000000"
    assert "Dashed: exact optimum." in caption_of(ax)
    assert "Value: mean over a few episodes, not the expected, return of the greedy policy" in caption_of(ax)
    known = results_of("Sarsa", value_bounds=Bounds(0.0, 81.0))
    assert "Value: expected return of the greedy policy" in caption_of(plotting.evaluation(known))


def test_the_optimum_of_drawn_problems_is_their_mean(results_of, caption_of):
    results = results_of(seeds=3)
    records = [dataclasses.replace(record, optimal_value=float(record.seed)) for record in results.records]
    ax = plotting.evaluation(dataclasses.replace(results, records=records))
    assert set(line_of(ax, "optimum").get_ydata()) == {1.0}
    assert "mean over the problems of the seeds" in caption_of(ax)


def test_agents_that_discount_differently_have_their_own_optimum(results_of):
    ax = plotting.evaluation([results_of("QLearning"), results_of("Sarsa", optimal_value=90.0)])
    assert set(line_of(ax, "optimum (QLearning)").get_ydata()) == {81.0}
    assert set(line_of(ax, "optimum (Sarsa)").get_ydata()) == {90.0}
    assert line_of(ax, "optimum (Sarsa)").get_color() == line_of(ax, "Sarsa").get_color()


def test_cumulative_reward_is_compared_in_pairs_and_with_the_optimum_where_one_step_earns_it(results_of, caption_of):
    several = [results_of("A", seeds=12, optimal_value=2.0), results_of("B", seeds=12, optimal_value=2.0)]
    assert "optimum" not in plotting.cumulative_reward(several).get_legend_handles_labels()[1]
    bandits = [
        dataclasses.replace(
            run,
            records=[dataclasses.replace(one, episode_length=np.ones_like(one.episode_length)) for one in run.records],
        )
        for run in several
    ]
    ax = plotting.cumulative_reward(bandits)
    optimum = line_of(ax, "optimum")
    np.testing.assert_allclose(optimum.get_ydata(), 2.0 * optimum.get_xdata())
    samples = {run.agent: run.stacked("cumulative_reward") for run in several}
    best, other = sorted(samples, key=lambda label: -samples[label][:, -1].mean())
    mean, low, high = pointwise_band(samples[other] - samples[best])
    line = line_of(ax, other).get_ydata()[1:]
    _, drawn_low, drawn_high = band_of(ax, [band.get_label() for band in ax.collections].index(f"_{other}"))
    np.testing.assert_allclose(drawn_low[1:], line + low - mean)
    np.testing.assert_allclose(drawn_high[1:], line + high - mean)
    assert f"interval of the difference to {best} in the same seed, around each line" in caption_of(ax)
    undiscounted = [dataclasses.replace(run, gamma=1.0) for run in several]
    assert set(line_of(plotting.evaluation_return(undiscounted), "optimum").get_ydata()) == {2.0}


def test_an_unknown_optimum_is_not_drawn(results_of, caption_of):
    ax = plotting.evaluation(results_of(optimal_value=None))
    assert ax.get_legend_handles_labels()[1] == ["QLearning"]
    assert "optimum" not in caption_of(ax)


@pytest.mark.slow
def test_an_agent_has_the_same_colour_in_every_figure(results_of):
    q_learning, sarsa = results_of("QLearning"), results_of("Sarsa")
    looks = set()
    for draw in map(plotting.figures().__getitem__, figures_of([sarsa])):
        for drawn in ([q_learning, sarsa], [sarsa, q_learning], sarsa):
            line = line_of(draw(drawn), "Sarsa")
            looks.add(line.get_color())
    assert len(looks) == 1


@pytest.mark.slow
def test_a_palette_of_the_run_rules(results_of):
    labels = [f"agent {index}" for index in range(12)]
    palette = plotting.Palette(labels)
    for label in labels:
        ax = plotting.regret(results_of(label), palette=palette)
        assert line_of(ax, label).get_color() == palette[label].colour


def test_figures_are_drawn_where_one_asks(results_of):
    top, bottom = Figure(layout="constrained").subplots(2)
    assert plotting.cumulative_reward(results_of(), ax=top) is top
    assert plotting.regret(results_of(), ax=bottom) is bottom
    assert plotting.regret(results_of()).figure is not top.figure


@pytest.mark.parametrize("name", ["cumulative_reward", "regret", "evaluation", "episode_return"])
def test_neither_caption_nor_legend_nor_title_is_cut_off_or_covered(results_of, name):
    labels = ["QLearning, epsilon 0.1", "Sarsa, epsilon 0.1, a rather long label", "DeterministicQLearning"]
    ax = plotting.figures()[name]([results_of(label, seeds=5) for label in labels])
    figure = ax.figure
    figure.draw_without_rendering()
    [caption] = [text for text in ax.texts if text.get_gid() == "caption"]
    title = ax.title if ax.title.get_text() else ax._left_title
    names = [text for text in ax.texts if text is not caption] if ax.get_legend() is None else [ax.get_legend()]
    assert len(names) in (1, 3)
    boxes = [artist.get_window_extent() for artist in (caption, ax.xaxis.label, *names, title)]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not box.overlaps(ax.get_window_extent().padded(-3))
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])


def test_a_dollar_in_a_name_is_a_dollar(results_of, tmp_path):
    results = [results_of("cost $1", environment="$x"), results_of("cost $2^", environment="$x")]
    ax = plotting.regret(results)
    plotting.save(ax, tmp_path / "dollars.png")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cost $1", "cost $2^"]


def test_names_stand_at_the_ends_of_lines(results_of):
    ends = {"low": 100.0, "middle": 500.0, "near": 505.0, "high": 900.0}
    runs = [results_of(label, cumulative_reward=np.linspace(end / 50, end, 50)) for label, end in ends.items()]
    ax = plotting.cumulative_reward(runs)
    to_axes = (ax.transData + ax.transAxes.inverted()).transform
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts if text.get_text() in ends}
    assert list(heights) == list(ends)
    for label in ("low", "middle", "high"):
        assert heights[label] == pytest.approx(to_axes((0, line_of(ax, label).get_ydata()[-1]))[1], abs=0.02)
    assert heights["near"] - heights["middle"] > 0.05  # else one would cover the other
    assert {t.get_color() for t in ax.texts} >= {line_of(ax, label).get_color() for label in ends}
    assert plotting.cumulative_reward(runs, ax=Figure().subplots()).get_legend() is not None


def test_what_cannot_be_drawn_is_named(results_of):
    results = results_of()
    empty = np.zeros(0)
    with pytest.raises(ParameterError, match=r"no results to draw: pass what rl\.train"):
        plotting.cumulative_reward([])
    with pytest.raises(ParameterError, match=r"QLearning in rlsuite/GridGoal-v0 hold no seeds"):
        plotting.cumulative_reward(results_of(seeds=0))
    with pytest.raises(ParameterError, match=r"two results are labelled 'QLearning'"):
        plotting.regret([results, results])
    with pytest.raises(ParameterError, match=r"different environments \(Taxi-v4, rlsuite/GridGoal-v0\)"):
        plotting.regret([results, results_of("Sarsa", environment="Taxi-v4")])
    with pytest.raises(ParameterError, match=r"different units \(episodes, steps\)"):
        plotting.regret([results, results_of("Sarsa", unit="episodes")])
    with pytest.raises(ParameterError, match=r"QLearning hold no regret: the optimum of .*GridGoal-v0 is not known"):
        plotting.regret(results_of(regret=empty))
    with pytest.raises(ParameterError, match=r"GridGoal-v0 is not known \(the end can be avoided\)"):
        plotting.regret(results_of(regret=empty, optimum_unknown="the end can be avoided"))
    with pytest.raises(ParameterError, match=r"QLearning hold no evaluations: train with evaluate_every="):
        plotting.evaluation(results_of(evaluation=empty))
    with pytest.raises(ParameterError, match=r"QLearning hold a greedy policy that may never reach an end; give "):
        plotting.evaluation_return(results_of(evaluation_return=np.array([1.0, np.nan, 2.0])))
    with pytest.raises(ParameterError, match=r"hold no finished episode in seed 1: train longer"):
        plotting.episode_return(results_of(seeds=2, episodes=[5, 0]))
    with pytest.raises(ParameterError, match=r"smooth=0"):
        plotting.episode_return(results, smooth=0)
    with pytest.raises(ParameterError, match=r"did you mean 'steps'\?"):
        plotting.episode_return(results, against="step")
    with pytest.raises(ParameterError, match=r"unknown agent of this palette 'QLearning'"):
        plotting.regret(results, palette=plotting.Palette(["Sarsa"]))


def test_agents_are_drawn_by_their_own_record(caption_of):
    walk = rl.MDP.from_successors([[0, 1], [None, None]], [0, 1], gamma=0.9, start=0)
    for model, title in ((walk, ""), (walk.replace(name="a walk"), "a walk")):
        comparison = rl.compare([rl.QLearning(gamma=0.9)], model.to_env(), steps=20, seeds=2)
        (results,) = comparison.results[title or "TabularEnv"]
        with pytest.raises(ParameterError, match=r"results in one environment: write regret\(comparison.results\['"):
            plotting.regret(comparison)
        for ax in (plotting.cumulative_reward(results), plotting.final_values(comparison)):
            assert ax.get_title(loc="left") == title
    agents = [kind(gamma=0.9).learn("FrozenLake-v1", episodes=200, seed=1) for kind in (rl.QLearning, rl.Sarsa)]
    with pytest.warns(RlsuiteWarning, match="one seed for QLearning, Sarsa"):
        ax = plotting.episode_return(agents, smooth=1)
    for agent in agents:
        assert line_of(ax, type(agent).__name__).get_ydata().tolist() == agent.episodes_["return"].tolist()
    with pytest.warns(RlsuiteWarning, match="one seed for Sarsa"):
        plotting.cumulative_reward(agents[1])
    with pytest.raises(NotLearned):
        plotting.episode_return(rl.Sarsa(gamma=0.9))


def test_what_is_not_results_is_named(results_of):
    mdp = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    with pytest.raises(ParameterError, match=r"regret draws what rl\.train\(\.\.\.\) returned, .* not of type MDP"):
        plotting.regret(mdp)
    with pytest.raises(ParameterError, match=r"results of several environments: choose one, as results\['grid'\]"):
        plotting.regret({"grid": [results_of()]})
    solution = rl.solve(mdp)
    for draw in (plotting.state_values, plotting.convergence):
        with pytest.raises(ParameterError, match=r"draws what rl\.solve\(\.\.\.\) returned, not of type MDP: .*solve"):
            draw(mdp)
    with pytest.raises(ParameterError, match=r"gap draws what rl\.solve\(\.\.\.\) returned for a POMDP"):
        plotting.gap(solution)


def test_axes_begin_at_0(results_of):
    for name, draw in plotting.figures().items():
        if not name.startswith("parameter_"):  # whose axis is a parameter
            assert draw(results_of()).get_xlim()[0] == 0
    with pytest.raises(ParameterError, match="sweep"):
        plotting.parameter_study(results_of())


def test_lines_that_hide_each_other_are_named(results_of, caption_of):
    rise, late = np.linspace(0.0, 9.0, 50), np.linspace(0.0, 9.0, 50)
    late[:10] += 3.0
    ax = plotting.cumulative_reward(
        [
            results_of(label, cumulative_reward=curve)
            for label, curve in zip("ABCD", (rise, rise, late, -rise), strict=True)
        ]
    )
    assert "Identical from 110 on: A, B, C." in caption_of(ax)
    ax = plotting.cumulative_reward([results_of(label, cumulative_reward=rise) for label in "AB"])
    assert "Identical: A, B." in caption_of(ax)
    assert "Identical" not in caption_of(plotting.cumulative_reward([results_of("A"), results_of("Bcd")]))


def test_lines_that_end_elsewhere_hide_each_other_too(caption_of):
    slope = {label: (x, 2.0 * x) for label, x in (("a", np.arange(1.0, 90.0)), ("b", np.arange(2.5, 120.0, 3)))}
    assert "Identical from 3 on: a, b." in caption_of(plotting.mean_curves(slope))
    apart = slope | {"c": (np.arange(80.0, 120.0), 2.0 * np.arange(80.0, 120.0))}
    assert "a, b." in caption_of(plotting.mean_curves(apart))  # a and c have too little in common


def test_what_hides_is_judged_within_the_limits(caption_of):
    """Curves 5 apart were called identical beside a first fall of 2000 that the limits left out."""
    near = {"a": falls(100), "b": falls(100) + 5.0}
    assert "Identical" not in caption_of(plotting.mean_curves(near))
    assert "Identical: a, b." in caption_of(plotting.mean_curves(near, ylim=(-2100, 0)))


@pytest.mark.parametrize(
    ("values", "words"),
    [([100.0] * 3, "all 100"), ([99.99976, 100.0, 100.0], "all between 99.9998 and 100"), ([0.0] * 3, "all 0")],
)
def test_a_figure_without_content_says_so(results_of, caption_of, values, words):
    ax = plotting.evaluation_return([results_of(label, evaluation_return=np.array(values)) for label in "AB"])
    assert words in [text.get_text() for text in ax.texts]
    assert caption_of(ax).split("Return:")[0].endswith(f"No differences to see: {words}. ")
    low, high = ax.get_ylim()
    assert high - low >= 1


def falls(length, seed=0):
    """The first tenth far below the others, as that of an agent that falls from a cliff for an hour."""
    return np.where(
        np.arange(length) < max(1, length // 10), -2000.0, np.random.default_rng(seed).normal(-30, 2, length)
    )


@pytest.mark.parametrize("name", ["cumulative_reward", "regret", "evaluation", "evaluation_return", "episode_return"])
def test_first_falls_from_a_cliff_do_not_flatten_the_rest(results_of, caption_of, name):
    draw = plotting.figures()[name]
    numbers = {"evaluation_time": np.arange(1, 6) * 100, "optimal_value": 5.0}
    results = []
    for label in ("QLearning", "Sarsa"):
        one = results_of(label, episodes=[100] * 12, **numbers)
        length = {"episode_return": 100, "cumulative_reward": 50, "regret": 50}.get(name, 5)
        records = [dataclasses.replace(record, **{name: falls(length, record.seed)}) for record in one.records]
        results.append(dataclasses.replace(one, records=records))
    unsmoothed = {"smooth": 1} if name == "episode_return" else {}
    ax = draw(results, **unsmoothed)
    assert -60 < ax.get_ylim()[0] < -29
    assert -29 < ax.get_ylim()[1] < 20
    if name == "evaluation":
        assert ax.get_ylim()[1] > 5  # the optimum can be seen
    n_points = 2 * max(1, length // 10)
    assert f"Outside: {n_points} points below, the lowest -2,000." in caption_of(ax)
    whole = draw(results, ylim=(-2100, 6), **unsmoothed)
    assert whole.get_ylim() == (-2100, 6)
    assert "Outside" not in caption_of(whole)


def test_points_outside_limits_of_ones_own_are_counted(results_of, caption_of):
    rise = results_of(cumulative_reward=np.arange(50.0))
    assert "Outside: 39 points above, the highest 49." in caption_of(plotting.cumulative_reward(rise, ylim=(None, 10)))
    said = caption_of(plotting.cumulative_reward(rise, ylim=(1, 45), xlim=(20, 480)))
    assert "Outside: 2 points above, the highest 47." in said


def test_curves_of_ones_own_leave_out_far_points_too(caption_of):
    samples = {"a": falls(100), "b": (np.arange(1.0, 8.0), falls(7))}
    ax = plotting.mean_curves(samples)
    assert ax.get_ylim()[0] > -60
    assert "Outside: 11 points below, the lowest -2,000." in caption_of(ax)
    on_log_axes = plotting.mean_curves({"a": 10.0 ** np.arange(20)}, yscale="log")
    assert on_log_axes.get_ylim()[1] > 1e19
    assert "Outside" not in caption_of(on_log_axes)


def test_learning_to_reach_a_goal_is_shown_whole(results_of, caption_of):
    results = results_of(seeds=12, episodes=[100] * 12)
    learned = np.where(np.arange(100) < 4, 0.0, 1.0 + 1e-3 * np.arange(100))
    records = [dataclasses.replace(record, episode_return=learned) for record in results.records]
    ax = plotting.episode_return(dataclasses.replace(results, records=records), smooth=1)
    assert ax.get_ylim()[0] < 0
    assert "Outside" not in caption_of(ax)


def test_curves_of_ones_own(caption_of):
    samples = {"mine": np.random.default_rng(1).normal(size=(20, 5)), "other": ([2.0, 4.0], [1.0, 3.0])}
    ax = plotting.mean_curves(samples, of="walks", references={"bound": 2.0}, notes=["Unit: metres."], xscale="log")
    mean, low, high = by_hand(samples["mine"])
    np.testing.assert_allclose(line_of(ax, "mine").get_ydata(), mean)
    np.testing.assert_allclose(band_of(ax)[1:], (low, high))
    assert line_of(ax, "other").get_xdata().tolist() == [2.0, 4.0]
    assert set(line_of(ax, "bound").get_ydata()) == {2.0}
    assert ax.get_xscale() == "log"
    assert caption_of(ax) == (
        "Lines: mean over walks (mine: n = 20, other: n = 1). Bands: 95% confidence interval of the mean (BCa "
        "bootstrap, over walks). Unit: metres."
    )
    assert caption_of(plotting.mean_curves({"exact": [1.0, 3.0]}, of="", notes=["Exact."])) == "Exact."
    for wrong, complaint in (({}, "a dict"), ([1.0], "a dict"), ({"a": np.ones((2, 2, 2))}, r"shape \(2, 2, 2\)")):
        with pytest.raises(ParameterError, match=complaint):
            plotting.mean_curves(wrong)
    with pytest.raises(ParameterError, match="must be finite"):
        plotting.mean_curves({"a": [1.0, np.nan]})
