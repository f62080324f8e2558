"""The lecture notes' protocol: k steps of learning, then an evaluation of the greedy policy without learning.

The figures are the discounted value of the policy at the start and its undiscounted return. They are exact where the
model is known, and means over episodes on a copy of the environment where it is not. Where each info gives the legal
actions, a tabular policy is restricted to them; if it takes none of them, they are equally likely.
"""

import copy
import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Env
from rlsuite.environments.facts import NO_LIMIT, EnvironmentFacts, action_space_of
from rlsuite.environments.novelty import without_bonus
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.observation_view import Encoding
from rlsuite.models import MDP, POMDP
from rlsuite.training.acting import Drawing, Policy
from rlsuite.training.episodes import played
from rlsuite.training.step_buffer import first_answer


class Evaluation(NamedTuple):
    """The value of a policy from the start."""

    value: float
    """Expected return, discounted by the agent's gamma."""
    total: float
    """Expected sum of rewards, undiscounted, of an episode with the environment's time limit; NaN where there is no
    limit and the policy may never reach an end."""


EPISODES = 20
MOST_BELIEFS = 1_000  # that are followed up for an exact evaluation
MAX_STEPS = 10_000  # per episode of evaluation: a greedy policy may never reach an end


def evaluator(
    facts: EnvironmentFacts, model: MDP | POMDP | None, gamma: float, seed: int, encode: Encoding | None
) -> "Evaluate":
    """Make a function from a `Policy` to its `Evaluation`.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of the environment, which is left untouched.
    model : MDP, POMDP or None
        Its model, if known.
    gamma : float
        Discount. With gamma = 1 the value of an episode cut at the environment's time limit is computed.
    seed : int
        Seed of the episodes, if the value is estimated from episodes.
    encode : Encoding or None
        How observations become vectors, for a policy that is a function: of the vectors of all states, where these are
        known.

    Raises
    ------
    ParameterError
        If gamma is 1, the model is known, and the environment has no time limit.
    UnsuitableEnvironment
        If episodes are needed and the environment cannot be copied.
    """
    if model is not None and gamma == 1.0 and facts.time_limit == NO_LIMIT:
        if encode is None:
            raise errors.ParameterError(
                f"evaluate_every with gamma=1 needs an environment with a time limit, and {facts.name} has none: a "
                "greedy policy may never reach an end. Pass gymnasium.make(..., max_episode_steps=...), or "
                "--max-episode-steps on the command line"
            )
    elif model is not None and (exact := _on_model(facts, model, gamma, encode)):
        return exact
    try:
        own = without_bonus(copy.deepcopy(facts.env))
    except (TypeError, ValueError, RuntimeError) as error:
        raise errors.UnsuitableEnvironment(
            f"evaluate_every runs episodes in a copy of the environment, and {facts.name} cannot be copied "
            f"({error}); leave evaluate_every out, or define __deepcopy__ in the class of the environment"
        ) from error
    return _Episodes(facts, own, gamma, seed, encode)


class OnModel:
    """Evaluation on a model: exact; of a policy of what is `seen` in its states, vectors (n, d) or rows of a table."""

    def __init__(self, model: MDP | POMDP, gamma: float, limit: int, seen: Any = slice(None)):
        from rlsuite.planning.policy_value import PolicyEvaluator  # loads SciPy, which learning alone does not need

        self.limit, self.seen = limit, seen
        self.value = PolicyEvaluator(model, gamma, horizon=limit if gamma == 1.0 else None)
        mdp = model.mdp if isinstance(model, POMDP) else model
        self.has_ends, self.legal = bool(mdp.terminated.any()), np.array(mdp.legal)

    def __call__(self, policy: Any, time: int) -> Evaluation:
        """Evaluate a `Policy`, whenever."""
        limit = None if self.limit == NO_LIMIT else self.limit
        if self.value.gamma < 1.0 and (limit is not None or self.has_ends):
            return Evaluation(*self.value.value_and_total(self._table(policy), limit))
        value = self.value(self._table(policy))
        return Evaluation(value, value if self.value.gamma == 1.0 else math.nan)

    def ends(self, policy: Any) -> float | None:
        """Return the probability that the policy reaches an end; None if the model has no end."""
        return self.value.ends(self._table(policy)) if self.has_ends else None

    def _table(self, policy: Any) -> Any:
        """Its probabilities (n_observations, n_actions), 0 at ends."""
        if hasattr(policy, "shape"):
            return policy[self.seen]
        table = np.zeros(self.legal.shape)
        for state in np.flatnonzero(self.legal.any(axis=1)):
            table[state] = policy(self.seen[state], self.legal[state])
        return table


