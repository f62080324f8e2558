"""Names that other libraries and books use: the one table behind "did you mean".

Commands, TOML files, constructors, functions and attributes all look here, before they look for a name spelled alike.
"""

import inspect
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

_MEANT: Final[dict[tuple[str, ...], str]] = {
    # parameters of agents
    ("learning_rate",): "alpha lr eta stepsize",
    ("gamma",): "discount discountfactor discountrate",
    ("epsilon", "exploration=EpsilonGreedy({})", "tol"): "epsilon eps epsilonstart explorationrate",
    ("temperature", "exploration=Softmax({})"): "temperature temp tau",
    ("base", "exploration=Softmax(base={})"): "base",
    ("lambda_",): "lam lambd lmbda gaelambda tracedecay",
    ("features", "policy=LinearPolicy({})"): "features",
    ("initial_value",): "initialq qinit",
    ("replay_size",): "buffersize",
    ("hidden",): "netarch",
    # how long, how often, how
    ("steps",): "totaltimesteps timesteps numsteps nsteps",
    ("max_episode_steps", "steps"): "maxsteps",
    ("episodes",): "nepisodes numepisodes totalepisodes maxepisodes nevalepisodes",
    ("seeds",): "nseeds numseeds repetitions runs",
    ("seed",): "randomstate",
    ("random_state",): "seed",
    ("workers",): "njobs nthreads threads",
    ("evaluate_every",): "evalfreq evalevery",
    ("save_every",): "savefreq checkpointevery checkpointfreq",
    ("progress",): "verbose progressbar",
    ("tol",): "tolerance theta",
    ("gap", "tol"): "precision",
    ("deadline",): "timeout",
    ("iterations", "max_iterations", "max_iter"): "maxiter maxiterations niter niterations numiterations iterations",
    # what agents have and do
    ("act",): "predict chooseaction getaction selectaction sampleaction",
    ("learn",): "fit train",
    ("q_", "q"): "qtable qvalues actionvalues qfunction",
    ("value_", "value", "q"): "statevalues values value v",
    # hidden Markov models
    ("n_states",): "ncomponents nhiddenstates k",
    ("n_symbols",): "nfeatures nobservations",
    ("n_components",): "nmix",
    ("restarts", "n_init"): "ninit",
    ("start_", "start"): "startprob startprobability initial",
    ("transition_", "transition"): "transmat transitionmatrix",
    ("probabilities_", "emission"): "emissionprob emissionmatrix",
    ("covariances_",): "covars covariance",
    ("rates_",): "lambdas",
    ("predict", "decode"): "decode viterbi",
    ("predict_proba", "smooth"): "posteriors scoresamplesposteriors",
    # models and planners
    ("costs", "reward=lambda ...: -cost(...)"): "cost",
    ("cost", "reward=lambda ...: -costs(...)"): "costs",
    ("average_reward_policy_iteration",): "average averagereward",
    # names of this package
    ("find_env",): "make",
    ("QLearning",): "qlearner",
    ("Sarsa",): "sarsalearning",
    ("TD",): "tdlearning",
    ("MonteCarloControl", "FirstVisitMonteCarlo"): "montecarlo",
    ("UCB1",): "ucb",
    ("PengQLambda", "WatkinsQLambda", "NaiveQLambda"): "qlambda",
    ("Softmax",): "boltzmannexploration",
    ("evaluation", "episode_return", "cumulative_reward"): "learningcurve learningcurves",
    ("cumulative_reward", "episode_return"): "rewards",
    ("episode_return",): "returns",
    ("value_map", "state_values"): "valuefunction",
    ("value_map",): "heatmap plotvalues",
}
"""Names in this package, of which the first that exists is meant -> words for it, without capitals and underscores.

What follows a name after ``=`` is how a value is written there.
"""

SYNONYMS: Final = {word: names for names, words in _MEANT.items() for word in words.split()}

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


class AnswersOtherWords:
    """Base of classes whose missing attributes are answered with ours, such as hmmlearn's ``transmat_``."""

    if not TYPE_CHECKING:  # type checkers should look at what there is

        def __getattr__(self, name: str) -> object:
            """Say which attribute is probably meant; a property says itself why it has no value yet."""
            known = inspect.getattr_static(type(self), name, None)
            if isinstance(known, property):
                return known.fget(self)
            there = {*dir(type(self)), *vars(self)}  # what some libraries' dir() lists depends on what there is
            raise attribute_error(type(self).__name__, name, there)
