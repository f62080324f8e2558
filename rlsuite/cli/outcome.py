"""What ``rlsuite train`` prints at its end: how long it took, what was learned, and what to do next."""

import argparse
import warnings
from collections.abc import Sequence
from math import isnan
from statistics import mean
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import Keywords, command, env_keywords_of, env_of, in_flags
from rlsuite.cli.output import number, print_json, print_note, print_progress
from rlsuite.errors import RlsuiteError, RlsuiteWarning

if TYPE_CHECKING:
    from rlsuite.agents import Agent
    from rlsuite.planning.agreement import QAgreement
    from rlsuite.training.results import Record, Results

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


def report(chosen: argparse.Namespace, agent: "Agent", results: "Results", written: dict[str, str]) -> None:
    """Print the result of learning.

    Parameters
    ----------
    chosen : argparse.Namespace
        What was typed.
    agent : Agent
        The agent that learned; for many seeds, its copies did.
    results : Results
        The results of learning.
    written : dict of str to str
        The files that were written, by flag.
    """
    from rlsuite.core.described import describe
    from rlsuite.experiments import compare
    from rlsuite.experiments.rows import FOLLOWED, VALUE, VALUE_ERROR

    (row,) = compare({chosen.environment: [results]})
    records = results.records
    steps = sum(chosen.steps or int(record.episode_length.sum()) for record in records)
    loops = " and ".join(sorted({record.loop for record in records}))
    agreement = _agreement(chosen, agent, records[0]) if len(records) == 1 else None
    learning = sum(record.seconds for record in records)
    compiling = sum(record.compiling_seconds for record in records)
    if chosen.json:
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
    print(f"{agent!r} on {chosen.environment}")
    compiled = f"compiled {compiling:.1f} s, " if compiling else ""
    print(f"  {seeds}, {loops} loop: {compiled}learned {steps:,} {agent.counts} in {learning:.3f} s")
    if records[0].loop_reason and (loops == "stepwise" or "tabulated" in records[0].loop_reason):
        reason = in_flags(records[0].loop_reason, chosen.parser)
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
    if row.optimum is None and row.measure != VALUE_ERROR and chosen.regret and records[0].optimum_unknown:
        print(f"  optimum unknown: {in_flags(records[0].optimum_unknown, chosen.parser)}")
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
    longer = _longer(chosen, agent, records) if warning else None
    if longer is not None:
        print_note(f"{TRIALS} runs of {longer:,} {results.unit} were tried: their greedy policies reach an end")
    figure = ["--figure", "value-error"] if row.measure == VALUE_ERROR and not chosen.figure else []
    print_note(f"next: {_next(chosen, written, longer, solvable=records[0].optimal_value is not None, figure=figure)}")


def _agreement(chosen: argparse.Namespace, agent: "Agent", record: "Record") -> "QAgreement | None":
    """How close learned action values are to the optimal ones, where both are tables of the same states; else None."""
    if record.optimal_value is None:
        return None
    from rlsuite.cli.load import open_model
    from rlsuite.models import MDP
    from rlsuite.planning import q_agreement, solve

    values: Any = agent
    try:
        mdp = open_model(chosen.environment, env_keywords_of(chosen), agent.gamma).model
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


def _longer(chosen: argparse.Namespace, agent: "Agent", records: "Sequence[Record]") -> int | None:
    """How long runs have to be for greedy policies that reach an end, found by trying; None if that is not known."""
    from rlsuite.training.train import train

    if chosen.agent_name.endswith(".npz") or records[0].loop != "compiled":
        return None
    print_progress("trying how long runs have to be ...")
    amount: int = chosen.steps or chosen.episodes
    steps: int = chosen.steps or int(records[0].episode_length.sum())
    for factor in LONGER:
        if TRIALS * factor * steps > MOST_STEPS:
            return None
        length: Keywords = {"steps" if chosen.steps else "episodes": factor * amount}
        env = env_of(chosen)
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


def _next(
    chosen: argparse.Namespace, written: dict[str, str], longer: int | None, *, solvable: bool, figure: Sequence[str]
) -> str:
    """The command that a user will want next, with the keywords that were typed; `longer` is a length that works."""
    if longer is not None:
        flag = "--steps" if chosen.steps else "--episodes"
        plot = [] if chosen.plot else ["--plot", "curve.png"]
        typed = _without(chosen.typed, (*SINGLE_AGENT_FLAGS, "--seeds", flag))
        return command(*typed, flags=[flag, str(longer), "--seeds", "30", *plot])
    if chosen.agent_name.endswith(".npz"):
        file = written.get("save", chosen.save_to)
        if not file:
            return command(*chosen.typed, flags=["--save", "agent.npz"])
        return command("train", file, chosen.environment, env=chosen.env)
    if chosen.seeds is None:
        picture = [] if chosen.plot else ["--plot", "curve.png", *figure]
        return command(*_without(chosen.typed, SINGLE_AGENT_FLAGS), flags=["--seeds", "30", *picture])
    if "plot" not in written:
        return command(*chosen.typed, flags=["--plot", "curve.png", *figure])
    if not solvable:
        return command("check", chosen.environment, env=chosen.env)
    gamma = [word for pair in chosen.parameters if pair.startswith("gamma=") for word in ("--gamma", pair[6:])]
    return command("solve", chosen.environment, env=chosen.env, flags=[*gamma, "--show"])


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
