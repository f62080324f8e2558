"""Wrappers: ids shown as vectors of features, a belief in place of observations, a few of many continuous actions."""

import ast
import time
from numbers import Integral
from typing import Any, Self, SupportsFloat, SupportsIndex, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from rlsuite.core.aliases import BareEnv, Env, Info, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fits_in_memory, is_tuple, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError, UnsuitableEnvironment, unknown
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray
from rlsuite.models.gymnasium_table import name_of
from rlsuite.rendering import GridLayout


class VectorObservation(gymnasium.ObservationWrapper[AnyArray, Any, Any], RecordConstructorArgs):
    """Replaces each id by a vector, looked up in a table.

    Nothing else changes: an agent with features learns on the model of the environment at compiled speed, as it would
    without the wrapper.

    Parameters
    ----------
    env : gymnasium.Env
        An environment whose observations are ids (Discrete).
    vectors : array_like (n, d) or (n, ...), or "cell"
        What is shown for each id, the smallest first. float32 and float64 are kept, other numbers become float64.
        "cell" stands for those of `coordinates`.

    Attributes
    ----------
    vectors : ndarray (n, d)
        What is shown, each flattened to a vector; read-only.
    observation_space : gymnasium.spaces.Box
        Of the shape of one entry of the table, from the smallest to the largest number that stands in each place.

    Raises
    ------
    UnsuitableEnvironment
        If the observations are not ids.
    ParameterError
        If there are not as many vectors as ids, or a number is not finite.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl
    >>> env = rl.VectorObservation.coordinates(gymnasium.make("CliffWalking-v1"))
    >>> env.reset(seed=7)[0], env.observation_space.high
    (array([3., 0.]), array([ 3., 11.]))
    """

    def __init__(self, env: Env, vectors: ArrayLike) -> None:
        RecordConstructorArgs.__init__(self, vectors=vectors)
        super().__init__(env)
        ids = _ids_of(env)
        if isinstance(vectors, str):
            vectors = _cells_of(env, vectors)
        try:
            table = np.array(vectors)
            if table.dtype != np.float32:
                table = table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"vectors must be an array (n, d) of numbers ({error})") from error
        if table.ndim < 2 or len(table) != ids.n or table.size == 0:
            raise ParameterError(f"vectors has shape {table.shape}, needed ({ids.n}, d): one vector for each id")
        if not np.isfinite(table).all():
            row = int(np.argwhere(~np.isfinite(table))[0][0])
            raise ParameterError(f"vectors[{row}] holds a number that is not finite")
        self._first = int(ids.start)
        self._shape = table.shape[1:]
        self.vectors = table.reshape(len(table), -1)
        self.vectors.flags.writeable = False
        self.observation_space = spaces.Box(table.min(axis=0), table.max(axis=0), self._shape, table.dtype.type)

    def observation(self, observation: Observation) -> AnyArray:
        """Look up the vector of an id."""
        return self.vectors[int(observation) - self._first].reshape(self._shape).copy()

    @classmethod
    def one_hot(cls, env: Env) -> Self:
        """Replace ids by one-hot vectors: 1 at the id, and 0 everywhere else.

        Raises
        ------
        UnsuitableEnvironment
            If the observations are not ids.
        ParameterError
            If the table of n x n numbers does not fit in memory.
        """
        n = int(_ids_of(env).n)
        fits_in_memory(f"a table of {n:,} vectors of {n:,} numbers", 8 * n * n)
        return cls(env, np.eye(n))

    @classmethod
    def coordinates(cls, env: Env) -> Self:
        """Replace ids by the row and the column of the state, counted from 0 at the top left, float64 (2,).

        A state that lies nowhere on the grid, such as an end, has -1 for both. Of a model that is not on a grid, the
        numbers of each state's label are shown, if all labels are tuples of as many numbers; an end may have another
        label, and is shown as -1.

        Raises
        ------
        UnsuitableEnvironment
            If the environment is not a grid (see `rlsuite.GridLayout.from_env`) and has no such labels, or does not
            show its state.
        """
        return cls(env, "cell")

    @classmethod
    @says_what_to_write
    def image(cls, env: Env, *, flat: bool = False) -> Self:
        """Replace ids by planes of zeros and ones over the grid, float32 (n_planes, n_rows, n_columns).

        The first plane shows where one is, the second the walls, and one more for each kind of mark, in alphabetical
        order, where these are. A state that lies nowhere on the grid is nowhere in the first plane.

        Parameters
        ----------
        env : gymnasium.Env
            An environment on a grid.
        flat : bool
            Whether the planes are shown as one vector.

        Raises
        ------
        UnsuitableEnvironment
            If the environment is not a grid (see `rlsuite.GridLayout.from_env`), or does not show its state.
        """
        layout = _layout_of(env)
        kinds = sorted(set(layout.marks.values()))
        planes = np.zeros((layout.n_states, 2 + len(kinds), layout.n_rows, layout.n_columns), dtype=np.float32)
        on_grid = np.flatnonzero(layout.cells[:, 0] >= 0)
        planes[on_grid, 0, layout.cells[on_grid, 0], layout.cells[on_grid, 1]] = 1.0
        planes[:, 1] = layout.walls
        for (row, column), mark in layout.marks.items():
            planes[:, 2 + kinds.index(mark), row, column] = 1.0
        return cls(env, planes.reshape(layout.n_states, -1) if flat else planes)


