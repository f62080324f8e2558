import re
import secrets

import numpy as np
import pytest
from PIL import Image

import rlsuite as rl

WALL = """
import gymnasium


class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(3)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=3, broken=False):
        self.length = length
        self.broken = broken

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        if self.broken:
            raise IndexError("no such door")
        self.place = min(self.place + action, self.length - 1)
        return self.place, float(self.place == self.length - 1), self.place == self.length - 1, False, {}
"""


@pytest.fixture
def corridor(tmp_path):
    (tmp_path / "corridor.py").write_text(WALL)
    return "corridor.py:Corridor"


def test_one_seed_gives_what_learn_gives(rlsuite_json):
    printed = rlsuite_json(
        "train", "q-learning", "rlsuite/GridGoal-v0", "--gamma", "0.9", "--seed", "7", "--steps", 900
    )
    agent = rl.QLearning(gamma=0.9).learn("rlsuite/GridGoal-v0", steps=900, seed=7, evaluate_every=900, regret=True)
    assert printed["seeds"] == [7]
    assert printed["loop"] == "compiled"
    assert printed["mean"] == agent.record_.evaluation[-1]
    assert printed["episodes"] == agent.record_.episode_return.size
    assert printed["optimum"] == pytest.approx(81.0)


def test_the_result_is_told_in_words(rlsuite):
    done = rlsuite("train", "q-learning", "rlsuite/GridGoal-v0", "--gamma", "0.9", "--seed", "7", "--steps", "2_000")
    lines = done.out.splitlines()
    assert lines[0].startswith("QLearning(gamma=0.9, ")
    assert lines[0].endswith(" on rlsuite/GridGoal-v0")
    assert re.fullmatch(r"  seed 7, compiled loop: (compiled \d+\.\d s, )?learned 2,000 steps in 0\.\d{3} s", lines[1])
    assert lines[2] == "  discounted value of the greedy policy (gamma 0.9): 81, optimum 81 (100.0% of it)"
    assert lines[3] == "  undiscounted return of the greedy policy: 100"
    assert re.fullmatch(
        r"  error of the learned action values: [\d.]+ \(root mean square\), correlation 0\.\d+", lines[4]
    )
    assert done.err == (
        "next: rlsuite train q-learning rlsuite/GridGoal-v0 --gamma 0.9 --steps 2_000 --seeds 30 --plot curve.png\n"
    )


def test_what_predictors_learn_is_compared_with_the_value_of_the_policy_that_they_follow(rlsuite, rlsuite_json):
    grid, short = ("rlsuite/GridGoal-v0", "--gamma", "0.9", "--seed", "7"), ("--steps", "500")
    for features in ((), ("--features", "one-hot")):
        lines = rlsuite("train", "TD", *grid, *short, *features).out.splitlines()
        assert lines[2].startswith("  RMS error of the state values: ")
        assert lines[3].startswith("  value of the policy that it follows (gamma 0.9): ")
    found = rlsuite_json("train", "TD", *grid, "--steps", "50_000", "--learning-rate", "0.01")
    assert found["mean"] < 3.0  # of 49 to 76
    for others in (
        ("GradientBandit", "rlsuite/Bandit-v0"),
        ("DifferentialSarsa", grid[0]),
        ("TD", *grid, "--seeds", 2),
    ):
        flags = () if "--seeds" in others else ("--seed", 1)
        assert (
            rlsuite_json("train", *(one for one in others if one not in ("--seed", "7")), *flags, *short)["agreement"]
            is None
        )


def test_the_next_command_has_the_keywords_that_were_typed(rlsuite):
    typed = ("train", "q-learning", "rlsuite/GridGoal-v0", "--gamma", "0.9", "--env", "render_mode=rgb_array")
    done = rlsuite(*typed, "--steps=50", "--seed=3", "--save", "a.npz", "--agent", "initial_value=1.5")
    assert done.err == (
        "next: rlsuite train q-learning rlsuite/GridGoal-v0 --gamma 0.9 --env render_mode=rgb_array --steps=50 --agent "
        "initial_value=1.5 --seeds 30 --plot curve.png\n"
    )
    done = rlsuite(*typed, "--steps", "50", "--seeds", "2", "--plot", "a picture.png")
    assert done.err == "next: rlsuite solve rlsuite/GridGoal-v0 --env render_mode=rgb_array --gamma 0.9 --show\n"
    done = rlsuite(*typed, "--steps", "50", "--plot", "a picture.png")
    assert done.err.endswith(" --steps 50 --plot 'a picture.png' --seeds 30\n")


