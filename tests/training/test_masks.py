"""Masks of legal actions: followed where they are law, and refused by name where they say nothing."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.approximation import LinearActorCritic, Reinforce, SemiGradientSarsa
from rlsuite.environments.facts import facts_of
from rlsuite.environments.tabulation import NotTabulated, TabulationFollower, tabulation_of
from rlsuite.errors import LearningError, StepwiseWarning


class Line(gymnasium.Env):
    """Five cells; at both ends there is one way only, and the other raises."""

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it
    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)

    def mask(self):
        return np.array([self.s > 0, True], dtype=np.int8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.np_random.random()
        self.s = 0
        return 0, {"action_mask": self.mask()}

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError("no way there")
        self.np_random.random()
        self.s += 1 if action else -1
        return self.s, -1.0, self.s == 4, False, {"action_mask": self.mask()}


class Tabled(Line):
    """The same with a table that has outcomes for all actions."""

    def __init__(self):
        self.P = {
            s: {a: [(1.0, int(np.clip(s + 2 * a - 1, 0, 4)), -1.0, s + a == 4)] for a in (0, 1)} for s in range(5)
        }
        self.initial_state_distrib = np.eye(5)[0]


class Law(Tabled):
    metadata = {"render_modes": [], "action_mask": "law"}  # noqa: RUF012 - as Gymnasium declares it


PREDICTORS = [rl.TD(), rl.NStepTD(n=3), rl.TDLambda(), rl.EveryVisitMonteCarlo()]


@pytest.mark.slow
@pytest.mark.parametrize("agent", PREDICTORS, ids=lambda agent: type(agent).__name__)
def test_the_default_policy_of_prediction_follows_masks_that_come_by_info(agent):
    agent.learn(Line(), episodes=30, seed=1)
    assert len(agent.episodes_) == 30
    assert agent.policy()[0].tolist() == [0.0, 1.0]
    assert agent.act(0) == 1


@pytest.mark.slow
def test_a_policy_that_takes_no_legal_action_is_told_so():
    with pytest.raises(LearningError, match=r"chose action 0 in state 0, where the legal actions are \[1\]"):
        rl.TD(policy_to_follow=[0, 0, 0, 0, 0]).learn(Line(), steps=10, seed=1)


def test_the_values_are_those_of_the_policy_restricted_to_what_is_legal():
    agent = rl.TD(gamma=0.9, learning_rate=0.01).learn(Line(), steps=20_000, seed=1)
    moves = np.zeros((4, 4))
    moves[0, 1] = 1.0
    for s in (1, 2):
        moves[s, [s - 1, s + 1]] = 0.5
    moves[3, 2] = 0.5
    expected = np.linalg.solve(np.eye(4) - 0.9 * moves, -np.ones(4))
    np.testing.assert_allclose(agent.value_[:4], expected, atol=0.5)


def test_an_environment_that_refuses_what_its_table_allows_is_told_how_to_say_it():
    with pytest.raises(LearningError, match=r"step refused action 0, which info\['action_mask'\]=array.*law"):
        rl.QLearning().learn(Tabled(), steps=100, seed=1)


@pytest.mark.parametrize("loop", ["auto", "stepwise"])
@pytest.mark.filterwarnings("ignore::rlsuite.errors.StepwiseWarning")
def test_masks_that_are_law_are_followed_beside_a_table(loop):
    agent = rl.QLearning().learn(Law(), steps=300, seed=1, loop=loop)
    assert agent.visits_[0, 0] == 0
    assert agent.visits_.sum() == 300


@pytest.mark.slow
def test_masks_that_are_law_are_the_reason_for_the_stepwise_loop():
    reason = r'^Law declares metadata\["action_mask"\] = "law": its masks say .* P\[s\]\[a\] = \[\] instead'
    with pytest.warns(StepwiseWarning, match=reason):
        rl.QLearning().learn(Law(), steps=3, seed=1)
    assert (
        rl.QLearning().learn(Law(), steps=3, seed=1, loop="compiled").record_.loop_reason.startswith("it has been tab")
    )


def test_an_empty_list_in_the_table_says_the_same_and_is_compiled():
    env = Tabled()
    env.P[0][0] = []
    for s in (4,):
        env.P[s] = {0: [], 1: []}
    agent = rl.QLearning().learn(env, steps=300, seed=1, loop="stepwise")
    assert agent.visits_[0, 0] == 0


MASKS = {
    "too long": ([1, 1, 1], r"info\['action_mask'\] has shape \(3,\); for 2 actions it must have \(2,\)"),
    "text": (["a", "b"], r"is not an array of 0 and 1"),
    "one word": ("x", r"is not an array of 0 and 1"),
    "fractions": ([0.5, 0.5], r"is not an array of 0 and 1"),
    "counts": (np.array([2, 3], dtype=np.int8), r"is not an array of 0 and 1"),
    "nothing": (None, r"is not an array of 0 and 1"),
    "no action": (np.zeros(2, dtype=np.int8), r"leaves no action"),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_that_says_nothing_is_named_with_environment_and_step(name):
    mask, message = MASKS[name]

    class Later(Line):
        def step(self, action):
            answer = super().step(action)
            return (*answer[:4], {"action_mask": mask})

    class AtOnce(Line):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed)[0], {"action_mask": mask}

    with pytest.raises(LearningError, match=rf"^Later, step 1: {'.*' if name == 'no action' else ''}.*{message}"):
        rl.QLearning().learn(Later(), steps=10, seed=1)
    for agent in (rl.QLearning(), Reinforce()):
        with pytest.raises(LearningError, match=rf"^AtOnce, reset: .*{message}"):
            agent.learn(AtOnce(), steps=10, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "agent", [Reinforce(), LinearActorCritic(), SemiGradientSarsa()], ids=lambda a: type(a).__name__
)
def test_evaluations_of_linear_agents_follow_masks_that_come_by_info(agent):
    env = gymnasium.wrappers.TimeLimit(Line(), 20)
    agent.learn(env, steps=60, seed=1, evaluate_every=30)  # Line raises where a mask is not followed
    assert agent.record_.evaluation.shape == (2,)


class Widening(Line):
    """Learning ends before it comes to the far cells, in which only one action is legal; evaluation comes there."""

    observation_space = gymnasium.spaces.Discrete(40)

    def mask(self):
        return np.array([self.s < 3 or self.s % 2, self.s < 3 or self.s % 2 == 0], dtype=np.int8)

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError("no way there")
        self.np_random.random()
        self.s += 1
        return self.s, 1.0, self.s == 39, False, {"action_mask": self.mask()}


class Alternating(Line):
    """Which action is legal depends on the time, which the observation does not tell."""

    def mask(self):
        return np.array([self.time % 2, 1 - self.time % 2], dtype=np.int8)

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return super().reset(seed=seed)

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError("no way there")
        self.np_random.random()
        self.time += 1
        self.s = (self.s + 1) % 5
        return self.s, -1.0, False, self.time == 12, {"action_mask": self.mask()}


@pytest.mark.parametrize("env", [Widening, Alternating])
@pytest.mark.parametrize("agent", [rl.QLearning, rl.TD], ids=lambda a: a.__name__)
def test_evaluations_of_tabular_agents_follow_masks_that_come_by_info(agent, env):
    learned = agent().learn(env(), steps=4, seed=1, evaluate_every=2)  # both raise where a mask is not followed
    assert learned.record_.evaluation_return.tolist() == ([39.0, 39.0] if env is Widening else [-12.0, -12.0])


class Slipping(Line):
    """A third action, which exists in every other cell, may slip; where an episode ends, no mask is told."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(3)

    def mask(self):
        return np.array([self.s > 0, True, self.s % 2 == 0])

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError("no way there")
        slips = action == 2 and self.np_random.random() < 0.5
        self.s += 0 if slips else (1, -1)[action == 0]
        return self.s, -1.0, self.s == 5, False, {} if self.s == 5 else {"action_mask": self.mask()}