def _ids_of(env: Env) -> spaces.Discrete:
    if not isinstance(env.observation_space, spaces.Discrete):
        raise UnsuitableEnvironment(
            f"{type(env.unwrapped).__name__} shows {env.observation_space}, and only ids (Discrete) can be looked up "
            "in a table of vectors; Box observations are vectors already"
        )
    return env.observation_space


def _cells_of(env: Env, word: str) -> FloatArray:
    """Row and column of each state, or the numbers of its label, (n, d)."""
    if word != "cell":
        raise ParameterError(unknown("vectors", word, ("cell",)))
    base: BareEnv = env.unwrapped
    model: object = getattr(base, "model", None)
    if isinstance(getattr(base, "layout", None), GridLayout) or not isinstance(model, MDP):
        return _layout_of(env).cells.astype(np.float64)
    tuples = [_tuple_in(label) for label in model.state_labels or ()]
    widths = {len(one) for one in tuples if one}
    leads_on: BoolArray = np.asarray(model.legal.any(axis=1))
    wrong = [state for state, one in enumerate(tuples) if not one and leads_on[state]]
    if len(widths) != 1 or wrong:
        labels = model.state_labels
        found = f"state {wrong[0]} is labelled {labels[wrong[0]]!r}" if wrong and labels else "it has no labels"
        found = f"its labels have {sorted(widths)} numbers" if len(widths) > 1 else found
        raise UnsuitableEnvironment(
            f"{name_of(env)} is not on a grid (env.unwrapped.layout), and its states are not labelled by tuples "
            f"of as many numbers, such as '(2, 3)': {found}"
        )
    width = widths.pop()
    return np.array([one or (-1.0,) * width for one in tuples], dtype=np.float64)


def _tuple_in(label: str) -> tuple[float, ...]:
    """The numbers of a label that is a tuple of numbers; none of any other."""
    try:
        found: object = ast.literal_eval(label)
        numbers = tuple(float(cast(SupportsFloat, one)) for one in found) if is_tuple(found) else ()
    except (ValueError, SyntaxError, TypeError):
        return ()
    return numbers if np.isfinite(numbers).all() else ()


def _layout_of(env: Env) -> GridLayout:
    layout = GridLayout.from_env(env)
    if _ids_of(env).n != layout.n_states:
        raise UnsuitableEnvironment(
            f"{env} shows {_ids_of(env).n} different observations, and its grid has "
            f"{layout.n_states} states: its states are hidden, and coordinates would reveal them"
        )
    return layout