def test_going_on_with_a_file(rlsuite, tmp_path):
    lake = ["FrozenLake-v1", "--no-regret"]
    rlsuite("train", "sarsa", *lake, "--steps=300", "--seed=3", "--save-to", "half.npz", "--save-every", "0.5")
    done = rlsuite("train", "half.npz", *lake, "--steps=200", "--save", "all.npz")
    assert (done.code, done.err) == (0, "next: rlsuite train all.npz FrozenLake-v1\n")
    assert "learned 200 steps in" in done.out
    whole, parts = rl.Sarsa().learn("FrozenLake-v1", steps=500, seed=3), rl.load(tmp_path / "all.npz")
    assert (parts.steps_, parts.q_.tobytes()) == (500, whole.q_.tobytes())
    for flags, sentence in (
        (["--gamma", "0.5"], "--gamma: the parameters of the agent are those in half.npz"),
        (["--agent", "n=3"], "--n: the parameters of the agent are those in half.npz"),
        (["--seeds", "3"], "half.npz holds a single agent, and --seeds trains several: give --seed, or none"),
        (["--save-every", "3"], "--save-every 3.0 is the time between two saves: give --save-to as well"),
        (["--save-to", "a.pkl"], "--save-to a.pkl: unknown suffix '.pkl' (choices: .npz)"),
    ):
        done = rlsuite("train", "half.npz", *lake, *flags)
        assert (done.code, done.err) == (2, f"rlsuite: error: {sentence}\n")


FRESH = """
import rlsuite as rl


@rl.compiled
def learn_nothing(memory, t, rng):
    if t.state == -NUMBER:  # machine code is kept by content
        return -1
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return rl.choose(memory, t.next_state, rng)


class Idle(rl.TabularAgent):
    step = learn_nothing
"""


@pytest.mark.slow
def test_compiling_is_told_apart_from_learning(rlsuite, tmp_path):
    (tmp_path / "fresh.py").write_text(FRESH.replace("NUMBER", str(secrets.randbelow(2**40))))
    command = ("train", "fresh.py:Idle", "rlsuite/GridGoal-v0", "--steps", "1000", "--seed", "1", "--loop", "compiled")
    first, again = (rlsuite(*command).out.splitlines()[1] for _ in range(2))
    told = re.fullmatch(r"  seed 1, compiled loop: compiled (.*) s, learned 1,000 steps in (.*) s", first)
    assert told is not None, first
    assert float(told[1]) > 10 * float(told[2])
    assert re.fullmatch(r"  seed 1, compiled loop: learned 1,000 steps in .* s", again)


@pytest.mark.slow
def test_a_policy_that_walks_in_circles_is_told(rlsuite, rlsuite_json):
    """The first command that most people type, with its default numbers."""
    cliff = ("train", "q-learning", "CliffWalking-v1", "--seed", "1")
    done = rlsuite(*cliff)
    assert done.out.splitlines()[2:] == [
        "  discounted value of the greedy policy (gamma 0.99): -100, optimum -12.2479",
        "  the greedy policy does not reach an end from the start; try more --steps, a larger --learning-rate, or more "
        "exploration (--epsilon, --temperature)",
        "  error of the learned action values: 46.2829 (root mean square), correlation 0.301",
    ]
    more = (*cliff, "--steps", "100_000", "--learning-rate", "0.5")
    assert rlsuite(*more).out.splitlines()[2:] == [
        "  discounted value of the greedy policy (gamma 0.99): -12.2479, optimum -12.2479",
        "  undiscounted return of the greedy policy: -13",
        "  error of the learned action values: 43.6238 (root mean square), correlation 0.389",
    ]
    printed = rlsuite_json(*more)
    assert (printed["undiscounted"], printed["end_probability"]) == (pytest.approx(-13.0), [1.0])
    printed = rlsuite_json(*cliff)
    assert (printed["undiscounted"], printed["end_probability"]) == (None, [0.0])
    done = rlsuite("train", "q-learning", "CliffWalking-v1", "--seeds", "3")
    assert (
        "  the greedy policy of 3 of 3 seeds, 100 % [44, 100], does not reach an end from the start; try more --steps"
        in done.out
    )


