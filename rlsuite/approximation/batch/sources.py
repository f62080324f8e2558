"""Where transitions come from: environments, tables and arrays, CSV files, data sets.

The sources of the transitions of a batch: an environment, a model, a data set of Minari.

Each function returns the arguments of `Batch.from_arrays`.

Validation of a batch: each function returns one column in the form that the batch stores, or names the offender.

Batches as tables: one line of names, one line per transition.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, SupportsInt, TypedDict, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite.core.aliases import Env, Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_reward, legal_actions, whole_amount, whole_number
from rlsuite.core.files import replacing
from rlsuite.environments.facts import dynamics_of, name_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_view import encoding
from rlsuite.errors import FileError, LearningError, MissingPackage, ParameterError, UnsuitableEnvironment
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray
from rlsuite.synonyms import nearest
from rlsuite.training.acting import Asked, MaskedActions, acting, chosen_of
from rlsuite.training.step_buffer import five_of

if TYPE_CHECKING:
    from rlsuite.models import MDP


def check_discrete_actions(space: Space, owner: str) -> spaces.Discrete:
    """Return an action space, which must be Discrete.

    Raises
    ------
    UnsuitableEnvironment
        If it is not; the message says how to choose among continuous actions.
    """
    if not isinstance(space, spaces.Discrete):
        raise UnsuitableEnvironment(
            f"{owner} has the action space {space}; batch methods need a Discrete one. Replace continuous actions by a "
            "few levels: wrap the environment in rlsuite.DiscreteActions, or give the numbers of the levels to "
            "Batch.from_arrays"
        )
    return space


def observations(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """Return observations as (n, d) float64, n at least 1; a one-dimensional array holds one number per observation."""
    found = _floats(name, given)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or not found.size:
        raise ParameterError(f"{name} has shape {np.shape(given)}; give (n, d), one row for each of n >= 1 transitions")
    return np.ascontiguousarray(found)


def numbers(name: str, given: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return a column of finite numbers, (n,) float64."""
    return _of_length(name, _floats(name, given), n)


