"""A run that is kept in a file, and goes on in another process as if it had never stopped.

What was learned is not here; it is the agent's. The rest of a run is where it stands, the states of both generators,
and the state of the environment, which is kept in one of four ways, the first that applies:

``table``
    The number of the state, of an environment with a table that is trusted.
``dynamics``
    The numbers of the state, of an environment with compiled dynamics.
``hooks``
    Whatever ``get_state()`` of the environment returns, which ``set_state(state)`` takes back.
``attributes``
    The attributes that make up the state of an environment that has been tabulated.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
from gymnasium import wrappers

from rlsuite import errors
from rlsuite.core.checks import is_dict, is_list, is_tuple
from rlsuite.core.npz import Npz
from rlsuite.core.plain_data import pack, unpack
from rlsuite.environments.facts import NO_LIMIT, TRANSPARENT, EnvironmentFacts, Wrapper
from rlsuite.environments.wrappers import DiscreteActions, VectorObservation
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray
from rlsuite.training.kernels import ACTION, ALL_STEPS, ELAPSED, OBSERVATION, RunState
from rlsuite.training.model_of_environment import CompiledForm
from rlsuite.training.observation_view import NONE

LARGEST = 2**53

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_WITHOUT_STATE = (*TRANSPARENT, VectorObservation, DiscreteActions)
_PURE = (wrappers.TransformObservation, wrappers.TransformAction, wrappers.TransformReward)


class KeptRun(NamedTuple):
    """A run as it is kept."""

    lost: str
    """Why the run itself cannot be kept; empty if it is."""
    identity: Mapping[str, str] = _NOTHING
    """What the environment is, by which it is recognised."""
    position: tuple[int, ...] = ()
    totals: tuple[float, ...] = ()
    """As in `RunState`."""
    agent_generator: Mapping[str, Any] = _NOTHING
    env_generator: Mapping[str, Any] | None = None
    """States of the two generators."""
    kind: str = ""
    state: Any = None
    """How the state of the environment is kept, and the state; None between two episodes."""
    regret: bool = False
    """Whether it notes the regret."""
    vectors: FloatArray = np.zeros((0, 0))
    """The two vectors (2, d) that an agent with features observes."""

    def packed(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return what JSON holds of it, and its arrays by name."""
        if self.lost:
            return {"lost": self.lost}, {}
        arrays: dict[str, AnyArray] = {"run.vectors": self.vectors}
        plain = self._asdict() | {"state": pack(self.state, arrays, "run.state.")}
        del plain["vectors"]
        return plain, arrays

    @classmethod
    def read(cls, plain: object, arrays: Npz) -> Self:
        """Take a run from a file.

        Raises
        ------
        KeyError, TypeError, ValueError
            If `packed` cannot have packed it.
        """
        if not is_dict(plain):
            raise ValueError("its entry 'run' is not a JSON object")
        if plain.keys() == {"lost"} and isinstance(plain["lost"], str) and plain["lost"]:
            return cls(plain["lost"])
        if plain.keys() != set(cls._fields) - {"vectors"} or plain["lost"] != "":
            raise ValueError("its entry 'run' does not have the entries of a run")
        position, totals = _numbers(plain["position"], int), _numbers(plain["totals"], float)
        vectors = arrays.take("run.vectors", np.float64, ndim=2)
        identity, kind, regret = plain["identity"], plain["kind"], plain["regret"]
        if len(position) != 5 or not all(-1 <= one < LARGEST for one in position) or min(position[ELAPSED:]) < 0:
            raise ValueError(f"position={position} is not that of a run")
        if len(totals) != 4 or not all(map(math.isfinite, totals)) or not np.isfinite(vectors).all():
            raise ValueError("a sum of rewards, or an observation, is not finite")
        if not (is_dict(identity) and all(isinstance(one, str) for one in identity.values())):
            raise ValueError("what its environment is does not consist of text")
        if not isinstance(kind, str) or type(regret) is not bool:
            raise ValueError("kind or regret has a wrong type")
        for generator in (plain["agent_generator"], plain["env_generator"]):
            if generator is not None:
                set_generator(np.random.default_rng(0), generator)
        if plain["agent_generator"] is None:
            raise ValueError("it has no generator")
        state = unpack(plain["state"], arrays.take)
        checked: dict[str, Any] = {"position": position, "totals": totals, "state": state, "vectors": vectors}
        return cls(**{**plain, **checked})

    @property
    def steps(self) -> int:
        """Steps of the run so far."""
        return self.position[ALL_STEPS] if self.position else 0