@pytest.mark.slow
@pytest.mark.parametrize("length", [("--steps", "1e4"), ("--steps=10000",), ()])
def test_after_a_run_that_failed_the_next_one_works(rlsuite, length):
    """The proposed numbers were tried, and so do what they promise."""
    done = rlsuite("train", "q-learning", "CliffWalking-v1", *length, "--seed", "1")
    assert "the greedy policy does not reach an end" in done.out
    proposed = "rlsuite train q-learning CliffWalking-v1 --steps 100000 --seeds 30 --plot curve.png"
    tried = "3 runs of 100,000 steps were tried: their greedy policies reach an end"
    assert done.err == f"{tried}\nnext: {proposed}\n"
    again = rlsuite(*proposed.split()[1:])
    assert again.code == 0
    assert "does not reach an end" not in again.out


def test_no_numbers_are_proposed_where_none_of_those_tried_works(rlsuite, monkeypatch):
    monkeypatch.setattr("rlsuite.cli.training.LONGER", (2,))
    done = rlsuite("train", "q-learning", "CliffWalking-v1", "--episodes", "2", "--seeds", "2")
    assert "the greedy policy of 2 of 2 seeds, 100 % [34, 100], does not reach an end" in done.out
    assert done.err == "next: rlsuite train q-learning CliffWalking-v1 --episodes 2 --seeds 2 --plot curve.png\n"


def test_an_optimal_policy_need_not_end(rlsuite):
    """In the two states of RiverSwim nothing ends, and on frozen ice the best policy always does."""
    for env in ("rlsuite/RiverSwim-v0", "FrozenLake-v1"):
        assert " an end " not in rlsuite("train", "q-learning", env, "--seed", "1", "--steps", "20_000").out


@pytest.mark.slow
def test_an_agent_with_features_learns_where_there_is_no_table(rlsuite, tmp_path):
    learning = ("train", "semi-gradient-sarsa", "MountainCar-v0", "--steps", "300", "--seeds", "2")
    done = rlsuite(*learning, "--features", "tile-coding:n_tilings=2:bins=4", "--plot", str(tmp_path / "curve.png"))
    assert "features=TileCoding(bins=4, n_tilings=2)" in done.out.splitlines()[0]
    assert " 2 seeds, compiled loop: " in done.out.splitlines()[1]
    assert "learned 600 steps in " in done.out.splitlines()[1]
    assert done.err == "next: rlsuite check MountainCar-v0\n"  # there is nothing to solve
    done = rlsuite(*learning, "--features", "tile-koding")
    assert done.code == 2
    assert "unknown features 'tile-koding'; did you mean" in done.err


def test_a_seed_is_drawn_and_told(rlsuite_json):
    arguments = ("train", "q-learning", "rlsuite/GridGoal-v0", "--steps", "50")
    (first,), (second,) = (rlsuite_json(*arguments)["seeds"] for _ in range(2))
    assert first != second
    assert rlsuite_json(*arguments, "--seed", first)["seeds"] == [first]


def test_many_seeds_give_what_train_gives(rlsuite_json):
    printed = rlsuite_json("train", "q-learning", "FrozenLake-v1", "--episodes", "40", "--seeds", "4", "--workers", "2")
    results = rl.train(rl.QLearning(), "FrozenLake-v1", episodes=40, seeds=4, evaluate_every=40)
    assert printed["seeds"] == [0, 1, 2, 3]
    assert printed["unit"] == "episodes"
    assert printed["mean"] == pytest.approx(np.mean([record.evaluation[-1] for record in results.records]))
    assert printed["low"] < printed["mean"] < printed["high"]