class BeliefObservation(gymnasium.Wrapper[FloatArray, Any, Any, Any], RecordConstructorArgs):
    """Replaces each observation by the belief: the distribution of the hidden state, given observations and actions.

    The belief is a sufficient statistic of the history (KLC98, section 3.3), so the wrapped environment is Markov: the
    belief MDP, whose states are the beliefs.

    Parameters
    ----------
    env : gymnasium.Env
        An environment with a POMDP in ``env.unwrapped.model``, such as `TabularEnv` and all that are made from models.

    Attributes
    ----------
    observation_space : gymnasium.spaces.Box
        (S,) float64, from 0 to 1.
    belief : ndarray (S,) float64
        The belief now, read-only.

    Raises
    ------
    UnsuitableEnvironment
        If the environment has no POMDP, or makes an observation that is impossible by its model.

    Notes
    -----
    `step` leaves the observation itself in ``info["observation"]``, int. When an episode ends, the belief is about the
    state in which it ended. An illegal action changes no state, but shows that it is illegal.

    Examples
    --------
    >>> from rlsuite.environments.wrappers import BeliefObservation
    >>> from rlsuite.models import POMDP
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> env = BeliefObservation(machine.to_env())
    >>> env.reset(seed=1)[0].tolist()
    [1.0, 0.0]
    >>> belief, reward, terminated, truncated, info = env.step(0)
    >>> info["observation"], belief.round(3).tolist()
    (0, [0.953, 0.047])
    """

    def __init__(self, env: Env) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        model: object = getattr(env.unwrapped, "model", None)
        if not isinstance(model, POMDP):
            lacks = "has no POMDP (env.unwrapped.model); make one with POMDP.from_arrays(...).to_env()"
            seen = "is fully observable: use it without BeliefObservation"
            raise UnsuitableEnvironment(f"{env.unwrapped} {seen if isinstance(model, MDP) else lacks}")
        self.observation_space = spaces.Box(0.0, 1.0, (model.n_states,), np.float64)
        self._belief = model.start

    @property
    def belief(self) -> FloatArray:
        """(S,) float64: the current belief, read-only."""
        return self._belief

    @property
    def model(self) -> POMDP:
        """The model of the environment."""
        base: BareEnv = self.env.unwrapped
        return base.model

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[FloatArray, Info]:
        """Begin an episode; the belief is the start distribution of the model."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._belief = self.model.start
        return self._belief.copy(), {**info, "observation": observation}

    def step(self, action: SupportsIndex) -> tuple[FloatArray, float, bool, bool, Info]:
        """Take an action, and update the belief by the observation.

        Raises
        ------
        UnsuitableEnvironment
            If the observation is impossible in the model.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        model, a = self.model, int(action)
        if info.get("illegal_action"):
            stuck = np.where(model.mdp.legal[:, a], 0.0, self._belief)
            self._belief = stuck / stuck.sum()
        else:
            try:
                self._belief, _ = model.followed(self._belief, a, cast(int, observation), terminated=bool(terminated))
            except ParameterError as cause:
                raise UnsuitableEnvironment(
                    f"{self.env} observed {observation!r} after action {a}: {cause}; does a wrapper change actions or "
                    "observations?"
                ) from cause
        self._belief.setflags(write=False)
        return np.array(self._belief), float(reward), terminated, truncated, {**info, "observation": observation}


