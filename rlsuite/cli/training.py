"""``rlsuite train AGENT ENV``: learn, print the result with the optimum beside it, and save it."""

import secrets
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from inspect import signature
from math import isnan
from statistics import mean
from typing import TYPE_CHECKING, Any

from rlsuite.cli.evaluating import drawing, drawn_env, picture_of
from rlsuite.cli.experiments import check_figures
from rlsuite.cli.flags import AgentFlags, Typed
from rlsuite.cli.listing import unmet
from rlsuite.cli.options import EnvFlags, Keywords, Length, Look, Loops, command, import_packages, in_flags
from rlsuite.cli.output import (
    AgentFile,
    FigureFile,
    GifFile,
    MovieFile,
    compiling_message,
    is_watched,
    number,
    print_json,
    print_note,
    print_progress,
)
from rlsuite.errors import LearningError, ParameterError, RlsuiteError, RlsuiteWarning
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.agents import Agent
    from rlsuite.core.aliases import Env
    from rlsuite.planning.agreement import QAgreement
    from rlsuite.training.results import Record, Results

EVALUATIONS = ("evaluation", "evaluation_return", "value_error")
"""The figures of evaluations during the run."""

LONGEST_GIF = 200
"""Steps after which an episode that is drawn is truncated: a greedy policy may never reach an end."""

UNDISCOUNTED = "undiscounted return of the greedy policy"

GREEDY, FOLLOWED_POLICY = "greedy policy", "policy that it follows"
"""What is evaluated: of an agent that learns state values, the policy that it follows."""

NOT_EVALUATED = (
    "the greedy policy is not evaluated: at gamma 1 it may never reach an end, and the environment has no time limit; "
    "give --max-episode-steps"
)

SURE = 1.0 - 1e-9
"""An event with at least this probability is taken as certain."""

LONGER = (10, 100)
"""Lengths that are tried where a greedy policy reaches no end, as multiples of what was typed."""

TRIALS = 3
"""Runs of each length."""

MOST_STEPS = 3_000_000
"""Steps of all runs of one length; a second, or less, in the compiled loop."""

SINGLE_AGENT_FLAGS = ("--seed", "--save", "--gif", "--movie", "--save-to", "--save-every")
"""Flags for a single agent, which cannot be used with several seeds."""


