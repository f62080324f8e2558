import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.cli.filter_table import _followed
from rlsuite.environments.wrappers import BeliefObservation
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.models import MDP, POMDP

LISTEN, OPEN_LEFT = 0, 1
HEAR_LEFT, HEAR_RIGHT = 0, 1


def test_delegates_to_the_hidden_process(tiger):
    assert (tiger.n_states, tiger.n_actions, tiger.n_observations, tiger.gamma) == (2, 3, 2, 0.95)
    assert tiger.start is tiger.mdp.start
    assert tiger.state_labels == ("tiger left", "tiger right")
    assert tiger.action_labels == ("listen", "open left", "open right")
    assert tiger.observation.shape == (3, 2, 2)
    assert not tiger.observation.flags.writeable


def test_tables_of_any_memory_layout_end_up_in_c_order(tiger):
    exact = np.array([[[1, 0], [0, 1]], [[0, 1], [0, 1]], [[0.5, 0.5], [1, 0]]], dtype=np.float32)
    other = POMDP(tiger.mdp, np.asfortranarray(exact))
    assert other.observation.flags.c_contiguous
    assert other.observation.tolist() == exact.tolist()


def test_one_observation_table_for_all_actions():
    pomdp = POMDP.from_arrays(np.full((2, 3, 2), 0.5), [0, 0], [[0.75, 0.25], [0, 1]], gamma=0.9)
    assert pomdp.observation.tolist() == [[[0.75, 0.25], [0, 1]]] * 3


@pytest.mark.parametrize(
    ("net", "exact"),
    [
        (1, Fraction(17, 20)),
        (2, Fraction(289, 298)),
        (3, Fraction(4913, 4940)),
        (4, Fraction(83521, 83602)),
    ],
)
def test_beliefs_of_the_tiger_after_hearing_it_on_the_left(tiger, net, exact):
    belief = tiger.start
    for _ in range(net):
        belief = tiger.update_belief(belief, LISTEN, HEAR_LEFT)
    assert belief[0] == pytest.approx(float(exact), rel=1e-14)
    # Only the net count matters: one hear of each side cancels.
    for heard in (HEAR_RIGHT, HEAR_LEFT):
        belief = tiger.update_belief(belief, LISTEN, heard)
    assert belief[0] == pytest.approx(float(exact), rel=1e-13)


def test_prediction_of_the_tiger(tiger):
    np.testing.assert_allclose(tiger.predict(tiger.start, LISTEN), [0.5, 0.5])
    after = tiger.update_belief(tiger.start, LISTEN, HEAR_LEFT)
    assert tiger.predict(after, LISTEN)[HEAR_LEFT] == pytest.approx(0.745)
    np.testing.assert_allclose(tiger.update_belief(after, OPEN_LEFT, HEAR_LEFT), [0.5, 0.5])


@pytest.mark.slow
@given(data=st.data())
def test_belief_is_the_posterior_of_the_joint_enumeration(data, pomdps):
    """Sum Pr[x_0 .. x_T, z_1 .. z_T, still going] over all hidden paths, and compare with the recursion."""
    pomdp = data.draw(pomdps())
    mdp = pomdp.mdp
    actions = data.draw(st.lists(st.integers(0, pomdp.n_actions - 1), min_size=1, max_size=3))
    belief = mdp.start
    # going[a][s, s'] by hand, from the rows.
    going = np.zeros((mdp.n_actions, mdp.n_states, mdp.n_states))
    for s, a in itertools.product(range(mdp.n_states), range(mdp.n_actions)):
        for p, ahead, _, terminated in mdp.P[s][a]:
            going[a, s, ahead] += 0.0 if terminated else p
    seen = []
    for t, action in enumerate(actions):
        if (belief[~mdp.legal[:, action]] > 0).any():
            with pytest.raises(ParameterError, match="is illegal in state"):
                pomdp.update_belief(belief, action, 0)
            return
        observation = data.draw(st.integers(0, pomdp.n_observations - 1))
        seen.append(observation)
        joint = np.zeros(mdp.n_states)
        for path in itertools.product(range(mdp.n_states), repeat=t + 2):
            weight = mdp.start[path[0]]
            for k in range(t + 1):
                weight *= going[actions[k], path[k], path[k + 1]]
                weight *= pomdp.observation[actions[k], path[k + 1], seen[k]]
            joint[path[-1]] += weight
        if joint.sum() == 0.0:
            with pytest.raises(ParameterError, match="cannot follow action"):
                pomdp.update_belief(belief, action, observation)
            return
        belief = pomdp.update_belief(belief, action, observation)
        np.testing.assert_allclose(belief, joint / joint.sum(), atol=1e-12)


