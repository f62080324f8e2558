"""How a policy is called, whatever it is: a function, a table, an agent, or a model of another library.

`acting` makes a function of it, from an observation and the legal actions to an action as the environment has them.
Everything that plays a policy calls it by this function.
"""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.aliases import Env, Observation, Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import is_tuple
from rlsuite.environments.facts import facts_of, name_of
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.observation_view import Encoding, encoding
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.models.validation import ROW_SUM_TOLERANCE
from rlsuite.training.step_buffer import legal_in

Act = Callable[..., object]
"""``act(observation) -> action``, both as the environment has them; perhaps ``act(observation, action_mask=...)``."""

Policy = FloatArray | Callable[[FloatArray, ArrayLike | None], FloatArray]
"""Probabilities (n_observations, n_actions), or a function from a vector (d,) and a mask of the legal actions, None for
all, to probabilities (n_actions,)."""

ASKED = ("act", "predict", "compute_single_action", "compute_action", "get_action", "choose_action", "select_action")
"""The methods by which agents of other libraries are asked for an action, in the order in which they are looked for."""

MASKS = ("action_mask", "action_masks")
"""What a parameter for the legal actions is called."""

MOST_ASKED = 50_000
"""Most observations about which a policy that is no table is asked."""

T = TypeVar("T")


class Frozen(Protocol):
    """An agent of ours that says what its policy is, so that evaluations need not ask it at each step."""

    def frozen_policy(self) -> Policy:
        """The policy, in the form that evaluations use."""
        ...

    def bind_environment(self, env: Env, seed: int | None = None) -> Encoding | None:
        """How observations become vectors; None if they are ids."""
        ...


def acting(name: str, policy: object, env: Env, rng: np.random.Generator | None = None) -> Act:
    """Return the function by which a policy acts in an environment.

    Parameters
    ----------
    name : str
        Of the argument, for messages.
    policy : object
        A function from an observation to an action; an action or probabilities (n_actions,) for each observation, as an
        array or a mapping; an `rlsuite.Solution`; a classifier of scikit-learn; or an agent, ours or of another
        library, that has a method named in `ASKED`.
    env : gymnasium.Env
        The environment, which is not called.
    rng : numpy.random.Generator, optional
        What probabilities draw from.

    Raises
    ------
    ParameterError
        If it is no policy, or does not fit the environment.
    UnsuitableEnvironment
        If it is a table, and the observations have no ids.
    NotLearned
        If it is an agent that has not learned yet.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("FrozenLake-v1")
    >>> acting("policy", {5: 3}, env)(5), acting("policy", [2] * 16, env)(5)
    (3, 2)
    """
    if isinstance(policy, type):
        raise errors.ParameterError(f"{name}={policy.__name__} is a class: write {policy.__name__}(...) to make one")
    if callable(policy) and not any(hasattr(policy, method) for method in ASKED):
        return policy
    from rlsuite.planning.pomdp.solution import BeliefPlan
    from rlsuite.planning.solution import FiniteHorizonSolution, Solution

    some = cast("Any", policy)
    if isinstance(policy, FiniteHorizonSolution):
        raise errors.ParameterError(
            f"{name} is a plan for {policy.horizon} steps, which depends on how many are left; its exact value is its "
            "value_at_start"
        )
    if isinstance(policy, BeliefPlan):
        raise errors.ParameterError(
            f"{name} is a plan over beliefs, and {name_of(env)} shows observations: write a function that keeps a "
            "belief with POMDP.update_belief, and asks the plan's act(belief)"
        )
    rng = np.random.default_rng() if rng is None else rng
    if isinstance(policy, Mapping):
        return _by_name(name, cast("Mapping[Any, object]", policy))
    if isinstance(policy, Solution):
        return drawing(name, policy.policy, env, rng)
    if isinstance(policy, np.ndarray | list | tuple):
        return drawing(name, cast("ArrayLike", policy), env, rng)
    if hasattr(policy, "frozen_policy"):
        agent = copy.copy(cast("Frozen", policy))
        encode = agent.bind_environment(env)
        frozen = agent.frozen_policy()
        if callable(frozen):
            return Drawing(frozen, rng, _first_action(env), encode)
        return drawing(name, frozen, env, rng, learned=True)
    if isinstance(getattr(policy, "generator_", None), np.random.Generator):
        some = copy.copy(some)
        some.generator_ = rng
    if hasattr(policy, "classes_") and hasattr(policy, "predict"):
        return _Classifier(name, some, env)
    for method in ASKED:
        if callable(found := getattr(some, method, None)):
            return found if method == "act" and not _is_of_skrl(found) else Asked(found, env, rng)
    raise errors.ParameterError(
        f"{name}={policy!r} is no policy; allowed are a function from an observation to an action, an action or "
        "probabilities for each observation, a Solution, a classifier, and an agent with a method "
        f"{', '.join(ASKED[:-1])} or {ASKED[-1]}"
    )


