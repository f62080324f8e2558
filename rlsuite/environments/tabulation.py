"""Tabulate an environment by probing what each action does in each reachable state.

`tabulation_of` puts a copy of the environment into each state (`rlsuite.environments.probe`), runs its own `step` for
each outcome of what that draws (`rlsuite.environments.outcomes`), and keeps for each pair the tree of its draws. So
the table is exact, however improbable an outcome is, and says in which order the environment draws: the trees, followed
with the environment's own generator, give the episodes of its `step`.
"""

import copy
import gc
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic  # the module's are out of use where an environment is asked
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Env
from rlsuite.environments.ageing import SHARE, Ageing
from rlsuite.environments.child_process import CannotBeFollowed, called, in_child, in_new_process, in_words
from rlsuite.environments.facts import EnvironmentFacts, replaced_methods
from rlsuite.environments.followers import Follower, begin
from rlsuite.environments.layers import horizon_of, why_not_copied, without_counting
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.outcomes import Tree, draw, leaves_of
from rlsuite.environments.part_pickles import object_named
from rlsuite.environments.probe import Answer, Probe, Relearn

MAX_STATES = 100_000
OTHER_SEED = 2_718
"""Of the generator in the second process."""
LEAST = 10.0
"""Seconds that the second process gets, if the first has left less."""


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
    rows: list[list[Tree | None] | None]
    """``rows[s][a]``: what an action draws; its leaves are answers. None for actions that are not legal, and None in
    place of a row where an episode is over."""
    n_actions: int

    @property
    def n_states(self) -> int:
        """Number of states that can be reached."""
        return len(self.probe.states)

    def generator_of(self, env: Env) -> np.random.Generator:
        """Return the generator that an environment draws from."""
        return self.probe.generator_of(env)

    def ageing(self) -> Ageing:
        """Return what a copy can be stepped beside, without the states."""
        probe = self.probe
        return Ageing(self.start, self.rows, probe.generator, probe.id_of, self.n_actions if probe.masks else 0)

    def state_of(self, env: Env) -> int:
        """Return the number of the state in which an environment is; -1 if it is none of these."""
        return self.probe.number_of(env, known_only=True)

    def put(self, state: int, env: Env) -> None:
        """Put an environment into a state."""
        self.probe.put(state, env)


def tabulation_of(
    facts: EnvironmentFacts,
    *,
    seconds: float,
    max_states: int = MAX_STATES,
    id_of: Callable[[Any], int] | None = None,
    reset: bool = False,
    masks: bool = False,
) -> Tabulation:
    """Tabulate an environment, in a process of its own (`rlsuite.environments.child_process`).

    Parameters
    ----------
    facts : EnvironmentFacts
        Of an environment that has been reset, but with ``reset``; it is left untouched.
    seconds : float
        Give up after this time.
    max_states : int
        Give up when there are more states.
    id_of : callable, optional
        The number of an observation; by default its id (`rlsuite.environments.observation_ids.ObservationIds`).
    reset : bool
        Whether to begin an episode first, in the other process; its info says whether there are masks.
    masks : bool
        Whether each info says which actions are legal; the others are not asked for.

    Raises
    ------
    NotTabulated
        If it cannot be done; the message says why.
    UnsuitableEnvironment
        If there are infinitely many observations, and no `id_of`.
    """
    id_of = id_of or ObservationIds(facts.env.observation_space).id_of
    base, env = facts.base, facts.env
    if not isinstance(env.action_space, gymnasium.spaces.Discrete):
        raise NotTabulated(f"its action space is {env.action_space}, not Discrete")
    for layer in (*facts.wrappers, base):
        for method in replaced_methods(layer):
            raise NotTabulated(f"its {method} has been replaced")
    if getattr(base, "render_mode", None) == "human":
        raise NotTabulated('it draws each step for a person to see (render_mode="human")')
    if reason := why_not_copied(facts):
        raise NotTabulated(reason)
    began = monotonic()
    try:
        found = in_child(partial(_packed, facts, id_of, seconds, max_states, reset, masks), seconds)
        if isinstance(found, _Refusal):
            raise NotTabulated(*found)
        table = found.tabulation()
        seconds = max(LEAST, seconds - (monotonic() - began))
        share = SHARE * (monotonic() - began)
        again = partial(_aged_again, facts.env, facts.time_limit, table.ageing(), share, seconds)
        in_new_process(again, seconds)
    except CannotBeFollowed as error:
        raise NotTabulated(str(error)) from None
    return table


