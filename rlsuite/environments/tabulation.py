"""Tabulate an environment by asking what each action does in each state that can be reached.

`tabulation_of` puts a copy of the environment into each state (`rlsuite.environments.probe`), runs its own `step` for
each outcome of what that draws (`rlsuite.environments.outcomes`), and keeps for each pair the tree of its draws. So
the table is exact, however improbable an outcome is, and says in which order the environment draws: the trees, followed
with the environment's own generator, give the episodes of its `step`.
"""

import copy
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import BareEnv
from rlsuite.core.checks import is_array
from rlsuite.environments.facts import EnvironmentFacts, facts_of, replaced_methods
from rlsuite.environments.followers import Follower, walk
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.outcomes import Tree, draw, leaves_of
from rlsuite.environments.probe import Probe, Relearn
from rlsuite.environments.side_effects import Surroundings
from rlsuite.environments.signal_errors import CannotBeFollowed, Signal, WasRead, called

MAX_STATES = 100_000
REPLAYED = 500
"""Steps in which the table is compared with the environment itself, with its own generator."""


class NotTabulated(errors.UnsuitableEnvironment):
    """Why an environment could not be tabulated; `n_states` is the number of states that were found until then."""

    def __init__(self, reason: str, n_states: int = 0):
        super().__init__(reason)
        self.n_states = n_states


class Tabulation(NamedTuple):
    """All that an environment can do."""

    probe: Probe
    start: Tree
    """What `reset` draws; its leaves are answers."""
    rows: list[list[Tree] | None]
    """``rows[s][a]``: what an action draws; its leaves are answers. None where an episode is over."""
    n_actions: int

    @property
    def n_states(self) -> int:
        """Number of states that can be reached."""
        return len(self.probe.states)

    @property
    def generator(self) -> str:
        """The attribute with the generator that the environment draws from."""
        return self.probe.generator

    def state_of(self, base: BareEnv) -> int:
        """Return the number of the state in which an environment is; -1 if it is none of these."""
        return self.probe.number_of(base, known_only=True)

    def put(self, state: int, base: BareEnv) -> None:
        """Put an environment into a state."""
        self.probe.put(state, base)


def tabulation_of(
    facts: EnvironmentFacts,
    *,
    seconds: float,
    max_states: int = MAX_STATES,
    id_of: Callable[[Any], int] | None = None,
) -> Tabulation:
    """Tabulate an environment.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of an environment that has been reset; it is left untouched.
    seconds : float
        Give up after this time.
    max_states : int
        Give up when there are more states.
    id_of : callable, optional
        The number of an observation; by default its id (`rlsuite.environments.observation_ids.ObservationIds`).

    Raises
    ------
    NotTabulated
        If it cannot be done; the message says why.
    UnsuitableEnvironment
        If there are infinitely many observations, and no `id_of`.
    """
    id_of = id_of or ObservationIds(facts.env.observation_space).id_of
    base = facts.base
    if not isinstance(base.action_space, gymnasium.spaces.Discrete):
        raise NotTabulated(f"its action space is {base.action_space}, not Discrete")
    for layer in (*facts.wrappers, base):
        for method in replaced_methods(layer):
            raise NotTabulated(f"its {method} has been replaced")
    if getattr(base, "render_mode", None) == "human":
        raise NotTabulated('it draws each step for a person to see (render_mode="human")')
    surroundings = Surroundings(base)
    if surroundings.forbidden:
        raise NotTabulated(f"its step or its reset {surroundings.forbidden}")
    if shared := _shared_arrays(base):
        raise NotTabulated(f"its attributes `{shared[0]}` and `{shared[1]}` are views of one array")
    try:
        inner: BareEnv = copy.deepcopy(base)
        witness: BareEnv = copy.deepcopy(base)
    except Exception as error:  # whatever a class of another package raises
        raise NotTabulated(f"it cannot be copied ({type(error).__name__}: {error})") from error
    deadline = time.monotonic() + seconds
    probe = None
    try:
        probe = Probe(inner, id_of, deadline)
        tabulation = _ask_until_sure(probe, deadline, max_states)
        if changed := surroundings.changed():
            raise NotTabulated(f"its step or its reset depends on, or changes, {changed}")
        follower = TabulationFollower(facts_of(witness), tabulation)
        walk(witness, follower, REPLAYED)
        if follower.difference:
            raise CannotBeFollowed(f"stepped with its own generator, it does something else: {follower.difference}")
        return tabulation
    except CannotBeFollowed as error:
        raise NotTabulated(str(error), 0 if probe is None else len(probe.states)) from error
    except NotTabulated:
        raise
    except Signal as signal:  # met by what keeps the states, not by the environment
        raise NotTabulated(str(signal)) from None
    except Exception as error:  # whatever the environment raises
        raise NotTabulated(f"put into one of its states, it raised {type(error).__name__}: {error}") from error
    finally:
        surroundings.restore_global_generators()