def is_asked(policy: object) -> bool:
    """Whether a policy has to be asked what it does, as anything but probabilities and actions of observations."""
    from rlsuite.planning.solution import Solution

    if policy is None or isinstance(policy, np.ndarray | list | tuple | str | type):
        return False
    named = any(callable(getattr(policy, method, None)) for method in (*ASKED, "frozen_policy"))
    return named or callable(policy) or isinstance(policy, Mapping | Solution)


def policy_of_ids(name: str, policy: object, env: Env) -> FloatArray:
    """Ask a policy what it does at each observation that has an id; probabilities (n_ids, n_actions).

    Where it has no answer, as at ends, the row is 0.

    Raises
    ------
    ParameterError
        If there are more than `MOST_ASKED` ids, or it does not always do the same at one of them.
    """
    ids, n_actions = ObservationIds(env.observation_space), _n_actions(name, env)
    if ids.n > MOST_ASKED:
        raise errors.ParameterError(f"{name} would have to be asked about {ids.n:,} observations; give probabilities")
    act = acting(name, policy, env)
    table = np.zeros((ids.n, n_actions))
    for row in range(ids.n):
        observation = ids.observation_of(row)
        try:
            if isinstance(act, Drawing):
                table[row] = act.probabilities(observation)
                continue
            first, again = (chosen_of(name, act, observation, env.action_space) for _ in "ab")
        except Exception:  # whatever it raises where it has never been
            continue
        if first != again:
            raise errors.ParameterError(
                f"{name} does not always do the same at observation {observation!r}: give its probabilities, an array "
                f"({ids.n}, {n_actions})"
            )
        table[row, int(cast("int", first)) - _first_action(env)] = 1.0
    return table


def _first_action(env: Env) -> int:
    space = env.action_space
    return int(space.start) if isinstance(space, spaces.Discrete) else 0


def _n_actions(name: str, env: Env) -> int:
    if isinstance(env.action_space, spaces.Discrete):
        return int(env.action_space.n)
    raise errors.ParameterError(
        f"{name} is a table of actions, and those of {name_of(env)} are {env.action_space}, not Discrete; give a "
        "function from an observation to an action"
    )


class Drawing:
    """Draws actions of a policy that says its probabilities.

    Parameters
    ----------
    policy : ndarray (n_observations, n_actions) or callable
        See `Policy`.
    rng : numpy.random.Generator
        What it draws from.
    first_action : int
        What the environment calls action 0.
    encode : Encoding, optional
        How observations become vectors, for a function.
    row_of : callable, optional
        From an observation to its row, for a table.
    learned : bool
        Whether a table was learned: the actions that were legal then may be illegal now, or the agent was never there.
    """

    def __init__(
        self,
        policy: Policy,
        rng: np.random.Generator,
        first_action: int,
        encode: Encoding | None = None,
        row_of: Callable[[Observation], int] | None = None,
        *,
        learned: bool = True,
    ):
        self.policy, self.rng, self.first_action = policy, rng, first_action
        self.row_of, self.encode, self.learned = row_of, encode, learned

    def __call__(self, observation: Observation, action_mask: BoolArray | None = None) -> int:
        """Draw an action."""
        reached = np.cumsum(self.probabilities(observation, action_mask))
        u = self.rng.random() * float(reached[-1])
        return int(np.searchsorted(reached, u, side="right")) + self.first_action

    def probabilities(self, observation: Observation, action_mask: BoolArray | None = None) -> FloatArray:
        """Weights (n_actions,) of the actions at an observation; of a table restricted to the legal ones.

        Where a learned table takes none of these, they are equally likely.
        """
        if callable(self.policy):
            return self.policy(cast("Encoding", self.encode).encode(observation), action_mask)
        assert self.row_of is not None
        row = self.policy[self.row_of(observation)]
        if action_mask is None:
            if not row.any():
                raise errors.LearningError(f"the policy has no action for observation {observation!r}")
            return row
        if row[action_mask].any():
            return action_mask * row
        if not self.learned:
            raise errors.LearningError(
                f"the policy takes no legal action at observation {observation!r}, where info['action_mask'] allows "
                + ", ".join(map(str, np.flatnonzero(action_mask) + self.first_action))
            )
        return action_mask.astype(np.float64)


