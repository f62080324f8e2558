import ast
import copy
import importlib
import inspect
import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.utils.passive_env_checker import env_render_passive_checker
from gymnasium.vector import AutoresetMode

import rlsuite_envs
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.vector_env import TabularVectorEnv
from rlsuite.errors import RlsuiteWarning
from rlsuite.models import MDP, POMDP

# A value other than the default for keywords of every environment; which environment takes which is found out.
OTHER_VALUES = {
    "walls": "stay",
    "goal_reward": 7.0,
    "reading": "B",
    "width": 6,
    "height": 6,
    "slip": 0.3,
    "map": ["S.G", "..X"],
    "step_cost": 0.5,
    "fall": "end",
    "moves": "kings",
    "n": 4,
    "mover": "chance",
    "small": 1.0,
    "forward": 0.4,
    "arms": 3,
    "kind": "bernoulli",
    "drift": 0.1,
    "accuracy": 0.7,
    "window": 2,
    "changed": True,
    "n_actions": 4,
    "mean": 0.5,
    "dealer_sticks_on": 16,
    "gamma": 0.5,
    "doors": 3,
    "after_goal": "end",
    "sight": 0.8,
    "success": 0.7,
    "k": 3,
    "illegal": "mask",
    "flee": 0.6,
    "light": 5,
    "epsilon": 0.3,
    "reach": 2,
    "rewarded": [1],
}


def spec_of(env_id):
    return gymnasium.spec(env_id)


def class_of(env_id):
    module, name = spec_of(env_id).entry_point.split(":")
    classes = rlsuite_envs.env_classes() if module == "rlsuite_envs.made" else vars(importlib.import_module(module))
    return classes[name]


def keywords_of(env_id):
    return inspect.signature(class_of(env_id)).parameters


def other_keywords(env_id):
    return {name: value for name, value in OTHER_VALUES.items() if name in keywords_of(env_id)}


def rollout(env, steps=200):
    lived = [env.reset(seed=123)]
    env.action_space.seed(5)
    for _ in range(steps):
        mask = lived[-1][-1].get("action_mask")
        lived.append(env.step(env.action_space.sample(mask)))
        if lived[-1][2] or lived[-1][3]:
            lived.append(env.reset())
    return tuple(lived)


@pytest.mark.cases(".*(GridGoal|Bandit|Tiger).*")
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@pytest.mark.parametrize("changed", [False, True])
def test_check_env_has_nothing_to_say(env_id, render_mode, changed):
    kwargs = other_keywords(env_id) if changed else {}
    assert len(kwargs) >= 2 * changed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(env_id, render_mode=render_mode, **kwargs).unwrapped
        warnings.filterwarnings("ignore", "render_mode='human' shows nothing", RlsuiteWarning)  # no display
        check_env(env)
        if render_mode is not None:
            env_render_passive_checker(env)


def test_two_copies_live_the_same_life(env_id):
    first, second = rollout(gymnasium.make(env_id)), rollout(gymnasium.make(env_id))
    assert data_equivalence(first, second, exact=True)


