"""One run of DQN, for `dqn.py`: ``python dqn_worker.py SIDE ENVIRONMENT SEED STEPS DEVICE``, on one thread.

Prints what the greedy policy was worth at four times, and the processor seconds that learning took without this.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from dqn_problems import PROBLEMS, Problem

import rlsuite as rl
from rlsuite.approximation.deep import DQN
from rlsuite.training.episodes import returns_of

TIMES, EPISODES, TEST_SEED = 4, 20, 777_000

Act = Callable[[Any], int]


def worth(env: str, gamma: float, act: Act) -> float:
    """Share of the optimum where there is a table, else the mean return of episodes with seeds of their own."""
    if not hasattr(gymnasium.make(env).unwrapped, "P"):
        return float(returns_of(env, act, EPISODES, seed=TEST_SEED).mean())
    mdp = rl.MDP.from_env(env, gamma=gamma)
    policy = np.eye(mdp.n_actions)[[act(state) for state in range(mdp.n_states)]]
    best = mdp.start @ rl.solve(mdp).value
    return float(mdp.start @ rl.planning.evaluate_policy(mdp, policy) / best)


def raw(env: str) -> gymnasium.Env[Any, Any]:
    """The environment with observations without bounds, which our network takes as they are, as the other one does."""
    made = gymnasium.make(env)
    if not isinstance(made.observation_space, gymnasium.spaces.Box):
        return made
    space = gymnasium.spaces.Box(-np.inf, np.inf, made.observation_space.shape, np.float32)
    return gymnasium.wrappers.TransformObservation(made, lambda seen: seen, space)


def ours(problem: Problem, steps: int, parts: dict[str, Any], device: str) -> DQN:
    """An agent with the settings of the problem, and other parts of the algorithm."""
    # Stable-Baselines3 shortens gradients to 10, of half the squared error
    clips = {"error_clip": 1.0, "gradient_clip": 2 * 10.0}
    own = {"double": False, "dueling": False, "target_rate": 1.0, **clips, **parts}
    fall = rl.Linear(1.0, problem.exploration_final_eps, over=int(problem.exploration_fraction * steps))
    return DQN(
        gamma=problem.gamma,
        hidden=problem.hidden,
        learning_rate=problem.learning_rate,
        batch_size=problem.batch_size,
        replay_size=problem.buffer_size,
        learning_starts=problem.learning_starts,
        train_every=problem.train_freq,
        lessons=problem.gradient_steps,
        target_every=problem.lessons_per_jump,
        exploration=rl.EpsilonGreedy(fall),
        device=device,
        **own,
    )


def run_ours(
    env: str, problem: Problem, seed: int, steps: int, parts: dict[str, Any], device: str
) -> tuple[float, list[float]]:
    """Learn, and stop four times to look."""
    made = raw(env)
    agent, spent, scores = ours(problem, steps, parts, device), 0.0, []
    ours(problem, 100, parts, device).learn(raw(env), steps=20, seed=0)  # compiles
    for time_ in range(TIMES):
        began = time.process_time()
        agent.learn(made, steps=steps // TIMES, seed=seed if time_ == 0 else None)
        spent += time.process_time() - began
        scores.append(worth(env, problem.gamma, agent.act))
        print(f"{len(scores)} of {TIMES}: {scores[-1]:.3g}", file=sys.stderr, flush=True)
    return spent, scores


def run_theirs(env: str, problem: Problem, seed: int, steps: int, device: str) -> tuple[float, list[float]]:
    """Learn, and look four times."""
    import stable_baselines3
    from stable_baselines3.common.callbacks import BaseCallback

    class Look(BaseCallback):
        def __init__(self) -> None:
            super().__init__()
            self.scores: list[float] = []
            self.spent = 0.0

        def _on_step(self) -> bool:
            if self.num_timesteps % (steps // TIMES) == 0 and len(self.scores) < TIMES - 1:
                self.look()
            return True

        def look(self) -> None:
            began = time.process_time()
            self.scores.append(worth(env, problem.gamma, lambda seen: int(model.predict(seen, deterministic=True)[0])))
            self.spent += time.process_time() - began
            print(f"{len(self.scores)} of {TIMES}: {self.scores[-1]:.3g}", file=sys.stderr, flush=True)

    model = stable_baselines3.DQN(
        "MlpPolicy",
        env,
        learning_rate=problem.learning_rate,
        buffer_size=problem.buffer_size,
        learning_starts=problem.learning_starts,
        batch_size=problem.batch_size,
        gamma=problem.gamma,
        train_freq=problem.train_freq,
        gradient_steps=problem.gradient_steps,
        target_update_interval=problem.target_update_interval,
        exploration_fraction=problem.exploration_fraction,
        exploration_final_eps=problem.exploration_final_eps,
        policy_kwargs={"net_arch": list(problem.hidden)},
        seed=seed,
        device=device,
    )
    look, began = Look(), time.process_time()
    model.learn(steps, callback=look)
    spent = time.process_time() - began - look.spent
    look.look()
    return spent, look.scores


def main() -> None:
    """Print the result of one run as JSON."""
    side, env, seed, steps, device = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    torch.set_num_threads(1)
    problem = PROBLEMS[env]
    if side == "sb3":
        spent, scores = run_theirs(env, problem, seed, steps, device)
    else:
        spent, scores = run_ours(env, problem, seed, steps, json.loads(side), device)
    print(json.dumps({"seconds": spent, "scores": scores}))


if __name__ == "__main__":
    main()
