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
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rlsuite import errors
from rlsuite.approximation.experience import Experience, Iterative, draw_seed
from rlsuite.approximation.policies.cloning import ClassifierPolicy
from rlsuite.approximation.workers import Workers
from rlsuite.core.aliases import Env
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_reward, fraction, whole_number
from rlsuite.core.described import Plain, describe
from rlsuite.core.files import replacing
from rlsuite.core.npz import Npz
from rlsuite.environments.facts import action_space_of, facts_of, name_of
from rlsuite.environments.observation_view import Encoding, encoding
from rlsuite.features.estimators import Predictor, scikit_learn
from rlsuite.training.acting import MaskedActions

FORMAT: Final = "rlsuite classification iteration 1"

Policy = Callable[[NDArray[np.float64], NDArray[np.bool_] | None], NDArray[np.int64]]
"""From observations (n, d) and the legal actions there (n, n_actions), None for all, to actions (n,)."""

TOGETHER = 10
"""Number of states whose rollouts are played together; fixed, because workers must not change a result."""


class Snapshot(NamedTuple):
    """A state in which actions are tried."""

    env: Env
    observation: NDArray[np.float64]  # (d,)
    legal: NDArray[np.bool_] | None = None  # (n_actions,); None if all actions are


class Tried(NamedTuple):
    """What came of trying each action in some states."""

    returns: NDArray[np.float64]  # (n_states, n_actions, rollouts), discounted; NaN for illegal actions
    rewards: NDArray[np.float64]  # (n_steps,), of all rollouts one after the other
    ends: NDArray[np.bool_]  # (n_steps,), whether a rollout ended


class Examples(NamedTuple):
    """What the latest policy was learned from."""

    observations: NDArray[np.float64]  # (n, d)
    actions: NDArray[np.int64]  # (n,)
    legal: NDArray[np.bool_] | None  # (n, n_actions)
    seed: int