@dataclass(frozen=True)
class Run:
    """Run.

    Parameters
    ----------
    agent_name : AGENT
        q-learning, sarsa, ..., file.py:Class, or module:Class; or FILE.npz, to continue what was saved there
    environment : ENV
        an id, module:Id, or file.py:Class
    seed : N
        one run with this seed; drawn if not given
    seeds : N
        this many runs, with the seeds 0, 1, ...
    fail_fast
        stop at the first of many runs that fails
    evaluate_every : N
        steps or episodes between evaluations
    record_every : N
        steps or episodes between records of the reward
    regret
        compare with the optimum of the model, if there is one (default) / never solve it
    save : FILE.npz
        save the agent; rlsuite.load reads it
    save_to : FILE.npz
        save the agent and its run periodically as it learns
    save_every : SECONDS
        seconds between two saves (default 60)
    plot : FILE.png
        draw its learning curve (.png, .svg, .pdf)
    figure : NAME
        which curve --plot draws (default: the regret; cumulative_reward if no optimum is known)
    gif : FILE.gif
        draw one episode of the learned greedy policy
    movie : FILE.html
        learn once more, and show values and errors (.html, .gif, .mp4)
    json
        print the result as JSON
    """

    agent_name: str
    environment: str
    _: KW_ONLY
    flags: EnvFlags
    length: Length
    seed: int | None = None
    seeds: int | None = None
    fail_fast: bool = False
    evaluate_every: int | None = None
    record_every: int | None = None
    regret: bool = True
    loops: Loops
    of_agent: AgentFlags
    save: AgentFile | None = None
    save_to: AgentFile | None = None
    save_every: float | None = None
    plot: FigureFile | None = None
    figure: str | None = None
    look: Look
    gif: GifFile | None = None
    movie: MovieFile | None = None
    json: bool = False
    typed: Typed

    @property
    def from_file(self) -> bool:
        """Whether the agent has learned before."""
        return self.agent_name.endswith(".npz")

    def env(self) -> "Env":
        """The environment."""
        return self.flags.made(self.environment)

    @property
    def curve(self) -> str:
        """The curve that --plot draws, as Python spells it, if no optimum is known."""
        return (self.figure or "cumulative_reward").replace("-", "_")

    def amounts(self, agent: "Agent", env: "Env") -> Keywords:
        """How long to learn and how often to evaluate: at the end at least, if the greedy policy can be evaluated."""
        from rlsuite.experiments.comparing import last_evaluation

        amount, every = self.length.amount(), self.evaluate_every
        if every is None and (last := last_evaluation(agent, env, max(1, amount))) is not None:
            every = max(1, amount // 50) if self.plot and self.curve in EVALUATIONS else last
        return {**self.length.keywords, "evaluate_every": every, "record_every": self.record_every}


def train(asked: Run) -> int:
    """Learn in an environment with an agent.

    Learn in an environment with an agent, with one seed or with many.

    Examples
    --------
    rlsuite train q-learning CliffWalking-v1 --steps 100000 --seed 7 --save cliff.npz --gif cliff.gif
    rlsuite train sarsa FrozenLake-v1 --env is_slippery=false --seeds 10 --plot lake.png
    rlsuite train cliff.npz CliffWalking-v1 --steps 10000 --save cliff.npz
    """
    if asked.seeds is not None:
        for flag in ("seed", "save", "gif", "movie", "save_to"):
            if getattr(asked, flag) is not None:
                raise ParameterError(
                    f"--{in_dashes(flag)} is of a single run, and --seeds are several: leave one of them out"
                )
    if asked.figure and not asked.plot:
        raise ParameterError("--figure applies only to the figure of --plot: add --plot FILE.png")
    drawn = asked.look.of(asked.plot)
    if asked.plot:
        check_figures([asked.curve])
    import_packages()
    agent = _saved_agent(asked) if asked.from_file else asked.of_agent.made(asked.agent_name)
    shown = drawn_env(asked.environment, asked.flags.keywords, "rgb_array") if asked.gif else None
    if asked.movie:
        _check_movie(asked)
    try:
        with compiling_message():
            results = _one_seed(asked, agent) if asked.seeds is None else _many_seeds(asked, agent, asked.seeds)
    except RlsuiteError:
        raise
    except Exception as error:  # whatever the user's environment or agent raises
        from rlsuite.training.failures import in_words, where_raised

        where = f" ({where_raised(error)})" if where_raised(error) else ""
        reason = next(iter(unmet()), "--debug prints the traceback")
        raise LearningError(f"the environment or the agent raised {in_words(error)}{where}; {reason}") from error
    if asked.save:
        agent.save(asked.save)
    if asked.plot:
        from rlsuite.plotting import figures
        from rlsuite.plotting.figure import write

        known = all(record.regret.size for record in results.records)
        figure = figures()["regret" if known and not asked.figure else asked.curve]
        write(asked.plot, figure, results, **drawn)
    if asked.gif and shown is not None:
        from rlsuite.environments.finding import closed
        from rlsuite.rendering import write_gif

        with closed(shown), drawing(asked.environment):
            write_gif(asked.gif, _frames(agent, shown, results.records[0].seed))
    if asked.movie:
        from rlsuite.plotting import learning_movie

        how: Keywords = {"steps": agent.steps_, "frames": min(20, agent.steps_), "seed": results.records[0].seed}
        learning_movie(asked.movie, asked.of_agent.made(asked.agent_name), asked.env(), **how)
    report(asked, agent, results)
    return 1 if results.failures else 0


def _saved_agent(asked: Run) -> "Agent":
    """The agent of a file; its parameters are those of the file, too."""
    from rlsuite.registry import load

    file = asked.agent_name
    if asked.seeds is not None:
        raise ParameterError(f"{file} holds a single agent, and --seeds trains several: give --seed, or none")
    for pair in asked.of_agent.agent:
        typed = in_dashes(pair.partition("=")[0]).rstrip("-")
        raise ParameterError(f"--{typed}: the parameters of the agent are those in {file}")
    return load(file)


def _check_movie(asked: Run) -> None:
    """Raise before learning if the environment has no grid, or if what is to be shown began in a file."""
    from rlsuite.environments.finding import closed
    from rlsuite.rendering import GridLayout

    if asked.from_file:
        raise ParameterError("--movie shows learning from the beginning: name the agent in place of its file")
    with closed(asked.env()) as env:
        GridLayout.from_env(env)


def _one_seed(asked: Run, agent: "Agent") -> "Results":
    from rlsuite.training.results import Results
    from rlsuite.training.train import own_options

    env, taken = asked.env(), signature(agent.learn).parameters
    kept: Keywords = {"save_to": asked.save_to, "save_every": asked.save_every}
    for name, value in kept.items():
        if value is not None and name not in taken:
            raise ParameterError(
                f"--{in_dashes(name)}: {type(agent).__name__} saves what it has learned at the end alone: --save"
            )
    how: Keywords = asked.loops.keywords
    options: Keywords = {"regret": asked.regret, **kept, **own_options(agent, how["loop"], how["tabulate"], None)}
    own: Keywords = {name: value for name, value in options.items() if name in taken}
    seed = secrets.randbelow(2**31) if asked.seed is None and not asked.from_file else asked.seed
    _say_what_begins(asked, agent, env, "" if seed is None else f", seed {seed}")
    agent.learn(env, **asked.amounts(agent, env), seed=seed, progress=is_watched(), **own)
    return Results(type(agent).__name__, asked.environment, [agent.record_], gamma=agent.gamma)


def _many_seeds(asked: Run, agent: "Agent", seeds: int) -> "Results":
    from rlsuite.training.train import train

    env, loops = asked.env(), asked.loops
    _say_what_begins(asked, agent, env, f", {seeds} seeds")
    how: Keywords = {"regret": asked.regret, "fail_fast": asked.fail_fast, "progress": is_watched(), **loops.keywords}
    results = train(agent, env, **asked.amounts(agent, env), seeds=seeds, workers=loops.cores, **how)
    return replace(results, environment=asked.environment)


def _say_what_begins(asked: Run, agent: "Agent", env: "Env", seeds: str) -> None:
    _say_if_endless(agent, env, asked.loops)
    unit = "episodes" if asked.length.episodes else agent.counts
    print_progress(f"{type(agent).__name__} learns in {asked.environment}: {asked.length.amount():,} {unit}{seeds}")


def _say_if_endless(agent: "Agent", env: "Env", loops: Loops) -> None:
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
    asks = loops.tabulate or (loops.loop == "compiled" and loops.tabulate is not False)
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


def report(asked: Run, agent: "Agent", results: "Results") -> None:
    """Print the result of learning.

    Parameters
    ----------
    asked : Run
        What was typed.
    agent : Agent
        The agent that learned; for many seeds, its copies did.
    results : Results
        The results of learning.
    """
    from rlsuite.core.described import describe
    from rlsuite.experiments import compare
    from rlsuite.experiments.rows import FOLLOWED, VALUE, VALUE_ERROR

    (row,) = compare({asked.environment: [results]})
    records = results.records
    steps = sum(asked.length.keywords["steps"] or int(record.episode_length.sum()) for record in records)
    loops = " and ".join(sorted({record.loop for record in records}))
    agreement = _agreement(asked, agent, records[0]) if len(records) == 1 else None
    learning = sum(record.seconds for record in records)
    compiling = sum(record.compiling_seconds for record in records)
    written = {flag: path for flag in ("save", "plot", "gif", "movie") if (path := getattr(asked, flag))}
    if asked.json:
        seeds = [record.seed for record in records]
        facts = {"agent": describe(agent), "seeds": seeds, "loop": loops, "loop_reason": records[0].loop_reason}
        facts["unit"] = results.unit
        facts |= {"seconds": learning, "compiling_seconds": compiling}
        facts["optimum_unknown"] = records[0].optimum_unknown
        facts["end_probability"] = [record.end_probability for record in records]
        facts["agreement"] = None if agreement is None else agreement._asdict()
        print_json({**row._asdict(), **facts, "episodes": sum(r.episode_return.size for r in records), **written})
        return
    seeds = f"seed {records[0].seed}" if len(records) == 1 else f"{len(records)} seeds"
    print(f"{agent!r} on {asked.environment}")
    compiled = f"compiled {compiling:.1f} s, " if compiling else ""
    print(f"  {seeds}, {loops} loop: {compiled}learned {steps:,} {agent.counts} in {learning:.3f} s")
    if records[0].loop_reason and (loops == "stepwise" or "tabulated" in records[0].loop_reason):
        reason = in_flags(records[0].loop_reason, asked.typed.parser)
        print(f"  {loops}, {steps / max(learning, 1e-9):,.0f} steps per second, because {reason}")
    if fit := _fit(agent):
        print(f"  {fit}")
    if outside := sum(record.outside for record in records):
        step_by_step = hasattr(agent, "values_")
        many = f"{outside:,} observations" + " of evaluations" * (not step_by_step)
        those = "its features were fitted to (a larger fit_on takes more)" if step_by_step else "it has learned from"
        print(f"  {many} lay outside of the range of those that {those}")
    what, follows = row.measure, records[0].follows or hasattr(agent, "policy_to_follow")
    if what in (VALUE, FOLLOWED):
        what = UNDISCOUNTED if agent.gamma == 1.0 else f"discounted {what} (gamma {number(agent.gamma)})"
    interval = _between(row.low, row.high)
    optimum = "" if row.optimum is None else f", optimum {number(row.optimum)}"
    share = "" if row.share is None else f" ({row.share:.1%} of it)"
    lines = [f"{what}: {number(row.mean)}{interval}{optimum}{share}"]
    if row.undiscounted is not None and what != UNDISCOUNTED:
        between = _between(row.undiscounted_low, row.undiscounted_high)
        lines.append(f"{UNDISCOUNTED}: {number(row.undiscounted)}{between}")
    if row.measure == VALUE_ERROR:
        values = [float(record.evaluation[-1]) for record in records]
        lines.append(f"value of the {FOLLOWED_POLICY} (gamma {number(agent.gamma)}): {number(mean(values))}")
    for line in lines:
        print(f"  {line.replace(GREEDY, FOLLOWED_POLICY) if follows else line}")
    if row.optimum is None and row.measure != VALUE_ERROR and asked.regret and records[0].optimum_unknown:
        print(f"  optimum unknown: {in_flags(records[0].optimum_unknown, asked.typed.parser)}")
    if not records[0].evaluation.size:
        print(f"  {NOT_EVALUATED.replace(GREEDY, FOLLOWED_POLICY) if follows else NOT_EVALUATED}")
        if records[0].optimal_value is not None:
            print(f"  undiscounted return of the best policy: {number(records[0].optimal_value)}")
    warning = _no_end_reached(agent, results)
    if warning:
        print(f"  {warning}")
    if agreement is not None:
        correlation = "" if isnan(agreement.correlation) else f", correlation {agreement.correlation:.3g}"
        print(f"  error of the learned action values: {number(agreement.rmse)} (root mean square){correlation}")
    for path in written.values():
        print(f"  written: {path}")
    longer = _longer(asked, agent, records) if warning else None
    if longer is not None:
        print_note(f"{TRIALS} runs of {longer:,} {results.unit} were tried: their greedy policies reach an end")
    figure = ["--figure", "value-error"] if row.measure == VALUE_ERROR and not asked.figure else []
    print_note(f"next: {_next(asked, longer, solvable=records[0].optimal_value is not None, figure=figure)}")


def _agreement(asked: Run, agent: "Agent", record: "Record") -> "QAgreement | None":
    """How close learned action values are to the optimal ones, where both are tables of the same states; else None."""
    if record.optimal_value is None:
        return None
    from rlsuite.cli.load import open_model
    from rlsuite.models import MDP
    from rlsuite.planning import q_agreement, solve

    values: Any = agent
    try:
        mdp = open_model(asked.environment, asked.flags.keywords, agent.gamma).model
        if not isinstance(mdp, MDP):
            return None
        best = solve(mdp)
        if abs(best.value_at_start - record.optimal_value) > _slack(record):
            return None  # the environment draws its problem
        others = ("actor_rate", "gain_")  # what is learned are preferences, or rewards above the average
        learns_q = hasattr(values, "exploration") and not any(hasattr(values, name) for name in others)
        return q_agreement(values, best) if learns_q and hasattr(values, "q_") else None
    except RlsuiteError:  # no model, or values of something else than its states
        return None


def _fit(agent: "Agent") -> str:
    """Sentence about features that have learned from data; empty if there are none."""
    holder: Any = getattr(agent, "values_", getattr(agent, "policy", None))
    features: object = getattr(holder, "features", None)
    if features is None or not hasattr(holder, "fit_on"):
        return ""
    from rlsuite.agents.fit_features import learn_from_data

    name = type(features).__name__
    first = f"the first {holder.fit_on:,} observations, of random actions before the steps counted (--fit-on)"
    return f"{name} fitted to {first}" if learn_from_data(features) else ""


def _between(low: float | None, high: float | None) -> str:
    """An interval, after a blank; nothing with one seed."""
    return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"


def _no_end_reached(agent: "Agent", results: "Results") -> str:
    """Sentence about greedy policies that need not reach an end, and do not do as well as possible; empty if none."""
    endless = [record for record in results.records if _is_endless(record)]
    if not endless:
        return ""
    least = min(record.end_probability or 0.0 for record in endless)
    how = "does not reach an end from the start"
    if least > 0.0:
        how = f"reaches an end from the start with probability {least:.2g} only"
    who = "the greedy policy"
    if len(results.records) > 1:
        from rlsuite.training.statistics import success_interval

        rate = success_interval(len(endless), len(results.records))
        share = f"{100 * rate.rate:.0f} % [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"
        who = f"the greedy policy of {len(endless)} of {len(results.records)} seeds, {share},"
    advice = "more --steps"
    if hasattr(agent, "exploration"):
        advice = "more --steps, a larger --learning-rate, or more exploration (--epsilon, --temperature)"
    return f"{who} {how}; try {advice}"


def _is_endless(record: "Record") -> bool:
    """Whether the greedy policy need not reach an end, and does not do as well as possible."""
    if record.follows or record.end_probability is None or record.end_probability >= SURE:
        return False
    return record.optimal_value is None or bool(record.evaluation[-1] < record.optimal_value - _slack(record))


def _longer(asked: Run, agent: "Agent", records: "Sequence[Record]") -> int | None:
    """How long runs have to be for greedy policies that reach an end, found by trying; None if that is not known."""
    from rlsuite.training.train import train

    if asked.from_file or records[0].loop != "compiled":
        return None
    print_progress("trying how long runs have to be ...")
    amount, counts = asked.length.amount(), asked.length.episodes is None
    steps = amount if counts else int(records[0].episode_length.sum())
    for factor in LONGER:
        if TRIALS * factor * steps > MOST_STEPS:
            return None
        length: Keywords = {"steps" if counts else "episodes": factor * amount}
        env = asked.env()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RlsuiteWarning)  # said of the run itself
            try:
                tried = train(agent, env, **length, seeds=TRIALS, evaluate_every=factor * amount).records
            except RlsuiteError:
                return None
        if not any(map(_is_endless, tried)):
            return factor * amount
    return None


