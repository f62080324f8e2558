"""DQN: Q-learning with a network in the place of the table (Mnih et al. 2015)."""

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self, cast

import gymnasium
import numpy as np

from rlsuite import errors
from rlsuite.agents.exploration import EpsilonGreedy, Exploration
from rlsuite.agents.memory import Memory
from rlsuite.agents.schedules import UNUSED, VISITS, Linear, Schedule, as_schedule
from rlsuite.agents.storage import EPISODE
from rlsuite.approximation.deep.inputs import CHANNELS, Inputs
from rlsuite.approximation.deep.network import (
    build_network,
    check_layers,
    check_maker,
    device_of,
    one_thread,
    own_network,
)
from rlsuite.approximation.deep.network_agent import NetworkAgent
from rlsuite.approximation.deep.q_learner import QLearner
from rlsuite.approximation.deep.run import DeepRun, Pace
from rlsuite.core.aliases import Env
from rlsuite.core.checks import fraction, one_of, positive_number, whole_number
from rlsuite.core.compiling_clock import CompilingTime
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import action_space_of, name_of
from rlsuite.environments.finding import find_env
from rlsuite.training.budget import Budget
from rlsuite.training.legality import listed_actions
from rlsuite.training.optimum import Optima

COUNTS = (
    "frames",
    "n_envs",
    "n_steps",
    "replay_size",
    "batch_size",
    "learning_starts",
    "train_every",
    "lessons",
    "target_every",
)
"""Parameters that are whole numbers of at least 1."""