def test_no_optimum_is_computed_if_it_is_not_wanted(rlsuite_json):
    printed = rlsuite_json("train", "q-learning", "FrozenLake-v1", "--steps", "50", "--no-regret")
    assert printed["optimum"] is None


def test_undiscounted_without_a_time_limit(rlsuite_json):
    printed = rlsuite_json("train", "q-learning", "CliffWalking-v1", "--steps", "4000", "--gamma", "1", "--seed", "1")
    assert printed["measure"] == "return per episode"


def test_why_there_is_no_greedy_policy_s_return(rlsuite):
    done = rlsuite("train", "q-learning", "CliffWalking-v1", "--steps", "4000", "--gamma", "1", "--seed", "1")
    assert done.out.splitlines()[3:5] == [
        "  the greedy policy is not evaluated: at gamma 1 it may never reach an end, and the environment has no time "
        "limit; give --max-episode-steps",
        "  undiscounted return of the best policy: -13",
    ]


def test_figures_are_spelled_as_flags_are(rlsuite, tmp_path):
    run = ("train", "q-learning", "rlsuite/GridGoal-v0", "--steps", "50", "--plot", "a.png")
    done = rlsuite(*run, "--figure", "episode-return")
    assert (done.code, (tmp_path / "a.png").exists()) == (0, True), done.err


@pytest.mark.slow
def test_a_time_limit_makes_the_undiscounted_policy_comparable_with_the_optimum(rlsuite, corridor):
    cliff = ("train", "q-learning", "CliffWalking-v1", "--gamma", "1", "--seed", "1", "--steps", "40_000")
    done = rlsuite(*cliff, "--max-episode-steps", "100", "--learning-rate", "0.5")
    assert done.out.splitlines()[2] == "  undiscounted return of the greedy policy: -13, optimum -13"
    undiscounted = ("train", "q-learning", corridor, "--gamma", "1", "--seed", "1", "--evaluate-every", "100")
    done = rlsuite(*undiscounted, "--max-episode-steps", "20")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    reason = r"it has no transition table; --tabulate may make one, see docs/tabulation\.md"
    assert re.fullmatch(rf"  stepwise, [\d,]+ steps per second, because {reason}", lines[2])
    assert lines[4].startswith("  optimum unknown: Corridor has no transition table")


def test_an_environment_of_ours_is_named_where_the_optimum_of_its_namesake_is_unknown(rlsuite):
    done = rlsuite("train", "q-learning", "Blackjack-v1", "--steps", "50", "--seed", "1")
    assert "has no transition table; --tabulate may make one; rlsuite/Blackjack-v0 has one\n" in done.out


def test_everything_that_can_be_kept(rlsuite, tmp_path):
    done = rlsuite(
        *("train", "q-learning", "rlsuite/GridGoal-v0", "--gamma", "0.9", "--seed", "7", "--steps", "2000"),
        *("--save", "agent.npz", "--gif", "episode.gif"),
    )
    assert done.code == 0
    assert done.out.splitlines()[5:] == ["  written: agent.npz", "  written: episode.gif"]
    again = rl.QLearning(gamma=0.9).learn("rlsuite/GridGoal-v0", steps=2000, seed=7)
    assert rl.load(tmp_path / "agent.npz").q_.tobytes() == again.q_.tobytes()
    with Image.open(tmp_path / "episode.gif") as gif:
        assert gif.n_frames == 4  # the start and three steps


@pytest.mark.parametrize("figure", ["cumulative_reward", "evaluation"])
def test_curves(rlsuite, tmp_path, figure):
    arguments = ("train", "q-learning", "rlsuite/GridGoal-v0", "--seeds", "3", "--steps", "300", "--plot", "curve.png")
    done = rlsuite(*arguments, "--figure", figure)
    assert done.code == 0, done.err
    with Image.open(tmp_path / "curve.png") as picture:
        assert len(picture.convert("RGB").getcolors(picture.width * picture.height)) > 100


