"""Pages of the environments of ours: what each shows in twenty steps, its spaces, and its parameters.

Written while the site is built, as the gifs are drawn in a few seconds. Where a table says what is best, the steps are
those of the best policy; elsewhere, as in problems with hidden states, actions are drawn at random.
"""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import UnsuitableEnvironment
from rlsuite.rendering import write_gif

STEPS, SEED = 20, 7
DRAWN = "rgb_array"


def names() -> dict[str, str]:
    """The page of each environment that is registered under `rlsuite/`."""
    return {name: name.partition("/")[2] for name in sorted(gymnasium.registry) if name.startswith("rlsuite/")}


def best_actions(env: gymnasium.Env[Any, Any]) -> NDArray[np.int64] | None:
    """The best action of each state, if there is a table whose states are seen."""
    try:
        return rl.solve(rl.MDP.from_env(env, gamma=0.99)).policy
    except UnsuitableEnvironment:
        return None


def film(name: str, file: Path) -> str:
    """Draw some steps; the caption, or nothing if the environment is not drawn."""
    modes = getattr(gymnasium.make(name).unwrapped, "metadata", {}).get("render_modes", [])
    if DRAWN not in modes or "Pendulum" in name:  # which pygame draws
        return ""
    env = gymnasium.make(name, render_mode=DRAWN)
    policy, rng = best_actions(env), np.random.default_rng(SEED)
    state, _ = env.reset(seed=SEED)
    frames = [env.render()]
    for _ in range(STEPS):
        action = policy[state] if policy is not None else rng.integers(env.action_space.n)
        state, _, terminated, truncated, _ = env.step(int(action))
        frames.append(env.render())
        if terminated or truncated:
            break
    write_gif(file, [np.asarray(frame) for frame in (*frames, frames[-1], frames[-1])], fps=2)
    return f"{len(frames) - 1} steps of {'the best policy' if policy is not None else 'random actions'}."


def page(name: str, folder: Path) -> None:
    """Write the page of one environment, and its gif beside it."""
    env = gymnasium.make(name)
    kind = type(env.unwrapped)
    gif = folder / f"{names()[name]}.gif"
    caption = film(name, gif)
    lines = [name, "=" * len(name), ""]
    if caption:
        lines += [f".. figure:: {gif.name}", f"   :alt: {name}, drawn step by step", "", f"   {caption}", ""]
    lines += [
        f":Observations: ``{env.observation_space}``",
        f":Actions: ``{env.action_space}``",
        f":Truncated after: {env.spec.max_episode_steps if env.spec else None} steps",
        "",
        f".. autoclass:: {kind.__module__}.{kind.__name__}",
        "",
    ]
    (folder / f"{names()[name]}.rst").write_text("\n".join(lines), encoding="utf-8")


def write_pages(folder: Path) -> None:
    """Write all of them."""
    folder.mkdir(exist_ok=True)
    for name in names():
        page(name, folder)