def drawing(name: str, policy: ArrayLike, env: Env, rng: np.random.Generator, *, learned: bool = False) -> Drawing:
    """Draw actions of a table: an action for each observation (n_observations,), counted from 0, or probabilities.

    Raises
    ------
    ParameterError
        If it does not have a row for each observation or a column for each action, or an entry that is neither an
        action nor a probability; it is read where the policy comes.
    UnsuitableEnvironment
        If the observations have no ids.
    """
    n_actions, ids = _n_actions(name, env), ObservationIds(env.observation_space)
    try:
        given = np.asarray(policy)
    except ValueError as error:
        raise errors.ParameterError(f"{name} is not an array: {error}") from error
    actions = given.ndim == 1 and given.dtype.kind in "iu"
    if not actions and not (given.ndim == 2 and given.dtype.kind in "biuf"):
        raise errors.ParameterError(
            f"{name} has shape {given.shape} and dtype {given.dtype}; allowed are ({ids.n},) integers, an action for "
            f"each observation, and ({ids.n}, {n_actions}) probabilities"
        )
    if len(given) != ids.n or (not actions and given.shape[1] != n_actions):
        raise errors.ParameterError(
            f"{name} has shape {given.shape}, and {name_of(env)} has {ids.n} observations and {n_actions} actions"
        )
    if actions:
        wrong = np.flatnonzero((given < -1) | (given >= n_actions))
        if wrong.size:
            at = int(wrong[0])
            raise errors.ParameterError(
                f"{name}[{at}] is {given[at]}, which is not an action; the actions are 0..{n_actions - 1}"
            )
        table = np.zeros((ids.n, n_actions))
        acts = np.flatnonzero(given >= 0)
        table[acts, given[acts]] = 1.0
    else:
        table = given.astype(np.float64)
        some = table.any(axis=1)  # a row of zeros is that of an end
        sums = np.abs(table.sum(axis=1) - 1.0) <= ROW_SUM_TOLERANCE
        bad = np.flatnonzero(~(np.isfinite(table).all(axis=1) & (table >= 0.0).all(axis=1) & (sums | ~some)))
        if bad.size:
            raise errors.ParameterError(
                f"{name}[{bad[0]}] is {table[bad[0]].tolist()}, which is not a probability distribution; of action "
                "values give the best actions, q.argmax(axis=1)"
            )
    return Drawing(table, rng, _first_action(env), row_of=ids.id_of, learned=learned)


def _by_name(name: str, policy: Mapping[Any, object]) -> Act:
    """Look an action up in a mapping."""

    def look_up(observation: object) -> object:
        key = cast("Any", observation)
        try:
            return policy[tuple(key.tolist()) if isinstance(key, np.ndarray) and key.ndim else key]
        except (KeyError, TypeError):
            raise errors.LearningError(f"{name} has no action for observation {observation!r}") from None

    return look_up


class _Classifier:
    """A classifier of scikit-learn, which is shown the numbers of an observation as a row."""

    def __init__(self, name: str, model: Any, env: Env):
        self.model, self.vector = model, encoding(env.observation_space)
        width: int | None = getattr(model, "n_features_in_", None)
        if width is not None and width != self.vector.low.size:
            raise errors.ParameterError(
                f"{name} was fitted to {width} numbers, and an observation of {name_of(env)} has {self.vector.low.size}"
            )
        self.first_action = _first_action(env)

    def __call__(self, observation: Observation, action_mask: BoolArray | None = None) -> object:
        """Return the class that is predicted; with a mask, the likeliest that is legal."""
        row = self.vector.encode(observation)[None]
        if action_mask is None or not hasattr(self.model, "predict_proba"):
            return self.model.predict(row)[0]
        known = np.asarray(self.model.classes_).astype(np.int64) - self.first_action
        likely = np.asarray(self.model.predict_proba(row))[0]
        legal = np.array([0 <= one < action_mask.size and action_mask[one] for one in known.tolist()])
        if not legal.any():
            return int(np.argmax(action_mask)) + self.first_action
        return int(known[np.argmax(np.where(legal, likely, -1.0))]) + self.first_action


