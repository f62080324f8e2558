"""What all commands have in common: help, errors, exit codes, and how little they load."""

import re
import shlex
import subprocess
import sys

import pytest

import rlsuite as rl
from rlsuite import cli
from rlsuite.cli.flags import EXAMPLES

ENDLESS = """
import gymnasium as gym

class Endless(gym.Env):
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        self.state = int(action)
        return self.state, 1.0, False, False, {}
"""

HEAVY = ("numpy", "numba", "scipy", "matplotlib", "gymnasium", "PIL", "tqdm")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["train", "--help"], ["filter", "--help"], ["nonsense"], []]
)
def test_what_needs_no_library_loads_none(arguments):
    program = f"""
import sys
from rlsuite.cli import main
main({arguments!r})
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_drawing_needs_no_compiler(tmp_path):
    program = """
import sys
from rlsuite.cli import main
main(["report", "nowhere", "--plot"])
print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "False\n"


def test_alone_it_prints_its_help(rlsuite):
    assert rlsuite() == rlsuite("--help")


def test_python_m_is_the_command():
    done = subprocess.run([sys.executable, "-m", "rlsuite", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"rlsuite {rl.__version__}\n")


def test_help_lists_every_command(rlsuite):
    done = rlsuite("--help")
    assert done.code == 0
    listed = [line.split()[0] for line in done.out.splitlines() if line.startswith("    ") and line[4] != " "]
    front = "demo envs agents check train evaluate compare sweep run report solve filter fit show"
    assert " ".join(listed) == f"{front} -- act verify choose doctor completion schema"
    assert len(front.split()) == 14


MAZE = """
import gymnasium as gym

class Maze(gym.Env):
    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 0
        return 0, {}

    def step(self, action):
        self.s += 1
        return self.s, 1.0, self.s == 2, False, {}
"""

STUDY = """
steps = 500
seeds = 3
evaluate_every = 100
environments = [{ id = "FrozenLake-v1" }]
agents = [{ name = "q-learning" }, { name = "sarsa" }]
"""

BATCH = """
steps = 2000
seeds = 3
environments = [{ id = "rlsuite/ObstacleGrid-v0", observe = "cell" }]
agents = [
  { name = "FittedQ", iterations = 3, regressor = "sklearn.linear_model:LinearRegression" },
  { name = "FittedQ", iterations = 3, label = "tree", regressor = "sklearn.tree:DecisionTreeRegressor" },
]
"""

METER = "\n".join(
    ["observation,heat,load", *(f"{t % 20 // 8}.{t * 7 % 10},{t * 13 % 17 / 17},{t * 5 % 11 / 11}" for t in range(300))]
)
SENSOR = "\n".join(["temperature,vibration,run", *(f"{t % 7}.{t % 3},{t % 5},{t // 30}" for t in range(60))])
GIVEN = {"maze.py", "study.toml", "batch.toml", "rolls.csv", "meter.csv", "sensor.csv"}
RUN_ELSEWHERE = {"demo"}
"""Commands whose examples .ci/run runs, because they are too long for a test."""


def test_every_help_ends_with_examples(rlsuite):
    for name, parser in cli.parsers()[1].items():
        found = examples_of(parser)
        assert found, name
        assert all(example.split()[:2] == ["rlsuite", name] for example in found)
        assert rlsuite(name, "--help").out.endswith("\n".join(["", "examples:", *(f"  {one}" for one in found), ""]))


@pytest.mark.slow
def test_the_examples_of_every_help_run_one_after_the_other(rlsuite, tmp_path, tiger_file):
    pytest.importorskip("optuna")
    for name, text in {"maze.py": MAZE, "study.toml": STUDY, "batch.toml": BATCH}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "rolls.csv").write_text("\n".join(["observation", *"1626641666263234512345"]), encoding="utf-8")
    (tmp_path / "meter.csv").write_text(METER, encoding="utf-8")
    (tmp_path / "sensor.csv").write_text(SENSOR, encoding="utf-8")
    for name, parser in cli.parsers()[1].items():
        for example in () if name in RUN_ELSEWHERE else examples_of(parser):
            words, _, _ = example.partition(" > ")  # a shell's part
            done = rlsuite(*shlex.split(words)[1:])
            assert done.code == 0, (example, done.err)
            for file in re.findall(r"--(?:save|plot|gif|output|export) ([^-\s]\S*)|-o (\S+)", words):
                assert (tmp_path / "".join(file)).exists(), (example, file)
            _, proposes, following = done.err.partition("next: rlsuite ")
            if proposes:
                assert rlsuite(*shlex.split(following.splitlines()[0])).code == 0, following