def _on_model(facts: EnvironmentFacts, model: MDP | POMDP, gamma: float, encode: Encoding | None) -> OnModel | None:
    """Exact evaluation; None where what is shown is not a function of the states of a model."""
    shown: Any = facts.vectors
    if facts.belief is not None and isinstance(model, POMDP):
        from rlsuite.planning.pomdp.reachable_beliefs import belief_mdp

        try:
            model, beliefs, *_ = belief_mdp(model, steps=MOST_BELIEFS, max_beliefs=MOST_BELIEFS)
        except errors.RlsuiteError:
            return None
        shown = [*map(getattr(facts.belief, "observation", np.copy), beliefs)] if model.legal.all() else None
    elif encode is None:
        return OnModel(model, gamma, facts.time_limit)
    elif encode.n_ids:
        shown = range(encode.first, encode.first + encode.n_ids)
    if not isinstance(model, MDP) or shown is None or len(shown) != model.n_states:
        return None
    seen = np.array(shown if encode is None else [*map(encode.encode, shown)])
    return OnModel(model, gamma, facts.time_limit, seen)


class _Episodes:
    """Evaluation by episodes: the means of `EPISODES` episodes of at most `MAX_STEPS` steps.

    Each time of a run has random numbers of its own, whatever was evaluated before.
    """

    def __init__(self, facts: EnvironmentFacts, env: Env, gamma: float, seed: int, encode: Encoding | None):
        self.env = env  # a copy
        self.name = f"{facts.name}, an episode of evaluation"
        self.gamma, self.encode, self.seed = gamma, encode, seed
        self.row_of = ObservationIds(env.observation_space).id_of if encode is None else None
        self.first_action = int(action_space_of(env).start)

    def __call__(self, policy: Policy, time: int) -> Evaluation:
        env_seed, choice_seed = np.random.SeedSequence(self.seed, spawn_key=(1_000, time)).spawn(2)
        act = Drawing(policy, np.random.default_rng(choice_seed), self.first_action, self.encode, self.row_of)
        first_answer(self.env, int(env_seed.generate_state(1)[0]))
        found = [
            played(self.env, act, None, self.gamma, MAX_STEPS, name="policy", where=self.name) for _ in range(EPISODES)
        ]
        warn_of_cuts(sum(one.cut for one in found), EPISODES, MAX_STEPS, self.name)
        return Evaluation(float(np.mean([one.value for one in found])), float(np.mean([one.total for one in found])))

    def ends(self, policy: Policy) -> float | None:
        """Return None: the probability that the policy reaches an end is not known."""
        return None


Evaluate = OnModel | _Episodes
"""What `evaluator` returns: from a `Policy` and a time to its `Evaluation`."""


def warn_of_cuts(cut: int, episodes: int, max_steps: int, name: str) -> None:
    """Warn if episodes were cut, so that their returns are those of their first steps alone."""
    if cut:
        warnings.warn(
            f"{name}: {cut} of {episodes} episodes were cut at {max_steps:,} steps, and their returns are those of "
            "these steps; a time limit ends episodes earlier: gymnasium.make(..., max_episode_steps=...)",
            errors.CutEpisodesWarning,
            stacklevel=errors.level_of_the_caller(),
        )