def _shared_arrays(base: BareEnv) -> tuple[str, str] | None:
    """The names of two attributes that are views of one array: a change of one is a change of the other."""
    found: dict[int, str] = {}
    attributes: dict[str, Any] = base.__dict__
    for name, value in attributes.items():
        if is_array(value):
            root: Any = value
            while is_array(root.base):
                root = root.base
            if id(root) in found:
                return found[id(root)], name
            found[id(root)] = name
    return None


def _ask_until_sure(probe: Probe, deadline: float, max_states: int) -> Tabulation:
    """Ask for all rows, again and again until the state is all that they depend on."""
    while True:
        try:
            tabulation = called(partial(_ask, probe, deadline, max_states))
        except WasRead as found:
            probe.belongs(found.name)
        except Relearn:
            pass
        else:
            name = probe.disturbed()
            if not name:
                return tabulation
            if name in probe.in_state:
                raise CannotBeFollowed(f"its attribute `{name}` cannot be set back")
            probe.belongs(name)
        probe.learn_again()


def _ask(probe: Probe, deadline: float, max_states: int) -> Tabulation:
    n_actions = int(probe.base.action_space.n)
    origin = probe.here()
    start = probe.reset(origin)
    rows: dict[int, list[Tree]] = {}
    queue: list[int] = []  # states in which an episode goes on
    waiting: set[int] = set()

    def arrive(tree: Tree) -> None:
        for answer in leaves_of(tree):
            if not (answer.terminated or answer.truncated) and answer.state not in waiting:
                waiting.add(answer.state)
                queue.append(answer.state)

    arrive(start)
    for state in queue:  # which grows meanwhile
        rows[state] = [probe.step(state, action) for action in range(n_actions)]
        for tree in rows[state]:
            arrive(tree)
        if len(probe.states) > max_states or time.monotonic() > deadline:
            many = _most_values(probe)
            raise CannotBeFollowed(
                f"it has more states than could be asked for: {len(probe.states):,} were found"
                + (f", and its attribute `{many[0]}` has had {many[1]:,} values" if many else "")
            )
    # what reset reads may tell one state from another: then it is asked in all of them
    for state in range(len(probe.states)) if probe.reset_reads else sorted({origin, 0, len(probe.states) - 1}):
        if probe.reset(state) != start:
            raise CannotBeFollowed("its reset depends on the state in which the last episode ended")
        if time.monotonic() > deadline:
            raise CannotBeFollowed("there was not enough time to ask what reset does in each state")
    return Tabulation(probe, start, [rows.get(state) for state in range(len(probe.states))], n_actions)


def _most_values(probe: Probe) -> tuple[str, int] | None:
    """The attribute with the most different values among the states."""
    counts = {
        name: len({str(state.plain[name]) for state in probe.states[-1_000:]})
        for name in probe.in_state
        if all(name in state.plain for state in probe.states[-1_000:])
    }
    if not counts:
        return None
    name = max(counts, key=lambda one: counts[one])
    return (name, counts[name]) if counts[name] > 1 else None


class TabulationFollower(Follower):
    """Follows an environment by what was found when it was asked."""

    def __init__(self, facts: EnvironmentFacts, tabulation: Tabulation):
        super().__init__(facts, "the table that was made of it says", "that table needs")
        self.tabulation = tabulation
        self._state = -1

    def generator(self) -> np.random.Generator:
        """The generator that was found."""
        return getattr(self.base, self.tabulation.generator)

    def take_state(self) -> None:
        """Look up the state."""
        self._state = self.tabulation.state_of(self.base)
        if self._state < 0:
            self.difference = "it is in a state that was not found when it was tabulated"

    def place(self) -> str:
        """Number the state."""
        return f"state {self._state} of those found"

    def reset(self) -> Any:
        """Draw the beginning of an episode."""
        answer = draw(self.tabulation.start, self._rng)
        self._state = answer.state
        return answer.observation

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Draw an answer."""
        row = self.tabulation.rows[self._state]
        if row is None:
            return "(none, as the episode is over)", 0.0, True, False
        answer = draw(row[action], self._rng)
        self._state = answer.state
        return answer.observation, answer.reward, answer.terminated, answer.truncated

    def same(self, name: str, found: Any, expected: Any) -> bool:
        """Compare observations by their ids."""
        return super().same(name, self.tabulation.probe.id_of(found) if name == "observation" else found, expected)

    def other_state(self, where: str) -> str:
        """Look up the state."""
        same = self.tabulation.state_of(self.base) == self._state
        return "" if same else f"{where} it comes into another state than {self.says}"
