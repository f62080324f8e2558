"""Policy iteration with a classifier: try each action, follow the policy, and learn which action did best.

No value is approximated. In a few states each action is tried with simulated episodes that continue with the present
policy (rollouts); where one action does significantly better than all others, the state and the action are a training
example. The classifier that learns the examples is the next policy (Lagoudakis & Parr 2003; Fern, Yoon & Givan 2003).

Where no action is significantly better, the first of these papers has no example. Here the action of the present policy
is the example: with a good policy there are few states in which an action is clearly better, and a classifier of these
alone would lose the policy in all others.

The simulator is the environment itself, copied in the middle of an episode. All actions of a state are tried with the
same random numbers, in copies with equal seeds. So the comparisons are paired, which reduces the variance.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from tqdm import tqdm

from rlsuite import errors
from rlsuite.approximation.batch.action_masks import ToldActions
from rlsuite.approximation.policies.cloning import ClassifierPolicy
from rlsuite.approximation.policies.policy_search import draw_seed
from rlsuite.approximation.workers import Workers
from rlsuite.core.aliases import Env
from rlsuite.core.checks import finite_reward, fraction, whole_amount, whole_number, worker_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.environments.facts import action_space_of, facts_of, name_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_view import Encoding, encoding
from rlsuite.features.estimators import Predictor

Policy = Callable[[NDArray[np.float64], NDArray[np.bool_] | None], NDArray[np.int64]]
"""From observations (n, d) and the legal actions there (n, n_actions), None for all, to actions (n,)."""

TOGETHER = 10
"""Number of states whose rollouts are played together; fixed, because workers must not change a result."""


class Snapshot(NamedTuple):
    """A state in which actions are tried."""

    env: Env
    observation: NDArray[np.float64]  # (d,)
    legal: NDArray[np.bool_] | None = None  # (n_actions,); None if all actions are


@dataclass(eq=False, kw_only=True)
class ClassificationIteration(SaysWhatToWrite):
    """Rollout classification policy iteration (Lagoudakis & Parr 2003, figure 2).

    For environments that can be copied and whose randomness comes from their own generator, as Gymnasium's do.

    Parameters
    ----------
    classifier : classifier
        The form of the policy: any classifier of scikit-learn's kind.
    gamma : float
        Discount per step, in [0, 1].
    states : int
        States in which actions are tried, in each iteration. They come from episodes of the present policy in which
        every second action, on average, is a random one.
    apart : int
        Steps between two such states of an episode, on average.
    rollouts : int
        Simulated episodes for each action of each state.
    horizon : int
        Steps of a rollout; what comes later is not counted.
    confidence : float
        Of the one-sided paired t-test that an action has to win against each of the others, in [0.5, 1). With a single
        rollout there is no test, and the action that has done best wins.

    Attributes
    ----------
    policy_ : ClassifierPolicy
        The latest policy.
    n_examples_ : ndarray of int64, shape (n_iterations,)
        States of each iteration in which an action has won.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> search = ClassificationIteration(classifier=DecisionTreeClassifier(), states=30, rollouts=1, horizon=20)
    >>> search = search.learn("CartPole-v1", iterations=2, seed=7)
    >>> search.act([0.0, 0.0, 0.15, 1.0]), search.act([0.0, 0.0, -0.15, -1.0])
    (1, 0)
    """

    classifier: Predictor
    gamma: float = 0.99
    states: int = 100
    apart: int = 5
    rollouts: int = 10
    horizon: int = 50
    confidence: float = 0.95

    def __post_init__(self) -> None:
        ClassifierPolicy(self.classifier)
        self.gamma = fraction("gamma", self.gamma)
        self.confidence = fraction("confidence", self.confidence)
        if not 0.5 <= self.confidence < 1.0:
            raise errors.ParameterError(f"confidence={self.confidence:g} is not in [0.5, 1)")
        for name in ("states", "apart", "rollouts", "horizon"):
            setattr(self, name, whole_number(name, getattr(self, name)))
        self._examples: list[int] = []
        self._asked_for: str | Env | None = None

    @says_what_to_write
    def learn(
        self,
        env: str | Env,
        *,
        iterations: int,
        seed: int | None = None,
        workers: int = 1,
        progress: bool = False,
    ) -> Self:
        """Improve the policy, at first a random one, and return self.

        Called again without a seed on the same environment, it continues where it stopped.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance, which is copied and left as it is.
        iterations : int
            How often the policy is improved.
        seed : int, optional
            Source of all randomness; drawn and kept in ``seed_`` if not given.
        workers : int
            Processes in which rollouts are played (joblib's). The result is the same for any number of them.
        progress : bool
            Show a progress bar.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If no environment matches `env`.
        UnsuitableEnvironment
            If its actions are not Discrete, or it cannot be copied.
        LearningError
            If no action wins in any state, and there is no policy yet.
        """
        iterations = whole_amount("iterations", iterations)
        worker_number(workers)
        if seed is not None or env is not self._asked_for:
            self._start(env, seed)
        with Workers(workers) as pool:
            for _ in tqdm(range(iterations), unit="iteration", disable=not progress):
                self._improve(pool)
        return self

    def _start(self, env: str | Env, seed: int | None) -> None:
        made = find_env(env)
        space = action_space_of(made)
        self._encoding = encoding(made.observation_space)
        self._env = _copy_of(made)
        self.actions_ = np.arange(space.start, space.start + space.n, dtype=np.int64)
        sequence = np.random.SeedSequence(None if seed is None else whole_number("seed", seed, at_least=0))
        assert isinstance(sequence.entropy, int)
        self.seed_ = sequence.entropy
        self._rng = np.random.default_rng(sequence)
        self._asked_for = env

    def _improve(self, pool: Workers) -> None:
        """Collect states, try the actions in them, and learn the examples."""
        policy = self.policy_.predict if "policy_" in vars(self) else None
        snapshots = self._snapshots(policy)
        shares = [snapshots[i : i + TOGETHER] for i in range(0, len(snapshots), TOGETHER)]
        seeds = self._rng.integers(2**31, size=len(shares)).tolist()
        settings = (self.actions_, policy, self._encoding, self.rollouts, self.horizon, self.gamma)
        calls = ((*each, *settings) for each in zip(shares, seeds, strict=True))
        returns = pool.call(try_actions, calls)
        winner = winners(np.concatenate(returns), self.confidence)
        won = winner >= 0
        self._examples.append(int(won.sum()))
        if policy is None and not won.any():
            raise errors.LearningError(
                f"no action was significantly better than all others in any of {self.states} states; try more "
                f"rollouts (now {self.rollouts}), a longer horizon (now {self.horizon} steps) or more states"
            )
        observations = np.stack([each.observation for each in snapshots])
        legal = None if snapshots[0].legal is None else np.array([each.legal for each in snapshots])
        examples = self.actions_[winner]
        if policy is None:
            observations, examples, legal = observations[won], examples[won], None if legal is None else legal[won]
        else:
            examples[~won] = policy(observations[~won], None if legal is None else legal[~won])
        learner = ClassifierPolicy(self.classifier, seed=draw_seed(self._rng))
        learner.first_action_ = int(self.actions_[0])
        self.policy_ = learner.fit(observations, examples, legal)

    def _snapshots(self, policy: Policy | None) -> list[Snapshot]:
        """Play episodes, and copy the environment in some of their states."""
        env, rng, snapshots = self._env, self._rng, list[Snapshot]()
        while len(snapshots) < self.states:
            observation, info = env.reset(seed=draw_seed(rng))
            told, step, over = ToldActions(env), 0, False
            while not over and len(snapshots) < self.states:
                seen = np.array(self._encoding.encode(observation), dtype=np.float64)
                legal = told.after(info, step)
                if rng.random() * self.apart < 1.0:
                    snapshots.append(Snapshot(_copy_of(env), seen, legal))
                if policy is None or rng.random() < 0.5:
                    action = int(rng.choice(self.actions_ if legal is None else self.actions_[legal]))
                else:
                    action = int(policy(seen[None], None if legal is None else legal[None])[0])
                observation, _, terminated, truncated, info = env.step(action)
                step, over = step + 1, terminated or truncated
        return snapshots

    @property
    def n_examples_(self) -> NDArray[np.int64]:
        """Number of states of each iteration in which an action was significantly the best, shape (n_iterations,)."""
        return np.array(self._examples, dtype=np.int64)

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> int:
        """Return the action of the latest policy, one of the legal actions (n_actions,) that a mask allows.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not one of the space.
        """
        if "policy_" not in vars(self):
            raise errors.NotLearned("this ClassificationIteration has not learned yet; call learn(env, iterations=...)")
        mask = None if action_mask is None else np.asarray(action_mask)[None]
        return int(self.policy_.predict(np.atleast_2d(self._encoding.given(observation)), mask)[0])


def try_actions(
    snapshots: list[Snapshot],
    seed: int,
    actions: NDArray[np.int64],
    policy: Policy | None,
    encoded: Encoding,
    rollouts: int,
    horizon: int,
    gamma: float,
) -> NDArray[np.float64]:
    """Discounted returns (n_states, n_actions, rollouts) of taking each action and following the policy.

    The rollouts of all states go on in step, so that the policy is asked once per step for all of them. Without a
    policy (None), actions are random. The returns of illegal actions are NaN.
    """
    shape = (len(snapshots), len(actions), rollouts)
    rng = np.random.default_rng(seed)
    seeds = np.broadcast_to(rng.integers(2**31, size=(len(snapshots), 1, rollouts)), shape).ravel()
    begun = [each for each in snapshots for _ in range(len(actions) * rollouts)]
    envs = [_copy_of(each.env) for each in begun]
    for env, env_seed in zip(envs, seeds.tolist(), strict=True):
        env.unwrapped.np_random = np.random.default_rng(env_seed)
        for layer in facts_of(env).time_limits:
            layer._elapsed_steps = 0
    chosen = np.broadcast_to(actions[:, None], shape).flatten()
    seen = np.stack([each.observation for each in begun])
    total, discount, name = np.zeros(len(envs)), 1.0, name_of(envs[0])
    going, told, legal = np.arange(len(envs)), ToldActions(envs[0], told=True), None
    if snapshots[0].legal is not None:
        legal = np.array([each.legal for each in begun])
        total[~legal[going, chosen - actions[0]]] = np.nan
        going = np.flatnonzero(np.isfinite(total))
    for step in range(1, horizon + 1):
        over = np.zeros(len(envs), dtype=np.bool_)
        for i in going:
            observation, reward, terminated, truncated, info = envs[i].step(int(chosen[i]))
            total[i] += discount * finite_reward(reward, name, step)
            seen[i] = encoded.encode(observation)
            over[i] = terminated or truncated
            if legal is not None:
                legal[i] = told.after(info, step, over=bool(over[i]))
        discount *= gamma
        going = going[~over[going]]
        if not going.size:
            break
        # rollouts of one state with the same seed draw the same random actions
        if policy is not None:
            chosen[going] = policy(seen[going], None if legal is None else legal[going])
        elif legal is None:
            drawn = np.broadcast_to(rng.choice(actions, size=(len(snapshots), 1, rollouts)), shape).ravel()
            chosen[going] = drawn[going]
        else:
            u = np.broadcast_to(rng.random((len(snapshots), 1, rollouts)), shape).ravel()[going]
            reached = legal[going].cumsum(axis=1) > (u * legal[going].sum(axis=1))[:, None]
            chosen[going] = actions[reached.argmax(axis=1)]
    return total.reshape(shape)


def winners(returns: NDArray[np.float64], confidence: float) -> NDArray[np.int64]:
    """Index (n_states,) of the action that is significantly better than all others, -1 where there is none.

    From returns (n_states, n_actions, rollouts), by one-sided t-tests of the paired differences. Returns are NaN for
    illegal actions, which cannot win and are always beaten.

    Examples
    --------
    >>> winners(np.array([[[1.0, 2.0, 3.0], [0.0, 1.1, 1.9]], [[1.0, 2.0, 3.0], [2.0, 1.0, 2.5]]]), 0.95).tolist()
    [0, -1]
    """
    rollouts = int(returns.shape[2])
    illegal = np.isnan(returns).any(axis=2)
    best = np.where(illegal, -np.inf, returns.mean(axis=2)).argmax(axis=1)
    ahead = np.take_along_axis(returns, best[:, None, None], axis=1) - returns
    lead = ahead.mean(axis=2)
    needed = np.zeros_like(lead)
    if rollouts > 1:
        quantile = float(stdtrit(rollouts - 1, confidence))
        needed = quantile * ahead.std(axis=2, ddof=1) / np.sqrt(rollouts)
    beaten = (lead > needed) | illegal
    np.put_along_axis(beaten, best[:, None], True, axis=1)
    return np.where(beaten.all(axis=1), best, -1)


def _copy_of(env: Env) -> Env:
    try:
        return copy.deepcopy(env)
    except (TypeError, ValueError, RuntimeError) as error:
        raise errors.UnsuitableEnvironment(
            f"{name_of(env)} cannot be copied in the middle of an episode, which rollouts need ({error})"
        ) from error