class _Refusal(NamedTuple):
    reason: str
    n_states: int


class _Packed(NamedTuple):
    """A tabulation, as the process that has asked sends it."""

    probe: bytes
    names: list[str | int]
    """Of the functions and classes in it."""
    parts: tuple[Tree, list[list[Tree | None] | None], int]
    """Those of a `Tabulation` that follow its probe."""

    def tabulation(self) -> Tabulation:
        """Return what it holds."""
        named: dict[str | int, Any] = {name: object_named(name) for name in self.names if isinstance(name, str)}
        unnamed = {*self.names} - named.keys()
        if unnamed:  # they were there before the fork, so they are here, too
            named.update((id(one), one) for one in gc.get_objects() if id(one) in unnamed)
        return Tabulation(Probe.unpacked(self.probe, named), *self.parts)


def _packed(
    facts: EnvironmentFacts,
    id_of: Callable[[Any], int],
    seconds: float,
    max_states: int,
    reset: bool,
    masks: bool,
) -> _Packed | _Refusal:
    """Ask, in a process of its own."""
    env = facts.env
    probe = None
    generators = _global_generators()
    try:
        began = monotonic()
        deadline = began + seconds
        if reset:
            masks = facts.has_action_mask(called(partial(begin, env)))
        try:
            copied = copy.deepcopy(env)
        except Exception as error:  # whatever a class of another package raises
            raise CannotBeFollowed(f"it cannot be copied ({type(error).__name__}: {error})") from error
        probe = Probe(without_counting(copied, limits=False), id_of, deadline, horizon_of(facts), masks)
        witness = without_counting(env, limits=True)  # a copy may have lost what two of its parts share
        tabulation = _aged(probe, witness, facts.time_limit, began, deadline, max_states)
        if _global_generators() != generators:
            raise CannotBeFollowed("")  # said below
        packed = probe.packed()
        unnamed = {name for name in probe.named if isinstance(name, int)}
        new = {id(one) for one in gc.get_objects()} if unnamed else unnamed
        for name, thing in probe.named.items():
            if name in new:
                raise CannotBeFollowed(f"its state refers to {thing.__qualname__}, which its own code replaces")
        return _Packed(packed, [*probe.named], tabulation[1:])
    except BaseException as error:  # whatever the environment raises
        name = next((name for name, state in _global_generators().items() if state != generators[name]), "")
        reason = f"its step or its reset draws from {name}" if name else in_words(error)
        return _Refusal(reason, 0 if probe is None else len(probe.states))


def _aged(probe: Probe, witness: Env, limit: int, began: float, deadline: float, max_states: int) -> Tabulation:
    """Tabulate, and step a copy beside the table; if that differs, with all in the state that may belong to it."""
    while True:
        try:
            tabulation = _ask_until_sure(probe, deadline, max_states)
            until = (now := monotonic()) + SHARE * (now - began)
            tabulation.ageing().age(witness, limit, None, until, deadline)
        except CannotBeFollowed:
            if not (doubtful := probe.doubtful()) or len(probe.states) > max_states or monotonic() > deadline:
                raise
            probe.belongs(*doubtful)
        else:
            return tabulation


def _aged_again(env: Env, limit: int, table: Ageing, share: float, seconds: float) -> int:
    """Age it once more, in a new process, from another seed."""
    copied, now = without_counting(env, limits=True), monotonic()
    return table.age(copied, limit, OTHER_SEED, now + share, now + seconds)


def _ask_until_sure(probe: Probe, deadline: float, max_states: int) -> Tabulation:
    """Ask for all rows, again and again until the state is all that they depend on."""
    while True:
        try:
            return called(partial(_ask, probe, deadline, max_states))
        except Relearn:
            continue


