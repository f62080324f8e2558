import copy
import gc
import pickle
import re
import signal
import subprocess
import sys
import tracemalloc

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite import errors
from rlsuite.approximation.deep import DQN
from rlsuite.core.described import describe
from rlsuite.registry import build_agent, learner_classes
from rlsuite.training.episodes import returns_of

torch = pytest.importorskip("torch")

SMALL = {"hidden": (16,), "learning_starts": 50, "batch_size": 16, "exploration": rl.EpsilonGreedy(0.3)}
ZERO = [[0.0, 0.0, 0.0, 0.0]]


@pytest.fixture(scope="module")
def learned():
    return DQN(**SMALL).learn("CartPole-v1", steps=200, seed=7)


def weights(agent):
    return b"".join(tensor.numpy().tobytes() for tensor in agent.learner_.online.state_dict().values())


def test_same_seed_same_bytes_and_torch_is_left_alone(learned):
    torch.manual_seed(1)
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    again = DQN(**SMALL).learn("CartPole-v1", steps=200, seed=7)
    assert weights(again) == weights(learned)
    assert again.episodes_.tobytes() == learned.episodes_.tobytes()
    assert weights(DQN(**SMALL).learn("CartPole-v1", steps=200, seed=8)) != weights(learned)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.mark.slow
def test_it_conforms():
    """As far as no other test here says so; `check_agent` runs all checks."""
    for name in ("plain_data_describes_it", "a_wrong_parameter_is_refused", "a_file_keeps_it"):
        rl.testing.learners.learner_checks()[name](DQN(**SMALL))


def test_two_halves_are_the_whole(learned):
    # evaluations in between change nothing, and the episode goes on where it stopped
    halves = DQN(**SMALL).learn("CartPole-v1", steps=90, seed=7, evaluate_every=45).learn("CartPole-v1", steps=110)
    assert weights(halves) == weights(learned)
    assert halves.episodes_.tobytes() == learned.episodes_.tobytes()


def test_the_record_tells_what_happened():
    agent = DQN(**SMALL).learn("CartPole-v1", steps=100, seed=7, evaluate_every=40, record_every=30)
    record = agent.record_
    assert (record.seed, record.loop, record.unit) == (7, "stepwise", "steps")
    assert record.time.tolist() == [30, 60, 90, 100]
    assert record.cumulative_reward.tolist() == [30, 60, 90, 100]  # each step pays 1
    assert record.evaluation_time.tolist() == [40, 80, 100]
    # a pole that stands for n steps has earned (1 - gamma^n) / (1 - gamma)
    assert ((record.evaluation > 5) & (record.evaluation < 100)).all()
    np.testing.assert_array_equal(record.episode_return, record.episode_length)
    np.testing.assert_array_equal(agent.episodes_["return"], record.episode_return)
    assert record.episode_length.sum() <= 100
    assert DQN(**SMALL).learn("CartPole-v1", episodes=3, seed=7).episodes_["length"].tolist() == (
        agent.episodes_["length"][:3].tolist()
    )


def test_saved_and_loaded_it_knows_the_same(learned, tmp_path):
    agent = DQN(
        **(SMALL | {"exploration": rl.EpsilonGreedy(rl.Linear(1.0, 0.1, over=100))}),
        learning_rate=rl.Exponential(1e-3, decay=0.999),
        dueling=False,
    ).learn("CartPole-v1", steps=100, seed=3)
    agent.save(tmp_path / "agent.npz")
    again = DQN.load(tmp_path / "agent.npz")
    assert again.q(ZERO).tobytes() == agent.q(ZERO).tobytes()
    assert (again.exploration, again.learning_rate) == (agent.exploration, agent.learning_rate)
    assert (again.hidden, again.dueling, again.seed_) == (agent.hidden, False, 3)
    assert again.episodes_.tobytes() == agent.episodes_.tobytes()
    twice = [DQN.load(tmp_path / "agent.npz").learn("CartPole-v1", steps=80, seed=5) for _ in range(2)]
    assert weights(twice[0]) == weights(twice[1]) != weights(agent)
    assert len(twice[0].episodes_) > len(agent.episodes_)