@pytest.mark.cases(".*(Grid|Tiger|Bandit).*")
@pytest.mark.parametrize("double", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("changed", [False, True])
def test_copies_and_pickles_go_on_alike(env_id, double, changed):
    env = gymnasium.make(env_id, **(other_keywords(env_id) if changed else {}))
    rollout(env, 30)
    other = double(env)
    for action in (0, 1 % env.action_space.n, 0):
        assert data_equivalence(env.step(action), other.step(action), exact=True)
    assert data_equivalence(env.reset(), other.reset(), exact=True)
    assert data_equivalence(rollout(env), rollout(other), exact=True)


def test_the_spec_survives_json(env_id):
    env = gymnasium.make(env_id, **other_keywords(env_id))
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert data_equivalence(rollout(env), rollout(again), exact=True)
    assert json.loads(env.spec.to_json())["max_episode_steps"] == spec_of(env_id).max_episode_steps


def test_episodes_are_cut_at_the_documented_length(env_id):
    limit = rlsuite_envs.TIME_LIMITS[env_id.removeprefix("rlsuite/")]
    assert gymnasium.make(env_id).spec.max_episode_steps == limit


def test_the_model_can_be_read_and_keeps_the_environment_honest(env_id):
    env = gymnasium.make(env_id)
    env.reset(seed=1)
    kind = POMDP if isinstance(env.unwrapped.model, POMDP) else MDP
    model = kind.from_env(env, gamma=0.5)
    assert model.gamma == 0.5
    twin = TabularEnv(model)
    twin.np_random = copy.deepcopy(env.unwrapped.np_random)
    twin.s = env.unwrapped.s
    for action in np.random.default_rng(0).integers(0, model.n_actions, 50).tolist():
        found, wanted = env.step(action), twin.step(action)
        assert found[:3] == wanted[:3]
        if found[2] or found[3]:
            assert env.reset()[0] == twin.reset()[0]


def test_only_bandits_override_step_and_reset(env_id):
    env_class = class_of(env_id)
    assert issubclass(env_class, TabularEnv)
    overridden = (env_class.step, env_class.reset) != (TabularEnv.step, TabularEnv.reset)
    assert overridden == env_id.startswith("rlsuite/Bandit")


def test_every_keyword_is_documented_and_has_a_default(env_id):
    documented = inspect.getdoc(class_of(env_id)).partition("Parameters")[2].partition("Notes")[0]
    for name, parameter in keywords_of(env_id).items():
        assert parameter.default is not inspect.Parameter.empty, name
        assert any(name in line.split(":")[0].replace(",", " ").split() for line in documented.splitlines()), name


def test_rendering_shows_something_new_after_a_step(env_id):
    for mode in ("ansi", "rgb_array"):
        env = gymnasium.make(env_id, render_mode=mode)
        env.reset(seed=1)
        before = env.render()
        legal = env.unwrapped.reset()[1].get("action_mask", np.ones(env.action_space.n))
        env.step(int(np.argmax(legal)))
        after = env.render()
        assert type(before) is type(after) is (str if mode == "ansi" else np.ndarray)
        assert not np.array_equal(before, after)


# ----------------------------------------------------------------------------------------------- vectorised


@pytest.mark.cases(".*(Cliff|GridGoal|Tiger).*")
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("changed", [False, True])
def test_make_vec_steps_copies_in_numpy(env_id, mode, changed):
    kwargs = other_keywords(env_id) if changed else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = gymnasium.make_vec(env_id, num_envs=6, autoreset_mode=mode, **kwargs)
        twin = gymnasium.make_vec(env_id, num_envs=6, autoreset_mode=mode, **kwargs)
    assert isinstance(envs, TabularVectorEnv)
    assert envs.metadata["autoreset_mode"] is mode
    single = gymnasium.make(env_id, **kwargs)
    assert envs.single_observation_space == single.observation_space
    assert envs.single_action_space == single.action_space
    assert data_equivalence(envs.reset(seed=8), twin.reset(seed=8), exact=True)
    envs.action_space.seed(3)
    for _ in range(150):
        actions = envs.action_space.sample()
        step = envs.step(actions)
        assert data_equivalence(step, twin.step(actions), exact=True)
        assert step[0] in envs.observation_space
        over = step[2] | step[3]
        if mode is AutoresetMode.DISABLED and over.any():
            options = {"reset_mask": over}
            assert data_equivalence(envs.reset(options=options), twin.reset(options=options), exact=True)


def test_vector_copies_have_the_infos_of_single_ones(env_id):
    theirs = gymnasium.make_vec(env_id, num_envs=3, vectorization_mode="sync")
    envs = gymnasium.make_vec(env_id, num_envs=3)
    for mine, other in ((envs.reset(seed=1), theirs.reset(seed=1)), (envs.step([0, 0, 0]), theirs.step([0, 0, 0]))):
        assert mine[-1].keys() == other[-1].keys()
        for key in mine[-1]:
            assert (mine[-1][key].shape, mine[-1][key].dtype) == (other[-1][key].shape, other[-1][key].dtype), key


def test_vector_copies_are_cut_at_the_documented_length(env_id):
    assert gymnasium.make_vec(env_id, num_envs=2)._limit == spec_of(env_id).max_episode_steps
    assert gymnasium.make_vec(env_id, num_envs=2, max_episode_steps=3)._limit == 3


@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
def test_vector_copies_are_drawn_like_single_ones(env_id, render_mode):
    envs = gymnasium.make_vec(env_id, num_envs=2, render_mode=render_mode)
    envs.reset(seed=1)
    single = gymnasium.make(env_id, render_mode=render_mode).unwrapped
    single.reset(seed=1)
    single.s = int(envs.states[0])
    assert np.array_equal(envs.render()[0], single.render())


def test_the_vector_form_of_an_unknown_class_is_missing():
    vectors = importlib.import_module("rlsuite_envs.vectors")
    with pytest.raises(AttributeError, match="no attribute 'NoSuchEnv'"):
        _ = vectors.NoSuchEnv


# ------------------------------------------------------------------------------------------------- the package


def test_every_class_is_registered_and_every_id_has_a_class():
    registered = {spec_of(f"rlsuite/{name}").entry_point.split(":")[1] for name in rlsuite_envs.TIME_LIMITS}
    assert registered == set(rlsuite_envs.env_classes()) - {"GridEnv"}


def test_the_library_imports_no_environment():
    folder = Path(inspect.getfile(TabularEnv)).parent
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            imported = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.startswith("rlsuite_envs") for name in imported), file


def test_importing_it_by_its_folder_says_what_to_import():
    root = Path(inspect.getfile(rlsuite_envs)).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", "import envs.rlsuite_envs"], cwd=root, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "ImportError" in run.stderr
    assert "write 'import rlsuite_envs'" in run.stderr


def test_importing_it_needs_neither_numba_nor_matplotlib():
    code = "import sys, rlsuite_envs; print({'numba', 'matplotlib', 'pandas', 'pygame'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