class DiscreteActions(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Offers some of the actions of a continuous action space, counted from 0.

    Parameters
    ----------
    env : gymnasium.Env
        An environment with a Box action space.
    actions : int or array_like (n, ...)
        The actions on offer, each of the shape of the space (or a plain number, if an action is one number); or how
        many, at least 2: then they are spaced evenly from the lower to the upper bound of a space of one number.

    Attributes
    ----------
    actions : ndarray (n, ...), of the dtype of the space, read-only
        What the environment is given for each action.
    action_space : gymnasium.spaces.Discrete
        n actions.

    Raises
    ------
    UnsuitableEnvironment
        If the action space is not a Box, or actions are to be spaced in one that is unbounded or not of one number.
    ParameterError
        If there are fewer than 2 actions, or one of them is not in the space.

    Notes
    -----
    With an environment in this wrapper, agents learn stepwise.

    Examples
    --------
    >>> import gymnasium
    >>> env = DiscreteActions(gymnasium.make("MountainCarContinuous-v0"), 3)
    >>> env.action_space, env.actions.ravel().tolist()
    (Discrete(3), [-1.0, 0.0, 1.0])
    >>> gentle = DiscreteActions(gymnasium.make("MountainCarContinuous-v0"), [-0.5, 0.5])
    >>> observation, info = gentle.reset(seed=7)
    >>> round(float(gentle.step(1)[1]), 3)  # pushing costs a tenth of its square
    -0.025
    """

    def __init__(self, env: Env, actions: int | ArrayLike = 3) -> None:
        RecordConstructorArgs.__init__(self, actions=actions)
        super().__init__(env)
        space: Any = env.action_space
        if not isinstance(env.action_space, spaces.Box):
            raise UnsuitableEnvironment(f"the action space is {space}, not a Box: its actions are discrete already")
        self.actions = _spaced(space, actions) if isinstance(actions, Integral) else _listed(space, actions)
        self.actions.flags.writeable = False
        self.action_space = spaces.Discrete(len(self.actions))

    def step(self, action: SupportsIndex) -> tuple[Observation, SupportsFloat, bool, bool, Info]:
        """Pass the action with that index to the environment.

        Raises
        ------
        ParameterError
            If there is none.
        """
        if not self.action_space.contains(action):
            raise ParameterError(f"action {action!r} is not in {self.action_space}")
        return self.env.step(self.actions[action])


def _spaced(space: Any, actions: object) -> AnyArray:
    """Actions from the lower to the upper bound (n, ...)."""
    n = whole_number("actions", actions, at_least=2)
    if space.low.size != 1 or not space.is_bounded():
        raise UnsuitableEnvironment(
            f"actions can be spaced evenly only in a bounded space of one number, not in {space}: list them, "
            "actions=[...]"
        )
    share = np.linspace(0.0, 1.0, n).reshape(-1, *(1,) * len(space.shape))
    return np.asarray(space.low * (1.0 - share) + space.high * share, dtype=space.dtype)


def _listed(space: Any, actions: ArrayLike) -> AnyArray:
    """The actions of a list (n, ...)."""
    try:
        listed = np.array(actions, dtype=space.dtype)
        if listed.ndim == 1 and space.low.size == 1:
            listed = listed.reshape(-1, *space.shape)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"actions={actions!r} are not arrays of numbers: {error}") from error
    if listed.shape[1:] != space.shape or len(listed) < 2:
        raise ParameterError(
            f"actions={actions!r} have the shape {listed.shape}; at least two are needed, each of shape {space.shape}"
        )
    for number, action in enumerate(listed):
        if not np.all((action >= space.low) & (action <= space.high)):
            raise ParameterError(f"actions[{number}]={action.tolist()} is not in {space}")
    return listed


def record_episodes(recorder: Any, finished: FloatArray) -> None:
    """Tell a `gymnasium.wrappers.RecordEpisodeStatistics` of episodes that have not gone through its `step`.

    Parameters
    ----------
    recorder : RecordEpisodeStatistics
        Its queues get what they would have got; the time that has passed is shared out by the lengths.
    finished : ndarray (n, 3) float64
        Return, regret and length of each episode.
    """
    if not len(finished):
        return
    now, lengths = time.perf_counter(), finished[:, 2]
    passed = (now - recorder.episode_start_time) * lengths / lengths.sum()
    recorder.time_queue.extend(passed.round(6).tolist())
    recorder.return_queue.extend(finished[:, 0].tolist())
    recorder.length_queue.extend(lengths.astype(np.int64).tolist())
    recorder.episode_count += len(finished)
    recorder.episode_start_time = now
    recorder.episode_returns, recorder.episode_lengths = recorder.return_queue[-1], recorder.length_queue[-1]
