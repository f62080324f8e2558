"""The words that everybody types, and what they are answered with."""

import contextlib
import copy
import inspect
import pickle
from functools import partial

import numpy as np
import pytest

import rlsuite as rl
from rlsuite import plotting
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.errors import CallError, ModelError, ParameterError
from rlsuite.registry import agent_classes
from rlsuite.synonyms import SYNONYMS, nearest, plain


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"alpha": 0.1}, "learning_rate=0.1"),
        ({"lr": 0.1}, "learning_rate=0.1"),
        ({"learningRate": 0.1}, "learning_rate=0.1"),
        ({"discount": 0.9}, "gamma=0.9"),
        ({"epsilon": 0.1}, "exploration=EpsilonGreedy(0.1)"),
        ({"temperature": 2.0}, "exploration=Softmax(2.0)"),
        ({"gamma": 0.9, "base": 3}, "exploration=Softmax(base=3)"),
        ({"lr": np.zeros((3, 3))}, "learning_rate=..."),
    ],
)
def test_constructors(given, meant):
    name = list(given)[-1]
    with pytest.raises(CallError) as caught:
        rl.QLearning(**given)
    expected = f"QLearning has no parameter {name!r}; did you mean {meant}? (parameters: gamma, exploration, "
    assert str(caught.value).startswith(expected)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ParameterError)


def test_constructors_of_all_agents_know_the_step_size():
    for kind in agent_classes().values():
        hint = r"; did you mean learning_rate=0\.5\?" if "learning_rate" in inspect.signature(kind).parameters else ""
        with pytest.raises(CallError, match=rf"^{kind.__name__} has no parameter 'lr'{hint} \(parameters: "):
            kind(lr=0.5)


def test_parts_of_agents():
    with pytest.raises(CallError, match=r"EpsilonGreedy has no parameter 'eps'; did you mean epsilon=0\.1\?"):
        rl.EpsilonGreedy(eps=0.1)
    with pytest.raises(CallError, match=r"TileCoding has no parameter 'tilings'; did you mean n_tilings=8\?"):
        rl.approximation.TileCoding(tilings=8)
    with pytest.raises(CallError, match=r"Linear has no parameter 'nonsense' \(parameters: start, end, over, per\)"):
        rl.Linear(1.0, 0.1, nonsense=3)


def test_an_agent_with_a_constructor_of_its_own_is_left_alone():
    class Odd(rl.QLearning):
        def __init__(self, flavour: str) -> None:
            super().__init__(gamma=0.5)
            self.flavour = flavour

    assert Odd(flavour="sweet").gamma == 0.5
    with pytest.raises(CallError, match=r"^Odd has no parameter 'flavor'; did you mean flavour='sour'\?"):
        Odd(flavor="sour")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"total_timesteps": 10}, "steps=10"),
        ({"timesteps": 10}, "steps=10"),
        ({"n_episodes": 10}, "episodes=10"),
        ({"num_episodes": 10}, "episodes=10"),
        ({"steps": 10, "verbose": True}, "progress=True"),
    ],
)
def test_learn_and_train(given, meant):
    name = list(given)[-1]
    for verb, call in (
        ("learn", rl.QLearning().learn),
        ("learn", rl.approximation.SemiGradientSarsa(features=rl.approximation.TileCoding()).learn),
        ("train", lambda *where, **how: rl.train(rl.QLearning(), *where, **how)),
    ):
        with pytest.raises(CallError) as caught:
            call("FrozenLake-v1", **given)
        assert str(caught.value).startswith(f"{verb}() has no parameter {name!r}; did you mean {meant}?")


P, R = np.ones((1, 1, 1)), np.zeros((1, 1))


@pytest.mark.parametrize(
    "call",
    [
        partial(rl.MDP.from_arrays, P, R),
        partial(rl.MDP.from_pairs, P, R),
        partial(rl.MDP.from_successors, [[0]], [0.0]),
        partial(rl.MDP.from_table, {0: {0: [(1.0, 0, 0.0, False)]}}),
        partial(rl.MDP.read, "model.npz"),
        partial(rl.POMDP.from_arrays, P, R, P),
        partial(rl.POMDP.read, "model.pomdp"),
    ],
    ids=lambda call: call.func.__qualname__,
)
def test_models_know_the_discount(call):
    with pytest.raises(CallError, match=r"\(\) has no parameter 'discount'; did you mean gamma=0\.9\? \(parameters: "):
        call(discount=0.9)


def test_keywords_of_the_environment_are_left_alone():
    assert rl.MDP.from_env("FrozenLake-v1", gamma=0.9, is_slippery=False).n_states == 16
    with pytest.raises(ParameterError, match="write gamma="):
        rl.MDP.from_env("FrozenLake-v1", is_slippery=False)


