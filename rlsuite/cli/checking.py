"""``rlsuite check ENV``: whether an environment follows Gymnasium's rules, and what rlsuite can do with it."""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rlsuite.cli.options import DEFAULT_GAMMA, EnvFlags, command, import_packages
from rlsuite.cli.output import columns, number, one_line, print_json
from rlsuite.errors import LearningError, RlsuiteError, UnsuitableEnvironment

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env
    from rlsuite.environments.compiled_env import CompiledDynamics
    from rlsuite.environments.facts import EnvironmentFacts
    from rlsuite.training.optimum import Optimum

WALK = 200
"""Steps of the two runs that are compared."""

INDICES = 1_000
"""Steps of a walk in Python that looks for indices outside of arrays."""

PROBING = 5.0
"""Seconds in which an environment without a table is probed for one."""

DEADLINE = 60.0
"""Seconds that a check may take."""

NO_TABLE = "no transition table"
"""As `train` and `solve` say it."""


WITH_TABULATE = "with --tabulate"


class Finding(NamedTuple):
    """The outcome of one check."""

    verdict: str
    """"ok", "warn", "FAIL", or "no" where something is not possible, which is not an error."""
    what: str
    sentence: str


def check(environment: str, *, flags: EnvFlags, json: bool = False) -> int:
    """Check an environment, for instance your own.

    Check an environment against Gymnasium's rules, and print what rlsuite can do with it. The exit code is 1 if a
    check fails, or takes more than a minute.

    Parameters
    ----------
    environment : ENV
        an id, module:Id, or file.py:Class
    json
        print the result as JSON

    Examples
    --------
    rlsuite check FrozenLake-v1
    rlsuite check maze.py:Maze
    """
    import_packages()
    from rlsuite.environments.finding import find_env

    def make(**more: Any) -> "Env":
        return find_env(environment, **flags.keywords, **more)

    made = make()  # an environment that cannot be made is an error, not a finding
    findings = list(_findings(make))
    failed = any(finding.verdict == "FAIL" for finding in findings)
    if json:
        print_json({"environment": environment, "ok": not failed, "findings": [f._asdict() for f in findings]})
        return int(failed)
    print(environment)
    print(columns(findings))
    agent, more = ("q-learning", ()) if _has_ids(made) else ("sarsa", ("--features", "tile-coding"))
    if any(finding.sentence == WITH_TABULATE for finding in findings):
        more = ("--tabulate",)
    learn = command("train", agent, environment, env=flags.words, flags=more)
    print("some checks failed: see FAIL above" if failed else f"next: {learn}")
    return int(failed)


class _TooLong(BaseException):
    """Says where the program was; no ``except Exception`` of the environment catches it."""


def _findings(make: Callable[..., Any]) -> Iterator[Finding]:
    """Make all checks, one after the other, until one does not end."""
    from rlsuite.environments.child_process import alarm

    checks = {
        "Gymnasium's rules": _contract,
        "spaces": _spaces,
        "answers": _answers,
        "table": _table,
        "pictures": _renders,
    }
    for what, check in checks.items():
        try:
            with alarm(DEADLINE, _TooLong):
                found = list(check(make))
        except _TooLong as late:
            sentence = f"after {DEADLINE:g} s this check was still {late}; the checks after it were not made"
            yield Finding("FAIL", what, sentence)
            return
        except Exception as error:  # whatever the environment raises
            said = str(error) if isinstance(error, RlsuiteError) else f"raised {type(error).__name__}: {error}"
            found = [Finding("FAIL", what, one_line(said))]
        yield from found


def _has_ids(env: Any) -> bool:
    """Whether tabular agents can learn in it."""
    from rlsuite.environments.observation_ids import ObservationIds

    try:
        ObservationIds(env.observation_space)
    except UnsuitableEnvironment:
        return False
    return True