def _numbers(given: object, kind: type) -> tuple[Any, ...]:
    if not is_list(given) or any(type(one) is not kind for one in given):
        raise ValueError(f"{given!r} is not a list of numbers of the type {kind.__name__}")
    return tuple(given)


def set_generator(rng: np.random.Generator, state: Any) -> None:
    """Set the state of a generator.

    Raises
    ------
    ValueError
        If it is not one of the same kind of generator.
    """
    try:
        rng.bit_generator.state = state
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        kind = type(rng.bit_generator).__name__
        raise ValueError(f"the state of its generator is not one of {kind}: {error}") from error


class StateKeeper(NamedTuple):
    """How the state of an environment is kept."""

    kind: str
    keep: Callable[[], object]
    """Returns the state, as plain data."""
    put_back: Callable[[Any], None]
    """Puts the environment into a state; ValueError if it has no such state."""
    generator: Callable[[], np.random.Generator | None]
    """The generator that the environment draws from."""


def state_keeper(facts: EnvironmentFacts, form: CompiledForm) -> StateKeeper:
    """Find out how the state of an environment can be kept.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of an environment that has been reset.
    form : CompiledForm
        Its compiled form.

    Raises
    ------
    UnsuitableEnvironment
        If it cannot be kept; the message says why.
    """
    base = facts.base
    if form.model is not None and form.adapter is not None:
        return _numbered(base, form.model)
    if form.adapter is not None and form.tabulation is None:
        return _of_dynamics(form)
    if callable(getattr(base, "get_state", None)) and callable(getattr(base, "set_state", None)):
        for layer in facts.wrappers:
            if not _has_no_state(layer):
                raise errors.UnsuitableEnvironment(
                    f"{facts.name} is wrapped in {type(layer).__name__}, which may have a state of its own"
                )
        return _with_hooks(facts)
    if form.tabulation is None:
        raise errors.UnsuitableEnvironment(
            f"{facts.name} has no table that is trusted; learn with tabulate=True, or give it methods get_state() and "
            "set_state(state)"
        )
    table = form.tabulation

    def put_back(state: object) -> None:
        number = table.probe.number_with(state) if is_dict(state) else -1
        if number < 0 or table.rows[number] is None:
            raise ValueError("the state is none in which its episodes go on")
        table.put(number, base)

    def keep() -> dict[str, Any]:
        return table.probe.values_of(base)

    return StateKeeper("attributes", keep, put_back, lambda: getattr(base, table.generator))


def _with_hooks(facts: EnvironmentFacts) -> StateKeeper:
    base = facts.base

    def keep() -> object:
        try:
            return base.get_state()
        except Exception as error:  # whatever the environment raises
            raise errors.UnsuitableEnvironment(
                f"get_state() of {facts.name} raised {type(error).__name__}: {error}"
            ) from error

    def put_back(state: object) -> None:
        try:
            base.set_state(state)
        except Exception as error:  # whatever the environment raises
            raise ValueError(f"its set_state(state) raised {type(error).__name__}: {error}") from error

    return StateKeeper("hooks", keep, put_back, lambda: getattr(base, "_np_random", None))