class Paired(Slipping):
    """Shows the cells in pairs, which have different legal actions."""

    observation_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        return observation // 2, info

    def step(self, action):
        observation, *rest = super().step(action)
        return (observation // 2, *rest)


ASKED = {
    "Slipping-QLearning": (Slipping, rl.QLearning),
    "Paired-QLearning": (Paired, rl.QLearning),
    "Slipping-DynaQ": (Slipping, rl.DynaQ),
    "Slipping-RMax": (Slipping, rl.RMax),
    "Slipping-PrioritizedSweeping": (Slipping, rl.PrioritizedSweeping),
    "Slipping-NStepSarsa": (Slipping, rl.NStepSarsa),
    "Law-QLearning": (Law, rl.QLearning),
}


@pytest.mark.cases("Paired-QLearning")
@pytest.mark.parametrize("name", ASKED)
def test_masks_are_followed_on_a_table_that_was_asked_for(name):
    """The compiled loop notes them as it goes, as the stepwise loop does: the initial mask of a cell allows all."""
    kind, agent = ASKED[name]
    learned = []
    for options in ({"tabulate": True}, {"loop": "stepwise"}):
        env = gymnasium.wrappers.TimeLimit(kind(), 12)
        learned.append(agent().learn(env, steps=2_500, seed=3, **options).learn(env, steps=300))
    one, other = learned
    assert (one.record_.loop, other.record_.loop) == ("compiled", "stepwise")
    assert one.q_.tobytes() == other.q_.tobytes()
    assert one.policy().tobytes() == other.policy().tobytes()


def test_masks_are_legal_actions_of_the_model():
    model = rl.tabulate(Slipping())
    assert model.legal[:5].tolist() == [[s > 0, True, s % 2 == 0] for s in range(5)]
    hidden = rl.tabulate(Paired())
    assert sorted(hidden.mdp.legal.sum(axis=1).tolist()) == [0, 2, 2, 2, 3, 3]


class ByWay(Line):
    """Which action is legal depends on the one before, on which nothing that follows depends."""

    def mask(self):
        return np.array([self.s > 0 and self.way == 1, True])

    def reset(self, *, seed=None, options=None):
        self.way = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.way = action
        self.s += 1 if action else -1
        return self.s, -1.0, self.s == 4, False, {"action_mask": self.mask()}


def test_what_masks_alone_depend_on_is_part_of_the_state():
    env = ByWay()
    env.reset(seed=1)
    assert tabulation_of(facts_of(env), seconds=9.0, masks=True).probe.in_state == {"s", "way"}


@pytest.mark.parametrize(
    ("mask", "why"),
    [
        ([1, 2, 1], "is not an array of 0 and 1"),
        ([0, 0, 0], "is missing, or leaves no action"),
        (None, "is not an array of 0 and 1"),
    ],
)
def test_masks_that_say_nothing_are_not_tabulated(mask, why):
    class Empty(Slipping):
        def step(self, action):
            observation, reward, _, _, info = super().step(action)
            return observation, reward, False, False, {**info, "action_mask": mask}

    env = Empty()
    env.reset(seed=1)
    with pytest.raises(NotTabulated, match=why):
        tabulation_of(facts_of(env), seconds=2.0, masks=True)


def test_another_mask_than_was_found_is_a_difference():
    env = Slipping()
    env.reset(seed=1)
    follower = TabulationFollower(facts_of(env), tabulation_of(facts_of(env), seconds=9.0, masks=True))
    follower.begin(0)
    observation, info = env.reset()
    follower.after_reset(observation, info)
    follower.after_step(1, env.step(1))
    assert not follower.difference
    *answer, info = env.step(1)
    follower.after_step(1, (*answer, {"action_mask": ~info["action_mask"]}))
    assert "says other legal actions than its info['action_mask']" in follower.difference


@pytest.mark.slow
def test_many_seeds_ask_for_masks_once(monkeypatch):
    asked = []

    def counted(facts, **options):
        asked.append(facts)
        return tabulation_of(facts, **options)

    monkeypatch.setattr("rlsuite.environments.forms.tabulated.tabulation_of", counted)
    monkeypatch.setattr("rlsuite.environments.forms.tabulated._known", [])
    found = rl.train(rl.QLearning(), Paired(), steps=1_200, seeds=3, loop="compiled").records
    stepped = rl.train(rl.QLearning(), Paired(), steps=1_200, seeds=3, loop="stepwise").records
    assert [one.loop for one in found] == ["compiled"] * 3
    assert len(asked) == 1
    for one, other in zip(found, stepped, strict=True):
        assert one.episode_return.tobytes() == other.episode_return.tobytes()