def test_a_copy_knows_the_same_and_learns_by_itself(learned):
    for twin in (copy.deepcopy(learned), pickle.loads(pickle.dumps(learned))):
        before = weights(learned)
        assert weights(twin) == before
        twin.learn("CartPole-v1", steps=60, seed=1)
        assert weights(twin) != before
        assert weights(learned) == before


@pytest.mark.slow
def test_steps_leave_nothing_behind_in_memory():
    """A block kept at each step, however small, also keeps the heap between two of them from being used again."""
    agent = DQN(**SMALL).learn("CartPole-v1", steps=100, seed=5)
    tracemalloc.start()
    try:
        agent.learn("CartPole-v1", steps=100)
        gc.collect()
        before = tracemalloc.take_snapshot()
        agent.learn("CartPole-v1", steps=2_000)
        gc.collect()
        after = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    # what the record keeps: a few numbers for each episode, and 200 checkpoints
    own = [tracemalloc.Filter(True, "*rlsuite*")]
    grown = after.filter_traces(own).compare_to(before.filter_traces(own), "lineno")
    assert sum(each.count_diff for each in grown) < 1_000


@pytest.mark.slow
def test_the_best_is_restored():
    """Evaluations of a run play the same episodes, so the best is worth again what it was."""
    agent = DQN(**SMALL, learning_rate=0.02)
    with pytest.raises(errors.NotLearned, match=r"nothing was evaluated in this run\. Pass evaluate_every= to learn"):
        agent.learn("CartPole-v1", steps=60, seed=3).restore_best()
    agent = DQN(**SMALL, learning_rate=0.02).learn("CartPole-v1", steps=400, seed=3, evaluate_every=40)
    known = agent.record_.evaluation
    assert known[-1] < known.max()  # or there would be nothing to restore
    now = weights(agent)
    assert weights(agent.restore_best()) != now
    online, target = (list(network.state_dict().values()) for network in agent.learner_.networks.values())
    assert all(torch.equal(one, other) for one, other in zip(online, target, strict=True))
    assert agent._run._evaluator()().value == known.max()


def test_foreign_files_are_refused(learned, tmp_path):
    with pytest.raises(errors.FileError, match="there is no file"):
        DQN.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no arrays")
    with pytest.raises(errors.FileError, match="damaged or was not written by rlsuite"):
        DQN.load(tmp_path / "text.npz")
    learned.save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz") as file:
        arrays = dict(file)
    arrays["online.1.weight"][0, 0] = np.nan
    np.savez(tmp_path / "spoilt.npz", **arrays)
    with pytest.raises(errors.FileError, match=r"1\.weight is .* not finite"):
        DQN.load(tmp_path / "spoilt.npz")
    with pytest.raises(errors.FileError, match=r"1\.weight is .* not finite"):
        rl.load(tmp_path / "spoilt.npz")


@pytest.mark.slow
def test_cart_pole_is_solved():
    """A mean return of 475 of 500. Seed 1 comes there early; benchmarks/cart_pole.py has the runs to the end."""
    agent = DQN().learn("CartPole-v1", steps=2_000, seed=1)
    assert returns_of("CartPole-v1", agent.act, 20, seed=2_000).mean() >= 475


@pytest.mark.slow
def test_images_of_a_grid_through_convolutions(corridor):
    agent = DQN(
        gamma=0.9,
        convolutions=[(4, 2, 1)],
        hidden=(16,),
        learning_rate=0.005,
        learning_starts=50,
        batch_size=32,
        target_rate=0.05,
        exploration=rl.EpsilonGreedy(0.5),
    ).learn(corridor(), steps=1_000, seed=1)
    images = np.stack([corridor().image(cell) for cell in range(5)])
    assert [agent.act(image) for image in images] == [4] * 5  # to the right
    # the exact values of that policy: the goal is 5 - cell steps away
    np.testing.assert_allclose(agent.q(images).max(axis=1), 0.9 ** np.arange(4, -1, -1), atol=0.03)
    assert (returns_of(corridor(), agent.act, 20, seed=2) == 1.0).all()