class Asked:
    """A method of an agent of another library, called as that library does.

    ``predict`` of Stable-Baselines3 is asked for its deterministic action, and given the state of a recurrent network;
    ``act`` of skrl is given a batch of one tensor, and draws from a seed of ours.
    """

    def __init__(self, method: Callable[..., object], env: Env, rng: np.random.Generator):
        self.method, self.space, self.rng = method, env.action_space, rng
        self.parameters = _parameters(method)
        self.mask = next((one for one in MASKS if one in self.parameters), None)
        self.vector = encoding(env.observation_space) if _is_of_skrl(method) else None
        self.state: object = None
        self.begins = True

    def begin(self) -> None:
        """Forget the episode before."""
        self.state, self.begins = None, True

    def __call__(self, observation: Observation, action_mask: BoolArray | None = None) -> object:
        """Ask for an action."""
        if self.vector is not None:
            return self._of_tensors(self.vector.encode(observation))
        more: dict[str, object] = {}
        if "deterministic" in self.parameters:
            more["deterministic"] = True
        if "state" in self.parameters and "episode_start" in self.parameters:
            more |= {"state": self.state, "episode_start": np.array([self.begins])}
        if self.mask is not None and action_mask is not None:
            more[self.mask] = action_mask
        found = self.method(observation, **more)
        self.begins = False
        parts: list[object] = list(found) if is_tuple(found) else [found]
        self.state = parts[1] if len(parts) > 1 else None
        return as_action(parts[0] if parts else None, self.space)

    def _of_tensors(self, vector: FloatArray) -> object:
        import torch

        library = cast("Any", torch)  # some of its functions have no types
        with library.no_grad(), library.random.fork_rng():
            library.manual_seed(int(self.rng.integers(2**31)))
            shown = library.as_tensor(vector, dtype=library.float32)[None]
            found = cast("Any", self.method(shown, None, timestep=1, timesteps=1))
        action, last = found[0], found[-1]
        if isinstance(last, dict):
            action = cast("dict[str, object]", last).get("mean_actions", action)
        return as_action(cast("Any", action)[0], self.space)


def _parameters(method: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(method).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return {}


def _is_of_skrl(method: Callable[..., object]) -> bool:
    """Whether ``act`` is that of skrl, which takes a batch of tensors and the time."""
    return {"timestep", "timesteps"} <= _parameters(method).keys()


def as_action(found: object, space: Space) -> object:
    """An action as the environment has it: an array or tensor of one number is a number where actions are Discrete."""
    if not isinstance(space, spaces.Discrete) or isinstance(found, int):
        return found
    numbers = np.asarray(found)
    return numbers.item() if numbers.size == 1 and numbers.dtype.kind in "iu" else found


class MaskedActions:
    """The legal actions at each step of an episode, from ``info["action_mask"]``.

    Parameters
    ----------
    env : gymnasium.Env
        The environment.
    masked : bool, optional
        Whether it has masks; by default the first info decides.
    """

    def __init__(self, env: Env, *, masked: bool | None = None) -> None:
        self._facts = facts_of(env)
        self._n_actions = int(env.action_space.n) if isinstance(env.action_space, spaces.Discrete) else 0
        self._masked = masked

    def after(self, info: Mapping[str, Any], step: int, *, over: bool = False) -> NDArray[np.bool_] | None:
        """Return the legal actions (n_actions,) after so many steps of the episode; None if all are, always.

        Raises
        ------
        LearningError
            As `legal_in`.
        """
        if self._masked is None:
            self._masked = self._n_actions > 0 and self._facts.has_action_mask(info)
        if not self._masked:
            return None
        where = f"{self._facts.name}, {f'step {step}' if step else 'reset'}:"
        return legal_in(info, self._n_actions, where, over=over)


def takes_mask(policy: Callable[..., object]) -> bool:
    """Whether a policy can be told the legal actions: ``policy(observation, action_mask=...)``.

    >>> takes_mask(lambda observation, action_mask=None: 0), takes_mask(lambda observation: 0)
    (True, False)
    """
    return "action_mask" in _parameters(policy)


def chosen_of(
    name: str, policy: Callable[..., T], observation: object, space: Space, legal: NDArray[np.bool_] | None = None
) -> T:
    """Return the action of a policy, checked: errors of environments about wrong actions are often unclear.

    Raises
    ------
    LearningError
        If the space is Discrete, and the action is not in it or not among the legal actions (n_actions,).
    """
    masked = legal is not None and takes_mask(policy)
    action = policy(observation, action_mask=legal) if masked else policy(observation)
    if isinstance(space, spaces.Discrete) and not space.contains(action):
        last = int(space.start) + int(space.n) - 1
        raise errors.LearningError(
            f"{name}(observation) returned {action!r} for observation {observation!r}; the actions are the whole "
            f"numbers {int(space.start)}..{last}"
        )
    if legal is not None and isinstance(space, spaces.Discrete):
        taken, lowest = int(cast(int, action)), int(space.start)
        if not legal[taken - lowest]:
            allowed = ", ".join(map(str, np.flatnonzero(legal) + lowest))
            hint = "" if masked else f"; {name} is told which if it has a parameter action_mask"
            raise errors.LearningError(
                f"{name}(observation) returned {taken} for observation {observation!r}, where "
                f"info['action_mask'] allows {allowed}{hint}"
            )
    return action
