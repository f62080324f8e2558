"""Names that other libraries and books use: the one table behind "did you mean".

Commands, TOML files, constructors, functions and attributes all look here, before they look for a name spelled alike.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

_STEP_SIZE: Final = ("learning_rate",)
_GAMMA: Final = ("gamma",)
_STEPS: Final = ("steps",)
_EPISODES: Final = ("episodes",)
_ITERATIONS: Final = ("iterations", "max_iterations")
_EPSILON: Final = ("epsilon", "exploration=EpsilonGreedy({})", "tol")
_TEMPERATURE: Final = ("temperature", "exploration=Softmax({})")
_LAMBDA: Final = ("lambda_",)
_ACT: Final = ("act",)
_LEARN: Final = ("learn",)
_Q: Final = ("q_", "q")

SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    # parameters of agents
    "alpha": _STEP_SIZE,
    "lr": _STEP_SIZE,
    "eta": _STEP_SIZE,
    "stepsize": _STEP_SIZE,
    "discount": _GAMMA,
    "discountfactor": _GAMMA,
    "discountrate": _GAMMA,
    "epsilon": _EPSILON,
    "eps": _EPSILON,
    "epsilonstart": _EPSILON,
    "explorationrate": _EPSILON,
    "temperature": _TEMPERATURE,
    "temp": _TEMPERATURE,
    "tau": _TEMPERATURE,
    "base": ("base", "exploration=Softmax(base={})"),
    "lam": _LAMBDA,
    "lambd": _LAMBDA,
    "lmbda": _LAMBDA,
    "gaelambda": _LAMBDA,
    "tracedecay": _LAMBDA,
    "features": ("features", "policy=LinearPolicy({})"),
    "initialq": ("initial_value",),
    "qinit": ("initial_value",),
    "buffersize": ("replay_size",),
    "netarch": ("hidden",),
    # how long, how often, how
    "totaltimesteps": _STEPS,
    "timesteps": _STEPS,
    "maxsteps": ("max_episode_steps", "steps"),
    "numsteps": _STEPS,
    "nsteps": _STEPS,
    "nepisodes": _EPISODES,
    "numepisodes": _EPISODES,
    "totalepisodes": _EPISODES,
    "maxepisodes": _EPISODES,
    "nseeds": ("seeds",),
    "numseeds": ("seeds",),
    "repetitions": ("seeds",),
    "runs": ("seeds",),
    "randomstate": ("seed",),
    "seed": ("random_state",),
    "njobs": ("workers",),
    "nthreads": ("workers",),
    "threads": ("workers",),
    "evalfreq": ("evaluate_every",),
    "evalevery": ("evaluate_every",),
    "verbose": ("progress",),
    "progressbar": ("progress",),
    "tolerance": ("tol",),
    "precision": ("gap", "tol"),
    "theta": ("tol",),
    "timeout": ("deadline",),
    "maxiter": _ITERATIONS,
    "maxiterations": _ITERATIONS,
    "niter": _ITERATIONS,
    "niterations": _ITERATIONS,
    "numiterations": _ITERATIONS,
    "iterations": _ITERATIONS,
    # what agents have and do
    "predict": _ACT,
    "chooseaction": _ACT,
    "getaction": _ACT,
    "selectaction": _ACT,
    "sampleaction": _ACT,
    "fit": _LEARN,
    "train": _LEARN,
    "qtable": _Q,
    "qvalues": _Q,
    "actionvalues": _Q,
    "qfunction": _Q,
    "statevalues": ("value_", "value", "q"),
    "values": ("value_", "value", "q"),
    "value": ("value_", "value", "q"),
    "v": ("value_", "value", "q"),
    "ncomponents": ("n_states",),
    "decode": ("predict",),
    # models and planners
    "cost": ("costs", "reward=lambda ...: -cost(...)"),
    "costs": ("cost", "reward=lambda ...: -costs(...)"),
    "average": ("average_reward_policy_iteration",),
    "averagereward": ("average_reward_policy_iteration",),
    # names of this package
    "make": ("find_env",),
    "qlearner": ("QLearning",),
    "sarsalearning": ("Sarsa",),
    "tdlearning": ("TD",),
    "montecarlo": ("MonteCarloControl", "FirstVisitMonteCarlo"),
    "ucb": ("UCB1",),
    "qlambda": ("PengQLambda", "WatkinsQLambda", "NaiveQLambda"),
    "boltzmannexploration": ("Softmax",),
    "learningcurve": ("evaluation", "episode_return", "cumulative_reward"),
    "learningcurves": ("evaluation", "episode_return", "cumulative_reward"),
    "rewards": ("cumulative_reward", "episode_return"),
    "returns": ("episode_return",),
    "valuefunction": ("value_map", "state_values"),
    "heatmap": ("value_map",),
    "plotvalues": ("value_map",),
}
"""Word, without capitals, dashes and underscores -> names in this package, of which the first that exists is meant.

