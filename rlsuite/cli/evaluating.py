"""``rlsuite evaluate``: what a saved agent is worth, and how it acts, in the terminal, as a gif or with a slider."""

import contextlib
import re
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rlsuite.cli.options import EnvFlags, Keywords, import_packages
from rlsuite.cli.output import GifFile, MovieFile, print_json, print_note
from rlsuite.errors import FileError, ParameterError, RlsuiteError, UnsuitableEnvironment, unknown

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env
    from rlsuite.training.judging import PolicyReport

EPISODES = 100
"""Episodes of an evaluation that nobody watches."""

LONGEST = 1_000
"""Steps after which an episode that is watched is cut: a greedy policy may never reach an end."""

LONGEST_MOVIE = 200
"""Steps after which a movie is cut, so that its page stays small."""


class Asked(NamedTuple):
    """Who acts, and where."""

    file: Path
    environment: str
    keywords: Keywords
    seed: int | None


def evaluate(
    source: str,
    environment: str | None = None,
    *,
    agent: str | None = None,
    episodes: int | None = None,
    seed: int | None = None,
    gamma: float | None = None,
    tabulate: bool = False,
    enjoy: bool = False,
    gif: GifFile | None = None,
    movie: MovieFile | None = None,
    flags: EnvFlags,
    json: bool = False,
) -> int:
    """Say what a saved agent is worth, and see it act.

    Play episodes with the greedy policy of an agent that 'rlsuite train ... --save' has written, or that an experiment
    with keep = "agents" has kept; say what they are worth, exactly where the environment has a model; and show them.

    Parameters
    ----------
    source : FILE.npz|FOLDER
        a saved agent, or a folder of 'rlsuite run'
    environment : ENV
        an id, module:Id, or file.py:Class; in a folder, the label of one of its environments (default: its first)
    agent : NAME
        which agent of the folder (default: the best one)
    episodes : N
        how many (default 100; 1 with --enjoy, --gif or --movie)
    seed : N
        which run of the folder, and of the episodes; drawn if not given
    gamma : NUMBER
        discount per step (default: the agent's)
    tabulate
        build a table by probing the environment
    enjoy
        print the episodes, step by step
    gif : FILE.gif
        draw them in a file
    movie : FILE.html
        draw the first one, with a slider (.html, .gif, .mp4)
    json
        print the result as JSON

    Examples
    --------
    rlsuite evaluate cliff.npz CliffWalking-v1
    rlsuite evaluate cliff.npz CliffWalking-v1 --enjoy
    rlsuite evaluate cliff.npz CliffWalking-v1 --gif walk.gif
    """
    import_packages()
    if Path(source).is_dir():
        asked = _in_folder(Path(source), environment, agent, seed, flags.keywords)
    else:
        asked = _in_file(source, environment, agent, seed, flags.keywords)
    from rlsuite.registry import load
    from rlsuite.training import judging

    actor = load(asked.file)
    how: Keywords = {"seed": asked.seed, "gamma": gamma, "tabulate": tabulate}
    if enjoy or gif or movie:
        tell = None if json or gif or movie else print
        report = _watch(actor, asked, episodes or 1, how, tell, gif, movie)
    else:
        report = judging.evaluate(actor, asked.environment, episodes=episodes or EPISODES, **how, **asked.keywords)
    if json:
        print_json({"file": str(asked.file), "gif": gif, "movie": movie, **report.facts()})
        return 0
    print(report)
    for path in filter(None, (gif, movie)):
        print_note(f"written: {path}")
    return 0


def _watch(
    agent: Any,
    asked: Asked,
    episodes: int,
    how: Keywords,
    tell: Callable[[Any], object] | None,
    gif: str | None,
    movie: str | None,
) -> "PolicyReport":
    """Evaluate an agent, and show its episodes: as texts to `tell`, as a gif, as a movie."""
    import numpy as np

    from rlsuite.environments.finding import closed
    from rlsuite.rendering import write_gif
    from rlsuite.training.acting import acting
    from rlsuite.training.episodes import episode_of, episode_seeds
    from rlsuite.training.judging import evaluate

    env = drawn_env(asked.environment, asked.keywords, "rgb_array" if gif else "ansi")
    frames: list[Any] = []
    with closed(env), drawing(asked.environment):
        report = evaluate(agent, env, episodes=episodes, max_steps=LONGEST, **how)
        # The same episodes again, to be seen: through a wrapper that shows each step no exact value would be known.
        watched = _watched(env, tell or frames.append, texts=not gif)
        act = acting("agent", agent, env, np.random.default_rng(report.seed))
        for seed in episode_seeds(episodes, report.seed):
            episode_of(watched, act, seed, max_steps=LONGEST)
        if gif:
            write_gif(gif, frames)
        if movie:
            from rlsuite.plotting import walk_movie

            (first,) = episode_seeds(1, report.seed)
            walk_movie(movie, agent, asked.environment, steps=LONGEST_MOVIE, seed=first, **asked.keywords)
    return report


def _in_file(source: str, environment: str | None, agent: str | None, seed: int | None, keywords: Keywords) -> Asked:
    train = f"rlsuite train AGENT {environment or 'ENV'} --save"
    if not source.endswith(".npz"):
        raise ParameterError(f"{source!r} is neither a folder nor the file of an agent: {train} agent.npz writes one")
    if not Path(source).exists():
        raise FileError(f"{source} does not exist; {train} {source} writes it")
    if environment is None:
        raise ParameterError(f"where? {source} does not hold an environment: rlsuite evaluate {source} ENV")
    if agent is not None:
        raise ParameterError(f"--agent chooses among the agents of a folder, and {source} is one: leave it out")
    return Asked(Path(source), environment, keywords, seed)


