"""A model you can step: `TabularEnv` is a ``gymnasium.Env`` over any `MDP` or `POMDP`.

Everything random comes from the environment's own generator, in an order that is part of the contract (a compiled
loop that draws from the same generator in the same order produces the same episodes):

========  ============================================================================================
`reset`   one uniform number: the start state
`step`    one uniform number: the successor
          then, if rewards of the pair are normal with a standard deviation above 0, one standard normal
          number, and if they are Bernoulli, one uniform number
          then, for a POMDP, one uniform number: the observation
========  ============================================================================================

A uniform number u picks an entry by the rule of Gymnasium's toy_text environments: the first one whose running sum of
probabilities exceeds u, and entry 0 if rounding left the whole sum at or below u. The running sums are added from the
left, as ``numpy.cumsum`` adds them.
"""

import operator
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, SupportsIndex, TypeVar, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite.core.aliases import Env, Info
from rlsuite.core.shown import ShowsItself
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.models.gymnasium_table import name_of
from rlsuite.models.mdp_fields import Transition, TransitionView

if TYPE_CHECKING:
    from rlsuite.rendering import Drawing
    from rlsuite.rendering.window import Window

# Rows are turned into Python numbers on first use, and the cache is emptied when it has this many: so a model of a
# million states is ready at once, and long runs in it take little memory.
CACHED_ROWS = 65_536

Entry = TypeVar("Entry")


class Choice(NamedTuple, Generic[Entry]):
    """A discrete distribution to draw from; made by `choice`."""

    cumulative: tuple[float, ...]
    """Running sums of the probabilities."""
    entries: tuple[Entry, ...]
    """The entries; the last one is for a u above all sums."""

    def pick(self, u: float) -> Entry:
        """Return the entry that the uniform number `u` chooses."""
        return self.entries[bisect_right(self.cumulative, u)]


def choice(probabilities: Iterable[float], entries: Iterable[Entry], otherwise: Entry) -> Choice[Entry]:
    """Make a choice among entries; `otherwise` is entry 0, which may have been left out as impossible.

    >>> choice([0.25, 0.75], ["a", "b"], otherwise="a").pick(0.25)
    'b'
    """
    return Choice(tuple(accumulate(probabilities)), (*entries, otherwise))


class Dynamics:
    """The tables of a model, one row at a time, in plain Python numbers.

    Parameters
    ----------
    model : MDP or POMDP

    Attributes
    ----------
    mdp : MDP
        The model itself, or what a `POMDP` hides.
    mask : ndarray (S, A) int8 or None
        1 for legal actions; None if all of them are.
    nothing : int or None
        The observation before there was one, of a `POMDP`; None for an `MDP`, whose states are seen.
    start : Choice of int
        The start state.
    """

    def __init__(self, model: MDP | POMDP) -> None:
        self.model = model
        self.mdp = model if isinstance(model, MDP) else model.mdp
        self.mask = None if self.mdp.legal.all() else self.mdp.legal.astype(np.int8)
        self.nothing = model.n_observations if isinstance(model, POMDP) else None
        # Probabilities of 0 add nothing to a running sum, so leaving them out changes no choice.
        starts = np.flatnonzero(model.start)
        self.start: Choice[int] = choice(model.start[starts].tolist(), starts.tolist(), otherwise=0)
        self._transitions: dict[int, Choice[Transition] | None] = {}
        self._emissions: dict[int, Choice[int]] = {}

    def transition(self, state: int, action: int) -> Choice[Transition] | None:
        """Return the possible outcomes of an action, None if it is illegal.

        Raises
        ------
        ParameterError
            If `state` is not a state.
        """
        pair = state * self.mdp.n_actions + action
        if pair in self._transitions:
            return self._transitions[pair]
        if not 0 <= state < self.mdp.n_states:
            raise ParameterError(f"s={state} is not a state; the states are 0..{self.mdp.n_states - 1}")
        row = self.mdp.P[state][action]
        outcome = choice([entry[0] for entry in row], row, otherwise=row[0]) if row else None
        if len(self._transitions) >= CACHED_ROWS:
            self._transitions.clear()
        self._transitions[pair] = outcome
        return outcome

    def emission(self, state: int, action: int) -> Choice[int]:
        """Return the possible observations of a `POMDP` in `state`, reached by `action`."""
        pair = state * self.mdp.n_actions + action
        if pair in self._emissions:
            return self._emissions[pair]
        assert isinstance(self.model, POMDP)
        probabilities = self.model.observation[action, state]
        seen = np.flatnonzero(probabilities)
        observation: Choice[int] = choice(probabilities[seen].tolist(), seen.tolist(), otherwise=0)
        if len(self._emissions) >= CACHED_ROWS:
            self._emissions.clear()
        self._emissions[pair] = observation
        return observation

    def __getstate__(self) -> dict[str, Any]:
        # The caches are quickly computed again, and would be most of the pickled bytes.
        return {**self.__dict__, "_transitions": {}, "_emissions": {}}


