"""An environment whose own `step` is compiled: its attribute ``dynamics``, or what a package has announced for it.

Those of `rlsuite.CompiledEnv` are right, as its `step` calls them. Any others are compared with the environment while
the run lasts (`rlsuite.training.verification`), or, for those who ask, on a copy beforehand (`trusted_dynamics`).
"""

import copy
from functools import partial
from typing import NamedTuple

import numpy as np

from rlsuite import errors
from rlsuite.core.checks import is_tuple
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.environments.compiled_env import CompiledDynamics, State, check_dynamics
from rlsuite.environments.facts import EnvironmentFacts
from rlsuite.environments.followers import DynamicsFollower, Follower, replay, walk
from rlsuite.environments.forms.form import Adapter, EnvironmentFunctions, Form, Refusal, StateKeeper, Wish
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.environments.observation_view import NONE, ObservationView, next_row
from rlsuite.models.aliases import AnyArray

WALK = 300
"""Steps of a replay along dynamics."""


class Dynamics(Form):
    """The compiled dynamics of an environment, for an agent that is shown vectors."""

    kind = "dynamics"

    @classmethod
    def offer(cls, facts: EnvironmentFacts, wish: Wish) -> "Form | Refusal":
        """Offer it to agents that are shown vectors."""
        if facts.dynamics is None or wish.encode is None:
            return Refusal()
        try:
            if wish.masked:
                raise errors.UnsuitableEnvironment(
                    f"{facts.name} has an action_mask in its info, which compiled dynamics do not support"
                )
            facts.check_wrappers()
            check_dynamics(facts.dynamics, facts.name)
            if wish.encode.transform is not None:
                raise errors.UnsuitableEnvironment(
                    f"{facts.name} has compiled dynamics, but these features can only be computed in Python; the "
                    "feature maps of rlsuite.approximation are compiled"
                )
        except errors.UnsuitableEnvironment as error:
            return Refusal(error)
        return cls(facts, "its compiled dynamics", _adapter(facts, facts.dynamics))

    def follower(self, facts: EnvironmentFacts) -> Follower | None:
        """Follow the environment by its dynamics."""
        dynamics = self.facts.dynamics
        return None if dynamics is None or is_known_kind(self.facts) else DynamicsFollower(facts, dynamics)

    def keeper(self) -> StateKeeper:
        """Keep the numbers of the state."""
        adapter = self.adapter
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

    def parts(self) -> list[AnyArray]:
        """The constants."""
        assert self.facts.dynamics is not None
        return [np.asarray(one) for one in self.facts.dynamics.constants]


def trusted_dynamics(facts: EnvironmentFacts, dynamics: CompiledDynamics) -> None:
    """Make sure, on a copy, that `step` does what the dynamics say.

    Raises
    ------
    UntrustedTable
        If a wrapper could change what is seen, or a replay differs.
    UnsuitableEnvironment
        If the functions are not compiled, or return something else than they should.
    """
    facts.check_wrappers()
    check_dynamics(dynamics, facts.name)
    if is_known_kind(facts):
        return
    replay(facts, partial(_difference, facts, dynamics))


def _difference(facts: EnvironmentFacts, dynamics: CompiledDynamics) -> str:
    double = copy.deepcopy(facts.env)
    follower = DynamicsFollower(facts._replace(base=double.unwrapped), dynamics)
    walk(double, follower, WALK)
    return follower.difference


# ------------------------------------------------------------------------------------- in the compiled loop


class DynamicsFunctions(NamedTuple):
    """The functions of compiled dynamics, and their constants."""

    constants: object
    begin: Compiled[..., State]
    step: Compiled[..., tuple[State, float, bool]]
    observe: Compiled[..., None]


@compiled(in_place=True)
def dynamics_begin(data: DynamicsFunctions, view: ObservationView, rng: np.random.Generator) -> tuple[State, int]:
    """Draw a start state, and write its observation."""
    state = data.begin(data.constants, rng)
    row = next_row(NONE)
    data.observe(data.constants, state, view.vectors[row])
    return state, row


@compiled(in_place=True)
def dynamics_step(
    data: DynamicsFunctions,
    state: State,
    action: int,
    observation: int,
    view: ObservationView,
    rng: np.random.Generator,
) -> tuple[State, float, bool, bool, int]:
    """Take an action, and write the next observation."""
    successor, reward, terminated = data.step(data.constants, state, action, rng)
    row = next_row(observation)
    data.observe(data.constants, successor, view.vectors[row])
    return successor, reward, terminated, False, row


def _adapter(facts: EnvironmentFacts, dynamics: CompiledDynamics) -> Adapter:
    """Return how the compiled loop runs an environment whose own step is compiled."""
    base = facts.base
    data = DynamicsFunctions(dynamics.constants, dynamics.begin, dynamics.step, dynamics.observe)
    return Adapter(
        EnvironmentFunctions(data, dynamics_begin, dynamics_step),
        partial(dynamics.read, base),
        partial(dynamics.write, base),
        lambda: base.np_random,
    )