def _in_folder(folder: Path, place: str | None, asked: str | None, asked_seed: int | None, keywords: Keywords) -> Asked:
    """The agent of an experiment: the best one in the environment, and its first run, if nothing else is asked for."""
    from rlsuite.experiments import Experiment, compare, load_results
    from rlsuite.experiments.folder import read_run
    from rlsuite.experiments.rows import sign_of

    config = read_run(folder)["config"]
    if config.get("keep") != "agents":
        raise ParameterError(
            f'{folder} keeps no agents: write keep = "agents" in the experiment\'s file, above the tables, and run it '
            "again; or train one agent and save it, rlsuite train AGENT ENV --save agent.npz"
        )
    results = load_results(folder)
    environment = place or next(iter(results))
    if environment not in results:
        raise ParameterError(unknown(f"environment of {folder}", environment, results))
    rows = compare({environment: results[environment]}).rows
    agents = {row.agent: sign_of(row.measure) * row.mean for row in rows}
    agent = asked or max(agents, key=agents.__getitem__)
    if agent not in agents:
        raise ParameterError(unknown(f"agent of {folder}", agent, agents))
    # Files of the user's stand beside the experiment's, whose folder holds the results.
    experiment = Experiment.from_plain(config, folder.resolve().parent / f"{config['name']}.toml")
    cells = {
        cell.seed: cell
        for cell in experiment.cells()
        if (cell.environment.label, cell.agent.label) == (environment, agent) and (folder / cell.agent_file).is_file()
    }
    if not cells:
        raise FileError(f"{folder} keeps no run of {agent} in {environment} yet: run the experiment again to finish it")
    seed = next(iter(cells)) if asked_seed is None else asked_seed
    if seed not in cells:
        kept = ", ".join(map(str, cells))
        raise ParameterError(f"--seed {seed}: {folder} keeps {agent} in {environment} with the seeds {kept}")
    cell = cells[seed]
    print_note(f"{agent} in {environment}, seed {seed}")
    return Asked(folder / cell.agent_file, cell.env_id, {**cell.keywords, **keywords}, seed)


def _watched(env: "Env", tell: Callable[[Any], object], *, texts: bool) -> "Env":
    """The environment, which shows itself after each step: its pictures, its texts, or else what is observed."""
    import gymnasium

    picture = None if texts else picture_of(env)

    class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
        steps, total = 0, 0.0

        def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
            observation, info = self.env.reset(**how)
            self.steps, self.total = 0, 0.0
            self.show(f"begin: observation {observation}", None, None)
            return observation, info

        def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
            observation, reward, terminated, truncated, info = self.env.step(action)
            self.steps += 1
            self.total += float(reward)
            end = "; the end" if terminated else "; time is up" if truncated else ""
            came = f"reward {reward:g}, return {self.total:g}, observation {observation}"
            self.show(f"step {self.steps}: action {action}, {came}{end}", int(action), float(reward))
            return observation, reward, terminated, truncated, info

        def show(self, line: str, action: int | None, reward: float | None) -> None:
            if picture is not None:
                tell(picture(action, reward))
                return
            tell(line)
            if self.env.render_mode == "ansi":
                tell(plain(str(self.env.render())).rstrip())

    return Watched(env)


def plain(text: str) -> str:
    r"""A text for a terminal; for a file what has a colour of its own stands in brackets.

    >>> plain("\x1b[41mS\x1b[0mFF")
    '[S]FF'
    """
    from os import environ

    if sys.stdout.isatty() and "NO_COLOR" not in environ:
        return text
    marked = re.sub(r"\x1b\[[1-9][\d;]*m(.*?)\x1b\[0m", r"[\1]", text, flags=re.DOTALL)
    return re.sub(r"\x1b\[[\d;]*m", "", marked)


def drawn_env(name: str, keywords: Keywords, mode: str) -> "Env":
    """An environment that is made with a render mode; without one if it has no texts, or if rlsuite draws it.

    Raises
    ------
    UnsuitableEnvironment
        If it has no pictures, and these are asked for, or a package that draws them is missing.
    """
    from rlsuite.environments.finding import closed, find_env
    from rlsuite.rendering import drawing_of

    made = find_env(name, **keywords)
    if mode == "rgb_array" and drawing_of(made) is not None:
        return made
    modes = made.metadata.get("render_modes", [])
    if mode == "ansi" and mode not in modes:
        return made
    with closed(made):
        if mode not in modes:
            listed = ", ".join(modes) or "none"
            raise UnsuitableEnvironment(f"{name} cannot be drawn: {mode!r} is not among its render modes ({listed})")
        env = find_env(name, **keywords, render_mode=mode)
    with drawing(name):  # draw once before learning, so that a missing package is found early
        env.reset(seed=0)
        env.render()
    return env


def picture_of(env: "Env") -> Callable[[int | None, float | None], Any]:
    """What draws the present state of an environment of `drawn_env`, after an action and its reward."""
    from rlsuite.rendering import drawing_of

    drawn: Any = drawing_of(env)
    if drawn is None:
        return lambda action, reward: env.render()
    inner: Any = env.unwrapped
    return lambda action, reward: drawn.rgb(int(inner.s), action, reward)


@contextlib.contextmanager
def drawing(name: str) -> "Generator[None]":
    """Raise what goes wrong when an environment is drawn as an error that names it."""
    from rlsuite.training.failures import in_words, where_raised

    try:
        yield
    except RlsuiteError:
        raise
    except Exception as error:  # whatever the environment raises
        where = f" ({where_raised(error)})" if where_raised(error) else ""
        raise UnsuitableEnvironment(f"{name} cannot be drawn: {in_words(error)}{where}") from error