def _slack(record: "Record") -> float:
    """Difference from the optimum that is attributed to rounding."""
    return 1e-6 * max(1.0, abs(record.optimal_value or 0.0))


def _next(asked: Run, longer: int | None, *, solvable: bool, figure: Sequence[str]) -> str:
    """The command that a user will want next, with the keywords that were typed; `longer` is a length that works."""
    if longer is not None:
        flag = "--episodes" if asked.length.episodes else "--steps"
        plot = [] if asked.plot else ["--plot", "curve.png"]
        typed = _without(asked.typed.words, (*SINGLE_AGENT_FLAGS, "--seeds", flag))
        return command(*typed, flags=[flag, str(longer), "--seeds", "30", *plot])
    if asked.from_file:
        file = asked.save or asked.save_to
        if not file:
            return command(*asked.typed.words, flags=["--save", "agent.npz"])
        return command("train", file, asked.environment, env=asked.flags.words)
    if asked.seeds is None:
        picture = [] if asked.plot else ["--plot", "curve.png", *figure]
        return command(*_without(asked.typed.words, SINGLE_AGENT_FLAGS), flags=["--seeds", "30", *picture])
    if not asked.plot:
        return command(*asked.typed.words, flags=["--plot", "curve.png", *figure])
    if not solvable:
        return command("check", asked.environment, env=asked.flags.words)
    gamma = [word for pair in asked.of_agent.agent if pair.startswith("gamma=") for word in ("--gamma", pair[6:])]
    return command("solve", asked.environment, env=asked.flags.words, flags=[*gamma, "--show"])


def _without(typed: list[str], flags: Sequence[str]) -> list[str]:
    """What was typed, without these flags and their values.

    >>> _without(["train", "sarsa", "--seed", "3", "--steps=5", "--save=a.npz"], ["--seed", "--save"])
    ['train', 'sarsa', '--steps=5']
    """
    kept: list[str] = []
    words = iter(typed)
    for word in words:
        if word in flags:
            next(words)
        elif word.partition("=")[0] not in flags:
            kept.append(word)
    return kept
