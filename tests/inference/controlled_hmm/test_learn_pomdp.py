"""POMDPs under known actions: against enumeration of hidden paths, and learned back from what they do."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.inference import HMM
from rlsuite.inference.controlled_hmm.episode_em import decode_episode, parameters_of, score_episodes, smooth_episode
from rlsuite.inference.controlled_hmm.episode_passes import Episode
from rlsuite.inference.controlled_hmm.learn_pomdp import learn_pomdp
from rlsuite.models import MDP, POMDP

pytestmark = pytest.mark.arithmetic

NAN = float("nan")


@st.composite
def pomdps(draw):
    """Small models with zeros, in which some transitions end the episode."""
    states, actions, symbols = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    indptr, next_state, probability, ended = [0], [], [], []
    for _ in range(states * actions):
        outcomes = draw(
            st.lists(st.tuples(st.integers(0, states - 1), st.booleans()), min_size=1, max_size=4, unique=True)
        )
        weights = np.array(draw(st.lists(st.integers(1, 4), min_size=len(outcomes), max_size=len(outcomes))))
        indptr.append(indptr[-1] + len(outcomes))
        next_state += [state for state, _ in outcomes]
        ended += [end for _, end in outcomes]
        probability += (weights / weights.sum()).tolist()
    reward = np.arange(states * actions, dtype=float).reshape(states, actions)
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=states, max_size=states)), dtype=float)
    weights[0] += 1
    mdp = MDP.from_rows(
        indptr,
        next_state,
        probability,
        reward,
        n_actions=actions,
        gamma=0.9,
        terminated=ended,
        start=weights / weights.sum(),
    )
    table = np.array(
        draw(st.lists(st.integers(0, 3), min_size=actions * states * symbols, max_size=actions * states * symbols))
    ).reshape(actions, states, symbols)
    table[..., 0] += 1
    return POMDP(mdp, table / table.sum(axis=2, keepdims=True))


@st.composite
def episodes_of(draw, pomdp):
    length = draw(st.integers(1, 3))
    actions = draw(st.lists(st.integers(0, pomdp.n_actions - 1), min_size=length, max_size=length))
    seen = draw(st.lists(st.integers(-1, pomdp.n_observations - 1), min_size=length, max_size=length))
    states = draw(st.none() | st.lists(st.integers(-1, pomdp.n_states - 1), min_size=length + 1, max_size=length + 1))
    return Episode(actions, seen, None, draw(st.booleans()), states)


def enumerated(pomdp, episodes):
    """Log-likelihood, expected counts and smoothed states, by summing over all hidden paths."""
    S, A, Z = pomdp.n_states, pomdp.n_actions, pomdp.n_observations
    transition = parameters_of(pomdp).transition
    score, sums, smoothed = 0.0, [np.zeros(S), np.zeros(transition.shape), np.zeros((A, S, Z))], []
    for episode in episodes:
        T = len(episode.actions)
        total, mine, posterior = 0.0, [np.zeros_like(one) for one in sums], np.zeros((T + 1, S))
        for path in itertools.product(range(S), repeat=T + 1):
            p = pomdp.start[path[0]]
            for t, (action, seen) in enumerate(zip(episode.actions, episode.observations, strict=True)):
                end = int(episode.terminated and t == T - 1)
                p *= transition[action, end, path[t], path[t + 1]]
                p *= pomdp.observation[action, path[t + 1], seen] if seen >= 0 else 1.0
            if episode.states is not None:
                p *= all(known in (-1, state) for known, state in zip(episode.states, path, strict=True))
            total += p
            mine[0][path[0]] += p
            for t, state in enumerate(path):
                posterior[t, state] += p
            for t, (action, seen) in enumerate(zip(episode.actions, episode.observations, strict=True)):
                end = int(episode.terminated and t == T - 1)
                mine[1][action, end, path[t], path[t + 1]] += p
                if seen >= 0:
                    mine[2][action, path[t + 1], seen] += p
        if total == 0.0:
            return -np.inf, sums, smoothed
        score += np.log(total)
        smoothed.append(posterior / total)
        for one, other in zip(sums, mine, strict=True):
            one += other / total
    return score, sums, smoothed


def normalised(counts, rows):
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 1e-200, counts / np.where(total > 1e-200, total, 1.0), rows)


def by_row(transition):
    actions, _, states, _ = transition.shape
    return transition.transpose(0, 2, 1, 3).reshape(actions, states, -1)


@given(data=st.data())
def test_likelihood_and_posterior_are_those_of_the_enumeration(data):
    pomdp = data.draw(pomdps())
    episode = data.draw(episodes_of(pomdp))
    score, _, smoothed = enumerated(pomdp, [episode])
    assert score_episodes(pomdp, [episode]) == pytest.approx(score, abs=1e-12)
    if episode.states is not None:
        return
    given_ = (episode.actions, episode.observations)
    if score == -np.inf:
        with pytest.raises(ModelError, match="episode 0 is impossible under the model: "):
            smooth_episode(pomdp, *given_, terminated=episode.terminated)
        return
    found = smooth_episode(pomdp, *given_, terminated=episode.terminated)
    np.testing.assert_allclose(found, smoothed[0], atol=1e-12)
    if not episode.terminated and min(episode.observations) >= 0:  # the last belief is the one that updating ends with
        belief = pomdp.start
        for action, seen in zip(*given_, strict=True):
            belief = pomdp.update_belief(belief, action, seen)
        np.testing.assert_allclose(found[-1], belief, atol=1e-12)


@given(data=st.data())
def test_one_step_is_that_of_the_enumeration(data):
    pomdp = data.draw(pomdps())
    episodes = data.draw(st.lists(episodes_of(pomdp), min_size=1, max_size=3))
    score, (start, transition, seen), _ = enumerated(pomdp, episodes)
    if score == -np.inf:
        with pytest.raises(ModelError, match="is impossible under the model"):
            learn_pomdp(episodes, pomdp, max_iterations=1, tol=0)
        return
    learned = learn_pomdp(episodes, pomdp, max_iterations=1, tol=0)
    assert learned.log_likelihoods_[0] == pytest.approx(score, abs=1e-12)
    old, new = parameters_of(pomdp), parameters_of(learned.pomdp)
    np.testing.assert_allclose(new.start, normalised(start, old.start), atol=1e-12)
    np.testing.assert_allclose(
        by_row(new.transition), normalised(by_row(transition), by_row(old.transition)), atol=1e-12
    )
    np.testing.assert_allclose(new.observation, normalised(seen, old.observation), atol=1e-12)
    np.testing.assert_allclose(new.reward, old.reward, atol=1e-12)  # no rewards: those of the model stay
    assert score_episodes(learned.pomdp, episodes) == pytest.approx(learned.log_likelihoods_[-1], abs=1e-9)


@pytest.mark.slow
@given(data=st.data())
def test_the_likelihood_never_decreases(data):
    pomdp = data.draw(pomdps())
    episodes = data.draw(st.lists(episodes_of(pomdp), min_size=1, max_size=4))
    if score_episodes(pomdp, episodes) == -np.inf:
        return
    frozen = data.draw(st.sets(st.sampled_from(["start", "transition", "observation"])))
    learned = learn_pomdp(
        episodes, pomdp, frozen=frozen, prior=data.draw(st.sampled_from([0.0, 0.5])), max_iterations=10, tol=0
    )
    assert (np.diff(learned.log_posteriors_) >= 0.0).all()
    old, new = parameters_of(pomdp), parameters_of(learned.pomdp)
    for part, before, after in (("start", old.start, new.start), ("observation", old.observation, new.observation)):
        assert part not in frozen or after.tolist() == before.tolist()
    if "transition" in frozen:
        np.testing.assert_array_equal(new.transition, old.transition)
    assert not new.transition[old.transition == 0.0].any()


def test_with_one_action_it_is_a_hidden_markov_model():
    transition, table = [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]
    hmm = HMM([0.6, 0.4], transition, table)
    pomdp = POMDP.from_arrays([transition], [0, 0], table, gamma=0.9, start=[0.6, 0.4], order="ass")
    z, _ = hmm.sample(60, seed=1)
    z[0] = -1  # nothing is seen before the first action
    learned = learn_pomdp([([0] * 59, z[1:])], pomdp, max_iterations=5, tol=0)
    expected = hmm.fit(z, max_iterations=5, tol=0)
    np.testing.assert_allclose(learned.log_likelihoods_, expected.log_likelihoods_, rtol=1e-12)
    np.testing.assert_allclose(learned.pomdp.observation[0], expected.emission.table, atol=1e-10)
    np.testing.assert_allclose(parameters_of(learned.pomdp).transition[0, 0], expected.transition, atol=1e-10)
    np.testing.assert_allclose(smooth_episode(pomdp, [0] * 59, z[1:]), hmm.smooth(z), atol=1e-10)


# ----------------------------------------------------------------------------------------------------- tiger


@pytest.fixture(scope="module")
def tiger():
    stay, reset = np.eye(2), np.full((2, 2), 0.5)
    ear, deaf = np.array([[0.85, 0.15], [0.15, 0.85]]), np.full((2, 2), 0.5)
    return POMDP.from_arrays(
        np.stack([stay, reset, reset]),
        np.array([[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]]),
        np.stack([ear, deaf, deaf]),
        gamma=0.95,
        order="ass",
        action_labels=["listen", "open left", "open right"],
    )


@pytest.fixture(scope="module")
def heard(tiger):
    """Episodes of somebody who listens three times, and then opens a door at random."""
    env, rng = tiger.to_env(), np.random.default_rng(0)
    found = []
    for number in range(1000):
        env.reset(seed=None if number else 0)
        actions = [0, 0, 0, int(rng.integers(1, 3))] * 2
        steps = [env.step(action) for action in actions]
        found.append(Episode(actions, [step[0] for step in steps], [step[1] for step in steps]))
    return found


def test_how_well_the_tiger_is_heard_is_learned(tiger, heard):
    guess = tiger.replace(observation=np.stack([[[0.6, 0.4], [0.4, 0.6]], *np.full((2, 2, 2), 0.5)]))
    learned = learn_pomdp(heard, guess, frozen=["transition", "start"])
    assert learned.converged
    np.testing.assert_allclose(learned.pomdp.observation[0], [[0.85, 0.15], [0.15, 0.85]], atol=0.025)
    assert learned.pomdp.action_labels == tiger.action_labels
    assert learned.log_likelihood > score_episodes(tiger, heard)
    assert learned.n_parameters == 6
    assert learned.bic == pytest.approx(6 * np.log(8000) - 2 * learned.log_likelihood)


def test_rewards_are_learned_and_tell_where_the_tiger_was(tiger, heard):
    means = tiger.mdp.expected_reward()
    blurred = learn_pomdp(heard, tiger, frozen=["transition", "start", "observation"])
    np.testing.assert_allclose(blurred.pomdp.mdp.expected_reward()[:, 0], [-1.0, -1.0], atol=1e-12)
    assert abs(blurred.pomdp.mdp.expected_reward()[0, 1] + 100.0) < 25.0
    guess = tiger.replace(reward=np.array([[-1.0, -60.0, 0.0], [-1.0, 0.0, -60.0]]))
    sharp = learn_pomdp(heard, guess, reward_std=20.0)
    np.testing.assert_allclose(sharp.pomdp.mdp.expected_reward(), means, atol=1e-3)
    np.testing.assert_allclose(sharp.pomdp.observation[0], tiger.observation[0], atol=0.025)
    np.testing.assert_allclose(parameters_of(sharp.pomdp).transition[0, 0], np.eye(2), atol=0.02)
    gaps = [episode._replace(rewards=[NAN] * 8) for episode in heard[:5]]
    same = learn_pomdp(gaps, tiger, max_iterations=1, tol=0)
    np.testing.assert_array_equal(same.pomdp.mdp.expected_reward(), means)


def test_the_tiger_is_learned_from_nothing_but_its_size(tiger, heard):
    learned = learn_pomdp(heard, n_states=2, gamma=0.95, restarts=3, seed=2, reward_std=20.0, tol=1e-5)
    assert (
        learned.log_likelihood > learn_pomdp(heard, tiger, reward_std=20.0, max_iterations=1, tol=0).log_likelihoods_[0]
    )
    order = np.argsort(learned.pomdp.mdp.expected_reward()[:, 1])
    np.testing.assert_allclose(learned.pomdp.mdp.expected_reward()[order], tiger.mdp.expected_reward(), atol=1e-3)
    np.testing.assert_allclose(learned.pomdp.observation[0][order], tiger.observation[0], atol=0.05)
    assert learned.reached_.shape == (3,)


def test_known_states_make_it_counting(tiger):
    states = [[0, 0, 1], [1, 1, 0]]
    episodes = [Episode([0, 2], [0, 1], states=states[0]), Episode([0, 1], [1, 1], states=states[1])]
    full = POMDP.from_arrays(np.full((3, 2, 2), 0.5), np.zeros(2), np.full((3, 2, 2), 0.5), gamma=0.9, order="ass")
    learned = learn_pomdp(episodes, full)
    transition = parameters_of(learned.pomdp).transition[:, 0]
    assert transition[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert transition[2].tolist() == [[0.0, 1.0], [0.5, 0.5]]  # never taken in state 1: as before
    assert learned.pomdp.observation[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    shared = learn_pomdp(episodes, full, shared_observation=True)
    np.testing.assert_allclose(shared.pomdp.observation, [[[0.5, 0.5], [0.0, 1.0]]] * 3)


def test_ends_are_learned():
    """In state 1, the first action ends half of the episodes."""
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(300):
        length = int(rng.geometric(0.5))
        episodes.append(Episode([1] + [0] * length, [1] * (length + 1), terminated=True))
    learned = learn_pomdp(episodes, n_states=1, gamma=1.0)
    first, second = (learned.pomdp.mdp.P[0][action] for action in (0, 1))
    chance = sum(p for p, _, _, ended in first if ended)
    assert chance == pytest.approx(300 / sum(len(episode.actions) - 1 for episode in episodes))
    assert [ended for p, _, _, ended in second if p > 0] == [False]


def test_rewards_of_transitions_stay_with_them():
    rewards = np.array([[[0.0, 8.0]], [[4.0, 2.0]]])  # R[s, a, s']
    pomdp = POMDP.from_arrays(np.full((2, 1, 2), 0.5), rewards, np.eye(2), gamma=0.9, start=0)
    learned = learn_pomdp([([0, 0, 0, 0], [0, 0, 0, 1])], pomdp)
    assert learned.pomdp.mdp.expected_reward()[0, 0] == pytest.approx(8.0 / 4)
    assert learned.pomdp.mdp.expected_reward()[1, 0] == pytest.approx(3.0)


def test_states_that_were_ruled_out_do_not_overflow():
    """State 1 is impossible, but would explain what follows 9^1000 times better."""
    stay = POMDP.from_arrays([[[1, 0]], [[0, 1]]], [0, 0], [[0.1, 0.9], [0.9, 0.1]], gamma=0.9, start=0)
    found = smooth_episode(stay, [0] * 1000, [0] * 1000)
    assert found.tolist() == [[1.0, 0.0]] * 1001
    learned = learn_pomdp([([0] * 1000, [0] * 1000)], stay)
    assert np.isfinite(learned.pomdp.observation).all()


def test_what_was_less_probable_than_any_double_can_still_be_true():
    """State 1 explains 400 observations 9 times better each, and the last one not at all."""
    table = [[0.1, 0.8, 0.1], [0.9, 0.1, 0.0]]
    stay = POMDP.from_arrays([[[1, 0]], [[0, 1]]], [0, 0], table, gamma=0.9)
    episode = [0] * 401, [0] * 400 + [2]
    assert score_episodes(stay, [episode]) == pytest.approx(np.log(0.5) + 401 * np.log(0.1), rel=1e-12)
    assert smooth_episode(stay, *episode).tolist() == [[1.0, 0.0]] * 402
    assert decode_episode(stay, *episode)[0].tolist() == [0] * 402
    learned = learn_pomdp([episode, ([0], [0])], stay, max_iterations=1, tol=0)
    chance = 0.1 / (0.1 + 0.9)
    np.testing.assert_allclose(
        learned.pomdp.observation[0], [[(400 + chance) / (401 + chance), 0, 1 / (401 + chance)], [1, 0, 0]], atol=1e-12
    )


def test_evidence_that_turns_around_is_weighed_to_the_end():
    """State 1 explains 400 observations 9 times better each, and then state 0 explains 500 so: it was state 0."""
    stay = POMDP.from_arrays([[[1, 0]], [[0, 1]]], [0, 0], [[0.1, 0.9], [0.9, 0.1]], gamma=0.9)
    episode = [0] * 900, [0] * 400 + [1] * 500
    truth = np.log(0.5) + 400 * np.log(0.1) + 500 * np.log(0.9)
    assert score_episodes(stay, [episode, episode]) == pytest.approx(2 * truth, rel=1e-12)
    np.testing.assert_allclose(smooth_episode(stay, *episode)[:, 1], 0.0, atol=1e-12)
    assert decode_episode(stay, *episode)[0].tolist() == [0] * 901
    learned = learn_pomdp([episode], stay, max_iterations=1, tol=0)
    np.testing.assert_allclose(learned.pomdp.observation[0, 0], [400 / 900, 500 / 900], atol=1e-9)


@pytest.mark.slow
@given(data=st.data())
def test_the_best_path_is_that_of_the_enumeration(data):
    pomdp = data.draw(pomdps())
    episode = data.draw(episodes_of(pomdp))._replace(states=None)
    given_ = (episode.actions, episode.observations)
    best = max(
        (enumerated(pomdp, [episode._replace(states=path)])[0], path)
        for path in itertools.product(range(pomdp.n_states), repeat=len(episode.actions) + 1)
    )
    if best[0] == -np.inf:
        with pytest.raises(ModelError, match="is impossible under the model"):
            decode_episode(pomdp, *given_, terminated=episode.terminated)
        return
    states, log_probability = decode_episode(pomdp, *given_, terminated=episode.terminated)
    assert log_probability == pytest.approx(best[0], abs=1e-12)
    found = enumerated(pomdp, [episode._replace(states=states.tolist())])[0]
    assert found == pytest.approx(best[0], abs=1e-12)


def test_threads_do_not_change_a_bit(tiger, monkeypatch):
    rng = np.random.default_rng(0)
    episodes = [(rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)) for _ in range(12)]
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("rlsuite.core.threads.n_threads", lambda threads=threads: threads)
        found.append(learn_pomdp(episodes, tiger, prior=1.0, max_iterations=2, tol=0).pomdp.observation.tobytes())
    assert found[0] == found[1]


def test_long_episodes_do_not_vanish(tiger):
    rng = np.random.default_rng(0)
    actions, seen = np.zeros(50_000, dtype=int), rng.integers(0, 2, 50_000)
    actions[::7] = 1
    assert -45_000 < score_episodes(tiger, [(actions, seen)]) < -25_000


# ---------------------------------------------------------------------------------------------------- errors


def test_limits(tiger, heard):
    guess = tiger.replace(observation=np.stack([[[0.6, 0.4], [0.4, 0.6]], *np.full((2, 2, 2), 0.5)]))
    with pytest.warns(ConvergenceWarning, match="max_iterations=2 reached"):
        learned = learn_pomdp(heard, guess, max_iterations=2, held_out=heard[:3])
    assert learned.iterations == 2
    assert learned.held_out_[-1] == pytest.approx(score_episodes(learned.pomdp, heard[:3]))
    with pytest.warns(ConvergenceWarning, match="deadline=1e-09 seconds passed"):
        learn_pomdp(heard, guess, deadline=1e-9, restarts=5)


@pytest.mark.parametrize(
    ("episodes", "options", "error", "message"),
    [
        ([], {}, ModelError, "there are no episodes"),
        ([([], [])], {}, ModelError, "episode 0: it has no actions"),
        ([([0], [0]), ([0, 1], [0])], {}, ModelError, r"episode 1: observations has shape \(1,\), not \(2,\)"),
        ([([0, 3], [0, 0])], {}, ModelError, r"episode 0: actions\[1\] is 3; the actions are 0\.\.2"),
        ([([0, -1], [0, 0])], {}, ModelError, r"episode 0: actions\[1\] is missing"),
        ([([0], [2])], {}, ModelError, r"episode 0: observations\[0\] is 2; the observations are 0\.\.1"),
        ([([0], [0], [1.0, 2.0])], {}, ModelError, r"episode 0: rewards has shape \(2,\), not \(1,\)"),
        ([([0], [0], [np.inf])], {}, ModelError, r"episode 0: rewards\[0\] is infinite"),
        ([([0], [0], None, False, [0])], {}, ModelError, r"episode 0: states has shape \(1,\), not \(2,\)"),
        ([([0], [0], None, False, [0, 2])], {}, ModelError, r"states\[1\] is 2; the states are 0\.\.1"),
        ([[0, 1]], {}, ModelError, "episode 0: it is neither an Episode nor a tuple"),
        (
            [([0], [0], None, True)],
            {},
            ModelError,
            r"after actions\[0\]=0, which ended it, observations\[0\]=0 has probability 0",
        ),
        (
            [([0], [0], None, False, [0, 1])],
            {},
            ModelError,
            r"episode 0 is impossible under the model: after actions\[0\]=0",
        ),
        (
            [([0], [0])],
            {"frozen": ["observations"]},
            ParameterError,
            "unknown part in frozen 'observations'; did you mean",
        ),
        ([([0], [0])], {"n_states": 2}, ParameterError, "leave out n_states=2: it follows from the initial model"),
        ([([0], [0])], {"prior": -1.0}, ParameterError, "prior=-1 is negative"),
        ([([0], [0])], {"reward_std": 0.0}, ParameterError, r"reward_std=0\.0 is not a positive number"),
        (
            [([0], [0])],
            {"shared_observation": True},
            ParameterError,
            "a model whose observation probabilities are the same for all actions",
        ),
    ],
)
def test_bad_arguments(tiger, episodes, options, error, message):
    with pytest.raises(error, match=message):
        learn_pomdp(episodes, tiger, **options)


def test_without_a_model_its_size_is_needed():
    with pytest.raises(ParameterError, match="give either an initial model, or n_states and gamma"):
        learn_pomdp([([0], [0])], n_states=2)
    with pytest.raises(ModelError, match=r"episode 0: states\[0\] is 4; the states are 0\.\.1"):
        learn_pomdp([([0], [0], None, False, [4, 0])], n_states=2, gamma=0.9)
    with pytest.raises(ParameterError, match="n_states=0 is less than 1"):
        learn_pomdp([([0], [0])], n_states=0, gamma=0.9)
    larger = learn_pomdp([([0], [-1])], n_states=2, n_actions=3, n_observations=4, gamma=0.9).pomdp
    assert (larger.n_actions, larger.n_observations) == (3, 4)
    assert learn_pomdp([([0], [-1])], n_states=1, gamma=0.9).pomdp.n_observations == 1