def test_several_discrete_actions_are_wrapped_as_the_message_says():
    class Levers(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
        action_space = gymnasium.spaces.MultiDiscrete([2, 3])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros(2, dtype=np.float32), {}

        def step(self, action):
            assert self.action_space.contains(action)
            return np.zeros(2, dtype=np.float32), 1.0, True, False, {}

    with pytest.raises(errors.UnsuitableEnvironment, match="MultiDiscrete") as raised:
        DQN().learn(Levers(), steps=10)
    wrapped = re.search(r"\((gymnasium\.wrappers\.TransformAction.*\)) makes one action", str(raised.value))[1]
    env = eval(wrapped, {"gymnasium": gymnasium, "numpy": np, "env": Levers()})
    assert DQN(**SMALL).learn(env, steps=30, seed=1).q([[0.0, 0.0]]).shape == (1, 6)


LINEAR = {
    "ours": {"hidden": (), "dueling": False},
    "priority": {"hidden": (), "dueling": False, "priority": 0.6, "importance": 1.0},
    "environments": {"hidden": (), "dueling": False, "n_envs": 4},
    "own": {"network": lambda shape, n_outputs: torch.nn.Linear(shape[0], n_outputs)},
    "jumps": {"hidden": (), "dueling": False, "train_every": 4, "lessons": 4, "target_every": 20, "target_rate": 1.0},
}


@pytest.mark.cases("ours")
@pytest.mark.parametrize("extra", LINEAR.values(), ids=LINEAR)
def test_ids_through_a_table(extra):
    """A linear network of one-hot ids is a table: on a deterministic lake it finds the exact action values."""
    env = gymnasium.make("FrozenLake-v1", is_slippery=False, desc=["SFF", "FHF", "FFG"])
    agent = DQN(
        **{
            "gamma": 0.9,
            "learning_rate": 0.02,
            "learning_starts": 100,
            "target_rate": 0.1,
            "exploration": rl.RandomActions(),
            **extra,
        }
    ).learn(env, steps=1_500, seed=1)
    exact = rl.solve(rl.MDP.from_env(env, gamma=0.9)).q
    walked = [0, 1, 2, 3, 5, 6, 7]
    np.testing.assert_allclose(agent.q(np.arange(9))[walked], exact[walked], atol=0.03)


def test_forbidden_actions_are_never_taken(corridor):
    env = corridor(masked=True)  # which fails when one is
    agent = DQN(**SMALL).learn(env, steps=100, seed=1, evaluate_every=50)
    assert agent.act(env.image(), env.info()["action_mask"]) == 4


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([1], r"step 1: info\['action_mask'\] has shape \(1,\); for 2 actions it must have \(2,\)"),
        ([1, 1, 1], r"has shape \(3,\)"),
        (1, r"has shape \(\)"),
        ([[1], [1, 0]], "is not an array of 0 and 1"),
        ([0.5, 0.5], "is not an array of 0 and 1"),
        ([2, 3], "is not an array of 0 and 1"),
        (None, "is not an array of 0 and 1"),
    ],
)
def test_a_mask_of_an_environment_that_does_not_fit_is_named(corridor, mask, message):
    class Masking(corridor):
        def info(self):
            return {"action_mask": mask}

    with pytest.raises(errors.LearningError, match=message):
        DQN(**SMALL).learn(Masking(), steps=10, seed=1)


def test_a_mask_to_act_by_that_does_not_fit_is_named(learned):
    for mask in ([1], [1, 1, 1]):  # one number would be taken for all actions
        with pytest.raises(errors.ParameterError, match=r"action_mask has shape .* must have \(2,\)"):
            learned.act(ZERO[0], mask)
    with pytest.raises(errors.ParameterError, match="no action is legal at observation"):
        learned.act(ZERO[0], [0, 0])