What follows the name after ``=`` is how a value is written there.
"""

ELSEWHERE: Final[dict[str, str]] = {
    "DQN": "it is rlsuite.approximation.DQN and needs PyTorch (pip install 'rlsuite[torch]')",
    "evaluate_agent": "rlsuite.evaluate(agent, env) evaluates the greedy policy",
    "tune": "rlsuite.sweep(agent, env, {'learning_rate': [0.1, 0.5]}) trains an agent with each of these values",
    "envs": "rlsuite.find_env(id) makes an environment, and 'rlsuite envs' on the command line lists them",
    "make": "give an environment's id to learn, train or MDP.from_env; rlsuite.find_env(id) makes the environment",
    "plot": "figures are functions of rlsuite.plotting, such as rlsuite.plotting.episode_return(results)",
    "load_results": "it is rlsuite.experiments.load_results",
    "Experiment": "it is rlsuite.experiments.Experiment",
    "value_iteration": "it is rlsuite.solve(mdp, method='value_iteration')",
    "policy_iteration": "it is rlsuite.solve(mdp, method='policy_iteration')",
    "ValueIteration": "it is rlsuite.solve(mdp, method='value_iteration')",
    "PolicyIteration": "it is rlsuite.solve(mdp, method='policy_iteration')",
    "TileCoding": "it is rlsuite.approximation.TileCoding",
    "REINFORCE": "policy gradients are in rlsuite.approximation",
    "PPO": "rlsuite.approximation has policy gradients and DQN instead",
    "A2C": "rlsuite.approximation has policy gradients and DQN instead",
}
"""Name that people look for in ``rlsuite`` itself -> where it is, or what to write."""


def plain(name: str) -> str:
    """Return a name without differences of spelling: capitals, dashes and underscores.

    >>> plain("--Learning-Rate")
    'learningrate'
    """
    return name.casefold().replace("-", "").replace("_", "")


def nearest(name: str, choices: Iterable[str], n: int = 1, *, value: str = "") -> list[str]:
    """Return at most n likely choices, the likeliest first: synonyms, then similar spellings.

    Parameters
    ----------
    name : str
        What was written.
    choices : iterable of str
        What there is.
    n : int
        How many.
    value : str
        What was written behind the name and ``=``. If given, choices come with ``=`` and how it is written there.

    Examples
    --------
    >>> nearest("alpha", ["--loop", "--learning-rate"])
    ['--learning-rate']
    >>> nearest("epsilon", ["gamma", "exploration"], value="0.1")
    ['exploration=EpsilonGreedy(0.1)']
    >>> nearest("value-iteraton", ["policy_iteration", "value_iteration"])
    ['value_iteration']
    """
    by_plain = {plain(choice): choice for choice in choices}
    forms: dict[str, str] = {}
    for target in SYNONYMS.get(plain(name), ()):
        meant, _, form = target.partition("=")
        forms[meant] = form
    known = [by_plain[plain(target)] for target in forms if plain(target) in by_plain]
    alike = [by_plain[one] for one in get_close_matches(plain(name), by_plain, n=n)]
    found = list(dict.fromkeys([*known, *alike]))[:n]
    if not value:
        return found
    return [f"{one}={(forms.get(one) or '{}').format(value)}" for one in found]


def in_dashes(name: str) -> str:
    """Return a name as it is written on the command line.

    >>> in_dashes("QLearning"), in_dashes("NStepTD"), in_dashes("value_iteration")
    ('q-learning', 'n-step-td', 'value-iteration')
    """
    return re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).replace("_", "-").lower()


def attribute_error(
    owner: str, name: str, choices: Iterable[str], elsewhere: Mapping[str, str] = MappingProxyType({})
) -> AttributeError:
    """Return the error for a missing attribute; it says what to write, if that is known.

    Parameters
    ----------
    owner : str
        What lacks it.
    name : str
        The attribute.
    choices : iterable of str
        Attributes that there are.
    elsewhere : mapping
        `ELSEWHERE`, where people look for these names.

    Examples
    --------
    >>> attribute_error("module 'rlsuite.plotting'", "learning_curve", ["episode_return"]).args[0]
    "module 'rlsuite.plotting' has no attribute 'learning_curve'; did you mean 'episode_return'?"
    """
    sentence = f"{owner} has no attribute {name!r}"
    if name.startswith("_"):  # Python and notebooks look for many of these, and expect that there are none
        return AttributeError(sentence)
    if name in elsewhere:
        return AttributeError(f"{sentence}: {elsewhere[name]}", name=name, obj=None)
    near = nearest(name, [one for one in choices if not one.startswith("_")])
    if not near:
        return AttributeError(sentence)
    # if it were given the object, Python would add a suggestion of its own
    return AttributeError(f"{sentence}; did you mean {near[0]!r}?", name=name, obj=None)