def _contract(make: Callable[..., Any]) -> Iterator[Finding]:
    from gymnasium.utils.env_checker import check_env

    from rlsuite.environments.finding import closed

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = make()
        try:
            with closed(env):
                check_env(env.unwrapped, skip_render_check=True)
        except Exception as error:  # whatever the environment raises, and the checker's assertions
            yield Finding("FAIL", "Gymnasium's rules", f"{type(error).__name__}: {one_line(str(error))}")
        else:
            if not caught:
                yield Finding("ok", "Gymnasium's rules", "followed, without a warning")
    for warning in {one_line(str(one.message)): one for one in caught}:
        yield Finding("warn", "Gymnasium's rules", warning.removeprefix("WARN: "))


def _spaces(make: Callable[..., Any]) -> Iterator[Finding]:
    from rlsuite.environments.facts import action_space_of
    from rlsuite.environments.observation_view import encoding

    env = make()
    actions, width = action_space_of(env), encoding(env.observation_space).low.size
    sentence = f"observations {env.observation_space}, actions {actions}"
    if not _has_ids(env):
        sentence += f"; agents with features can learn in it (vectors of {width} numbers), tabular agents cannot"
    yield Finding("ok", "spaces", sentence)


def _answers(make: Callable[..., Any]) -> Iterator[Finding]:
    """Compare what two seeded copies return for the same random actions."""
    one, other = _walk(make()), _walk(make())
    yield Finding("ok", "answers", f"observations and rewards of {WALK} random steps are valid")
    differing = [step for step, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    seeds = f"two copies with the same seed agree for {WALK} steps"
    if differing:
        seeds = f"two copies with the same seed differ from step {differing[0]} on; draw from self.np_random only"
    yield Finding("FAIL" if differing else "ok", "seeds", seeds)


def _walk(env: "Env") -> list[str]:
    """What an environment returns, as text, which can always be compared."""
    import numpy as np

    from rlsuite.core.checks import finite_reward
    from rlsuite.environments.facts import name_of

    rng = np.random.default_rng(0)
    space: Any = env.action_space
    space.seed(0)
    observation, info = env.reset(seed=7)
    answers = [repr(observation)]
    for step in range(WALK + 1):
        if observation not in env.observation_space:
            where = f"step {step}" if step else "reset"
            raise LearningError(f"{where} returned observation {observation!r}, not in {env.observation_space}")
        legal: list[int] = np.flatnonzero(info["action_mask"]).tolist() if "action_mask" in info else []
        action = int(rng.choice(legal)) + int(space.start) if legal else space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        finite_reward(reward, name_of(env), step + 1)
        answers.append(repr((observation, reward, terminated, truncated)))
        if terminated or truncated:
            observation, info = env.reset()
            answers[-1] += repr(observation)
    return answers


def _table(make: Callable[..., Any]) -> Iterator[Finding]:
    from rlsuite.environments.facts import facts_of
    from rlsuite.environments.forms.table import trusted_model
    from rlsuite.models import MDP, POMDP
    from rlsuite.training.optimum import Optima

    env = make()
    facts = facts_of(env)
    if not facts.has_table:
        if facts.dynamics is None:
            yield from _probed(make)
        else:
            yield Finding("no", "table", f"{NO_TABLE} (env.unwrapped.P or .model): planners cannot solve it")
            yield from _dynamics(facts, facts.dynamics)
        return
    kind = POMDP if isinstance(facts.model, POMDP) else MDP
    model = kind.from_env(env, gamma=0.9)
    transitions = (model.mdp if isinstance(model, POMDP) else model).n_transitions
    yield Finding("ok", "table", f"{kind.__name__} with {model.n_states} states and {transitions} transitions")
    env.reset(seed=7)
    try:
        trusted_model(facts, gamma=DEFAULT_GAMMA)
    except RlsuiteError as error:
        yield Finding("no", "compiled loop", f"{error}; agents learn stepwise")
    else:
        yield Finding("ok", "compiled loop", "table and step agree in a replay")
        if isinstance(model, MDP):
            yield _optimum(Optima().of(model.replace(gamma=DEFAULT_GAMMA)))


def _probed(make: Callable[..., Any]) -> Iterator[Finding]:
    """What `train --tabulate` would do in an environment that exposes neither a table nor dynamics."""
    from rlsuite.environments.facts import facts_of
    from rlsuite.environments.finding import namesake
    from rlsuite.environments.forms import Wish
    from rlsuite.environments.forms.form import Refusal
    from rlsuite.environments.forms.tabulated import Tabulated
    from rlsuite.models import MDP
    from rlsuite.training.optimum import Optima

    env = make()
    _, info = env.reset(seed=7)
    facts = facts_of(env)
    wish = Wish(DEFAULT_GAMMA, "compiled", masked=facts.has_action_mask(info), patience=PROBING)
    form = Tabulated.offer(facts, wish)
    if isinstance(form, Refusal):
        yield Finding("no", "table", f"{NO_TABLE}, and cannot be tabulated: {form.reason}{namesake(facts.name)}")
        yield Finding("no", "compiled loop", "no compiled dynamics (env.unwrapped.dynamics): agents learn stepwise")
    else:
        yield Finding("ok", "table", f"{NO_TABLE}; --tabulate makes one: {form.reason}")
        yield Finding("ok", "compiled loop", WITH_TABULATE)
        if form.hidden is not None:
            yield _optimum(Optima().of_hidden(form.hidden, facts.name))
        elif isinstance(form.judged, MDP):
            yield _optimum(Optima().of(form.judged), "with --tabulate, ")


def _optimum(found: "Optimum", how: str = "") -> Finding:
    """The optimum beside which `train` would print what was learned."""
    if found.value is None:
        return Finding("no", "optimum", f"unknown: {found.unknown}")
    return Finding("ok", "optimum", f"{how}{number(found.value)} (gamma {number(DEFAULT_GAMMA)})")


def _dynamics(facts: "EnvironmentFacts", dynamics: "CompiledDynamics") -> Iterator[Finding]:
    from rlsuite.environments.compiled_env import check_indices
    from rlsuite.environments.facts import action_space_of
    from rlsuite.environments.forms.dynamics import trusted_dynamics

    facts.env.reset(seed=7)
    width, n_actions = math.prod(facts.env.observation_space.shape or ()), int(action_space_of(facts.env).n)
    try:
        check_indices(dynamics, facts.name, n_actions, width, INDICES)
        trusted_dynamics(facts, dynamics)
    except RlsuiteError as error:
        yield Finding("no", "compiled loop", f"{error}; agents learn stepwise")
    else:
        yield Finding("ok", "compiled loop", "compiled dynamics and step agree in a replay, for agents with features")


def _renders(make: Callable[..., Any]) -> Iterator[Finding]:
    from gymnasium.error import DependencyNotInstalled

    from rlsuite.rendering import drawing_of

    modes = [mode for mode in make().metadata.get("render_modes", []) if mode != "human"]
    if not modes:
        yield Finding("no", "pictures", "no render mode other than 'human'; --gif needs 'rgb_array'")
    for mode in modes:
        try:
            env = make(render_mode=mode)
            env.reset(seed=7)
            picture = env.render()
        except DependencyNotInstalled as error:
            if mode == "rgb_array" and drawing_of(make()) is not None:
                yield Finding("ok", "pictures", "gifs, which rlsuite draws; without pygame render() does not")
            else:
                yield Finding("no", "pictures", f"{mode}: {one_line(str(error))}")
        except Exception as error:  # whatever the environment raises
            yield Finding("FAIL", "pictures", f"{mode}: {type(error).__name__}: {one_line(str(error))}")
        else:
            shape: Any = getattr(picture, "shape", ())
            if picture is None or (mode == "rgb_array" and len(shape) != 3):
                sentence = f"{mode}: render() returned {type(picture).__name__} {shape or ''}".rstrip()
                yield Finding(
                    "FAIL", "pictures", f"{sentence}; it must return pixels of shape (height, width, 3), or text"
                )
            else:
                size = f" of {shape[1]} x {shape[0]} pixels" if mode == "rgb_array" else ""
                yield Finding("ok", "pictures", f"{mode}{size}")