def test_ctrl_c_keeps_what_was_learned(corridor):
    class Interrupting(corridor):
        steps = 0

        def step(self, action):
            Interrupting.steps += 1
            if Interrupting.steps == 120:
                signal.raise_signal(signal.SIGINT)
            return super().step(action)

    agent, env = DQN(**SMALL), Interrupting()
    with pytest.raises(KeyboardInterrupt):
        agent.learn(env, steps=1_000, seed=1)
    finished = agent.episodes_["length"].sum()
    assert 80 < finished < 120
    assert agent.q(env.image()[None]).shape == (1, 2)
    agent.learn(env, steps=50)
    assert agent.record_.time[-1] == 119 + 50  # the step that was interrupted does not count
    assert (agent.episodes_["length"] <= 20).all()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((np.full((1, 3, 5), np.nan), 0.0), "Corridor, step 3: observation nan is not a finite number"),
        ((np.zeros(2), 0.0), r"Corridor, step 3: observations have shape \(2,\)"),
        ((np.zeros((1, 3, 5)), np.inf), "Corridor, step 3: the environment returned the reward inf"),
        ((np.zeros((1, 3, 5)), "much"), "Corridor, step 3: the environment returned the reward 'much'"),
        ((np.zeros((1, 3, 5)), None), "Corridor, step 3: the environment returned the reward None"),
        ((np.zeros((1, 3, 5)), np.zeros(2)), "Corridor, step 3: the environment returned the reward array"),
    ],
)
def test_bad_answers_are_named_and_learning_can_go_on(corridor, answer, message):
    # an interrupted episode is left out: two steps of it had been taken
    env, agent = corridor(answer), DQN(**SMALL)
    env.reset(seed=1)
    with pytest.raises(errors.LearningError, match=message):
        agent.learn(env, steps=1_000, seed=4)
    env.answer = None
    assert agent.learn(env, steps=30).record_.time[-1] == 2 + 30


def test_unsuitable_environments_are_named(learned):
    with pytest.raises(
        errors.UnsuitableEnvironment, match=r"need a Discrete action space, got Box.*rlsuite\.DiscreteActions\(env, 3\)"
    ):
        DQN().learn("Pendulum-v1", steps=10)
    with pytest.raises(errors.UnsuitableEnvironment, match="FlattenObservation"):
        DQN().learn("Blackjack-v1", steps=10)
    with pytest.raises(errors.UnsuitableEnvironment, match="Use a new agent for it"):
        learned.learn("Acrobot-v1", steps=10)
    with pytest.raises(errors.UnsuitableEnvironment, match=r"observations have \(4,\)"):
        DQN(convolutions=[(8, 3, 1)]).learn("CartPole-v1", steps=10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", 1.1),
        ("exploration", 0.1),
        ("learning_rate", -1.0),
        ("learning_rate", rl.Inverse(1.0, per="visits")),
        ("hidden", (0,)),
        ("batch_size", 0),
        ("replay_size", 1.5),
        ("learning_starts", 0),
        ("train_every", 0),
        ("target_rate", 2.0),
        ("device", "abacus"),
        ("channels", "middle"),
        ("priority", 1.5),
        ("priority", float("nan")),
        ("importance", -0.1),
        ("importance", rl.Inverse(1.0, per="visits")),
        ("n_steps", 0),
        ("n_envs", 1.5),
        ("frames", 0),
        ("lessons", 0),
        ("target_every", 0),
        ("error_clip", 0.0),
        ("gradient_clip", -1.0),
        ("network", "net"),
    ],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(errors.ParameterError, match=name):
        DQN(**{name: value})


def test_before_learning_there_is_nothing_to_tell(tmp_path):
    for ask in (lambda: DQN().act(ZERO[0]), lambda: DQN().q(ZERO), lambda: DQN().save(tmp_path / "agent.npz")):
        with pytest.raises(errors.NotLearned, match="has not learned yet"):
            ask()


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(errors.MissingPackage, match=r"pip install 'rlsuite\[torch\]'"):
        DQN()


def test_importing_the_package_does_not_load_pytorch():
    code = "import rlsuite.approximation.deep, sys; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.split() == [b"False"]


def test_many_seeds_at_once():
    results = rl.train(DQN(**SMALL), "CartPole-v1", steps=120, seeds=[4, 2], workers=2)
    for record, seed in zip(results.records, (4, 2), strict=True):
        alone = DQN(**SMALL).learn("CartPole-v1", steps=120, seed=seed)
        assert record.episode_return.tolist() == alone.record_.episode_return.tolist()
    with pytest.raises(errors.ParameterError, match="DQN has no compiled loop"):
        rl.train(DQN(**SMALL), "CartPole-v1", steps=10, loop="compiled")