class TabularEnv(ShowsItself, Env):
    """A Gymnasium environment whose dynamics are a model.

    Parameters
    ----------
    model : MDP or POMDP
        The problem. The agent sees the state of an `MDP`; of a `POMDP` it sees observations only.
    drawing : Drawing, optional
        What draws it, for instance a ``rlsuite.rendering.GridDrawing``; by default `default_drawing` is asked when the
        first picture is wanted. May be assigned later.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        What `render` returns: text, or (height, width, 3) uint8 pixels. With ``"human"`` it returns nothing: `reset`
        and `step` show themselves in a window, or in the output of a notebook's cell. The compiled loop of an agent
        calls no `step`: learn with ``loop="stepwise"`` to see it.

    Attributes
    ----------
    s : int
        The state, as in Gymnasium's toy_text environments, hidden or not. May be assigned.
    lastaction : int or None
        The last action, None after a reset.
    observation_space : gymnasium.spaces.Discrete
        S states for an `MDP`; Z + 1 observations for a `POMDP`, of which the last, Z, means "nothing observed yet" and
        is what `reset` returns.
    action_space : gymnasium.spaces.Discrete
        A actions.

    Raises
    ------
    ParameterError
        If `model` is not a model or `render_mode` is unknown; by `reset`, if ``"human"`` finds no display.

    Notes
    -----
    ``info["prob"]`` is the probability of the outcome (of the start state, after `reset`), float. If the model has
    illegal actions, ``info["action_mask"]`` (A,) int8 is 1 for the legal actions of the state reached. An illegal
    action changes nothing and draws nothing: reward 0.0, the same observation, ``info["illegal_action"]`` is True; it
    terminates only where no action is legal at all.

    Episodes end by `terminated` only; ``gymnasium.wrappers.TimeLimit`` truncates.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> env = TabularEnv(MDP.from_successors([[0, 1], [None, None]], [0, 1], gamma=0.9, start=0))
    >>> env.reset(seed=7)
    (0, {'prob': 1.0, 'action_mask': array([1, 1], dtype=int8)})
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> observation, reward, terminated, truncated
    (1, 0.0, True, False)
    """

    metadata: ClassVar[Info] = {  # pyright: ignore[reportIncompatibleVariableOverride] - Gymnasium says dict
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(self, model: MDP | POMDP, *, drawing: "Drawing | None" = None, render_mode: str | None = None) -> None:
        if not isinstance(cast("object", model), MDP | POMDP):
            raise ParameterError(f"model is a {type(model).__name__}; an MDP or a POMDP is needed")
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ParameterError(f"render_mode={render_mode!r} is not one of {', '.join(map(repr, modes))} and None")
        self.drawing = drawing
        self.render_mode = render_mode
        self.s = 0
        self.lastaction: int | None = None
        self._window: Window | None = None
        self._adopt(model)

    # ---------------------------------------------------------------------------------------- the model

    @property
    def model(self) -> MDP | POMDP:
        """The model; assigning another one of the same size changes the dynamics and nothing else.

        Raises
        ------
        ParameterError
            If the new model has other numbers of states, actions or observations.
        """
        return self._model

    @model.setter
    def model(self, model: MDP | POMDP) -> None:
        if _size(model) != _size(self._model):
            raise ParameterError(
                f"the new model has {_size(model)}, but the environment {_size(self._model)}: make another one"
            )
        self._adopt(model)

    @property
    def P(self) -> TransitionView:  # noqa: N802 - Gymnasium's name
        """The transitions between (hidden) states in Gymnasium's convention, ``P[s][a]``, as a read-only view."""
        model = self.model
        return model.P if isinstance(model, MDP) else model.mdp.P

    @property
    def initial_state_distrib(self) -> FloatArray:
        """(S,) float64: probability of starting in each state, under Gymnasium's name for it."""
        return self.model.start

    def _adopt(self, model: MDP | POMDP) -> None:
        self._model = model
        self._dynamics = Dynamics(model)
        self._n_actions = model.n_actions
        nothing = self._dynamics.nothing
        self.observation_space = spaces.Discrete(model.n_states if nothing is None else nothing + 1)
        self.action_space = spaces.Discrete(model.n_actions)
        # Reward (None after a reset) and observation of the last call, for `render` and for illegal actions.
        self._shown: tuple[float | None, int] = (None, nothing or 0)
        # Looked up once: most models have no random rewards, and a call in every step would slow them down.
        self._draws_rewards = self._dynamics.mdp.random_rewards or type(self).draw_reward is not TabularEnv.draw_reward

    # ------------------------------------------------------------------------------------- Gymnasium's interface

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[int, Info]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Seeds the generator; without it the generator continues.
        options : dict, optional
            Not used.

        Returns
        -------
        observation : int
            The start state, or Z ("nothing observed yet") for a `POMDP`.
        info : dict
            As described in the class.
        """
        super().reset(seed=seed, options=options)
        dynamics = self._dynamics
        self.s = dynamics.start.pick(self.np_random.random())
        self.lastaction = None
        observation = self.s if dynamics.nothing is None else dynamics.nothing
        self._shown = (None, observation)
        if self.render_mode == "human":
            self._show()
        info: Info = {"prob": float(self._model.start[self.s])}
        if dynamics.mask is not None:
            info["action_mask"] = dynamics.mask[self.s].copy()
        return observation, info

    def step(self, action: SupportsIndex) -> tuple[int, float, bool, bool, Info]:
        """Take an action.

        Parameters
        ----------
        action : int
            0 .. A - 1.

        Returns
        -------
        observation : int
        reward : float
        terminated : bool
            Whether the transition ended the episode.
        truncated : bool
            Always False.
        info : dict
            As described in the class.

        Raises
        ------
        ParameterError
            If `action` is not an action, or `s` was set to something that is not a state.
        """
        try:
            action = operator.index(action)
        except TypeError:
            raise ParameterError(f"action={action!r} is not an integer") from None
        if not 0 <= action < self._n_actions:
            raise ParameterError(f"action={action} is not an action; the actions are 0..{self._n_actions - 1}")
        dynamics, left = self._dynamics, self.s
        transition = dynamics.transition(left, action)
        self.lastaction = action
        if transition is None:
            return self._refuse()
        draw = self.np_random
        probability, self.s, reward, terminated = transition.pick(draw.random())
        if self._draws_rewards:
            reward = self.draw_reward(left * self._n_actions + action, reward)
        observation = self.s
        if dynamics.nothing is not None:
            observation = dynamics.emission(self.s, action).pick(draw.random())
        self._shown = (reward, observation)
        if self.render_mode == "human":
            self._show()
        info: Info = {"prob": probability}
        if dynamics.mask is not None:
            info["action_mask"] = dynamics.mask[self.s].copy()
        return observation, reward, terminated, False, info

    def render(self) -> str | NDArray[np.uint8] | None:  # pyright: ignore[reportIncompatibleMethodOverride] - its type is open
        """Render the present state, the last action and its reward.

        Returns
        -------
        str or ndarray (height, width, 3) uint8 or None
            Text if ``render_mode="ansi"``, pixels if it is ``"rgb_array"``. None if it is ``"human"``, and, with a
            warning of Gymnasium, if the environment was made without one.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called on an environment made without a render_mode: "
                'give it one, for instance gymnasium.make(..., render_mode="rgb_array")'
            )
            return None
        return None if self.render_mode == "human" else self._picture()

    def close(self) -> None:
        """Close the window of ``render_mode="human"``, if one is open."""
        if self._window is not None:
            self._window.close()

    def default_drawing(self) -> "Drawing":
        """Return the drawing that is used if none was given; subclasses may return a better one.

        An `MDP` shows one box per state; a `POMDP` one box per action, because its state is hidden.
        """
        from rlsuite.rendering import BoxesDrawing

        model = self.model
        actions = model.action_labels or tuple(f"action {action}" for action in range(model.n_actions))
        if isinstance(model, POMDP):
            return BoxesDrawing(actions, follow="action")
        return BoxesDrawing(model.state_labels or tuple(map(str, range(model.n_states))), action_labels=actions)

    def draw_reward(self, pair: int, mean: float) -> float:
        """Draw the reward of a step; subclasses whose rewards cannot be in a table may override it.

        Parameters
        ----------
        pair : int
            ``s * A + action`` of the state that was left.
        mean : float
            Mean reward of the transition.
        """
        mdp = self._dynamics.mdp
        if mdp.reward_std is not None and (std := float(mdp.reward_std[pair])):
            return mean + std * float(self.np_random.standard_normal())
        if mdp.bernoulli is not None and mdp.bernoulli[pair]:
            return float(self.np_random.random() < mean)
        return mean

    # -------------------------------------------------------------------------------------------- details

    def _picture(self) -> str | NDArray[np.uint8]:
        """The present state: text in mode "ansi", pixels in the others."""
        self.drawing = self.drawing or self.default_drawing()
        draw = self.drawing.ansi if self.render_mode == "ansi" else self.drawing.rgb
        reward, observation = self._shown
        return draw(self.s, self.lastaction, reward, self._caption(observation))

    def _show(self) -> None:
        """Show the present state in the window."""
        from rlsuite.rendering.window import Window

        if self._window is None:
            self._window = Window(name_of(self), self.metadata["render_fps"])
        self._window.show(cast("NDArray[np.uint8]", self._picture()))

    def _refuse(self) -> tuple[int, float, bool, bool, Info]:
        """Return the outcome of an illegal action."""
        assert self._dynamics.mask is not None
        mask = self._dynamics.mask[self.s].copy()
        observation = self.s if self._dynamics.nothing is None else self._shown[1]
        self._shown = (0.0, observation)
        if self.render_mode == "human":
            self._show()
        info: Info = {"prob": 1.0, "action_mask": mask, "illegal_action": True}
        return observation, 0.0, not mask.any(), False, info

    def _caption(self, observation: int) -> str:
        if isinstance(self._model, MDP) or observation == self._dynamics.nothing:
            return ""
        labels = self._model.observation_labels
        return f"observed: {observation if labels is None else labels[observation]}"


def _size(model: MDP | POMDP) -> str:
    observations = "" if isinstance(model, MDP) else f" and {model.n_observations} observations"
    return f"{model.n_states} states, {model.n_actions} actions{observations}"