@dataclass(eq=False, kw_only=True)
class DQN(NetworkAgent):
    """Q-learning with a network in the place of the table (Mnih et al. 2015); needs PyTorch: ``rlsuite[torch]``.

    What happens is kept in a replay. After each step (or each `train_every`), a few transitions are drawn from it, and
    one step of gradient descent brings the network nearer to r + gamma max_a' Q_target(x', a'). The target network
    follows the one that learns: slowly (Lillicrap et al. 2016), or now and then in a jump (`target_every`, with
    ``target_rate=1``). With ``double=False, dueling=False`` and jumps this is the algorithm of 2015.

    The other parts of Rainbow (Hessel et al. 2018) that leave its network what it is are parameters, too: several steps
    to a target (`n_steps`), and a replay of what surprises (`priority`).

    Its greedy policy is not sure to get better with every lesson: a good one may come early and be lost again. Look now
    and then (``evaluate_every=``), go back to the best (`restore_best`), and report on episodes with other seeds.

    Ending with a good policy takes longer than finding one. On CartPole, with much more exploration and fewer, smaller
    lessons (see ``benchmarks/cart_pole.py``), each of ten seeds holds the pole for 475 of 500 steps or more after
    500,000 steps, as the mean of 100 episodes with seeds of their own; nine of them hold it to the end in all.

    All randomness is NumPy's and belongs to the agent: PyTorch's generators are neither used nor seeded. On a CPU the
    same seed gives the same bytes.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`. It sees one observation at a time:
        schedules per visits count all steps.
    learning_rate : float or Schedule
        Step size of Adam (Kingma & Ba 2015), in [0, 1]; a schedule counts steps or episodes.
    network : torch.nn.Module, callable or str, optional
        Your own network, in the place of `hidden` and `convolutions`: what makes one, ``network(shape, n_outputs)`` of
        the shape of an observation (a class, a function, ``"module:Name"`` or ``"file.py:Name"``), or a module, of
        which a copy learns. From float32 (n, *shape) to float32 (n, n_outputs), one output for each action; with
        ``dueling=True`` V(s) comes before them. What it draws from PyTorch's generator is seeded by the agent. Dropout
        and batch normalisation, which answer differently each time, are refused.
    hidden : sequence of int
        Units of the hidden layers.
    convolutions : sequence of Convolution
        Layers before them, for observations that are images.
    channels : {"auto", "first", "last"}
        Where images have their planes, for convolutions: (planes, rows, columns) or (rows, columns, planes). By default
        where they are fewer than rows and columns; where that leaves a doubt, `learn` asks. Images (rows, columns) have
        one plane.
    double : bool
        Double Q-learning (van Hasselt, Guez & Silver 2016): the network that learns chooses the next action, the target
        network gives its value.
    dueling : bool, optional
        The network separates the value of a state from the advantages of the actions there (Wang et al. 2016); the two
        part after the last hidden layer. By default networks of ours do, and your own do not.
    frames : int
        How many of the latest observations the network sees, the oldest first: `learn` wraps the environment in
        Gymnasium's ``FrameStackObservation``. `q` and `act` are given as many: `seen` wraps an environment for them.
    n_envs : int
        Copies of the environment that are stepped side by side; the network looks at all of them at once. Steps and
        episodes of all are counted.
    n_steps : int
        Steps to a target, r_1 + gamma r_2 + ... + gamma^n max_a' Q_target(x_n, a') (S&B2 7.1): what is paid late is
        known earlier, though by what was done then. At the end of an episode there are fewer.
    replay_size : int
        Transitions that are kept.
    priority : float
        alpha of prioritised replay (Schaul et al. 2016), in [0, 1]: transitions are drawn with probabilities
        proportional to the size of their latest errors to the power of alpha. By 0 all are alike.
    importance : float or Schedule
        beta of prioritised replay, in [0, 1]: what is drawn more often counts less, fully so by 1.
    batch_size : int
        Transitions to learn from at a time.
    error_clip : float
        Largest temporal-difference error that a lesson counts in full; a larger one counts as this. By 1 (Mnih et al.
        2015: the Huber loss) a network that starts far from the truth learns more calmly; rare and large errors count
        less then. By default none is clipped.
    gradient_clip : float
        Largest length of the gradient of a lesson, of all weights together; a longer one is shortened to it (Pascanu,
        Mikolov & Bengio 2013), so that a few odd transitions do not undo what was learned. By default none is.
    learning_starts : int
        Steps of a run before the first lesson.
    train_every : int
        Steps until the next lessons.
    lessons : int
        Lessons at a time. Those that are due while copies of the environment are stepped follow the last of them.
    target_rate : float
        Share of the way to the network that learns that the target network goes at a time, in [0, 1].
    target_every : int
        Lessons until the target network goes again.
    device : str
        Device of the networks: "cpu", "cuda", ... A run can be repeated on the same one, another rounds differently.
        Two hidden layers of 256 units learn about as fast on a processor as on a graphics card.

    Attributes
    ----------
    episodes_ : ndarray, shape (n_episodes,)
        Fields ``return`` (float64) and ``length`` (int64, steps) of all episodes learned from so far.
    record_ : Record
        The record of the last call of `learn`.
    seed_ : int
        The seed that was used, given or drawn.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.
    MissingPackage
        If PyTorch is not installed.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = DQN(hidden=(32,), learning_starts=100, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CartPole-v1", steps=200, seed=7)
    >>> agent.q([[0.0, 0.0, 0.0, 0.0]]).shape
    (1, 2)
    >>> agent.act([0.0, 0.0, 0.0, 0.0]) in (0, 1)
    True

    A network of your own, several steps to a target, prioritised replay, and four environments:

    >>> from torch import nn
    >>> def network(shape, n_outputs):
    ...     return nn.Sequential(nn.Linear(shape[0], 32), nn.Tanh(), nn.Linear(32, n_outputs))
    >>> agent = DQN(network=network, n_steps=3, priority=0.6, n_envs=4, learning_starts=100)
    >>> agent.learn("CartPole-v1", steps=200, seed=7).q([[0.0, 0.0, 0.0, 0.0]]).shape
    (1, 2)
    """

    gamma: float = 0.99
    exploration: Exploration = field(default_factory=lambda: EpsilonGreedy(Linear(1.0, 0.05, over=5_000)))
    learning_rate: float | Schedule = 1e-3
    network: object = None
    hidden: Iterable[int] = (128, 128)
    convolutions: Iterable[Sequence[int]] = ()
    channels: str = "auto"
    double: bool = True
    dueling: bool | None = None
    frames: int = 1
    n_envs: int = 1
    n_steps: int = 1
    replay_size: int = 50_000
    priority: float = 0.0
    importance: float | Schedule = 0.4
    batch_size: int = 64
    error_clip: float = math.inf
    gradient_clip: float = math.inf
    learning_starts: int = 1_000
    train_every: int = 1
    lessons: int = 1
    target_rate: float = 0.01
    target_every: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.gamma = fraction("gamma", self.gamma)
        if not isinstance(cast(object, self.exploration), Exploration):
            raise errors.ParameterError(
                f"exploration={self.exploration!r} must be an exploration such as EpsilonGreedy(0.1) or Softmax(1.0)"
            )
        for name in ("learning_rate", "importance"):
            if as_schedule(name, getattr(self, name), 0.0, 1.0).rate.unit == VISITS:
                raise errors.ParameterError(
                    f"{name}: a schedule per='visits' needs a table; use per='steps' or per='episodes'"
                )
        if self.network is not None:
            check_maker(self.network)
        self.hidden, self.convolutions = check_layers(self.hidden, self.convolutions)
        one_of("channels", self.channels, CHANNELS)
        for name in COUNTS:
            setattr(self, name, whole_number(name, getattr(self, name)))
        self.target_rate, self.priority = fraction("target_rate", self.target_rate), fraction("priority", self.priority)
        self.error_clip = positive_number("error_clip", self.error_clip)
        self.gradient_clip = positive_number("gradient_clip", self.gradient_clip)
        device_of(self.device)
        self._run: DeepRun | None = None
        self._asked_for: str | Env | None = None
        super().__post_init__()

    @says_what_to_write
    def learn(
        self,
        env: str | Env,
        *,
        steps: int | None = None,
        episodes: int | None = None,
        seed: int | None = None,
        evaluate_every: int | None = None,
        record_every: int | None = None,
        regret: bool = False,
        progress: bool = False,
        optima: Optima | None = None,
    ) -> Self:
        """Learn from an environment, and return self.

        Called again without a seed on the same environment, it continues in mid-episode: a run in two parts gives the
        same bytes as one. With a seed, or on another environment with the same spaces, a new run begins, with what is
        already learned and an empty replay. Ctrl-C keeps what was learned until then.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance: observations a Box or Discrete (which enters the
            network as a one-hot vector), actions Discrete. Numbers with finite bounds are brought to [-1, 1]; bytes
            (uint8) are taken for pixels and divided by 255, flags (bool) for pixels of 0 and 1. Actions that
            ``info["action_mask"]`` forbids are not taken.
        steps, episodes : int
            How long; one of the two.
        seed : int, optional
            Source of all randomness of the agent and the environment; drawn and kept in ``seed_`` if not given.
        evaluate_every : int, optional
            Steps (episodes) between evaluations: 20 episodes of the greedy policy, frozen, always the same;
            `restore_best` goes back to the weights that did best in them.
        record_every : int, optional
            Steps (or episodes) between two records of the cumulative reward; by default there are about 200 records.
        regret : bool
            Compute the optimal value where the transition table is known: ``record_.optimal_value``.
        progress : bool
            Show a progress bar.
        optima : Optima, optional
            Where the optimal value comes from; by default it is computed if `regret` asks for it.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If no environment matches ``env``.
        UnsuitableEnvironment
            If the network cannot work with its spaces.
        LearningError
            If the environment answers with NaN or outside its spaces, or learning diverges; what was learned until
            then is kept.
        """
        budget = Budget.of(steps, episodes, evaluate_every, record_every)
        with one_thread(), CompilingTime() as compiling:
            run = self._run
            if run is None or seed is not None or env is not self._asked_for:
                run = self._start(env, seed)
            try:
                run.learn(budget, progress)
            finally:
                self.record_ = run.record(compiling.seconds, optima or (Optima() if regret else None))
                finished = np.zeros(self.record_.episode_return.size, dtype=EPISODE)
                finished["return"], finished["length"] = self.record_.episode_return, self.record_.episode_length
                self._episodes.append(finished)
        return self

    def restore_best(self) -> Self:
        """Restore the weights that did best in an evaluation of the present run (the last of equals); return self.

        They were chosen for their returns in those episodes: report on episodes with other seeds.

        Raises
        ------
        NotLearned
            If the present run has had no evaluation: ``learn(..., evaluate_every=)``.

        Examples
        --------
        >>> agent = DQN(hidden=(32,), learning_starts=50).learn("CartPole-v1", steps=200, seed=7, evaluate_every=50)
        >>> agent.restore_best().q([[0.0, 0.0, 0.0, 0.0]]).shape
        (1, 2)
        """
        if self._run is None or self._run.best is None:
            raise errors.NotLearned(
                "there is no best policy to restore: nothing was evaluated in this run. Pass evaluate_every= to learn"
            )
        self.learner_.put_back(self._run.best)
        return self

    def seen(self, env: str | Env) -> Env:
        """Return an environment as `act` takes its observations: the latest `frames` of them, the oldest first.

        Raises
        ------
        EnvironmentNotFound
            If no environment matches ``env``.
        UnsuitableEnvironment
            If its observations are not arrays of numbers, and there are to be several.

        Examples
        --------
        >>> DQN(frames=4).seen("CartPole-v1").observation_space.shape
        (4, 4)
        """
        made = find_env(env)
        if self.frames == 1:
            return made
        if not isinstance(made.observation_space, gymnasium.spaces.Box):
            raise errors.UnsuitableEnvironment(
                f"frames={self.frames} puts observations together that are a Box; {name_of(made)} has "
                f"{made.observation_space}: leave frames at 1"
            )
        return gymnasium.wrappers.FrameStackObservation(made, self.frames)

    def _start(self, env: str | Env, seed: int | None) -> DeepRun:
        made = self.seen(env)
        actions = action_space_of(made)
        inputs = Inputs.of(made.observation_space, self._channels(len(made.observation_space.shape or ())))
        if self.convolutions and len(inputs.shape) > 1 and not inputs.has_range:
            raise errors.UnsuitableEnvironment(
                f"the images of {name_of(made)} are numbers without bounds: {made.observation_space}. Bring them to a "
                "range: gymnasium.wrappers.TransformObservation(env, lambda image: image / 255, "
                "gymnasium.spaces.Box(0, 1, shape))"
            )
        n_actions, first_action = int(actions.n), int(actions.start)
        sequence = np.random.SeedSequence(None if seed is None else whole_number("seed", seed, at_least=0))
        choice_seed, env_seed, network_seed, replay_seed = sequence.spawn(4)
        if self._learner is None:
            learner = self.make_learner(inputs, n_actions, np.random.default_rng(network_seed))
        elif (inputs, n_actions, first_action) == (self._learner.inputs, self._learner.n_actions, self.first_action_):
            learner = self._learner
        else:
            raise errors.UnsuitableEnvironment(
                f"this DQN has learned on {self._learner.inputs} with {self._learner.n_actions} actions; the "
                f"environment has {inputs} with {n_actions}. Use a new agent for it"
            )
        memory = Memory(
            q=np.zeros((1, n_actions)),
            visits=np.zeros((1, n_actions), dtype=np.int64),
            legal=np.ones((1, n_actions), dtype=np.bool_),
            legality=listed_actions,
            clock=self._clock,
            gamma=self.gamma,
            learning_rate=UNUSED,
            exploration=self.exploration.rule,
            scores=np.zeros(n_actions),
        )
        pace = Pace(
            gamma=self.gamma,
            learning_rate=as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate,
            replay_size=self.replay_size,
            priority=self.priority,
            importance=as_schedule("importance", self.importance, 0.0, 1.0).rate,
            n_steps=self.n_steps,
            batch_size=self.batch_size,
            learning_starts=self.learning_starts,
            train_every=self.train_every,
            lessons=self.lessons,
            target_rate=self.target_rate,
            target_every=self.target_every,
        )
        entropy = sequence.entropy
        assert isinstance(entropy, int)
        envs = [made, *(self._another(env) for _ in range(1, self.n_envs))]
        run = DeepRun(envs, learner, memory, pace, entropy, (choice_seed, env_seed, replay_seed))
        self._run, self._asked_for, self._learner = run, env, learner
        self.seed_, self.first_action_ = run.seed, first_action
        return run

    def _channels(self, n_dimensions: int) -> str:
        """Where observations of so many dimensions have their planes."""
        if self.frames > 1 and n_dimensions == 3:  # grey images, one after the other
            return "first"
        return self.channels if self.convolutions or self.network is not None else "first"

    def _another(self, env: str | Env) -> Env:
        """Make the environment once more."""
        if isinstance(env, str):
            return self.seen(env)
        try:
            return self.seen(copy.deepcopy(env))
        except (TypeError, ValueError, RuntimeError) as error:
            raise errors.UnsuitableEnvironment(
                f"n_envs={self.n_envs} needs copies of {name_of(env)}, which cannot be copied ({error}); give its id "
                "or 'file.py:Class', or leave n_envs at 1"
            ) from error

    def make_learner(self, inputs: Inputs, n_actions: int, rng: np.random.Generator) -> QLearner:
        """Make the two networks; part of `learn` and of `load`."""
        shape, device = inputs.network_shape, device_of(self.device)
        dueling = self.network is None if self.dueling is None else self.dueling
        if self.network is None:
            hidden, convolutions = check_layers(self.hidden, self.convolutions)
            network = build_network(shape, n_actions + dueling, hidden, convolutions, rng, device)
        else:
            outputs = ["V(s)"] * dueling + [f"{'A' if dueling else 'Q'}(s, {each})" for each in range(n_actions)]
            network = own_network(self.network, shape, outputs, rng, device)
        clips = {"error_clip": self.error_clip, "gradient_clip": self.gradient_clip}
        return QLearner(inputs, n_actions, network, double=self.double, dueling=dueling, **clips)