def test_a_reward_beyond_float32_is_named(corridor):
    env = gymnasium.wrappers.TransformReward(corridor(), lambda reward: -1e39)
    with pytest.raises(
        errors.LearningError, match=r"step 1: .* reward -1e\+39, but a network computes in float32, up to"
    ):
        DQN(**SMALL).learn(env, steps=10, seed=1)


EXTRAS = {
    "several steps": {"n_steps": 3},
    "priority": {"priority": 0.6, "importance": rl.Linear(0.4, 1.0, over=100)},
    "frames": {"frames": 3},
    "environments": {"n_envs": 3},
    "lessons": {"train_every": 8, "lessons": 4, "target_every": 5, "target_rate": 1.0},
    "all": {"n_steps": 3, "priority": 0.6, "frames": 2, "n_envs": 4, "train_every": 2, "lessons": 2},
}


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=EXTRAS)
def test_each_extra_learns_the_same_bytes_in_halves_and_is_saved(extra, learned, tmp_path):
    agent = DQN(**SMALL, **extra).learn("CartPole-v1", steps=200, seed=7)
    halves = DQN(**SMALL, **extra).learn("CartPole-v1", steps=90, seed=7, evaluate_every=45)
    halves.learn("CartPole-v1", steps=110)  # in the middle of a round
    assert weights(halves) == weights(agent)
    assert halves.episodes_.tobytes() == agent.episodes_.tobytes()
    assert weights(agent) != weights(learned)
    agent.save(tmp_path / "agent.npz")
    again = DQN.load(tmp_path / "agent.npz")
    assert weights(again) == weights(agent)
    assert {name: getattr(again, name) for name in extra} == extra
    assert returns_of(again.seen("CartPole-v1"), again.act, 2, seed=1).min() > 5


def test_lessons_are_as_many_as_the_parameters_say():
    for extra, lessons in [({}, 151), ({"train_every": 8, "lessons": 4}, 19 * 4), ({"n_envs": 3}, 151 - 2)]:
        agent = DQN(**SMALL, **extra).learn("CartPole-v1", steps=200, seed=7)
        assert agent._run.lessons == lessons  # of the last two steps they follow when the round is over
    jumps = DQN(**SMALL, target_every=151, target_rate=1.0).learn("CartPole-v1", steps=199, seed=7)
    online, target = (list(network.state_dict().values()) for network in jumps.learner_.networks.values())
    assert not any(torch.equal(one, other) for one, other in zip(online, target, strict=True))
    jumps.learn("CartPole-v1", steps=1)
    assert all(torch.equal(one, other) for one, other in zip(online, target, strict=True))


def test_environments_side_by_side_have_episodes_of_their_own(corridor):
    agent = DQN(**SMALL, n_envs=4).learn(corridor(), steps=400, seed=1)
    running = agent._run.running
    assert len({id(one.env) for one in running}) == 4
    assert agent.episodes_["length"].sum() + sum(one.length for one in running if one.present is not None) == 400
    kept = agent._run.replay.kept  # a step of each in turn: what one saw next, it sees four steps later
    follows = (kept.next_observation[:396] == kept.observation[4:400]).all(axis=(1, 2, 3))
    assert follows.mean() > 0.8

    class Unique(corridor):
        def __deepcopy__(self, memo):
            raise TypeError("there is one")

    with pytest.raises(errors.UnsuitableEnvironment, match=r"n_envs=2 needs copies of Unique, .*\(there is one\)"):
        DQN(**SMALL, n_envs=2).learn(Unique(), steps=10)


def test_replay_holds_the_targets_of_several_steps(corridor):
    agent = DQN(**SMALL, gamma=0.5, n_steps=2).learn(corridor(), steps=300, seed=1)
    kept = agent._run.replay.kept
    rows = np.arange(len(agent._run.replay))
    paid = kept.reward[rows]
    assert set(paid.tolist()) == {0.0, 0.5, 1.0}  # the goal pays 1, now or a step later
    assert (kept.discount[rows][paid > 0] == 0.0).all()
    assert set(kept.discount[rows][paid == 0].tolist()) == {0.25, 0.5}  # an episode that was cut off has one step left