def _ask(probe: Probe, deadline: float, max_states: int) -> Tabulation:
    origin = probe.here()
    start = probe.reset(origin)
    rows: dict[int, list[Tree | None]] = {}
    queue: list[int] = []  # states in which an episode continues
    first: dict[int, Answer] = {}  # which led there
    depth: dict[int, int] = {}  # fewest steps from the beginning of an episode
    different: list[Answer] = []  # with other legal actions than the first

    def arrive(tree: Tree, steps: int) -> None:
        for answer in leaves_of(tree):
            if answer.terminated or answer.truncated:
                continue
            if answer.state not in first:
                first[answer.state], depth[answer.state] = answer, steps
                queue.append(answer.state)
            elif first[answer.state].legal != answer.legal:
                different.append(answer)  # which is no fault before all that belongs to the state is known

    arrive(start, 0)
    for state in queue:  # which grows meanwhile
        if depth[state] >= probe.horizon:
            break  # as all that follow
        legal = probe.legal_in(first[state])
        rows[state] = row = [probe.step(state, action) if allowed else None for action, allowed in enumerate(legal)]
        for tree in row:
            if tree is not None:
                arrive(tree, depth[state] + 1)
        if len(probe.states) > max_states or monotonic() > deadline:
            name, n_values = probe.most_values()
            raise CannotBeFollowed(
                f"it has more states than can be tabulated: {len(probe.states):,} were found"
                + (f", and its attribute `{name}` has had {n_values:,} values" if n_values > 1 else "")
            )
    if probe.disturbed({state: first[state].legal for state in rows}):
        raise Relearn
    if different:
        raise CannotBeFollowed("its info['action_mask'] depends on more than the state in which it is")
    for state in range(len(probe.states)):
        if not all(probe.resets_as(start, state) for _ in range(2)):
            raise CannotBeFollowed("its reset depends on the state in which the last episode ended")
        if monotonic() > deadline:
            raise CannotBeFollowed("there was not enough time to probe reset in each state")
    return Tabulation(probe, start, [rows.get(state) for state in range(len(probe.states))], probe.n_actions)


def _global_generators() -> dict[str, object]:
    """The states of the generators that all share."""
    return {
        "the global generator of numpy.random": pickle.dumps(np.random.get_state()),  # noqa: NPY002 - it may draw
        "the global generator of random": random.getstate(),
    }


class TabulationFollower(Follower):
    """Follows an environment by its tabulation."""

    def __init__(self, facts: EnvironmentFacts, tabulation: Tabulation):
        super().__init__(facts, "the table that was made of it says", "that table needs")
        self.tabulation = tabulation
        self._env = facts.env
        self._state, self._legal = -1, b""

    def generator(self) -> np.random.Generator:
        """The generator that was found."""
        return self.tabulation.generator_of(self._env)

    def take_state(self) -> None:
        """Look up the state."""
        self._state = self.tabulation.state_of(self._env)
        if self._state < 0:
            self.difference = "it is in a state that was not found when it was tabulated"

    def state_in_words(self) -> str:
        """Number the state."""
        return f"state {self._state} of those found"

    def reset(self) -> Any:
        """Draw the beginning of an episode."""
        return self._arrive(draw(self.tabulation.start, self._rng))

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Draw an answer."""
        row = self.tabulation.rows[self._state]
        tree = None if row is None else row[action]
        if tree is None:
            return "(none, as the episode is over or the action is not legal)", 0.0, True, False
        answer = draw(tree, self._rng)
        return self._arrive(answer), answer.reward, answer.terminated, answer.truncated

    def _arrive(self, answer: Answer) -> int:
        self._state, self._legal = answer.state, answer.legal
        return answer.observation

    def legal_actions(self, n_actions: int) -> Sequence[int]:
        """The actions that are legal in the state."""
        row = self.tabulation.rows[self._state] or []
        return [action for action, tree in enumerate(row) if tree is not None] or range(n_actions)

    def other_info(self, where: str, info: Mapping[str, Any]) -> str:
        """Compare the legal actions."""
        found = self.tabulation.probe.mask_in(info)
        return "" if found == self._legal else f"{where} {self.says} other legal actions than its info['action_mask']"

    def same(self, name: str, found: Any, expected: Any) -> bool:
        """Compare observations by their ids."""
        return super().same(name, self.tabulation.probe.id_of(found) if name == "observation" else found, expected)

    def other_state(self, where: str) -> str:
        """Look up the state."""
        same = self.tabulation.state_of(self._env) == self._state
        return "" if same else f"{where} it comes into another state than {self.says}"