def _numbered(base: Any, model: MDP | POMDP) -> StateKeeper:
    mdp = model.mdp if isinstance(model, POMDP) else model

    def put_back(state: object) -> None:
        if type(state) is not int or not 0 <= state < mdp.n_states or not mdp.legal[state].any():
            raise ValueError(f"state {state!r} is none in which its episodes go on")
        base.s = state

    return StateKeeper("table", lambda: int(base.s), put_back, lambda: base.np_random)


def _of_dynamics(form: CompiledForm) -> StateKeeper:
    adapter = form.adapter
    assert adapter is not None

    def put_back(state: object) -> None:
        known = adapter.read()
        if not (is_tuple(state) and len(state) == len(known) and all(type(one) is float for one in state)):
            raise ValueError(f"state {state!r} does not consist of {len(known)} numbers")
        if not np.isfinite(np.array(state)).all():
            raise ValueError(f"state {state!r} is not finite")
        adapter.write(state)

    def keep() -> tuple[float, ...]:
        return tuple(map(float, adapter.read()))

    return StateKeeper("dynamics", keep, put_back, adapter.generator)


def _has_no_state(layer: Wrapper) -> bool:
    pure = isinstance(layer, _PURE) and type(layer).__module__.startswith("gymnasium.")
    return pure or type(layer) in _WITHOUT_STATE


def identity_of(facts: EnvironmentFacts, form: CompiledForm) -> dict[str, str]:
    """What an environment is, in texts that are the same in every process."""
    spec = facts.env.spec
    try:
        keywords = "" if spec is None else json.dumps(spec.kwargs, sort_keys=True)
    except TypeError:  # a model, a function
        keywords = ""
    return {
        "id": facts.name,
        "observation space": _space(facts.env.observation_space),
        "action space": _space(facts.env.action_space),
        "time limit": "none" if facts.time_limit == NO_LIMIT else str(facts.time_limit),
        "keywords": keywords,
        "table": _checksum(facts, form),
    }


def _space(space: gymnasium.spaces.Space[Any]) -> str:
    return repr(space)


def _checksum(facts: EnvironmentFacts, form: CompiledForm) -> str:
    """A checksum of the table or of the constants of the dynamics; an empty text if there is neither."""
    model, found = form.model, hashlib.sha256()
    if model is None and (form.adapter is None or facts.dynamics is None):
        return ""
    if model is None:
        parts: list[Any] = list(facts.dynamics.constants if facts.dynamics is not None else ())
    else:
        mdp = model.mdp if isinstance(model, POMDP) else model
        parts = [mdp.indptr, mdp.next_state, mdp.probability, mdp.rows.reward, mdp.terminated, mdp.start]
        parts += [part for part in (mdp.reward_std, mdp.bernoulli) if part is not None]
        parts += [model.observation] if isinstance(model, POMDP) else []
    for part in parts:
        array = np.ascontiguousarray(part)
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def difference(kept: Mapping[str, str], now: Mapping[str, str]) -> str:
    """How an environment differs from the one of a run that was kept, as a phrase; empty if it does not."""
    for what, value in now.items():
        was = kept.get(what, "")
        if was != value and ((was and value) or what == "keywords"):
            if what == "table":
                return "its table, or the constants of its dynamics, are others"
            return f"its {what} was {was or 'none'} and is {value or 'none'}"
    return ""


def check_position(position: tuple[int, ...], legal: BoolArray, vectors: FloatArray) -> None:
    """Raise ValueError unless the observation and the action of a run that was kept exist."""
    observation, action = position[OBSERVATION], position[ACTION]
    n_observations, n_actions = legal.shape
    if not (NONE <= observation < n_observations and NONE <= action < n_actions):
        raise ValueError(f"observation {observation} or action {action} does not exist")
    if observation == NONE and action != NONE:
        raise ValueError(f"action {action} was chosen before anything was observed")
    if vectors.size and len(vectors) != 2:
        raise ValueError(f"vectors has shape {vectors.shape}")


def put_position(run_state: RunState, kept: KeptRun) -> None:
    """Write where a run stands into its records."""
    run_state.position[:] = kept.position
    run_state.totals[:] = kept.totals