class Blinking(gymnasium.Env):
    """Two lights in turn, of which one is seen at a time: only who has seen both can tell which way to go."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.light, self.age = int(self.np_random.integers(2)), 0
        return np.array([self.light], dtype=np.float32), {}

    def step(self, action):
        self.age += 1
        paid = float(self.age == 2 and action == self.light)
        return np.zeros(1, dtype=np.float32), paid, self.age == 2, False, {}


@pytest.mark.slow
def test_who_sees_the_latest_observations_remembers():
    for frames, best in ((1, 0.5), (2, 1.0)):
        agent = DQN(
            frames=frames, hidden=(16,), learning_rate=0.01, learning_starts=50, exploration=rl.EpsilonGreedy(0.5)
        ).learn(Blinking(), steps=400, seed=1)
        assert returns_of(agent.seen(Blinking()), agent.act, 60, seed=1).mean() == pytest.approx(best, abs=0.2)
    with pytest.raises(errors.ParameterError, match=r"this network takes observations of shape \(2, 1\)"):
        agent.act(np.zeros(1))
    with pytest.raises(errors.UnsuitableEnvironment, match="frames=2 puts observations together that are a Box"):
        DQN(frames=2).learn("FrozenLake-v1", steps=10)


@pytest.mark.parametrize("shape", [(6, 5), (2, 6, 5), (6, 5, 2)])
def test_images_one_after_the_other_are_planes(shape):
    class Pictures(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, shape, dtype=np.uint8)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observation_space.sample(), {}

        def step(self, action):
            return self.observation_space.sample(), 0.0, False, False, {}

    agent = DQN(**SMALL, convolutions=[(4, 2, 1)], frames=3).learn(Pictures(), steps=4, seed=1)
    planes = 3 * (1 if len(shape) == 2 else 2)
    assert next(agent.learner_.online.parameters()).shape == (4, planes, 2, 2)
    stack = np.random.default_rng(1).integers(256, size=(1, 3, *shape)).astype(np.uint8)
    entered = agent.learner_.inputs.tensor(stack, "cpu").numpy()[0] * 255.0
    single = [image.transpose(2, 0, 1) if shape[-1] == 2 else np.atleast_3d(image) for image in stack[0]]
    wanted = stack[0] if len(shape) == 2 else np.concatenate(single)
    np.testing.assert_allclose(entered, wanted, atol=1e-3)


def test_images_without_a_range_are_named():
    class Unbounded(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2, 9, 9), dtype=np.float32)
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(
        errors.UnsuitableEnvironment, match=r"images of Unbounded are numbers without bounds.*image / 255"
    ):
        DQN(convolutions=[(4, 2, 1)]).learn(Unbounded(), steps=10)


def test_files_and_the_registry_know_it(tmp_path):
    plain = {"name": "dqn", "hidden": [8], "exploration": {"name": "EpsilonGreedy", "epsilon": 0.2}}
    agent = build_agent(plain)
    assert describe(build_agent(describe(agent))) == describe(agent)
    agent.learn("CartPole-v1", steps=20, seed=1).save(tmp_path / "dqn.npz")
    again = rl.load(tmp_path / "dqn.npz")
    assert again.q([[0.1, 0.2, 0.3, 0.4]]).tobytes() == agent.q([[0.1, 0.2, 0.3, 0.4]]).tobytes()
    assert learner_classes()["DQN"].defaults()["hidden"] == [128, 128]


def test_the_optimum_stands_beside_what_was_learned():
    agent = DQN(**SMALL, gamma=0.9).learn("FrozenLake-v1", steps=60, seed=1, evaluate_every=60, regret=True)
    optimum = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.9)).value_at_start
    assert agent.record_.optimal_value == pytest.approx(optimum, rel=1e-9)
    np.testing.assert_allclose(agent.record_.value_bounds[:2], (0.0, optimum), rtol=1e-6, atol=1e-9)
    assert agent.learn("FrozenLake-v1", steps=5).record_.optimal_value is None