def test_learn_of_policy_search_and_from_batches():
    from rlsuite import approximation

    search = approximation.CrossEntropyMethod()
    with pytest.raises(CallError, match=r"^learn\(\) has no parameter 'n_iter'; did you mean iterations=5\?"):
        search.learn("CartPole-v1", n_iter=5)
    with pytest.raises(CallError, match=r"'features'; did you mean policy=LinearPolicy\(OneHot\(\)\)\?"):
        approximation.CrossEntropyMethod(features=approximation.OneHot())
    with pytest.raises(CallError, match=r"^learn\(\) has no parameter 'verbose'; did you mean progress=True\?"):
        approximation.LSPI(features=approximation.Identity()).learn(None, verbose=True)


P3, MODEL = np.ones((1, 1, 1)), rl.MDP.from_successors([[0]], [0.0], gamma=0.5)


@pytest.mark.parametrize(
    ("call", "keyword", "meant"),
    [
        (partial(rl.planning.value_iteration, MODEL), "theta", "tol=7"),
        (partial(rl.planning.policy_iteration, MODEL), "max_iter", "max_iterations=7"),
        (partial(rl.planning.sarsop, rl.POMDP.from_arrays(P3, [[0.0]], P3, gamma=0.5)), "timeout", "deadline=7"),
        (partial(rl.inference.fit, None, []), "n_iter", "max_iterations=7"),
        (partial(rl.HMM([1], [[1]], [[1]]).sample, 5), "random_state", "seed=7"),
        (rl.ParticleFilter, "random_state", "seed=7"),
        (rl.approximation.LSPI, "discount", "gamma=7"),
        (rl.approximation.LSTD, "discount", "gamma=7"),
        (rl.approximation.FittedQ, "discount", "gamma=7"),
        (rl.approximation.CrossEntropyMethod, "discount", "gamma=7"),
        (partial(rl.approximation.Batch.collect, "CartPole-v1"), "total_timesteps", "steps=7"),
        (rl.experiments.Experiment, "n_seeds", "seeds=7"),
        (partial(rl.plotting.value_map, "FrozenLake-v1"), "q_table", "q=7"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_public_functions_and_classes_answer_the_words_of_others(call, keyword, meant):
    with pytest.raises(CallError, match=f"has no parameter '{keyword}'; did you mean {meant}?"):
        call(**{keyword: 7})


def test_the_discount_of_solve_is_gamma():
    with pytest.raises(ParameterError, match=r"unknown option of auto 'discount'; did you mean 'gamma'\?"):
        rl.solve(MODEL, discount=0.9)
    assert rl.solve(MODEL, gamma=0.9).converged


@pytest.mark.parametrize("word", ["discount", "gamma", "discount_factor"])
def test_functions_without_a_discount_say_that_the_model_has_it(word):
    for call, model in (
        (partial(rl.evaluate_policy, MODEL, [0]), "mdp"),
        (partial(rl.planning.value_iteration, MODEL), "mdp"),
        (partial(rl.planning.qmdp, MODEL), "pomdp"),
    ):
        sentence = (
            rf"has no parameter '{word}'; the discount factor belongs to the model: {model}\.replace\(gamma=0\.9\)"
        )
        with pytest.raises(CallError, match=sentence):
            call(**{word: 0.9})


def test_an_hmm_says_where_the_options_of_learning_are():
    with pytest.raises(CallError, match=r"^HMM has no parameter 'n_iter' \(.*fit\(z, max_iterations="):
        rl.HMM(n_iter=5)


def test_the_words_of_others_are_answered_everywhere():
    """No public function or class answers a synonym of one of its parameters in Python's words."""
    bare = set()
    for name, call in public_calls():
        names = {plain(one): one for one in inspect.signature(call).parameters}
        for word, targets in SYNONYMS.items():
            if word not in names and any(plain(target.partition("=")[0]) in names for target in targets):
                with contextlib.suppress(Exception):
                    try:
                        call(**{word: 7})
                    except TypeError as error:
                        if not isinstance(error, CallError):
                            bare.add(name)
    assert bare == set()


def public_calls():
    """All functions of the public packages, and constructors of classes that users make."""
    for module in (rl, rl.models, rl.planning, rl.inference, rl.approximation, rl.experiments, rl.plotting):
        for name in sorted(module.__all__):
            found = getattr(module, name)
            makes = inspect.isclass(found) and issubclass(found, SaysWhatToWrite)
            if inspect.isfunction(found) or makes:
                kinds = {one.kind for one in inspect.signature(found).parameters.values()}
                if inspect.Parameter.VAR_KEYWORD not in kinds:
                    yield f"{module.__name__}.{name}", found


def test_signatures_stay():
    assert list(inspect.signature(rl.train).parameters)[:2] == ["agent", "env"]
    assert list(inspect.signature(rl.QLearning).parameters)[:3] == ["gamma", "exploration", "learning_rate"]
    agent = rl.QLearning(gamma=0.5)
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.gamma == 0.5


@pytest.mark.parametrize(
    ("owner", "name", "sentence"),
    [
        (rl, "SARSA", "module 'rlsuite' has no attribute 'SARSA'; did you mean 'Sarsa'?"),
        (rl, "Q_Learning", "module 'rlsuite' has no attribute 'Q_Learning'; did you mean 'QLearning'?"),
        (rl, "DQN", "module 'rlsuite' has no attribute 'DQN': it is rlsuite.approximation.DQN and needs PyTorch"),
        (rl, "make", "module 'rlsuite' has no attribute 'make': give an environment's id to learn, train or MDP.from_"),
        (rl, "plot", "module 'rlsuite' has no attribute 'plot': figures are functions of rlsuite.plotting, such as "),
        (rl, "envs", "module 'rlsuite' has no attribute 'envs': rlsuite.find_env(id) makes an environment, and "),
        (rl.experiments, "tabel", "module 'rlsuite.experiments' has no attribute 'tabel'; did you mean 'table'?"),
        (plotting, "learning_curve", "module 'rlsuite.plotting' has no attribute 'learning_curve'; did you mean 'eval"),
        (rl.QLearning(), "predict", "QLearning has no attribute 'predict'; did you mean 'act'?"),
        (rl.QLearning(), "q_table", "QLearning has no attribute 'q_table'; did you mean 'q_'?"),
        (rl.QLearning(), "V", "QLearning has no attribute 'V'; did you mean 'q_'?"),
        (rl.TD(), "V", "TD has no attribute 'V'; did you mean 'value_'?"),
        (rl.QLearning(), "fit", "QLearning has no attribute 'fit'; did you mean 'learn'?"),
        (rl.QLearning(), "zzz", "QLearning has no attribute 'zzz'"),
        (rl.HMM([1], [[1]], [[1]]), "transmat_", "HMM has no attribute 'transmat_'; did you mean 'transition'?"),
        (rl.HMM([1], [[1]], [[1]]), "emissionprob_", "HMM has no attribute 'emissionprob_'; did you mean 'emission'?"),
    ],
)
def test_attributes(owner, name, sentence):
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert str(caught.value).startswith(sentence)


def test_what_python_asks_for_is_not_guessed():
    with pytest.raises(AttributeError, match=r"^module 'rlsuite' has no attribute '_repr_html_'$"):
        _ = rl._repr_html_


def test_models_point_to_from_arrays():
    P, R = np.ones((1, 1, 1)), np.zeros((1, 1))
    with pytest.raises(CallError, match=r"For arrays, write MDP\.from_arrays\(P, R, gamma=0\.9\)$"):
        rl.MDP(P, R)
    with pytest.raises(CallError, match=r"For arrays, write MDP\.from_arrays\(P, R, gamma=0\.9\)$"):
        rl.MDP(P, R, 0.9)
    with pytest.raises(ModelError, match=r"For arrays, write POMDP\.from_arrays\(P, R, O, gamma=0\.9\)$"):
        rl.POMDP(P, R, P)
    with pytest.raises(CallError, match=r"For arrays, write POMDP\.from_arrays\(P, R, O, gamma=0\.9\)$"):
        rl.POMDP(P, R, P, 0.9)
    for kind in (rl.MDP, rl.POMDP, rl.HMM, rl.MarkovChain):
        with pytest.raises(CallError, match=rf"^{kind.__name__} needs .*\. For arrays, write {kind.__name__}"):
            kind()
    with pytest.raises(CallError, match=r"^from_mdp\(\) needs mdp and policy$"):
        rl.MarkovChain.from_mdp()
    with pytest.raises(CallError, match=r"^from_states\(\) needs z and states$"):
        rl.HMM.from_states()
    model = rl.MDP.from_arrays(P, R, gamma=0.9)
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.replace(gamma=0.9)):
        assert twin.gamma == 0.9


def test_the_table_is_in_plain_spelling():
    assert [word for word in SYNONYMS if word != plain(word)] == []


def test_synonyms_come_before_what_is_spelled_alike():
    assert nearest("--alpha", ["--loop", "--plot", "--learning-rate"]) == ["--learning-rate"]
    assert nearest("epsilon", ["--epsilon", "--exploration"]) == ["--epsilon"]
    assert nearest("value_iteraton", ["policy_iteration", "value_iteration"], 2)[0] == "value_iteration"


def test_lists_of_names_have_nothing_else():
    for module in (rl, rl.experiments):
        assert set(module.__all__) <= set(dir(module))
        assert [name for name in dir(module) if name not in module.__all__ and not name.startswith("__")] == []
