"""The sources of the transitions of a batch: an environment, a model, a data set of Minari.

Each function returns the arguments of `Batch.from_arrays`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsInt, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.batch.columns import observations
from rlsuite.approximation.batch.observations import check_discrete_actions
from rlsuite.core.aliases import Env, Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_reward, whole_amount, whole_number
from rlsuite.environments.facts import dynamics_of, name_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_view import encoding
from rlsuite.errors import LearningError, MissingPackage, ParameterError, UnsuitableEnvironment
from rlsuite.training.acting import Asked, MaskedActions, acting, chosen_of
from rlsuite.training.step_buffer import five_of

if TYPE_CHECKING:
    from rlsuite.models import MDP


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
            "pip install 'minari[hdf5]'"
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
