"""`TabularVectorEnv`: many copies of a model, stepped at once in NumPy.

Gymnasium's ``SyncVectorEnv`` steps its copies one after the other in Python. A model is a table, so one step of all
copies is a handful of array look-ups: some hundred times faster for thousands of copies.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rlsuite.core.aliases import Env, Info, Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.forms.table import trusted_model
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.vector_sampling import Dynamics
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from rlsuite.rendering import Drawing


Report: TypeAlias = dict[str, tuple[AnyArray, BoolArray]]
"""Infos of the copies: per key the values (N, ...) and the copies (N,) that have one."""


class TabularVectorEnv(VectorEnv[IndexArray, IndexArray, AnyArray], SaysWhatToWrite):
    """N copies of the environment that a model defines, with one random generator for all of them.

    Observations, rewards, flags and infos equal those of ``gymnasium.vector.SyncVectorEnv`` over `TabularEnv`, in all
    three autoreset modes. Only the random numbers differ: they are drawn for all copies at once.

    Parameters
    ----------
    model : MDP or POMDP
        The problem.
    num_envs : int
        Number of copies, N.
    max_episode_steps : int, optional
        Steps after which an episode is truncated; None, or Gymnasium's -1, for no limit.
    autoreset_mode : AutoresetMode or str
        What happens to copies whose episode has ended. ``NEXT_STEP``: their next step ignores the action and returns a
        start with reward 0. ``SAME_STEP``: they return the next start at once, and the end in ``info["final_obs"]``
        and ``info["final_info"]``. ``DISABLED``: they must be reset with ``options={"reset_mask": ...}``.
    drawing : Drawing, optional
        What draws the copies.
    render_mode : {"ansi", "rgb_array"}, optional
        What `render` returns, once per copy.

    Attributes
    ----------
    states : ndarray (N,) int64
        The states, hidden or not.
    waiting : ndarray (N,) bool
        The copies whose episode has ended and which have not been reset yet.

    Raises
    ------
    ParameterError
        If an argument lies outside its allowed values.

    Notes
    -----
    The order of draws, so that a run can be repeated by hand. `reset`: one batch of uniform numbers, one per copy
    that is reset, for the start states. `step`: N uniform numbers, for the successors (of a copy that is being reset
    under ``NEXT_STEP``: for its start); then N standard normal numbers if the model has normal rewards; then N uniform
    numbers if it has Bernoulli rewards; then N uniform numbers if it is a `POMDP`, for the observations; then, under
    ``SAME_STEP``, one uniform number per ended copy, for its start. Copies that need none of a batch leave theirs
    unused.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> envs = TabularVectorEnv(MDP.from_successors([[1, 0], [0, 1]], [0, 1], gamma=0.9, start=0), num_envs=3)
    >>> envs.reset(seed=7)[0]
    array([0, 0, 0])
    >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([0, 1, 0]))
    >>> observations, infos["prob"]
    (array([1, 0, 1]), array([1., 1., 1.]))
    """

    def __init__(
        self,
        model: MDP | POMDP,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        drawing: "Drawing | None" = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode == "human":
            raise ParameterError("render_mode='human' shows a single environment; of several, 'rgb_array' has pictures")
        # One copy checks the model and the render mode, has the spaces, and draws.
        self._single = TabularEnv(model, drawing=drawing, render_mode=render_mode)
        self.num_envs = whole_number("num_envs", num_envs)
        endless = max_episode_steps is None or max_episode_steps == -1
        self._limit = None if endless else whole_number("max_episode_steps", max_episode_steps)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {
            **TabularEnv.metadata,
            "render_modes": ["ansi", "rgb_array"],  # no window shows several copies
            "autoreset_mode": self.autoreset_mode,
        }
        self.render_mode = render_mode
        self._model = model
        self.single_observation_space: Space = self._single.observation_space
        self.single_action_space: Space = self._single.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._dynamics = Dynamics(model)

        self.states = np.zeros(self.num_envs, dtype=np.int64)
        self._observations = np.zeros(self.num_envs, dtype=np.int64)
        self._elapsed = np.zeros(self.num_envs, dtype=np.int64)
        self.waiting = np.zeros(self.num_envs, dtype=np.bool_)
        # `render` shows these beside the state; -1 and 0.0 after a reset.
        self._actions = np.full(self.num_envs, -1, dtype=np.int64)
        self._rewards = np.zeros(self.num_envs)

    @classmethod
    @says_what_to_write
    def from_env(
        cls,
        env: str | Env,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **kwargs: object,
    ) -> Self:
        """Make copies of any environment with a table.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``"module:Id"``, ``"file.py:Class"``, or an environment, wrapped in nothing but Gymnasium's
            `TimeLimit`, `OrderEnforcing` and `PassiveEnvChecker`. Its time limit becomes that of the copies.
        num_envs, autoreset_mode, render_mode
            As in the class.
        **kwargs
            For the constructor of the environment, if it is not given as an instance.

        Raises
        ------
        EnvironmentNotFound
            If there is no such environment.
        UnsuitableEnvironment
            If the environment has no table.
        UntrustedTable
            If it is wrapped in something else, or its table and its `step` disagree.

        Examples
        --------
        >>> lakes = TabularVectorEnv.from_env("FrozenLake-v1", num_envs=4096)
        >>> observations, infos = lakes.reset(seed=7)
        >>> lakes.step(lakes.action_space.sample())[0].shape
        (4096,)
        """
        single = find_env(env, **kwargs)
        inner = single.unwrapped
        drawing: Drawing | None = None
        if render_mode is not None and isinstance(inner, TabularEnv):
            drawing = inner.drawing or inner.default_drawing()
        return cls(
            trusted_model(facts_of(single), gamma=1.0),
            num_envs,
            max_episode_steps=None if single.spec is None else single.spec.max_episode_steps,
            autoreset_mode=autoreset_mode,
            drawing=drawing,
            render_mode=render_mode,
        )

    @property
    def model(self) -> MDP | POMDP:
        """The model."""
        return self._model

    # ---------------------------------------------------------------------------------- Gymnasium's methods

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride] - Gymnasium names its type variables
        self, *, seed: int | Sequence[int | None] | None = None, options: Info | None = None
    ) -> tuple[IndexArray, Info]:
        """Begin an episode in all copies, or in some.

        Parameters
        ----------
        seed : int or sequence of N ints, optional
            Seed of the one generator; several seeds are used together. Without it, or with N times None, the generator
            continues.
        options : dict, optional
            ``{"reset_mask": ndarray (N,) bool}`` resets only the copies marked True.

        Returns
        -------
        observations : ndarray (N,) int64
        infos : dict of arrays
            As ``SyncVectorEnv`` gives them.

        Raises
        ------
        ParameterError
            If the number of seeds or the mask is wrong.
        """
        copies = _reset_mask(options, self.num_envs)
        if isinstance(seed, int | np.integer):
            self._np_random, self._np_random_seed = seeding.np_random(int(seed))
        elif seed is not None and (numbers := _seeds(seed, self.num_envs)):
            # The setter of np_random records that this generator has no single seed.
            self.np_random = np.random.default_rng(numbers)
        infos: Info = {}
        _publish(infos, self._restart(copies, self.np_random.random(int(copies.sum()))), copies)
        return self._observations.copy(), infos

    def step(self, actions: ArrayLike) -> tuple[IndexArray, FloatArray, BoolArray, BoolArray, Info]:
        """Take one action in every copy.

        Parameters
        ----------
        actions : array_like (N,) int
            One action per copy.

        Returns
        -------
        observations : ndarray (N,) int64
        rewards : ndarray (N,) float64
        terminations, truncations : ndarray (N,) bool
        infos : dict of arrays
            As ``SyncVectorEnv`` gives them: ``infos["prob"]`` (N,) and so on, and for each key a mask ``"_prob"`` (N,)
            of the copies that reported it.

        Raises
        ------
        ParameterError
            If `actions` is not one action per copy, or ended copies were not reset in mode ``DISABLED``.
        """
        chosen = _actions_of(actions, self.num_envs, self._dynamics.mdp.n_actions)
        waiting = self.waiting.copy()
        if self.autoreset_mode is AutoresetMode.DISABLED and waiting.any():
            copies = ", ".join(map(str, np.flatnonzero(waiting)[:10]))
            raise ParameterError(
                f"the episodes of copies {copies} are over: with autoreset_mode=DISABLED reset them first, "
                "reset(options={'reset_mask': terminations | truncations})"
            )
        uniform = self.np_random.random(self.num_envs)
        rewards, terminated, report = self._advance(chosen, uniform)
        self._elapsed += 1
        restarted: Report = {}
        if waiting.any():
            rewards[waiting] = 0.0
            terminated[waiting] = False
            restarted = self._restart(waiting, uniform[waiting])
        truncated = np.zeros_like(terminated) if self._limit is None else self._elapsed >= self._limit
        self.waiting = terminated | truncated
        infos: Info = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self.waiting.any():
            waiting = self.waiting.copy()
            infos["final_obs"] = np.full(self.num_envs, None, dtype=object)
            infos["final_obs"][waiting] = self._observations[waiting].tolist()
            final_info: Info = {}
            _publish(final_info, report, waiting)
            infos["final_info"] = final_info
            infos["_final_obs"], infos["_final_info"] = waiting.copy(), waiting.copy()
            restarted = self._restart(waiting, self.np_random.random(int(waiting.sum())))
        _publish(infos, report, ~waiting)
        _publish(infos, restarted, waiting)
        return self._observations.copy(), rewards.copy(), terminated, truncated, infos

    def render(self) -> tuple[str | NDArray[np.uint8], ...] | None:
        """Render every copy.

        Returns
        -------
        tuple of N str or ndarray (height, width, 3) uint8, or None
            What `TabularEnv.render` returns for each, without captions. None if made without a ``render_mode``.
        """
        if self.render_mode is None:
            return None
        drawing = self._single.drawing or self._single.default_drawing()
        self._single.drawing = drawing
        picture = drawing.ansi if self.render_mode == "ansi" else drawing.rgb
        moments = zip(self.states.tolist(), self._actions.tolist(), self._rewards.tolist(), strict=True)
        return tuple(
            picture(state) if action < 0 else picture(state, action, reward) for state, action, reward in moments
        )

    # ------------------------------------------------------------------------------------ methods to override

    def draw_rewards(self, actions: IndexArray, pairs: IndexArray, mean: FloatArray) -> FloatArray:
        """Draw the rewards of one step; subclasses whose copies differ in their rewards may override it.

        Parameters
        ----------
        actions : ndarray (N,) int64
        pairs : ndarray (N,) int64
            ``state * A + action`` of every copy.
        mean : ndarray (N,) float64
            Mean reward of the transition that every copy takes; may be overwritten.

        Returns
        -------
        ndarray (N,) float64
        """
        mdp = self._dynamics.mdp
        if mdp.reward_std is not None:
            mean += mdp.reward_std[pairs] * self.np_random.standard_normal(self.num_envs)
        if mdp.bernoulli is not None:
            heads = self.np_random.random(self.num_envs) < mean
            mean = np.where(mdp.bernoulli[pairs], heads, mean)
        return mean

    def more_info(self, actions: IndexArray | None) -> dict[str, AnyArray]:
        """Return additional arrays (N, ...) for the infos of a step, or of a reset if `actions` is None."""
        return {}

    # ------------------------------------------------------------------------------------ private methods

    def _advance(self, actions: IndexArray, uniform: FloatArray) -> tuple[FloatArray, BoolArray, Report]:
        """Move all copies by one transition; return rewards, terminations and entries for the infos."""
        moves = self._dynamics.move(self.states, actions, uniform)
        rewards = self.draw_rewards(actions, moves.pairs, moves.reward)
        rewards[moves.illegal] = 0.0
        seen = moves.reached.copy()
        if self._dynamics.nothing is not None:
            seen = self._dynamics.observe(actions, moves.reached, self.np_random.random(self.num_envs))
            seen[moves.illegal] = self._observations[moves.illegal]
        self.states = moves.reached
        self._observations = seen
        self._actions = actions
        self._rewards = rewards
        all_copies = np.ones(self.num_envs, dtype=np.bool_)
        report: Report = {key: (values, all_copies) for key, values in self.more_info(actions).items()}
        report["prob"] = (moves.probability, all_copies)
        if self._dynamics.mask is not None:
            report["action_mask"] = (self._dynamics.mask[self.states], all_copies)
            report["illegal_action"] = (moves.illegal, moves.illegal)
        return rewards, moves.terminated, report

    def _restart(self, copies: BoolArray, uniform: FloatArray) -> Report:
        """Start the episodes of some copies, one uniform number for each; return entries for the infos."""
        states = self._dynamics.start(uniform)
        nothing = self._dynamics.nothing
        self.states[copies] = states
        self._observations[copies] = states if nothing is None else nothing
        self._elapsed[copies] = 0
        self.waiting[copies] = False
        self._actions[copies] = -1
        report: Report = {key: (values, copies) for key, values in self.more_info(None).items()}
        report["prob"] = (self._dynamics.mdp.start[self.states], copies)
        if self._dynamics.mask is not None:
            report["action_mask"] = (self._dynamics.mask[self.states], copies)
        return report


# -------------------------------------------------------------------------------------- infos


def _publish(infos: Info, report: Report, copies: BoolArray) -> None:
    """Add the infos of some copies.

    Parameters
    ----------
    infos : dict
        Changed in place: ``infos[key]`` (N, ...) holds the values, zeros where nothing is reported, and
        ``infos["_" + key]`` (N,) bool says which copies reported one. A key that no copy reports is left out.
    report : Report
        The values; the arrays may be kept.
    copies : ndarray (N,) bool
        The copies whose infos may be added.

    Examples
    --------
    >>> infos = {}
    >>> _publish(infos, {"prob": (np.array([0.5, 1.0]), np.array([True, True]))}, np.array([False, True]))
    >>> infos
    {'prob': array([0., 1.]), '_prob': array([False,  True])}
    """
    for key, (values, reported) in report.items():
        reporting = copies & reported
        if reporting.all():
            infos[key] = values
            infos[f"_{key}"] = reporting
        elif reporting.any():
            infos.setdefault(key, np.zeros_like(values))[reporting] = values[reporting]
            infos.setdefault(f"_{key}", np.zeros_like(reporting))[reporting] = True


# ------------------------------------------------------------------------------------- checks


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the autoreset mode, or raise `ParameterError` with the choices."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        raise ParameterError(unknown("autoreset_mode", mode, [one.value for one in AutoresetMode])) from None


def _seeds(given: Sequence[int | None], num_envs: int) -> list[int]:
    """Return one seed per copy, none at all if all are None, or raise `ParameterError`."""
    if len(given) != num_envs:
        raise ParameterError(f"{len(given)} seeds for num_envs={num_envs} copies; give one int, or one per copy")
    numbers = [seed for seed in given if seed is not None]
    if numbers and len(numbers) < num_envs:
        raise ParameterError("some seeds are None: the copies share one generator, so give all seeds or none")
    return numbers


def _reset_mask(options: Info | None, num_envs: int) -> BoolArray:
    """Return the copies to reset, all of them by default: (N,) bool, or raise `ParameterError`."""
    if options is None or "reset_mask" not in options:
        return np.ones(num_envs, dtype=np.bool_)
    mask: AnyArray = np.array(options["reset_mask"])
    if mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        raise ParameterError(
            f"options['reset_mask'] has dtype {mask.dtype}, shape {mask.shape} and {np.count_nonzero(mask)} copies "
            f"to reset; a bool array of shape ({num_envs},) with at least one True is needed"
        )
    return mask


def _actions_of(given: ArrayLike, num_envs: int, n_actions: int) -> IndexArray:
    """Return a new array with one action per copy: (N,) int64, or raise `ParameterError`."""
    array: AnyArray = np.asarray(given)
    if array.shape != (num_envs,) or array.dtype.kind not in "iu":
        raise ParameterError(
            f"actions has dtype {array.dtype} and shape {array.shape}; "
            f"integers of shape ({num_envs},) are needed, one action per copy"
        )
    if array.min() < 0 or array.max() >= n_actions:
        copy = int(np.argmax((array < 0) | (array >= n_actions)))
        raise ParameterError(f"actions[{copy}]={array[copy]} is not an action; the actions are 0..{n_actions - 1}")
    return array.astype(np.int64)
