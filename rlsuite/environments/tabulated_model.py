"""The model of an environment, by its table or, where it has none, by asking it (`rlsuite.tabulate`)."""

from typing import TYPE_CHECKING, cast

from rlsuite import errors
from rlsuite.core.aliases import Env
from rlsuite.core.checks import fraction, positive_number, whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments import ageing
from rlsuite.environments.facts import NO_LIMIT, EnvironmentFacts, facts_of
from rlsuite.environments.finding import namesake, opened
from rlsuite.environments.forms.form import Wish
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.environments.forms.table import trusted_model
from rlsuite.environments.forms.tabulated import asked
from rlsuite.environments.found_model import Numbering, model_of
from rlsuite.environments.layers import horizon_of
from rlsuite.environments.outcomes import leaves_of
from rlsuite.environments.tabulation import MAX_STATES, NotTabulated, Tabulation
from rlsuite.models import MDP, POMDP
from rlsuite.models.mdp_fields import with_origin

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec


@says_what_to_write
def tabulate(
    env: "str | EnvSpec | Env",
    *,
    gamma: float = 0.99,
    deadline: float = 60.0,
    max_states: int = MAX_STATES,
    **kwargs: object,
) -> MDP | POMDP:
    """Make the model of an environment, whether or not it has a table.

    In a process of its own, a copy of the environment is put into each state that can be reached, and its own `step` is
    run once for each outcome of what it draws: nothing is estimated. If an environment has a table with which its
    `step` agrees, the model is made from that table. The attribute `origin` of the model says what was tried.

    Parameters
    ----------
    env : str, EnvSpec or gymnasium.Env
        An id, ``"module:Id"``, ``"file.py:Class"`` or an environment, which is left untouched. The space of its actions
        is Discrete. A time limit (`gymnasium.wrappers.TimeLimit`) is not part of the model, unless the time is observed
        (`gymnasium.wrappers.TimeAwareObservation`); one of the environment's own is: where it truncates an episode, the
        model ends it. What wrappers do to observations and rewards is part of the model.
    gamma : float
        Discount factor of the model, in [0, 1].
    deadline : float
        Seconds after which to give up.
    max_states : int
        Give up when there are more states.
    **kwargs
        Passed to the environment when it is made.

    Returns
    -------
    MDP or POMDP
        An MDP if each observation belongs to one state. Its states are then the ids of the observations, also of those
        that never occur: for a Discrete space ``observation - space.start``; for Tuple, Dict, MultiDiscrete,
        MultiBinary and integer Box the rows of an agent's table, labeled by the observation; for other spaces the
        observations in the order in which they were found. Otherwise a POMDP. What `reset` shows there is not part of
        the model: its start is the distribution of the first state before anything is observed.

    Raises
    ------
    UnsuitableEnvironment
        If the environment cannot be tabulated; the message says why.
    EnvironmentNotFound, ParameterError
        If there is no such environment, or an argument is out of range.

    Examples
    --------
    A card has 1 or 2 points. Stopping at 3 or 4 points wins; drawing more than 4 loses:

    >>> import gymnasium
    >>> import rlsuite as rl
    >>> class Small(gymnasium.Env):
    ...     observation_space = gymnasium.spaces.Discrete(7)
    ...     action_space = gymnasium.spaces.Discrete(2)
    ...     def reset(self, *, seed=None, options=None):
    ...         super().reset(seed=seed)
    ...         self.hand = 0
    ...         return self.hand, {}
    ...     def step(self, action):
    ...         if action == 0:
    ...             return self.hand, float(self.hand >= 3), True, False, {}
    ...         self.hand += int(self.np_random.integers(1, 3))
    ...         bust = self.hand >= 5
    ...         return self.hand, -1.0 if bust else 0.0, bust, False, {}
    >>> mdp = rl.tabulate(Small(), gamma=1.0)
    >>> mdp.P[4][1]
    [(0.5, 5, -1.0, True), (0.5, 6, -1.0, True)]
    """
    fraction("gamma", gamma)
    positive_number("deadline", deadline)
    max_states = whole_amount("max_states", max_states)
    with opened(env, **kwargs) as made:
        facts = facts_of(made)
        if made is not env and is_known_kind(facts):
            made.reset(seed=0)
        table, doubt = None, ""
        if facts.has_table:
            try:
                table = _of_table(facts, gamma)
            except errors.UntrustedTable as error:
                doubt = f"; and {error}"
            if table is not None and is_known_kind(facts):
                return table
        try:
            return _asked(facts, gamma, deadline, max_states)
        except NotTabulated as reason:
            if table is not None:
                return _with_origin(table, f"{table.origin}; it could not be asked: {reason}")
            also = namesake(facts.name, anywhere=True)
            raise errors.UnsuitableEnvironment(f"{facts.name} cannot be tabulated: {reason}{doubt}{also}") from reason


def _of_table(facts: EnvironmentFacts, gamma: float) -> MDP | POMDP:
    """Return the model of an environment's table, if its `step` agrees with it."""
    origin = f"the table of {facts.name}, with which its step agreed in a replay"
    return _with_origin(trusted_model(facts, gamma), origin + _without_limit(facts))


def _asked(facts: EnvironmentFacts, gamma: float, deadline: float, max_states: int) -> MDP | POMDP:
    """Tabulate an environment, and make a model of what was found."""
    wish = Wish(gamma, patience=deadline, max_states=max_states, id_of=Numbering(facts.env.observation_space))
    table = asked(facts, wish)
    numbering = cast("Numbering", table.probe.id_of)  # which has met all observations
    model = model_of(table, numbering, gamma, facts.name)
    return _with_origin(model, _what_was_verified(facts, table))


def _without_limit(facts: EnvironmentFacts) -> str:
    if facts.time_limit == NO_LIMIT:
        return ""
    if horizon_of(facts) == facts.time_limit:
        return f"; its time limit of {facts.time_limit:,} steps ends the episodes"
    return f"; its time limit of {facts.time_limit:,} steps is left out"


def _what_was_verified(facts: EnvironmentFacts, table: Tabulation) -> str:
    """Say how the model was made."""
    probe = table.probe
    counters = f"; nothing depends on {', '.join(sorted(probe.dropped))}" if probe.dropped else ""
    state = ", ".join(sorted(probe.in_state)) or "nothing"
    answers = (answer for row in table.rows for tree in row or () if tree is not None for answer in leaves_of(tree))
    cut = any(answer.truncated and not answer.terminated for answer in answers)
    ends = "; where it truncates an episode itself, the model ends it" if cut else ""
    return (
        f"{facts.name} was put into each of the {table.n_states:,} states that were found ({state}), where each action "
        f"was taken for each outcome of what it draws{counters}; {ageing.STEPS:,} steps of its own agreed in "
        f"each of two processes{ends}{_without_limit(facts)}"
    )


def _with_origin(model: MDP | POMDP, origin: str) -> MDP | POMDP:
    if isinstance(model, MDP):
        return with_origin(model, origin)
    return model.replace(mdp=with_origin(model.mdp.replace(), origin))