def weights(given: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the weights, (n,) float64: none negative, not all 0."""
    found = numbers("weight", given, n)
    if (found < 0.0).any():
        at = int(np.argmax(found < 0.0))
        raise ParameterError(f"weight[{at}] is {found[at]:g}; weights are at least 0")
    if not found.any():
        raise ParameterError("all weights are 0; at least one must be above 0")
    return found


def terminated(given: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    """Return the flags of termination, (n,) bool."""
    if given is None:
        raise ParameterError(
            "a batch needs terminated, (n,) bool: whether each transition ended its episode, so that the target does "
            "not bootstrap. Give np.zeros(n, dtype=bool) if no episode terminated"
        )
    return _flags("terminated", given, n)


def first(given: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Return where episodes begin, (n,) bool; the first transition begins one."""
    found = _flags("first", given, n)
    if not found[0]:
        raise ParameterError("first[0] is False; it must be True, since the first transition begins an episode")
    return found


def actions(given: ArrayLike, n: int, lowest: int, n_actions: int | None) -> tuple[NDArray[np.int64], int]:
    """Return the actions counted from 0, (n,) int64, and how many there are."""
    found = _of_length("action", np.asarray(given), n)
    taken = whole("action", found) - lowest
    many = int(taken.max()) + 1 if n_actions is None else whole_number("n_actions", n_actions)
    wrong = (taken < 0) | (taken >= many)
    if wrong.any():
        at = int(np.argmax(wrong))
        last = lowest + many - 1
        raise ParameterError(f"action[{at}] is {found[at]}, and the actions are {lowest}..{last} (see first_action=)")
    return taken, many


def masks(
    given: ArrayLike | None, given_next: ArrayLike | None, taken: NDArray[np.int64], ended: NDArray[np.bool_], many: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which actions were legal before and after, both (n, many) bool; None where no mask is given."""
    if given is None and given_next is None:
        return None
    if given is None or given_next is None:
        there, missing = ("next_action_mask", "action_mask") if given is None else ("action_mask", "next_action_mask")
        raise ParameterError(f"{there} is given without {missing}; give both, (n, n_actions), or none of them")
    n = taken.size
    before = legal_actions("action_mask", given, many, n)
    after = legal_actions("next_action_mask", given_next, many, n)
    forbidden = ~before[np.arange(n), taken]
    if forbidden.any():
        at = int(np.argmax(forbidden))
        raise ParameterError(
            f"action_mask[{at}] forbids action {taken[at]} (counted from 0), which action[{at}] has taken; a mask is 1 "
            "for each action that was legal"
        )
    stuck = ~ended & ~after.any(axis=1)
    if stuck.any():
        at = int(np.argmax(stuck))
        raise ParameterError(
            f"next_action_mask[{at}] leaves no action, and terminated[{at}] is False; an episode ends where no action "
            "is legal"
        )
    return before, after


def whole(name: str, given: AnyArray) -> NDArray[np.int64]:
    """Return an array of whole numbers as int64."""
    if not np.issubdtype(given.dtype, np.number) or np.issubdtype(given.dtype, np.complexfloating):
        raise ParameterError(f"{name} has dtype {given.dtype}; it must hold whole numbers")
    with np.errstate(invalid="ignore"):
        found = given.astype(np.int64)
    wrong = found != given
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ParameterError(
            f"{name}[{at}] is {given[at]}, not a whole number; batch methods choose among discrete actions: round "
            "continuous ones to a few levels, and give the number of each level"
            if name == "action"
            else f"{name}[{at}] is {given[at]}, not a whole number"
        )
    return found


def _floats(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(given):
            raise TypeError("its numbers are complex")  # NumPy would drop the imaginary parts
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} is not an array of numbers: {error}") from error
    if not np.isfinite(found).all():
        at = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise ParameterError(f"{name}[{', '.join(map(str, at))}] is {found[at]}, not a finite number")
    return found


def _flags(name: str, given: ArrayLike, n: int) -> NDArray[np.bool_]:
    found = _of_length(name, np.asarray(given), n)
    if found.dtype != np.bool_ and not np.issubdtype(found.dtype, np.number):
        raise ParameterError(f"{name} has dtype {found.dtype}; it must hold False and True (or 0 and 1)")
    wrong = ~np.isin(found, (0, 1))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ParameterError(f"{name}[{at}] is {found[at]}; it must be False or True (or 0 or 1)")
    return found.astype(np.bool_)


def _of_length(name: str, found: AnyArray, n: int) -> AnyArray:
    if found.shape != (n,):
        raise ParameterError(f"{name} has shape {found.shape}; it must have ({n},), one entry for each observation")
    return found


MASKS = ("action_mask", "next_action_mask")
_FLAGS = {"false": 0.0, "true": 1.0}


class Table(TypedDict):
    """The content of a table: arguments of `Batch.from_arrays`."""

    observation: FloatArray
    action: FloatArray
    reward: FloatArray
    next_observation: FloatArray
    terminated: FloatArray
    first: BoolArray | None
    weight: FloatArray | None
    action_mask: FloatArray | None
    next_action_mask: FloatArray | None


def read(path: str | PathLike[str]) -> Table:
    """Read a table; see `Batch.from_csv`."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    if len(lines) < 2:
        raise FileError(f"{path} has {len(lines)} lines; a line of column names and at least one transition are needed")
    names = [name.strip() for name in lines[0]]
    seen, ahead = _numbered(path, names, "observation"), _numbered(path, names, "next_observation")
    wanted = [*seen, *ahead, "action", "reward", "terminated"]
    for name in wanted:
        if name not in names:
            near = nearest(name, [each for each in names if each not in wanted])
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise FileError(f"{path} has no column {name!r}{hint} (columns: {', '.join(names)})")
    extra = [name for name in ("episode", "weight") if name in names]
    masks = {what: _numbered(path, names, what) for what in MASKS if any(name.startswith(what) for name in names)}
    extra += [name for numbered in masks.values() for name in numbered]
    columns = [names.index(name) for name in [*wanted, *extra]]
    table = np.array([_numbers(path, number, line, names, columns) for number, line in enumerate(lines[1:], 2)])
    column = dict(zip([*wanted, *extra], table.T, strict=True))
    first = None
    if "episode" in column:
        first = np.concatenate([[True], np.diff(column["episode"]) != 0])
    return Table(
        observation=table[:, : len(seen)],
        action=column["action"],
        reward=column["reward"],
        next_observation=table[:, len(seen) : len(seen) + len(ahead)],
        terminated=column["terminated"],
        first=first,
        weight=column.get("weight"),
        action_mask=_columns(column, masks.get("action_mask")),
        next_action_mask=_columns(column, masks.get("next_action_mask")),
    )


def _columns(column: Mapping[str, FloatArray], names: Sequence[str] | None) -> FloatArray | None:
    return None if names is None else np.stack([column[name] for name in names], axis=1)


def _numbered(path: str | PathLike[str], names: Sequence[str], what: str) -> list[str]:
    """Return the names of the columns of an observation, in order."""
    if what in names:
        return [what]
    numbers = sorted(int(name.removeprefix(f"{what}_")) for name in names if re.fullmatch(rf"{what}_\d+", name))
    if numbers != list(range(len(numbers))) or not numbers:
        listed = f"{numbers[0]}..{numbers[-1]} with gaps or repetitions" if numbers else "none of them"
        raise FileError(f"{path} needs the columns {what}_0, {what}_1, ... (or {what}); it has {listed}")
    return [f"{what}_{number}" for number in numbers]


def _numbers(
    path: str | PathLike[str], number: int, line: Sequence[str], names: Sequence[str], columns: Sequence[int]
) -> list[float]:
    if len(line) != len(names):
        raise FileError(f"{path}, line {number}: {len(line)} entries, but the first line names {len(names)} columns")
    values: list[float] = []
    for column in columns:
        word = line[column].strip()
        try:
            values.append(_FLAGS[word.casefold()] if names[column] == "terminated" and word.isalpha() else float(word))
        except (KeyError, ValueError):
            wanted = "false, true, 0 or 1" if names[column] == "terminated" else "a number"
            raise FileError(f"{path}, line {number}: {names[column]} is {word!r}; it must be {wanted}") from None
    return values


def write(path: str | PathLike[str], columns: Mapping[str, FloatArray | IndexArray]) -> None:
    """Write columns (n,) and (n, d) by name, the latter as ``name_0``, ``name_1``, ...; see `Batch.to_csv`."""
    names: list[str] = []
    blocks: list[Sequence[Sequence[float]]] = []
    for name, column in columns.items():
        names += [name] if column.ndim == 1 else [f"{name}_{i}" for i in range(column.shape[1])]
        blocks.append(column.reshape(len(column), -1).tolist())
    with replacing(path) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows([entry for part in parts for entry in part] for parts in zip(*blocks, strict=True))


class RecordedEpisode(Protocol):
    """An episode of a data set of Minari: arrays with one entry for each step, observations with one more."""

    observations: Any
    actions: Sequence[int]
    rewards: ArrayLike
    terminations: ArrayLike


class RecordedDataset(Protocol):
    """A data set of Minari, which is not installed by default."""

    action_space: Space
    observation_space: Space

    def iterate_episodes(self) -> Iterable[RecordedEpisode]:
        """Iterate over the episodes."""
        ...


class Transitions(TypedDict):
    """The arguments of `Batch.from_arrays`."""

    observation: NDArray[np.float64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    next_observation: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    first: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    n_actions: int
    first_action: int
    observation_space: Space | None
    action_mask: NDArray[np.bool_] | None
    next_action_mask: NDArray[np.bool_] | None


def collected(
    made: Env,
    steps: int | None,
    episodes: int | None,
    policy: object,
    seed: int | None,
) -> Transitions:
    """Act in an environment; see `Batch.collect`."""
    if (steps is None) == (episodes is None):
        raise ParameterError(f"give either steps or episodes, got steps={steps} and episodes={episodes}")
    most_steps = None if steps is None else whole_amount("steps", steps)
    most_episodes = None if episodes is None else whole_amount("episodes", episodes)
    entropy = None if seed is None else whole_number("seed", seed, at_least=0)
    name = name_of(made)
    space = check_discrete_actions(made.action_space, name)
    as_vector = encoding(made.observation_space).encode
    lowest, many = int(space.start), int(space.n)
    env_seed, action_seed = np.random.SeedSequence(entropy).spawn(2)
    rng = np.random.default_rng(action_seed)
    act = None if policy is None else acting("policy", policy, made, rng)
    seen: list[NDArray[np.float64]] = []
    after: list[NDArray[np.float64]] = []
    taken: list[int] = []
    rewards: list[float] = []
    ended: list[bool] = []
    first: list[bool] = []
    legal_before: list[NDArray[np.bool_]] = []
    legal_after: list[NDArray[np.bool_]] = []
    observation, info = made.reset(seed=int(env_seed.generate_state(1)[0]))
    masks = MaskedActions(made)
    legal = masks.after(info, 0)
    # copies: an environment may write into the same array again
    vector, begins, finished = np.array(as_vector(observation)), True, 0
    while len(taken) != most_steps and finished != most_episodes:
        if act is not None:
            action = int(cast("SupportsInt", chosen_of("policy", act, observation, space, legal)))
        elif legal is None:
            action = lowest + int(rng.integers(many))
        else:
            action = lowest + int(rng.choice(np.flatnonzero(legal)))
        observation, reward, terminated, truncated, info = five_of(made.step(action), f"{name}:")
        seen.append(vector)
        vector = np.array(as_vector(observation))
        taken.append(action)
        rewards.append(finite_reward(reward, name, len(taken)))
        ended.append(bool(terminated))
        after.append(vector)
        first.append(begins)
        begins = bool(terminated or truncated)
        if legal is not None:
            legal_before.append(legal)
            legal = cast("NDArray[np.bool_]", masks.after(info, len(taken), over=bool(terminated)))
            legal_after.append(legal)
        if not np.isfinite(vector).all():
            raise LearningError(
                f"{name}, step {len(taken)}: the environment returned observation {observation}; observations must be "
                "finite numbers"
            )
        if begins:
            finished += 1
            if isinstance(act, Asked):
                act.begin()
            observation, info = made.reset()
            vector = np.array(as_vector(observation))
            legal = masks.after(info, 0)
    return Transitions(
        observation=np.array(seen),
        action=np.array(taken),
        reward=np.array(rewards),
        next_observation=np.array(after),
        terminated=np.array(ended),
        first=np.array(first),
        weight=None,
        n_actions=many,
        first_action=lowest,
        observation_space=made.observation_space,
        action_mask=np.array(legal_before) if legal_before else None,
        next_action_mask=np.array(legal_after) if legal_after else None,
    )


def transitions_of(mdp: MDP) -> Transitions:
    """Return all transitions of a model; see `Batch.from_model`."""
    from rlsuite.models import MDP

    if not isinstance(cast(object, mdp), MDP):
        raise ParameterError(f"{mdp!r} is not an MDP; MDP.from_env makes one from an environment")
    rows = mdp.rows
    states, actions = np.divmod(mdp.pairs(), mdp.n_actions)
    possible = rows.probability > 0.0
    masked = not mdp.legal[mdp.legal.any(axis=1)].all()
    return Transitions(
        observation=states[possible, None].astype(np.float64),
        action=actions[possible],
        reward=rows.reward[possible],
        next_observation=rows.next_state[possible, None].astype(np.float64),
        terminated=rows.terminated[possible],
        first=np.ones(int(possible.sum()), dtype=np.bool_),
        weight=rows.probability[possible],
        n_actions=mdp.n_actions,
        first_action=0,
        observation_space=None,
        action_mask=mdp.legal[states[possible]] if masked else None,
        next_action_mask=mdp.legal[rows.next_state[possible]] if masked else None,
    )


def simulated(env: str | Env, states: ArrayLike, samples: int, seed: int | None) -> Transitions:
    """Try every action in every state; see `Batch.from_dynamics`."""
    made = find_env(env)
    dynamics = dynamics_of(made)
    if dynamics is None:
        raise UnsuitableEnvironment(
            f"{made} has no compiled dynamics, so its state cannot be set; Batch.from_model does the same for "
            "an environment with a table, and Batch.collect acts in any other"
        )
    space = check_discrete_actions(made.action_space, "this environment")
    given = observations("states", states)
    constants, times = dynamics.constants, whole_number("samples", samples)
    rng = np.random.default_rng(None if seed is None else whole_number("seed", seed, at_least=0))
    width = len(dynamics.begin(constants, np.random.default_rng(0)))
    if given.shape[1] != width:
        raise ParameterError(f"states have {given.shape[1]} numbers each; a state of {made} has {width}")
    n, many = len(given), int(space.n)
    places = np.repeat(np.arange(n), many * times)
    actions = np.tile(np.repeat(np.arange(many), times), n)
    before, after = np.zeros((2, places.size, *cast("tuple[int, ...]", made.observation_space.shape)))
    reward, terminated = np.zeros(places.size), np.zeros(places.size, dtype=np.bool_)
    for i, (place, action) in enumerate(zip(places.tolist(), actions.tolist(), strict=True)):
        state = tuple(given[place].tolist())
        dynamics.observe(constants, state, before[i])
        ahead, reward[i], terminated[i] = dynamics.step(constants, state, action, rng)
        dynamics.observe(constants, ahead, after[i])
    return Transitions(
        observation=before,
        action=actions + int(space.start),
        reward=reward,
        next_observation=after,
        terminated=terminated,
        first=np.ones(places.size, dtype=np.bool_),
        weight=None,
        n_actions=many,
        first_action=int(space.start),
        observation_space=made.observation_space,
        action_mask=None,
        next_action_mask=None,
    )


def from_dataset(dataset: str | RecordedDataset) -> Transitions:
    """Take over a data set of Minari; see `Batch.from_minari`."""
    if isinstance(dataset, str):
        dataset = _loaded(dataset)
    if not hasattr(dataset, "iterate_episodes"):
        raise ParameterError(
            f"{dataset!r} is not a Minari data set; give its id, or the result of minari.load_dataset(id)"
        )
    space = check_discrete_actions(dataset.action_space, "this data set")
    as_vector = encoding(dataset.observation_space).encode
    episodes: list[tuple[NDArray[np.float64], RecordedEpisode]] = []
    for episode in dataset.iterate_episodes():
        if len(episode.actions):
            times = range(len(episode.actions) + 1)
            episodes.append((np.stack([as_vector(_at(episode.observations, t)) for t in times]), episode))
    if not episodes:
        raise ParameterError("this data set has no transitions")
    lengths = [len(episode.actions) for _, episode in episodes]
    first = np.zeros(sum(lengths), dtype=np.bool_)
    first[np.cumsum([0, *lengths[:-1]])] = True
    return Transitions(
        observation=np.concatenate([seen[:-1] for seen, _ in episodes]),
        action=np.concatenate([np.asarray(episode.actions) for _, episode in episodes]),
        reward=np.concatenate([np.asarray(episode.rewards, dtype=np.float64) for _, episode in episodes]),
        next_observation=np.concatenate([seen[1:] for seen, _ in episodes]),
        terminated=np.concatenate([np.asarray(episode.terminations, dtype=np.bool_) for _, episode in episodes]),
        first=first,
        weight=None,
        n_actions=int(space.n),
        first_action=int(space.start),
        observation_space=dataset.observation_space,
        action_mask=None,
        next_action_mask=None,
    )


def _loaded(name: str) -> RecordedDataset:
    try:
        import minari  # pyright: ignore[reportMissingImports]

        library = cast(Any, minari)
        return library.load_dataset(name)
    except ImportError as error:
        raise MissingPackage(
            f"reading the data set {name!r} needs Minari, which is not installed, or not completely ({error}): "
            "pip install 'rlsuite[minari]'"
        ) from error
    except FileNotFoundError as error:
        raise ParameterError(
            f"Minari has no data set {name!r} on this machine; minari.list_local_datasets() lists those it has, and "
            f"minari.load_dataset({name!r}, download=True) downloads it"
        ) from error


def _at(observations: Any, t: int) -> Any:
    """Return one observation of an episode, whose parts are stored as one array each."""
    if isinstance(observations, Mapping):
        parts = cast("Mapping[str, object]", observations)
        return {name: _at(parts[name], t) for name in parts}
    if isinstance(observations, tuple):
        return tuple(_at(part, t) for part in cast("tuple[Any, ...]", observations))
    return observations[t]