@given(data=st.data())
def test_prediction_is_the_marginal_of_the_joint(data, pomdps):
    pomdp = data.draw(pomdps())
    state = data.draw(st.integers(0, pomdp.n_states - 1))
    for action in np.flatnonzero(pomdp.mdp.legal[state]):
        expected = np.zeros(pomdp.n_observations)
        for p, ahead, _, _ in pomdp.mdp.P[state][int(action)]:
            expected += p * pomdp.observation[action, ahead]
        certain = np.eye(pomdp.n_states)[state]
        np.testing.assert_allclose(pomdp.predict(certain, int(action)), expected, atol=1e-14)


def test_termination_is_observed():
    """Where the episode could have ended, going on rules that out, whatever was seen."""
    pomdp = POMDP.from_arrays(
        [[[0.5, 0.25, 0.25]], [[0, 1, 0]], [[0, 0, 0]]],
        np.zeros(3),
        np.ones((3, 1)),
        gamma=0.9,
        start=0,
        terminated=[False, False, True],
    )
    np.testing.assert_allclose(pomdp.update_belief([1, 0, 0], 0, 0), [2 / 3, 1 / 3, 0])
    assert pomdp.predict([1, 0, 0], 0).tolist() == [1.0]


@pytest.mark.parametrize(
    ("belief", "action", "observation", "message"),
    [
        ([0.5, 0.4], 0, 0, r"belief sums to 0\.9, not 1"),
        ([1.5, -0.5], 0, 0, r"belief\[1\] is -0\.5; probabilities are at least 0"),
        ([1.0], 0, 0, r"belief has shape \(1,\), not \(2,\)"),
        ([float("nan"), 1], 0, 0, r"belief\[0\] is nan"),
        ([0.5, 0.5], 3, 0, r"action=3 is not an action; the actions are 0\.\.2"),
        ([0.5, 0.5], 0.5, 0, "action=0.5 is not a whole number"),
        ([0.5, 0.5], 0, 2, r"observation=2 is not an observation; the observations are 0\.\.1"),
        ([0.5, 0.5], 0, -1, "observation=-1 is less than 0"),
    ],
)
def test_bad_beliefs(tiger, belief, action, observation, message):
    with pytest.raises(ParameterError, match=message):
        tiger.update_belief(belief, action, observation)


def test_impossible_observation():
    clear = POMDP.from_arrays([[[1, 0]], [[0, 1]]], [0, 0], np.eye(2), gamma=0.9)
    with pytest.raises(ParameterError, match="observation=1 cannot follow action=0 in this belief"):
        clear.update_belief([1, 0], 0, 1)


def test_after_the_end_nothing_follows():
    ended = POMDP.from_arrays([[[0, 1]], [[0, 0]]], [0, 0], np.eye(2), gamma=0.9, terminated=[0, 1])
    for call in (ended.predict, ended.update_belief, lambda b, *rest: ended.update_beliefs([b], *rest)):
        with pytest.raises(ParameterError, match=r"the episode has ended in state 1, which has the probability 0\.5"):
            call([0.5, 0.5], 0, *([] if call == ended.predict else [0]))


@pytest.mark.parametrize("stays", [1.0, 0.9])
def test_what_a_thousand_observations_say_is_not_rounded_away(stays):
    """What became improbable becomes probable again, as in a filter that keeps logarithms."""
    rows = np.array([[stays, 1 - stays, 0], [1 - stays, stays, 0], [0, 0, 1]])
    seen = np.array([[0.9, 0.09, 0.01], [0.8, 0.19, 0.01], [0.1, 0.9, 0]])
    pomdp = POMDP.from_arrays(rows[:, None], [0, 0, 0], seen, gamma=0.9, start=[0.3, 0.3, 0.4])
    z = np.repeat([0, 1, 2], [500, 800, 1])
    b, beliefs = np.array([0.3, 0.3, 0.4]) @ rows, []
    expected = rl.HMM(b, rows, seen).filter(z)
    b, several = pomdp.start, np.array([[0.5, 0.5, 0], pomdp.start, [0, 0, 1]])
    env = BeliefObservation(pomdp.to_env())
    env.reset(seed=0)
    ahead = iter(z.tolist())
    env.env.step = lambda _: (next(ahead), 0.0, False, False, {})
    for symbol in z:
        b = pomdp.update_belief(b, 0, symbol)
        several = pomdp.update_beliefs(several[:2], 0, symbol)
        beliefs.append((b, several[1], env.step(0)[0]))
    np.testing.assert_allclose(beliefs, np.stack([expected] * 3, axis=1), rtol=1e-9, atol=1e-300)
    words = pomdp.followed(pomdp.start, 0, None)[0], _followed(pomdp, [0] * z.size, z.tolist())
    assert words[0] == pytest.approx(pomdp.start @ rows)
    np.testing.assert_allclose(words[1][0][1:], expected, rtol=1e-9, atol=1e-300)
    assert words[1][1] == pytest.approx(rl.HMM(pomdp.start @ rows, rows, seen).score(z))
    beliefs = [one for one, *_ in beliefs]
    assert expected[499, 2] == 0 < 0.99 < expected[1299, 2]
    likelier = beliefs[499].copy()
    likelier[:] = [0.5, 0.5, 0]  # a changed array is what it shows
    assert pomdp.update_belief(likelier, 0, 1)[2] == 0
    with pytest.raises(ParameterError, match="observation=2 cannot follow"):
        pomdp.update_belief([0, 0, 1], 0, 2)


