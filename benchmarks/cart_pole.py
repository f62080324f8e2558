"""Does DQN solve CartPole? ``python benchmarks/cart_pole.py [--seeds 20 21 22]``.

For each seed an agent learns for 500,000 steps, no more and no less: nothing is chosen on the way. Then its greedy
policy plays 100 episodes with seeds of their own. Solved is a mean return of at least 475 of 500, the bound that
Gymnasium registers with CartPole-v1. Ends with status 1 if one seed misses it. Two minutes a seed, one thread. Needs
PyTorch.

The settings are common ones: plain Q-learning targets, a replay of the last 10,000 steps, a lesson of 128 of them after
every tenth step, and exploration that falls for half of the time.
"""

import argparse
import sys
import time

import gymnasium

import rlsuite as rl
from rlsuite.approximation.deep import DQN
from rlsuite.training.episodes import returns_of

ENVIRONMENT = "CartPole-v1"
STEPS = 500_000
TEST_SEED = 777_000


def agent() -> DQN:
    """An agent that has not learned yet."""
    return DQN(
        double=False,
        dueling=False,
        hidden=(120, 84),
        learning_rate=2.5e-4,
        learning_starts=10_000,
        replay_size=10_000,
        batch_size=128,
        train_every=10,
        target_rate=0.02,
        exploration=rl.EpsilonGreedy(rl.Linear(1.0, 0.05, over=STEPS // 2)),
    )


def main() -> int:
    """Print a line per seed; status 1 if one of them does not solve the task."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[20, 21, 22])
    solved = gymnasium.spec(ENVIRONMENT).reward_threshold
    assert solved is not None
    missed = 0
    print("seed   seconds   mean return   worst")
    for seed in parser.parse_args().seeds:
        start = time.process_time()
        pupil = agent().learn(ENVIRONMENT, steps=STEPS, seed=seed)
        seconds = time.process_time() - start
        returns = returns_of(ENVIRONMENT, pupil.act, 100, seed=TEST_SEED + seed)
        print(f"{seed:4}   {seconds:7.0f}   {returns.mean():11.1f}   {returns.min():5.0f}", flush=True)
        missed += returns.mean() < solved
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
