"""An environment that has been asked for its table, as the user has asked for that (`rlsuite.environments.tabulation`).

It is compared with the environment while the run lasts (`rlsuite.training.verification`).
"""

import threading
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from rlsuite import errors
from rlsuite.core.checks import is_dict
from rlsuite.environments.facts import EnvironmentFacts
from rlsuite.environments.followers import Follower
from rlsuite.environments.forms.form import Adapter, EnvironmentFunctions, Form, Refusal, StateKeeper, Wish
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.environments.forms.stepwise import has_hooks, hooks_keeper
from rlsuite.environments.forms.table import parts_of, trusted_model
from rlsuite.environments.found_model import Numbering, model_of
from rlsuite.environments.layers import horizon_of, layers_of
from rlsuite.environments.tabulation import NotTabulated, Tabulation, TabulationFollower, tabulation_of
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray

_known: list[tuple[object, Tabulation]] = []
"""What has been tabulated in this process, with class and keywords, newest first: thirty seeds need it only once."""
_one_at_a_time = threading.Lock()

MAX_KEPT = 8
"""Tabulations that are kept."""


class Tabulated(Form):
    """A table that was made by probing."""

    kind = "attributes"

    def __init__(self, facts: EnvironmentFacts, tabulation: Tabulation, model: MDP | POMDP | None, gamma: float):
        from rlsuite.environments.forms.draw_trees import trees_begin, trees_of, trees_step  # imports numba

        trees, env = trees_of(tabulation), facts.env

        def read() -> int:
            state = tabulation.state_of(env)
            if state < 0:
                raise errors.UntrustedTable(
                    f"{facts.name} is in a state that was not found when it was tabulated; learn with loop='stepwise'"
                )
            return state

        def write(state: int) -> None:
            tabulation.put(state, env)

        def recording(legal: BoolArray) -> EnvironmentFunctions:
            return EnvironmentFunctions(trees._replace(legal=legal), trees_begin, trees_step)

        functions = EnvironmentFunctions(trees, trees_begin, trees_step)
        generator = _generator_of(facts, tabulation)
        adapter = Adapter(functions, read, write, generator, recording if trees.masks.size else None)
        n = tabulation.n_states
        reason = f"it has been tabulated, {n:,} state{'' if n == 1 else 's'}"
        super().__init__(facts, reason, adapter, model)
        self.tabulation = tabulation
        self._gamma = gamma
        self._rewards = float(trees.reward.min()), float(trees.reward.max())

    @classmethod
    def offer(cls, facts: EnvironmentFacts, wish: Wish) -> "Form | Refusal":
        """Probe the environment, if the user wants that."""
        if not wish.asks:
            return Refusal()
        try:
            tabulation = asked(facts, wish)
        except NotTabulated as error:
            return Refusal(error, error.n_states)
        except errors.UnsuitableEnvironment as error:
            return Refusal(error)
        return cls(facts, tabulation, _model(facts, wish), wish.gamma)

    @property
    def judged(self) -> MDP | POMDP | None:
        """The model that it declares, or that of what was found, if observations tell the states apart."""
        if self.model is not None:
            return self.model
        return self._found if isinstance(self._found, MDP) else None

    @property
    def hidden(self) -> POMDP | None:
        """The model of what was found, if observations do not tell its states apart."""
        return self._found if self.model is None and isinstance(self._found, POMDP) else None

    @cached_property
    def _found(self) -> MDP | POMDP:
        numbering = Numbering(self.facts.env.observation_space)
        return model_of(self.tabulation, numbering, self._gamma, self.facts.name)

    @property
    def rewards(self) -> tuple[float, float] | None:
        """The least and the largest reward that were found."""
        return self._rewards

    def follower(self, facts: EnvironmentFacts) -> Follower | None:
        """Follow the environment by what was found."""
        return TabulationFollower(facts, self.tabulation)

    def keeper(self) -> StateKeeper:
        """Keep the attributes that make up the state, unless the environment has methods for that."""
        if has_hooks(self.facts):
            return hooks_keeper(self.facts)
        table, env = self.tabulation, self.facts.env

        def put_back(state: object) -> None:
            number = table.probe.number_with(state) if is_dict(state) else -1
            if number < 0 or table.rows[number] is None:
                raise ValueError("the state is terminal or unknown in this environment")
            table.put(number, env)

        def keep() -> dict[str, Any]:
            return table.probe.values_of(env)

        return StateKeeper("attributes", keep, put_back, _generator_of(self.facts, table))

    def parts(self) -> list[AnyArray]:
        """The arrays of the table that it declares, if any."""
        return parts_of(self.model)


def _generator_of(facts: EnvironmentFacts, tabulation: Tabulation) -> Callable[[], np.random.Generator]:
    return lambda: tabulation.generator_of(facts.env)


def _model(facts: EnvironmentFacts, wish: Wish) -> MDP | POMDP | None:
    """The model of the table that an environment declares as well, if its step follows that."""
    if not facts.has_table or is_known_kind(facts):
        return None
    try:
        return trusted_model(facts, wish.gamma)
    except errors.UntrustedTable:
        return None


def asked(facts: EnvironmentFacts, wish: Wish) -> Tabulation:
    """Tabulate an environment, or return its earlier tabulation.

    Raises
    ------
    NotTabulated
        If that cannot be done.
    UntrustedTable
        If a `RecordEpisodeStatistics` cannot follow what happens.
    """
    facts.check_recorders()
    kinds: list[type] = [type(layer) for layer in layers_of(facts.env)]
    key = (kinds, repr(facts.env.spec), wish.masked, horizon_of(facts))
    ask = partial(tabulation_of, facts, seconds=wish.patience, max_states=wish.max_states, masks=wish.masked)
    with _one_at_a_time:
        if wish.id_of is not None:  # the numbers of the observations are those of one model
            return ask(id_of=wish.id_of, reset=True)
        found = next((one for other, one in _known if other == key and one.probe.knows(facts.env)), None)
        if found is None:
            found = ask()
            _known[:] = [(key, found), *_known[: MAX_KEPT - 1]]
        return found
