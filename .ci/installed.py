"""Look at rlsuite as its users get it: run by .ci/run where only the wheel is installed, outside the tree.

``python installed.py TREE``: TREE is the checkout that the wheel was built from.
"""

import importlib.util
import sys
from importlib.metadata import distribution, entry_points
from importlib.resources import files
from pathlib import Path

import gymnasium

import rlsuite
import rlsuite_envs

tree = Path(sys.argv[1])

# 1. What is imported is the wheel, and the wheel holds the two packages and nothing else.
for package in (rlsuite, rlsuite_envs):
    assert not Path(package.__file__).is_relative_to(tree), f"{package.__name__} comes from {package.__file__}"
shipped = {Path(str(file)) for file in distribution("rlsuite").files or ()}
tops = {file.parts[0] for file in shipped if not file.parts[0].endswith(".dist-info") and ".." not in file.parts}
assert tops == {"rlsuite", "rlsuite_envs"}, f"the wheel holds {sorted(tops)}"
assert importlib.util.find_spec("envs") is None, "the folder envs became a package of its own"

# 2. Every file of the tree's two packages is in it: maps, experiments and markers as well as modules.
for package, folder in (("rlsuite", tree / "rlsuite"), ("rlsuite_envs", tree / "envs" / "rlsuite_envs")):
    for file in folder.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            name = Path(package) / file.relative_to(folder)
            assert name in shipped, f"{name} is missing from the wheel"
    assert files(package).joinpath("py.typed").is_file()
for point in (*entry_points(group="rlsuite.envs"), *entry_points(group="rlsuite.demos")):
    point.load()

# 3. Every registered environment can be made and stepped, alone and many at once.
ids = sorted(env_id for env_id in gymnasium.registry if env_id.startswith("rlsuite/"))
assert ids, "importing rlsuite_envs registered nothing"
for env_id in ids:
    env = gymnasium.make(env_id)
    _, info = env.reset(seed=7)
    for _ in range(20):
        _, _, terminated, truncated, info = env.step(env.action_space.sample(info.get("action_mask")))
        if terminated or truncated:
            _, info = env.reset()
    env.close()
    envs = gymnasium.make_vec(env_id, num_envs=3)
    envs.reset(seed=7)
    for _ in range(20):
        envs.step(envs.action_space.sample())
    envs.close()
print(f"made and stepped {len(ids)} environments, alone and as vectors: {', '.join(ids)}")

# 4. It learns, compiled; on this grid to the last bit of the optimum.
agent = rlsuite.DeterministicQLearning(gamma=0.9, exploration=rlsuite.EpsilonGreedy(0.5))
agent.learn("rlsuite/GridGoal-v0", steps=2_000, seed=7, loop="compiled")
assert agent.q_.max(axis=1).tolist() == [81.0, 90.0, 100.0, 90.0, 100.0, 0.0], agent.q_
