"""An environment whose `step` is called."""

from gymnasium import wrappers

from rlsuite import errors
from rlsuite.environments.facts import TRANSPARENT, EnvironmentFacts
from rlsuite.environments.forms.form import Form, Refusal, StateKeeper, Wish
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.environments.wrappers import DiscreteActions, VectorObservation
from rlsuite.models import POMDP

NO_TABLE = "no transition table; tabulate=True may make one"
"""What an environment has whose table was not asked for."""

NOT_ASKED_FOR = f"it has {NO_TABLE}, see docs/tabulation.md"
"""The reason for stepping it."""

_WITHOUT_STATE = (*TRANSPARENT, VectorObservation, DiscreteActions)
_PURE = (wrappers.TransformObservation, wrappers.TransformAction, wrappers.TransformReward)


class Stepwise(Form):
    """No compiled form."""

    kind = "hooks"

    @classmethod
    def offer(cls, facts: EnvironmentFacts, wish: Wish) -> "Form | Refusal":
        """Offer it for all environments."""
        form = cls(facts, NOT_ASKED_FOR if wish.encode is None else "it has no compiled dynamics")
        if facts.belief is not None and is_known_kind(facts):
            form.hidden_state = POMDP.from_env(facts.base, gamma=wish.gamma)
        return form

    def keeper(self) -> StateKeeper:
        """Keep what the environment's own methods say."""
        return hooks_keeper(self.facts)


def has_hooks(facts: EnvironmentFacts) -> bool:
    """Whether an environment has methods that return and set its state."""
    return all(callable(getattr(facts.base, name, None)) for name in ("get_state", "set_state"))


def hooks_keeper(facts: EnvironmentFacts) -> StateKeeper:
    """Keep what ``get_state()`` returns, which ``set_state(state)`` takes back.

    Raises
    ------
    UnsuitableEnvironment
        If it has no such methods, or a wrapper may have a state of its own.
    """
    base = facts.base
    if not has_hooks(facts):
        raise errors.UnsuitableEnvironment(
            f"{facts.name} has no table that is trusted; learn with tabulate=True, or give it methods get_state() and "
            "set_state(state)"
        )
    for layer in facts.wrappers:
        pure = isinstance(layer, _PURE) and type(layer).__module__.startswith("gymnasium.")
        if not pure and type(layer) not in _WITHOUT_STATE:
            raise errors.UnsuitableEnvironment(
                f"{facts.name} is wrapped in {type(layer).__name__}, which may have a state of its own"
            )

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