@dataclass(eq=False, kw_only=True)
class ClassificationIteration(Iterative):
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

    classifier: Predictor = field(default_factory=lambda: scikit_learn("tree").DecisionTreeClassifier())
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
        self._won: list[int] = []
        super().__post_init__()

    def evaluated(self) -> Self | None:
        """What was found so far; None before there is any."""
        return self if "policy_" in vars(self) else None

    def start(self, made: Env, seed: int) -> None:
        """Copy the environment."""
        space = action_space_of(made)
        self._encoding = encoding(made.observation_space)
        self._env = _copy_of(made)
        self.actions_ = np.arange(space.start, space.start + space.n, dtype=np.int64)

    def iterate(self, pool: Workers, run: Experience | None) -> None:
        """Collect states, try the actions in them, and learn the examples, if the run has time for all of it."""
        policy = self.policy_.predict if "policy_" in vars(self) else None
        state = self._rng.bit_generator.state
        snapshots, rewards, ends = self._snapshots(policy)
        shares = [snapshots[i : i + TOGETHER] for i in range(0, len(snapshots), TOGETHER)]
        seeds = self._rng.integers(2**31, size=len(shares)).tolist()
        settings = (self.actions_, policy, self._encoding, self.rollouts, self.horizon, self.gamma)
        calls = ((*each, *settings) for each in zip(shares, seeds, strict=True))
        tried = pool.call(try_actions, calls)
        met = [rewards, *(each.rewards for each in tried)], [ends, *(each.ends for each in tried)]
        with self.noted(run, *met, state) as all_noted:
            if all_noted:
                won = winners(np.concatenate([each.returns for each in tried]), self.confidence)
                self._learn_from(snapshots, won, policy)

    def _learn_from(self, snapshots: list[Snapshot], winner: NDArray[np.int64], policy: Policy | None) -> None:
        """Learn which action has won in each state (n_states,); -1 where none has."""
        won = winner >= 0
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
        self._learn(Examples(observations, examples, legal, draw_seed(self._rng)))
        self._won.append(int(won.sum()))

    def _learn(self, examples: Examples) -> None:
        learner = ClassifierPolicy(self.classifier, seed=examples.seed)
        learner.first_action_ = int(self.actions_[0])
        self.policy_, self._examples = learner.fit(*examples[:3]), examples

    def _snapshots(self, policy: Policy | None) -> tuple[list[Snapshot], NDArray[np.float64], NDArray[np.bool_]]:
        """Play episodes, and copy the environment in some of their states; also the rewards, and where episodes end."""
        env, rng, snapshots = self._env, self._rng, list[Snapshot]()
        rewards, ends, name = list[float](), list[bool](), name_of(self._env)
        while len(snapshots) < self.states:
            observation, info = env.reset(seed=draw_seed(rng))
            masks, step, over = MaskedActions(env), 0, False
            while not over and len(snapshots) < self.states:
                seen = np.array(self._encoding.encode(observation), dtype=np.float64)
                legal = masks.after(info, step)
                if rng.random() * self.apart < 1.0:
                    snapshots.append(Snapshot(_copy_of(env), seen, legal))
                if policy is None or rng.random() < 0.5:
                    action = int(rng.choice(self.actions_ if legal is None else self.actions_[legal]))
                else:
                    action = int(policy(seen[None], None if legal is None else legal[None])[0])
                observation, reward, terminated, truncated, info = env.step(action)
                step, over = step + 1, terminated or truncated
                rewards.append(finite_reward(reward, name, step))
                ends.append(over or len(snapshots) == self.states)
        return snapshots, np.array(rewards, dtype=np.float64), np.array(ends, dtype=np.bool_)

    @property
    def n_examples_(self) -> NDArray[np.int64]:
        """Number of states of each iteration in which an action was significantly the best, shape (n_iterations,)."""
        return np.array(self._won, dtype=np.int64)

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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the parameters and the latest examples to an .npz file; `rlsuite.load` learns from them again.

        The run is not kept: a loaded one begins anew with the policy found.

        Raises
        ------
        NotLearned
            If there is nothing to save yet.
        ParameterError
            If the classifier has no plain description.
        FileError
            If the file cannot be written.
        """
        if "policy_" not in vars(self):
            raise errors.NotLearned("this ClassificationIteration has not learned yet; call learn(env, steps=...)")
        examples, ids = self._examples, [self._encoding.first, self._encoding.n_ids]
        header = {"format": FORMAT, "agent": describe(self), "seeds": [str(self.seed_), examples.seed], "ids": ids}
        arrays: dict[str, Any] = {"observations": examples.observations, "chosen": examples.actions}
        arrays |= {"actions": self.actions_, "won": self.n_examples_}
        arrays |= {"low": self._encoding.low, "high": self._encoding.high}
        arrays |= {} if examples.legal is None else {"legal": examples.legal}
        with replacing(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)

    def restore_file(self, header: Plain, arrays: Npz) -> None:
        """Learn the policy that `save` has written.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what the policy needs.
        """
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        whole = np.dtype(np.int64)
        self.actions_ = arrays.take("actions", whole, ndim=1)
        if not self.actions_.size or (np.diff(self.actions_) != 1).any():
            raise ValueError("its actions are not consecutive numbers")
        low = arrays.take("low", np.dtype(np.float64), ndim=1)
        high = arrays.take("high", np.dtype(np.float64), low.shape)
        first, n_ids = (int(one) for one in header["ids"])
        self._encoding = Encoding(low, high, first, n_ids=n_ids)
        observations = arrays.take("observations", np.dtype(np.float64), ndim=2)
        chosen = arrays.take("chosen", whole, (len(observations),))
        if not np.isin(chosen, self.actions_).all():
            raise ValueError("an example has an action that does not exist")
        legal = None
        if "legal" in arrays:
            legal = arrays.take("legal", np.dtype(np.bool_), (len(observations), self.actions_.size))
        self.seed_, self._won = int(header["seeds"][0]), arrays.take("won", whole, ndim=1).tolist()
        self._learn(Examples(observations, chosen, legal, int(header["seeds"][1])))

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle what was learned, not the run: that of a copy begins anew."""
        return {**self.__dict__, "_experience": None, "_asked_for": None}


def try_actions(
    snapshots: list[Snapshot],
    seed: int,
    actions: NDArray[np.int64],
    policy: Policy | None,
    encoded: Encoding,
    rollouts: int,
    horizon: int,
    gamma: float,
) -> Tried:
    """Take each action and follow the policy, in all states.

    The rollouts of all states go on in step, so that the policy is asked once per step for all of them. Without a
    policy (None), actions are random.
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
    rewards: list[list[float]] = [[] for _ in envs]
    going, masks, legal = np.arange(len(envs)), MaskedActions(envs[0], masked=True), None
    if snapshots[0].legal is not None:
        legal = np.array([each.legal for each in begun])
        total[~legal[going, chosen - actions[0]]] = np.nan
        going = np.flatnonzero(np.isfinite(total))
    for step in range(1, horizon + 1):
        over = np.zeros(len(envs), dtype=np.bool_)
        for i in going:
            observation, reward, terminated, truncated, info = envs[i].step(int(chosen[i]))
            rewards[i].append(finite_reward(reward, name, step))
            total[i] += discount * rewards[i][-1]
            seen[i] = encoded.encode(observation)
            over[i] = terminated or truncated
            if legal is not None:
                legal[i] = masks.after(info, step, over=bool(over[i]))
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
    lengths = np.array([len(each) for each in rewards])
    ends = np.zeros(lengths.sum(), dtype=np.bool_)
    ends[lengths[lengths > 0].cumsum() - 1] = True
    return Tried(total.reshape(shape), np.concatenate([np.zeros(0), *rewards]), ends)


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