def test_the_examples_read_only_files_that_they_write_or_that_are_given():
    written = set(GIVEN)
    for name, parser in cli.parsers()[1].items():
        for example in () if name in RUN_ELSEWHERE else examples_of(parser):
            out = re.findall(r"(?:--(?:save|plot|gif|output|export)|-o|>) ([^-\s]\S*)", example)
            read = set(re.findall(r"[\w./-]+\.(?:py|toml|csv|npz|txt|json)\b", example)) - set(out)
            assert read <= written, (example, read - written)
            written |= set(out)


def examples_of(parser):
    """The commands at the end of a help."""
    _, _, listed = (parser.epilog or "").partition(f"{EXAMPLES}\n")
    return [line.strip() for line in listed.splitlines()]


def test_version(rlsuite):
    assert rlsuite("--version").out == f"rlsuite {rl.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["trian"],
            "unknown command 'trian'; did you mean 'train'? (choices: act, agents, check, choose, compare, ",
        ),
        (
            ["enjoy", "q.npz", "CliffWalking-v1"],
            "there is no command 'enjoy': rlsuite evaluate q.npz CliffWalking-v1 --enjoy",
        ),
        (["runs", "b", "--merge", "a"], "there is no command 'runs': rlsuite report b --merge a --status"),
        (["list"], "there is no command 'list': 'rlsuite envs' lists the environments, 'rlsuite agents' the agents"),
        (
            ["train", "sarsa", "rlsuite/GridWorld-v0", "--map=S.G"],
            "unknown flag '--map': write keywords of the environment as --env map=... (see 'rlsuite train --help')",
        ),
        (
            ["solve", "FrozenLake-v1", "--is-slippery", "false"],
            "unknown flag '--is-slippery'; a keyword of the environment is written --env is_slippery=VALUE (see ",
        ),
        (
            ["train", "sarsa", "FrozenLake-v1", "--workers", "0"],
            "--workers 0 is less than 1; leave it out ",
        ),
        (["--trian"], "the following arguments are required: COMMAND; see 'rlsuite --help'"),
        (["train"], "the following arguments are required: AGENT, ENV; see 'rlsuite train --help'"),
        (
            ["train", "sarsa", "FrozenLake-v1", "--epsilno", "0.1"],
            "unknown flag '--epsilno'; did you mean '--epsilon'? (see 'rlsuite train --help')",
        ),
        (
            ["train", "sarsa", "FrozenLake-v1", "--epsilno=0.1"],
            "unknown flag '--epsilno'; did you mean '--epsilon'? (see 'rlsuite train --help')",
        ),
        (["envs", "a", "b"], "unknown argument 'b' (see 'rlsuite envs --help')"),
        (["envs", "--jso"], "unknown flag '--jso'; did you mean '--json'? (see 'rlsuite envs --help')"),
        (
            ["train", "sarsa", "FrozenLake-v1", "--steps", "many"],
            "argument --steps: 'many' is not a whole number; see 'rlsuite train --help'",
        ),
        (
            ["train", "sarsa", "FrozenLake-v1", "--steps", "1.5"],
            "argument --steps: '1.5' is not a whole number; see 'rlsuite train --help'",
        ),
        (
            ["train", "sarsa", "FrozenLake-v1", "--steps", "inf"],
            "argument --steps: 'inf' is not a whole number; see 'rlsuite train --help'",
        ),
        (
            ["train", "sarsa", "FrozenLake-v1", "--steps", "5", "--episodes", "5"],
            "--steps and --episodes both say how long a run is: leave one of them out",
        ),
        (
            ["train", "sarsa", "FrozenLake-v1", "--seed", "5", "--seeds", "5"],
            "--seed is of a single run, and --seeds are several: leave one of them out",
        ),
        (["run", "nowhere.toml"], "there is no file nowhere.toml"),
        (["run", "."], "cannot read .: Is a directory"),
        (["report", "nowhere"], "nowhere holds no results of an experiment: there is no such folder"),
        (["check", "FrozenLak-v1"], "No environment 'FrozenLak-v1'. Did you mean 'FrozenLake-v1'?"),
        (["solve", "nowhere.py:Maze"], "'nowhere.py:Maze': there is no file 'nowhere.py'"),
        *(
            (
                ["train", "sarsa", "FrozenLake-v1", flag, "0.1"],
                f"unknown flag '{flag}'; did you mean '{meant}'? (see 'rlsuite train --help')",
            )
            for flag, meant in {
                "--alpha": "--learning-rate",
                "--lr": "--learning-rate",
                "--step-size": "--learning-rate",
                "--discount": "--gamma",
                "--eps": "--epsilon",
                "--total-timesteps": "--steps",
                "--n-episodes": "--episodes",
                "--n_seeds": "--seeds",
            }.items()
        ),
        (
            ["train", "sarsa", "FrozenLake-v1", "--agent", "alpha=0.1"],
            "Sarsa: unknown parameter 'alpha'; did you mean 'learning_rate'? (choices: ",
        ),
        (
            ["agents", "q-lerning"],
            "unknown agent 'q-lerning'; did you mean 'q-learning' or 'r-learning' or '",
        ),
        (["agents", "QLerning"], "unknown agent 'QLerning'; did you mean 'QLearning' or 'RLearning' or '"),
        (
            ["train", "FrozenLake-v1", "q-learning"],
            "the agent comes first: rlsuite train q-learning FrozenLake-v1",
        ),
        (
            ["train", "ppo", "FrozenLake-v1"],
            "'ppo' is not an agent of commands and TOML files: rlsuite.approximation has policy gradients and DQN ",
        ),
        (
            ["solve", "FrozenLake-v1", "--method", "value-iteraton"],
            "unknown method 'value-iteraton'; did you mean 'value-iteration'? (choices: auto, average-reward-",
        ),
        (
            ["solve", "FrozenLake-v1", "--plot", "a.png", "--figure", "value-mop"],
            "unknown figure 'value-mop'; did you mean 'value-map'? (choices: ",
        ),
    ],
)
def test_mistakes_are_told_in_one_line_with_exit_code_2(rlsuite, arguments, sentence):
    done = rlsuite(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(f"rlsuite: error: {sentence}")
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_messages_of_the_library_show_flags(rlsuite, tmp_path, tiger_file):
    """What Python calls tol= is --tol here, in errors, in warnings, and in the lines that give a reason."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    mistakes = {
        ("solve", "FrozenLake-v1", "--gap", "0.1"): "use --tol",
        ("solve", "FrozenLake-v1", "--tol", "0"): "--tol 0.0 is not a positive number",
        ("solve", "FrozenLake-v1", "--rtol", "-1"): "--rtol -1.0 is negative; pass 0 to use --tol alone",
        ("solve", "FrozenLake-v1", "--gamma", "1.5"): "--gamma 1.5 is not in [0, 1]",
        ("solve", "CliffWalking-v1", "--gamma", "1", "--method", "value-iteration"): "Pass --gamma 0.99 (say)",
        ("solve", "FrozenLake-v1", "--max-iterations", "1", "--method", "value-iteration"): "--tol 1e-06",
        ("solve", "FrozenLake-v1", "--unreachable", "eror"): "unknown unreachable 'eror'",
        (
            "solve",
            tiger_file,
            "--gamma",
            "1",
        ): "use --gamma 0.99 (say), or plan for a number of steps: --horizon 100",
        ("solve", tiger_file, "--max-iterations", "1", "--method", "sarsop"): "--tol 1e-06",
        ("solve", "endless.py:Endless", "--method", "value-iteration"): "--tabulate",
        ("train", "sarsa", "endless.py:Endless", "--loop", "compiled", "--no-tabulate"): "use --loop stepwise",
        ("train", "sarsa", "endless.py:Endless", "--steps", "20_000"): "--tabulate",
        ("train", "sarsa", "FrozenLake-v1", "--tabulate", "--loop", "stepwise"): "--loop",
        ("train", "sarsa", "FrozenLake-v1", "--steps", "0"): "--steps 0 is less than 1",
        ("train", "sarsa", "FrozenLake-v1", "--seeds", "0"): "--seeds 0 is less than 1",
        ("train", "sarsa", "FrozenLake-v1", "--evaluate-every", "0"): "--evaluate-every 0 is less than 1",
        ("train", "sarsa", "FrozenLake-v1", "--save-every", "5"): "give --save-to as well",
        ("train", "sarsa", "FrozenLake-v1", "--learning-rate", "2"): "--learning-rate 2.0 lies outside [0, 1]",
        ("train", "sarsa", "FrozenLake-v1", "--epsilon", "-1"): "--epsilon -1",
        ("train", "sarsa", "FrozenLake-v1", "--plot", "a.png", "--figure", "evaluation"): "train with --seeds 10",
        ("demo", "--workers", "-1"): "--workers -1 is less than 1; leave it out to use all cores",
    }
    _, commands = cli.parsers()
    for arguments, sentence in mistakes.items():
        said = "".join([(done := rlsuite(*arguments)).out, done.err])
        assert sentence in said, (arguments, said)
        words = re.sub(r"\w\([^()]*\)", "", re.sub(r"\w\([^()]*\)", "", said))  # without calls
        flags = [flag for action in commands[arguments[0]]._actions for flag in action.option_strings]
        left = [flag for flag in flags if re.search(rf"(?<!\w){flag[2:].replace('-', '_')}=", words)]
        assert not left, (arguments, said)


def test_what_is_pointed_out_does_not_exist_here(rlsuite):
    _, commands = cli.parsers()
    assert not cli.INSTEAD.keys() & commands.keys()
    flags = {flag for parser in commands.values() for action in parser._actions for flag in action.option_strings}
    assert not cli.FLAGS_INSTEAD.keys() & flags


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_traceback_is_printed_where_it_is_asked_for(rlsuite, place):
    words = ["solve", "no-such-env"]
    words.insert(place, "--debug")
    done = rlsuite(*words)
    assert done.code == 2
    assert done.err.startswith("Traceback (most recent call last):\n")
    assert done.err.splitlines()[-1].startswith("rlsuite: error: No environment 'no-such-env'.")
    assert "--debug" in rlsuite("solve", "--help").out


def test_warnings_are_told_in_one_line(rlsuite_process):
    done = rlsuite_process("train", "q-learning", "Taxi-v4", "--env", "fickle_passenger=True", "--steps", "500")
    assert done.returncode == 0
    assert done.stderr.startswith("rlsuite: warning: Taxi-v4: at ")
    assert "Learning stepwise." in done.stderr.splitlines()[0]
    assert "\x1b" not in done.stdout + done.stderr


def test_warnings_of_every_command_are_told_and_not_raised(rlsuite, tmp_path, tiger_file):
    """Under pytest a warning is an error, unless the command sees to it."""
    off = (tmp_path / tiger_file).read_text().replace("0.85 0.15", "0.8502 0.15")
    (tmp_path / "off.pomdp").write_text(off)
    for command in (["filter", "off.pomdp", "listen", "hear-left"], ["solve", "off.pomdp", "--horizon", "1"]):
        for _ in range(2):  # the second run is told, too
            done = rlsuite(*command)
            assert done.code == 0
            warning, following = done.err.splitlines()
            assert warning.startswith("rlsuite: warning: off.pomdp:10:1: ")
            assert following.startswith("next: ")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error():
    program = "import sys; from rlsuite.cli import main; sys.exit(main(['agents']))"
    listing = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert listing.stdout is not None
    listing.stdout.close()
    assert "Traceback" not in listing.communicate()[1]
    assert listing.returncode == 1