def test_the_first_curve_is_the_distance_from_the_optimum(rlsuite, corridor, tmp_path):
    for env, quantity in (("rlsuite/GridGoal-v0", "regret"), (corridor, "cumulative reward")):
        done = rlsuite("train", "q-learning", env, "--seeds", "2", "--steps", "200", "--plot", "curve.svg")
        assert done.code == 0, done.err
        assert f"<!-- {quantity} -->" in (tmp_path / "curve.svg").read_text()


def test_an_environment_of_ones_own(rlsuite_json, corridor):
    printed = rlsuite_json("train", "q-learning", corridor, "--steps", "200", "--seed", "1", "--env", "length=2")
    assert (printed["loop"], printed["optimum"]) == ("stepwise", None)


@pytest.mark.slow
def test_an_agent_of_ones_own(rlsuite_json, tmp_path):
    (tmp_path / "mine.py").write_text("import rlsuite as rl\n\nclass Calm(rl.QLearning):\n    pass\n")
    printed = rlsuite_json("train", "mine.py:Calm", "rlsuite/GridGoal-v0", "--steps", "50", "--agent", "gamma=0.5")
    assert (printed["agent"]["name"], printed["agent"]["gamma"]) == ("Calm", 0.5)


def test_errors_of_an_environment_of_ones_own(rlsuite, corridor, tmp_path):
    done = rlsuite("train", "q-learning", corridor, "--env", "broken=True", "--gamma", "1.0")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "rlsuite: error: the environment or the agent raised IndexError: no such door "
        f"({tmp_path / 'corridor.py'}, line 20); --debug prints the traceback"
    )
    done = rlsuite("train", "q-learning", corridor, "--debug", "--env", "broken=True", "--gamma", "1.0")
    assert done.err.startswith("Traceback (most recent call last):")
    assert "IndexError: no such door" in done.err
    assert done.err.splitlines()[-1].startswith("rlsuite: error: the environment or the agent raised IndexError: no ")


def test_two_agents_are_answered_with_the_command_that_compares_them(rlsuite):
    done = rlsuite("train", "q-learning", "sarsa", "FrozenLake-v1")
    assert done.code == 2
    start = "rlsuite: error: train takes one agent; compare takes two: rlsuite "
    assert done.err.startswith(start)
    compared = rlsuite(*done.err.removeprefix(start).split(), "--seeds", "2", "--steps", "100")
    assert compared.code == 0
    assert [line.split()[0] for line in compared.out.splitlines()[1:3]] == ["q-learning", "sarsa"]
    done = rlsuite("train", "q-learning", "FrozenLake-v1", "Taxi-v4")
    assert done.err == "rlsuite: error: unknown argument 'Taxi-v4' (see 'rlsuite train --help')\n"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--save", "agent.pkl"], "--save agent.pkl: unknown suffix '.pkl' (choices: .npz)"),
        (["--gif", "a.mp4"], "--gif a.mp4: unknown suffix '.mp4' (choices: .gif)"),
        (["--plot", "a.jpeg"], "--plot a.jpeg: unknown suffix '.jpeg' (choices: "),
        (["--plot", "no/a.png"], "cannot write no/a.png: there is no folder no"),
        (["--plot", "a.png", "--figure", "regre"], "unknown figure 'regre'; did you mean 'regret'? (choices: "),
        (["--figure", "regret"], "--figure applies only to the figure of --plot: add --plot FILE.png"),
        (
            ["--seeds", "3", "--save", "a.npz"],
            "--save is of a single run, and --seeds are several: leave one of them out",
        ),
        (
            ["--seeds", "3", "--gif", "a.gif"],
            "--gif is of a single run, and --seeds are several: leave one of them out",
        ),
    ],
)
def test_files_that_cannot_be_written_are_found_out_before_learning(rlsuite, tmp_path, flags, sentence):
    done = rlsuite("train", "q-learning", "rlsuite/GridGoal-v0", "--steps", "1e12", *flags)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rlsuite: error: {sentence}")
    assert list(tmp_path.iterdir()) == []


def test_environments_that_cannot_be_drawn_are_found_out_before_learning(rlsuite, corridor):
    done = rlsuite("train", "q-learning", corridor, "--steps", "1e12", "--gif", "a.gif")
    assert done.code == 2
    assert done.err == (
        "rlsuite: error: corridor.py:Corridor cannot be drawn: 'rgb_array' is not among its render modes (none)\n"
    )