def test_replace_reaches_the_hidden_process(tiger):
    changed = tiger.replace(gamma=0.5, observation_labels=("l", "r"))
    assert changed.gamma == 0.5
    assert changed.observation_labels == ("l", "r")
    assert changed.observation is tiger.observation
    assert tiger.gamma == 0.95
    with pytest.raises(ParameterError, match="unknown field 'discount'"):
        tiger.replace(discount=0.5)


@given(data=st.data())
def test_pickle_and_copy(data, pomdps, same):
    pomdp = data.draw(pomdps())
    restored = pickle.loads(pickle.dumps(pomdp))
    same(pomdp.mdp, restored.mdp)
    assert restored.observation.tobytes() == pomdp.observation.tobytes()
    assert copy.copy(pomdp) is pomdp
    assert copy.deepcopy(pomdp) is pomdp


def test_from_env(tiger):
    env = tiger.to_env()
    assert POMDP.from_env(env, gamma=0.75).gamma == 0.75
    assert POMDP.from_env(env, gamma=0.75).observation is tiger.observation
    with pytest.raises(
        UnsuitableEnvironment, match=r"TabularEnv is partially observable: read it with POMDP\.from_env"
    ):
        MDP.from_env(env, gamma=0.9)
    with pytest.raises(UnsuitableEnvironment, match=r"TabularEnv is fully observable: read it with MDP\.from_env"):
        POMDP.from_env(tiger.mdp.to_env(), gamma=0.9)
    with pytest.raises(UnsuitableEnvironment, match=r"FrozenLake-v1 has no POMDP .* POMDP\.from_arrays"):
        POMDP.from_env("FrozenLake-v1", gamma=0.9)


class ThreeParameters(POMDP):
    """A subclass whose constructor takes what it always took."""

    def __init__(self, mdp, observation, observation_labels=None):
        super().__init__(mdp, observation, observation_labels)


@pytest.mark.parametrize("kind", [POMDP, ThreeParameters])
def test_a_model_is_called_what_it_comes_from(kind, tmp_path):
    tiger = kind.from_env("rlsuite_envs:rlsuite/Tiger-v0", gamma=0.95)
    assert type(tiger) is kind
    assert tiger.name == "rlsuite/Tiger-v0"
    assert tiger.replace(gamma=0.5).name == "rlsuite/Tiger-v0"
    assert pickle.loads(pickle.dumps(tiger)).name == "rlsuite/Tiger-v0"
    for suffix in (".npz", ".pomdp"):
        tiger.write(tmp_path / f"beast{suffix}")
        assert kind.read(tmp_path / f"beast{suffix}").name == "beast"
    assert tiger.replace(name="mine").name == "mine"
    assert tiger.replace(name="mine").window(1).name == "mine, windows of 1"
    assert kind(tiger.mdp, tiger.observation).name == ""
    with pytest.raises(ParameterError, match="name=3 is not text"):
        tiger.replace(name=3)


def test_actions_observations_and_beliefs_have_names():
    ear = [[0.85, 0.15], [0.15, 0.85]]
    tiger = POMDP.from_arrays(
        [np.eye(2)], [[-1, -1]], [ear], order="ass", gamma=0.9,
        state_labels=["left", "right"], action_labels=["listen"], observation_labels=["hear left", "hear right"],
    )  # fmt: skip
    nameless = POMDP.from_arrays([np.eye(2)], [[-1, -1]], [ear], order="ass", gamma=0.9)
    half = {"left": 0.5, "right": 0.5}
    after = tiger.update_belief(half, "listen", "hear-left")
    assert after.tolist() == tiger.update_belief([0.5, 0.5], 0, 0).tolist()
    assert tiger.predict({"Left": 1}, "listen").tolist() == tiger.predict([1, 0], 0).tolist()
    plan = rl.solve(tiger)
    assert plan.act(half) == 0
    assert plan.value(half) == plan.value([0.5, 0.5])
    for asked, words in [
        (
            lambda: tiger.update_belief(half, "lisen", 0),
            r"unknown action 'lisen'; did you mean 'listen'\?",
        ),
        (lambda: tiger.update_belief(half, 0, "hear"), r"unknown observation 'hear'.*\(hear left, hear right, 0..1\)"),
        (lambda: nameless.update_belief([0.5, 0.5], "listen", 0), r"unknown action 'listen' \(0..0\)"),
        (lambda: plan.act({"ok": 1}), r"unknown state 'ok' \(left, right, 0..1\)"),
        (lambda: plan.act({"left": 0.5}), "belief sums to 0.5, not 1"),
        (lambda: plan.act({"left": "all"}), r"belief\['left'\]='all' is not a finite number"),
    ]:
        with pytest.raises(ParameterError, match=words):
            asked()
