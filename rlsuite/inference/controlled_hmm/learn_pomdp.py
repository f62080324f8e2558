"""Learning a POMDP: under known actions it is a hidden Markov model with inputs.

Given the actions, the hidden states are a Markov chain whose matrix at time t is that of a_t, and whose observation is
drawn from O[a_t, x_{t+1}, z]. So the likelihood of the observations, the posterior of the states and the steps of
expectation maximisation are those of a hidden Markov model (Bengio & Frasconi 1995; R89 eqs. 20-27 and 40).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from rlsuite.core.checks import Seed, generator, positive_number, whole_number
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError, unknown
from rlsuite.inference.controlled_hmm.episode_em import (
    EpisodeEM,
    Parameters,
    model_of,
    model_steps,
    parameters_of,
    pseudo_counts,
    random_parameters,
)
from rlsuite.inference.controlled_hmm.episode_passes import Episodes, Steps, steps_of
from rlsuite.inference.expectation_maximisation import Learning, Limits, best_of_starts, record_of
from rlsuite.models import MDP, POMDP

PARTS = ("start", "transition", "observation", "reward")


@dataclass(frozen=True, eq=False)
class LearnedPOMDP(Learning):
    """A POMDP that was learned, and how.

    Attributes
    ----------
    pomdp : POMDP
        The model. What its hidden states mean is up to the data: another order of them is as likely.
    """

    pomdp: POMDP


@says_what_to_write
def learn_pomdp(
    episodes: Episodes,
    model: POMDP | None = None,
    *,
    n_states: int | None = None,
    n_actions: int | None = None,
    n_observations: int | None = None,
    gamma: float | None = None,
    restarts: int = 1,
    prior: float = 0.0,
    frozen: Iterable[str] = (),
    shared_observation: bool = False,
    reward_std: float | None = None,
    held_out: Episodes | None = None,
    max_iterations: int = 1000,
    tol: float = 1e-6,
    seed: Seed = 0,
    deadline: float | None = None,
    progress: bool = False,
) -> LearnedPOMDP:
    """Learn transitions, observations and rewards from actions and observations, by expectation maximisation.

    Parameters
    ----------
    episodes : iterable of Episode or of tuples
        ``Episode(actions, observations, rewards, terminated, states)``; all but the first two may be left out.
    model : POMDP, optional
        Where to begin, and the labels; what is impossible in it stays impossible, what is not visited stays as it is.
    n_states, n_actions, n_observations : int, optional
        Size of a random model to begin with, if there is no `model`; the latter two by default from the data.
    gamma : float, optional
        Discount factor of the result; by default that of `model`.
    restarts : int
        Number of starts: the first from `model`, the others from random probabilities where those of `model` are
        positive. The most probable result is returned.
    prior : float
        Pseudo-counts: how often every possible outcome is taken to have been seen before. 0 for maximum likelihood.
    frozen : iterable of str
        What is not to be learned, of "start", "transition", "observation" and "reward".
    shared_observation : bool
        Whether what is seen depends on the state only, not on the action that led to it.
    reward_std : float, optional
        If given, rewards are assumed to be normal with this standard deviation around the mean of the state and action,
        and help to infer the states. By default they do not, and their means are computed at the end.
    held_out : iterable of Episode or of tuples, optional
        Episodes that are not learned from; their log-likelihood after every iteration is `held_out_` of the result.
    max_iterations, tol
        Each start ends after this many iterations, or when one gains at most `tol` nats for each step.
    seed : int, SeedSequence or Generator
        Where random starts come from.
    deadline : float, optional
        Number of seconds after which the best model so far is returned; so it is after Ctrl-C. The clock is checked
        after each iteration.
    progress : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    LearnedPOMDP
        The model, in `pomdp`, and how it was learned.

    Raises
    ------
    ModelError
        If the episodes are malformed, or impossible from every start.
    ParameterError
        If an argument is out of range, or neither `model` nor `n_states` and `gamma` are given.

    Warns
    -----
    ConvergenceWarning
        If the limit or the deadline came first.

    Examples
    --------
    A lamp, and a switch that works only sometimes; a sensor sees the lamp right nine times out of ten. What the
    switch does is known, how good the sensor is is not:

    >>> from rlsuite.models import POMDP
    >>> switch = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]
    >>> lamp = POMDP.from_arrays(switch, [0, 0], [[0.9, 0.1], [0.1, 0.9]], gamma=0.9, order="ass", start=0)
    >>> env, rng = lamp.to_env(), np.random.default_rng(0)
    >>> _ = env.reset(seed=0)
    >>> actions = rng.integers(0, 2, size=5000)
    >>> seen = [env.step(action)[0] for action in actions]
    >>> guess = POMDP.from_arrays(switch, [0, 0], [[0.6, 0.4], [0.4, 0.6]], gamma=0.9, order="ass", start=0)
    >>> learned = learn_pomdp([(actions, seen)], guess, frozen=["transition"], shared_observation=True)
    >>> learned.converged, learned.pomdp.observation[0].round(2).tolist()
    (True, [[0.91, 0.09], [0.11, 0.89]])
    """
    parts = frozenset([frozen] if isinstance(frozen, str) else frozen)
    for part in parts:
        if part not in PARTS:
            raise ParameterError(unknown("part in frozen", part, PARTS))
    starts = whole_number("restarts", restarts)
    limits = Limits(tol, max_iterations)
    std = None if reward_std is None else positive_number("reward_std", reward_std)
    rng = generator(seed)
    clock = CompilingClock("learning a POMDP", deadline=deadline, progress=progress)
    sizes = {"n_states": n_states, "n_actions": n_actions, "n_observations": n_observations}
    given = model is not None
    if model is None:
        model, steps = _blank(episodes, sizes, gamma)
    else:
        for name, value in sizes.items():
            if value is not None:
                raise ParameterError(f"leave out {name}={value!r}: it follows from the initial model")
        steps = model_steps(model, episodes)
        model = model if gamma is None else model.replace(gamma=gamma)
    first = parameters_of(model)
    if not given and steps.ended.any():
        first = first._replace(transition=np.full(first.transition.shape, 0.5 / model.n_states))
    if shared_observation and (first.observation != first.observation[0]).any():
        raise ParameterError(
            "shared_observation=True needs a model whose observation probabilities are the same for all actions"
        )
    problem = EpisodeEM(
        steps,
        first,
        prior=pseudo_counts(first, prior),
        frozen=parts,
        shared_observation=shared_observation,
        reward_std=std,
        others=None if held_out is None else model_steps(model, held_out),
    )
    begin = _starts(first, starts, given, parts, shared_observation, rng)
    with clock:
        best, reached = best_of_starts(problem, begin, limits, clock)
    found = best.model
    rewarded = "reward" not in parts and not np.isnan(steps.reward).all()
    if rewarded and std is None:
        found = problem.with_rewards(found, problem.expect(found, smoothing=True)[1])
    record = record_of(
        best,
        reached,
        n_observations=int(np.count_nonzero(steps.observation < model.n_observations)),
        n_parameters=_n_parameters(first, parts, shared_observation, std is not None),
        seconds=clock.seconds,
    )
    return LearnedPOMDP(**record, pomdp=model_of(found, model, not rewarded))


def _blank(episodes: Episodes, sizes: dict[str, int | None], gamma: float | None) -> tuple[POMDP, Steps]:
    """Return a model of some size whose probabilities are all equal, and the checked episodes."""
    states = sizes["n_states"]
    if states is None or gamma is None:
        raise ParameterError("give either an initial model, or n_states and gamma")
    for name, value in sizes.items():
        if value is not None:
            whole_number(name, value)
    steps = steps_of(episodes, **sizes)
    actions = sizes["n_actions"] or int(steps.action.max()) + 1
    mdp = MDP.from_arrays(np.full((states, actions, states), 1.0 / states), np.zeros(states), gamma=gamma)
    return POMDP(mdp, np.full((actions, states, steps.n_observations), 1.0 / steps.n_observations)), steps


def _starts(
    first: Parameters, number: int, given: bool, parts: frozenset[str], shared: bool, rng: np.random.Generator
) -> Iterator[Parameters]:
    """Yield the first parameters, if they were given, and random ones."""
    for n in range(number):
        if n == 0 and given:
            yield first
            continue
        drawn = random_parameters(first, parts, rng)
        if shared:
            drawn = drawn._replace(observation=np.broadcast_to(drawn.observation[0], drawn.observation.shape).copy())
        yield drawn


def _n_parameters(first: Parameters, parts: frozenset[str], shared: bool, rewards: bool) -> int:
    """Return the number of free probabilities, as rows sum to 1, and of mean rewards."""
    number = 0
    if "start" not in parts:
        number += int(np.count_nonzero(first.start)) - 1
    if "transition" not in parts:
        number += int(np.count_nonzero(first.transition)) - int(np.count_nonzero(first.transition.sum(axis=(1, 3))))
    if "observation" not in parts:
        rows = first.observation[:1] if shared else first.observation
        number += int(np.count_nonzero(rows)) - rows.shape[0] * rows.shape[1]
    return number + (first.reward.size if rewards and "reward" not in parts else 0)
