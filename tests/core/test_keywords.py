"""Calls with an unknown keyword: what is probably meant, and what is not repeated in full."""

import re

import pytest

import rlsuite as rl
from rlsuite.approximation import DQN
from rlsuite.core.keywords import as_taken_by, says_what_to_write
from rlsuite.errors import CallError, FormerNameWarning
from rlsuite.experiments import AgentEntry, EnvironmentEntry, Experiment


@says_what_to_write
def plan(mdp, *, tol=1e-6):
    return mdp, tol


def test_known_keywords_are_handed_on():
    assert plan(3, tol=1) == (3, 1)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"tolerance": 1}, "; did you mean tol=1?"),
        ({"gamma": 0.9}, "; the discount factor belongs to the model: mdp.replace(gamma=0.9)"),
        ({"tolerance": "x" * 50}, "; did you mean tol=...?"),
        ({"xyz": 1}, ""),
    ],
)
def test_an_unknown_keyword_is_answered_with_what_is_meant(given, hint):
    with pytest.raises(CallError) as caught:
        plan(3, **given)
    (name,) = given
    assert str(caught.value) == f"plan() has no parameter {name!r}{hint} (parameters: mdp, tol)"


@pytest.mark.parametrize("former", ["checkpoint_every", "checkpoint", "every"])
@pytest.mark.parametrize("value", [7, "seven"])
def test_former_names_work_and_the_warning_shows_the_present_one(former, value):
    present = {"checkpoint_every": "record_every", "checkpoint": "save_to", "every": "save_every"}[former]
    given = {}

    @says_what_to_write
    def learn(*, record_every=1, save_to="", save_every=2):
        given.update(record_every=record_every, save_to=save_to, save_every=save_every)

    sentence = f"{former} is called {present} since rlsuite 0.2, and a later version will not know the former name: "
    with pytest.warns(FormerNameWarning, match=re.escape(f"{sentence}write {present}={value!r}")) as told:
        learn(**{former: value})
    assert given[present] == value
    assert told[0].filename == __file__
    with pytest.raises(CallError, match=f"{former} is the former name of {present}: give {present} alone"):
        learn(**{former: value, present: value})


def test_former_names_in_python(tmp_path):
    path = tmp_path / "run.npz"
    with pytest.warns(FormerNameWarning):
        agent = rl.Sarsa().learn("FrozenLake-v1", steps=100, seed=1, checkpoint_every=30, checkpoint=path, every=60)
    assert (agent.record_.time.tolist(), rl.load(path).steps_) == ([30, 60, 90, 100], 100)
    with pytest.warns(FormerNameWarning):
        results = rl.train(rl.Sarsa(), "FrozenLake-v1", steps=100, seeds=2, checkpoint_every=30)
    assert results.time.tolist() == [30, 60, 90, 100]
    one = {"environments": [EnvironmentEntry("FrozenLake-v1")], "agents": [AgentEntry(rl.Sarsa())], "steps": 100}
    with pytest.warns(FormerNameWarning):
        assert Experiment(**one, checkpoint_every=30).record_every == 30


class Learner(DQN):
    def learn(self, env, *, steps=None, episodes=None, seed=None, evaluate_every=None, checkpoint_every=None):
        raise ValueError(f"every {checkpoint_every} steps")


def test_an_agent_of_ones_own_may_still_take_the_former_names():
    with pytest.raises(ValueError, match="every 30 steps"):
        rl.train(Learner(), "FrozenLake-v1", steps=100, seeds=2, record_every=30)
    assert as_taken_by(Learner.learn, {"steps": 1, "record_every": 3}) == {"steps": 1, "checkpoint_every": 3}
