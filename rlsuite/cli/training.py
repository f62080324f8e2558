"""``rlsuite train AGENT ENV``: learn, print the result, and save it."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.experiments import check_figures
from rlsuite.cli.figures import add_look_flags, look_of
from rlsuite.cli.flags import add_agent_flags, agent_of
from rlsuite.cli.options import (
    Commands,
    Keywords,
    add_command,
    add_env_flags,
    add_json_flag,
    add_time_limit_flag,
    add_workers_flag,
    check_workers,
    env_keywords_of,
    env_of,
    import_packages,
    whole_number,
    workers_of,
)
from rlsuite.cli.outcome import report
from rlsuite.cli.output import (
    FIGURE_SUFFIXES,
    MOVIE_SUFFIXES,
    check_writable,
    compiling_message,
    is_watched,
    print_note,
    print_progress,
)
from rlsuite.cli.showing import drawing, drawn_env, picture_of
from rlsuite.errors import LearningError, ParameterError, RlsuiteError
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.agents import Agent
    from rlsuite.core.aliases import Env
    from rlsuite.training.results import Results

DEFAULT_STEPS = 10_000
EVALUATIONS = ("evaluation", "evaluation_return", "value_error")
"""The figures of evaluations during the run."""

LONGEST_GIF = 200
"""Steps after which an episode that is drawn is truncated: a greedy policy may never reach an end."""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "train", run, json=False)
    parser.add_argument(
        "agent_name",
        metavar="AGENT",
        help="q-learning, sarsa, ..., file.py:Class, or module:Class; or FILE.npz, to continue what was saved there",
    )
    add_env_flags(parser)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=whole_number, metavar="N", help=f"length of the run (default {DEFAULT_STEPS})")
    length.add_argument("--episodes", type=whole_number, metavar="N", help="length of the run in episodes")
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=whole_number, metavar="N", help="one run with this seed; drawn if not given")
    seeds.add_argument("--seeds", type=whole_number, metavar="N", help="this many runs, with the seeds 0, 1, ...")
    add_workers_flag(parser, "processes, which are started for much work and used while they make it faster")
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first of many runs that fails")
    add_time_limit_flag(parser)
    parser.add_argument(
        "--evaluate-every", type=whole_number, metavar="N", help="steps or episodes between evaluations"
    )
    parser.add_argument(
        "--record-every", type=whole_number, metavar="N", help="steps or episodes between records of the reward"
    )
    parser.add_argument("--loop", default="auto", metavar="LOOP", help="auto, compiled or stepwise (default auto)")
    parser.add_argument(
        "--tabulate",
        action=argparse.BooleanOptionalAction,
        help="build a table by probing the environment, or fail / never build one (default: only with --loop compiled)",
    )
    parser.add_argument(
        "--regret",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compare with the optimum of the model, if there is one (default) / never solve it",
    )
    add_agent_flags(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--save", metavar="FILE.npz", help="save the agent; rlsuite.load reads it")
    output.add_argument("--save-to", metavar="FILE.npz", help="save the agent and its run periodically as it learns")
    output.add_argument("--save-every", type=float, metavar="SECONDS", help="seconds between two saves (default 60)")
    output.add_argument("--plot", metavar="FILE.png", help="draw its learning curve (.png, .svg, .pdf)")
    output.add_argument(
        "--figure",
        metavar="NAME",
        help="which curve --plot draws (default: the regret; cumulative_reward if no optimum is known)",
    )
    add_look_flags(output)
    output.add_argument("--gif", metavar="FILE.gif", help="draw one episode of the learned greedy policy")
    output.add_argument(
        "--movie",
        metavar="FILE.html",
        help="learn once more, and show values and errors (.html, .gif, .mp4)",
    )
    add_json_flag(output)


def run(chosen: argparse.Namespace) -> int:
    """Learn in an environment with an agent.

    Learn in an environment with an agent, with one seed or with many.

    Examples
    --------
    rlsuite train q-learning CliffWalking-v1 --steps 100000 --seed 7 --save cliff.npz --gif cliff.gif
    rlsuite train sarsa FrozenLake-v1 --env is_slippery=false --seeds 10 --plot lake.png
    rlsuite train cliff.npz CliffWalking-v1 --steps 10000 --save cliff.npz
    """
    if chosen.steps is chosen.episodes is None:
        chosen.steps = DEFAULT_STEPS
    check_workers(chosen)
    import_packages()
    agent = _saved_agent(chosen) if chosen.agent_name.endswith(".npz") else agent_of(chosen)
    _check_outputs(chosen)
    shown = drawn_env(chosen.environment, env_keywords_of(chosen), "rgb_array") if chosen.gif else None
    if chosen.movie:
        _check_movie(chosen)
    try:
        with compiling_message():
            results = (_one_seed if chosen.seeds is None else _many_seeds)(chosen, agent)
    except RlsuiteError:
        raise
    except Exception as error:  # whatever the user's environment or agent raises
        from rlsuite.training.failures import in_words, where_raised

        where = f" ({where_raised(error)})" if where_raised(error) else ""
        raise LearningError(
            f"the environment or the agent raised {in_words(error)}{where}; --debug prints the traceback"
        ) from error
    report(chosen, agent, results, _write(chosen, agent, results, shown))
    return 1 if results.failures else 0


def _saved_agent(chosen: argparse.Namespace) -> "Agent":
    """The agent of a file; its parameters are those of the file, too."""
    from rlsuite.registry import load

    if chosen.seeds is not None:
        raise ParameterError(
            f"{chosen.agent_name} holds a single agent, and --seeds trains several: give --seed, or none"
        )
    for pair in chosen.parameters:
        typed = in_dashes(pair.partition("=")[0]).rstrip("-")
        raise ParameterError(f"--{typed}: the parameters of the agent are those in {chosen.agent_name}")
    return load(chosen.agent_name)


def _check_outputs(chosen: argparse.Namespace) -> None:
    """Raise before learning, not after it, if a file cannot be written."""
    if chosen.seeds is not None:
        for flag in ("save", "gif", "movie", "save_to"):
            if getattr(chosen, flag):
                raise ParameterError(
                    f"--{flag.replace('_', '-')} needs a single agent, and --seeds trains several: give --seed instead"
                )
    npz = (".npz",)
    pictures = {"gif": (".gif",), "movie": MOVIE_SUFFIXES, "plot": FIGURE_SUFFIXES}
    for flag, suffixes in {"save": npz, "save_to": npz, **pictures}.items():
        path = getattr(chosen, flag)
        if path:
            check_writable(Path(path), f"--{flag.replace('_', '-')}", suffixes)
    if chosen.plot:
        check_figures([_figure(chosen)])
    elif chosen.figure:
        raise ParameterError("--figure applies only to the figure of --plot: add --plot FILE.png")
    look_of(chosen)


def _figure(chosen: argparse.Namespace) -> str:
    """The curve that --plot draws, as Python spells it, if no optimum is known."""
    return (chosen.figure or "cumulative_reward").replace("-", "_")


def _check_movie(chosen: argparse.Namespace) -> None:
    """Raise before learning if the environment has no grid, or if what is to be shown began in a file."""
    from rlsuite.environments.finding import closed
    from rlsuite.rendering import GridLayout

    if chosen.agent_name.endswith(".npz"):
        raise ParameterError("--movie shows learning from the beginning: name the agent in place of its file")
    with closed(env_of(chosen)) as env:
        GridLayout.from_env(env)


def _one_seed(chosen: argparse.Namespace, agent: "Agent") -> "Results":
    import inspect
    import secrets

    from rlsuite.training.results import Results
    from rlsuite.training.train import own_options

    env = env_of(chosen)
    goes_on = chosen.agent_name.endswith(".npz")
    kept = {"save_to": chosen.save_to, "save_every": chosen.save_every}
    taken = inspect.signature(agent.learn).parameters
    for name, value in kept.items():
        if value is not None and name not in taken:
            flag = name.replace("_", "-")
            raise ParameterError(f"--{flag}: {type(agent).__name__} saves what it has learned at the end alone: --save")
    options = {"regret": chosen.regret, **kept, **own_options(agent, chosen.loop, chosen.tabulate, None)}
    _say_if_endless(chosen, agent, env)
    seed = secrets.randbelow(2**31) if chosen.seed is None and not goes_on else chosen.seed
    _say_what_begins(chosen, agent, "" if seed is None else f", seed {seed}")
    agent.learn(
        env,
        **_length(chosen, agent, env),
        seed=seed,
        progress=is_watched(),
        **{name: value for name, value in options.items() if name in taken},
    )
    return Results(type(agent).__name__, chosen.environment, [agent.record_], gamma=agent.gamma)


def _many_seeds(chosen: argparse.Namespace, agent: "Agent") -> "Results":
    from rlsuite.training.train import train

    env = env_of(chosen)
    _say_if_endless(chosen, agent, env)
    _say_what_begins(chosen, agent, f", {chosen.seeds} seeds")
    results = train(
        agent,
        env,
        **_length(chosen, agent, env),
        seeds=chosen.seeds,
        workers=workers_of(chosen),
        loop=chosen.loop,
        tabulate=chosen.tabulate,
        regret=chosen.regret,
        fail_fast=chosen.fail_fast,
        progress=is_watched(),
    )
    return replace(results, environment=chosen.environment)


def _say_what_begins(chosen: argparse.Namespace, agent: "Agent", seeds: str) -> None:
    amount = f"{chosen.episodes:,} episodes" if chosen.steps is None else f"{chosen.steps:,} {agent.counts}"
    print_progress(f"{type(agent).__name__} learns in {chosen.environment}: {amount}{seeds}")


def _say_if_endless(chosen: argparse.Namespace, agent: "Agent", env: "Env") -> None:
    """Say before the run if its episodes never end: no transition of a known table does, and there is no time limit."""
    from rlsuite.environments.facts import NO_LIMIT, facts_of
    from rlsuite.environments.forms.form import Form, Wish
    from rlsuite.environments.forms.table import TableForm
    from rlsuite.environments.forms.tabulated import Tabulated
    from rlsuite.models import MDP
    from rlsuite.training.budget import PATIENCE

    facts = facts_of(env)
    if facts.time_limit != NO_LIMIT:
        return
    asks = chosen.tabulate or (chosen.loop == "compiled" and chosen.tabulate is not False)
    wish = Wish(agent.gamma, "compiled" if asks else "auto", patience=PATIENCE if asks else 0.0)
    if not facts.has_table and asks:
        _, info = env.reset(seed=0)
        wish = wish._replace(masked=facts.has_action_mask(info))
    form = TableForm.of(facts, wish) if facts.has_table else Tabulated.offer(facts, wish)  # which the run finds again
    model = form.judged if isinstance(form, Form) else None
    if isinstance(model, MDP) and model.n_states > 1 and not model.terminated.any():
        print_note(
            f"no episode of {facts.name} ends: no transition terminates it, and it has no time limit; "
            "--max-episode-steps sets one"
        )


def _length(chosen: argparse.Namespace, agent: "Agent", env: "Env") -> Keywords:
    """How long to learn and how often to evaluate: at the end at least, if the greedy policy can be evaluated."""
    from rlsuite.experiments.comparing import last_evaluation

    amount: int = chosen.episodes if chosen.steps is None else chosen.steps
    every = chosen.evaluate_every
    if every is None and (last := last_evaluation(agent, env, max(1, amount))) is not None:
        every = max(1, amount // 50) if chosen.plot and _figure(chosen) in EVALUATIONS else last
    return {
        "steps": chosen.steps,
        "episodes": chosen.episodes,
        "evaluate_every": every,
        "record_every": chosen.record_every,
    }


def _write(chosen: argparse.Namespace, agent: "Agent", results: "Results", shown: "Env | None") -> dict[str, str]:
    """Write the files that were asked for; what was written, by flag."""
    written: dict[str, str] = {}
    if chosen.save:
        agent.save(chosen.save)
        written["save"] = chosen.save
    if chosen.plot:
        from rlsuite.plotting import figures
        from rlsuite.plotting.figure import write

        asked = chosen.figure or not all(record.regret.size for record in results.records)
        write(chosen.plot, figures()[_figure(chosen) if asked else "regret"], results, **look_of(chosen))
        written["plot"] = chosen.plot
    if shown is not None:
        from rlsuite.environments.finding import closed
        from rlsuite.rendering import write_gif

        with closed(shown), drawing(chosen.environment):
            write_gif(chosen.gif, _frames(agent, shown, results.records[0].seed))
        written["gif"] = chosen.gif
    if chosen.movie:
        from rlsuite.plotting import learning_movie

        env, seed = env_of(chosen), results.records[0].seed
        frames = min(20, agent.steps_)
        learning_movie(chosen.movie, agent_of(chosen), env, steps=agent.steps_, frames=frames, seed=seed)
        written["movie"] = chosen.movie
    return written


def _frames(agent: "Agent", env: "Env", seed: int) -> Any:
    """Pictures of one episode of the greedy policy."""
    picture = picture_of(env)
    observation, _ = env.reset(seed=seed % 2**31)
    yield picture(None, None)
    for _ in range(LONGEST_GIF):
        action = int(agent.act(observation))
        observation, reward, terminated, truncated, _ = env.step(action)
        yield picture(action, float(reward))
        if terminated or truncated:
            return