UNDRAWABLE = """
import gymnasium


class Undrawable(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"]}
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode=None, pictures=0):
        self.render_mode = render_mode
        self.pictures = pictures

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(action), 0.0, False, False, {}

    def render(self):
        if self.pictures == 0:
            raise gymnasium.error.DependencyNotInstalled("painter is not installed")
        self.pictures -= 1
        return __import__("numpy").zeros((4, 4, 3), "uint8")
"""


def test_an_environment_whose_drawing_fails_is_found_out_before_learning(rlsuite, tmp_path):
    (tmp_path / "undrawable.py").write_text(UNDRAWABLE)
    done = rlsuite("train", "q-learning", "undrawable.py:Undrawable", "--steps", "1e12", "--gif", "a.gif")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        "rlsuite: error: undrawable.py:Undrawable cannot be drawn: DependencyNotInstalled: painter is not installed ("
    )
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_an_environment_whose_drawing_fails_later_loses_no_agent(rlsuite, tmp_path):
    (tmp_path / "undrawable.py").write_text(UNDRAWABLE)
    command = ("train", "q-learning", "undrawable.py:Undrawable", "--steps", "50", "--env", "pictures=3")
    done = rlsuite(*command, "--save", "a.npz", "--gif", "a.gif")
    assert (done.code, done.out) == (2, "")
    cut, warning, error = done.err.splitlines()[:3]
    assert cut.startswith("rlsuite: warning: Undrawable, an episode of evaluation: 20 of 20 episodes were cut at ")
    assert warning.startswith("rlsuite: warning: what was learned is saved, but not the run")
    assert error.startswith("rlsuite: error: undrawable.py:Undrawable cannot be drawn: DependencyNotInstalled: ")
    assert rl.load(tmp_path / "a.npz").q_.shape == (2, 2)


def test_a_table_is_made_or_not_as_the_user_says(rlsuite, corridor):
    command = ("train", "q-learning", corridor, "--steps", "20_000", "--seed", "1")
    assert "tabulated" in rlsuite(*command[:4], "500", *command[5:], "--tabulate").out
    assert "tabulated" not in rlsuite(*command, "--no-tabulate").out
    assert "tabulated" in rlsuite(*command[:4], "500", "--seeds", "2", "--tabulate").out
    done = rlsuite(*command[:5], "--seeds", "2", "--tabulate", "--loop", "stepwise")
    assert (done.code, done.out) == (2, "")
    assert "leave out --loop stepwise" in done.err


@pytest.mark.slow
def test_a_movie(rlsuite, tmp_path):
    """Of learning, which is done once more, of value iteration, and of a belief."""
    lake = ["FrozenLake-v1", "--movie", "lake.html", "--gamma", "0.9"]
    assert rlsuite("train", "q-learning", *lake, "--steps", "500", "--seed", "1").code == 0
    learned = (tmp_path / "lake.html").read_text("utf-8")
    again = rl.QLearning(gamma=0.9)
    rl.plotting.learning_movie(tmp_path / "again.html", again, "FrozenLake-v1", steps=500, seed=1)
    assert learned == (tmp_path / "again.html").read_text("utf-8")
    assert rlsuite("solve", *lake).code == 0
    assert "sweep 1:" in (tmp_path / "lake.html").read_text("utf-8")
    assert rlsuite("solve", "rlsuite/Tiger-v0", "--gamma", "0.9", "--movie", "tiger.html").code == 0
    assert "observed hear " in (tmp_path / "tiger.html").read_text("utf-8")
    for words, said in (
        (["train", "q-learning", *lake, "--seeds", "2"], "--movie is of a single run"),
        (["train", "q-learning", "Taxi-v4", "--movie", "taxi.html"], "Taxi-v4"),
        (["solve", "Taxi-v4", "--movie", "taxi.html"], "Taxi-v4 has no grid to draw"),
        (["solve", "FrozenLake-v1", "--movie", "lake.png"], "--movie"),
    ):
        done = rlsuite(*words)
        assert done.code == 2
        assert said in done.err
