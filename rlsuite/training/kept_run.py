"""A run that is kept in a file, and continues in another process as if it had never stopped.

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
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from rlsuite import errors
from rlsuite.core.checks import is_dict, is_list
from rlsuite.core.npz import Npz
from rlsuite.core.plain_data import pack, unpack
from rlsuite.environments.facts import NO_LIMIT, EnvironmentFacts
from rlsuite.environments.forms.form import Form
from rlsuite.environments.observation_view import NONE, ObservationView
from rlsuite.models import MDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray
from rlsuite.training.kernels import ACTION, ALL_STEPS, ELAPSED, OBSERVATION
from rlsuite.training.run import Run

LARGEST = 2**53

_NOTHING: Mapping[str, Any] = MappingProxyType({})


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
    """Whether it records the regret."""
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
            raise ValueError(f"position={position} does not fit a run")
        if len(totals) != 4 or not all(map(math.isfinite, totals)) or not np.isfinite(vectors).all():
            raise ValueError("a sum of rewards, or an observation, is not finite")
        if not (is_dict(identity) and all(isinstance(one, str) for one in identity.values())):
            raise ValueError("the description of its environment is not text")
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


def identity_of(facts: EnvironmentFacts, form: Form) -> dict[str, str]:
    """What an environment is, in texts that are the same in every process."""
    spec = facts.env.spec
    try:
        keywords = "" if spec is None else json.dumps(spec.kwargs, sort_keys=True)
    except TypeError:  # a model, a function
        keywords = ""
    return {
        "id": facts.name,
        "observation space": repr(facts.env.observation_space),
        "action space": repr(facts.env.action_space),
        "time limit": "none" if facts.time_limit == NO_LIMIT else str(facts.time_limit),
        "keywords": keywords,
        "table": _checksum(form),
    }


def _checksum(form: Form) -> str:
    """A checksum of the table or of the constants of the dynamics; an empty text if there is neither."""
    parts, found = form.parts(), hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:16] if parts else ""


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


def kept(run: Run) -> KeptRun:
    """Return a run as it is kept in a file; or why it cannot be."""
    learner = run.learner
    position = tuple(learner.run_state.position.tolist())
    try:
        keeper = run.form.keeper()
        state = None
        if position[OBSERVATION] != NONE or keeper.kind == "hooks":
            state = keeper.keep()
        rng = keeper.generator()
        saved = KeptRun(
            lost="",
            identity=identity_of(run.facts, run.form),
            position=position,
            totals=tuple(learner.run_state.totals.tolist()),
            agent_generator=dict(learner.rng.bit_generator.state),
            env_generator=None if rng is None else dict(rng.bit_generator.state),
            kind=keeper.kind,
            state=state,
            regret=bool(run.optima is not None),
            vectors=learner.view.vectors if isinstance(learner.view, ObservationView) else np.zeros((0, 0)),
        )
        saved.packed()
    except (errors.UnsuitableEnvironment, TypeError, NotImplementedError) as error:
        return KeptRun(f"the state of its environment cannot be kept. {error}")
    return saved


def go_on(run: Run, kept: KeptRun, legal: BoolArray) -> str:
    """Continue a run that was kept; or return why that cannot be done, as a sentence.

    Parameters
    ----------
    run : Run
        One that has just begun.
    kept : KeptRun
        The run.
    legal : ndarray of bool
        The legal actions that were known then.

    Raises
    ------
    FileError
        If the run contradicts itself or its environment: it was not kept by `kept`.
    """
    learner = run.learner
    if other := difference(kept.identity, identity_of(run.facts, run.form)):
        return f"the run that was kept is one in another environment: {other}"
    try:
        keeper = run.form.keeper()
    except errors.UnsuitableEnvironment as error:
        return f"the state of its environment cannot be set. {error}"
    if keeper.kind != kept.kind:
        return f"the state of {run.name} was kept by its {kept.kind}, and can be set by its {keeper.kind} only"
    position, view = kept.position, learner.view
    try:
        check_position(position, learner.legal, kept.vectors)
        vectors = view.vectors if isinstance(view, ObservationView) else np.zeros((0, 0))
        if kept.vectors.shape != vectors.shape:
            raise ValueError(f"its vectors have shape {kept.vectors.shape}, not {vectors.shape}")
        n_ids = 0 if run.encode is None else run.encode.n_ids
        if n_ids and not np.isin(kept.vectors, np.arange(float(n_ids))).all():
            raise ValueError("it observes an id that does not exist")
        if position[OBSERVATION] != NONE or keeper.kind == "hooks":
            keeper.put_back(kept.state)
        if run.mask_info is not None or run.encode is not None:
            learner.legal[...] = legal
        if keeper.kind == "table" and position[OBSERVATION] != NONE:
            _check_legal(run, position[OBSERVATION], int(run.facts.base.s))
        rng = keeper.generator()
        if rng is not None:
            set_generator(rng, kept.env_generator)
    except ValueError as error:
        raise errors.FileError(f"the run that was kept cannot continue in {run.name}: {error}") from error
    set_generator(learner.rng, kept.agent_generator)
    vectors[...] = kept.vectors
    if isinstance(view, ObservationView) and position[OBSERVATION] != NONE:
        view.arrived[...] = vectors[position[OBSERVATION]]
    learner.run_state.position[:], learner.run_state.totals[:] = position, kept.totals
    for layer in run.facts.time_limits:
        layer._elapsed_steps = position[ELAPSED]
    run.use(run.loop)
    return ""


def _check_legal(run: Run, observation: int, state: int) -> None:
    """Raise ValueError if a state is not the one observed, or has not the actions that are legal then."""
    mdp = run.form.mdp
    other = isinstance(run.form.model, MDP) and run.encode is None and observation != state
    if mdp is not None and (other or (run.learner.legal[observation] & ~mdp.legal[state]).any()):
        raise ValueError(f"observation {observation} does not belong to state {state}")
