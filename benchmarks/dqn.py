"""Does DQN solve CartPole? ``python benchmarks/dqn.py [--seeds 1 2 3]``.

For each seed an agent with the parameters that DQN has by itself learns, 1,000 steps at a time, until its greedy policy
holds the pole for 500 steps in each of 20 episodes, or for 50,000 steps. Then that policy plays 100 episodes with seeds
that nothing was chosen by. Solved is a mean return of at least 475 of 500, the bound that Gymnasium registers with
CartPole-v1. Ends with status 1 if one seed misses it. One thread. Needs PyTorch.

Seeds 0 to 4 stop after 2,000 steps and 3 to 6 seconds, and hold the pole in all 100 episodes. Seed 5 comes to a mean of
306 by then, and to 311 at most within 10,000: a good policy may come early, and is easily lost again.
"""

import argparse
import sys
import time

import gymnasium

from rlsuite.approximation.batch.rollout import returns_of
from rlsuite.approximation.deep import DQN

ENVIRONMENT = "CartPole-v1"
AT_A_TIME, AT_MOST = 1_000, 50_000
CHOOSING_SEED, TEST_SEED = 1_000, 2_000


def main() -> int:
    """Print a line per seed; status 1 if one of them does not solve the task."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    spec = gymnasium.spec(ENVIRONMENT)
    longest, solved = spec.max_episode_steps, spec.reward_threshold
    assert longest is not None
    assert solved is not None
    missed = 0
    print("seed   steps    seconds   mean return   worst")
    for seed in parser.parse_args().seeds:
        start = time.process_time()
        agent = DQN().learn(ENVIRONMENT, steps=AT_A_TIME, seed=seed)
        steps = AT_A_TIME
        while steps < AT_MOST and returns_of(ENVIRONMENT, agent.act, 20, seed=CHOOSING_SEED).min() < longest:
            agent.learn(ENVIRONMENT, steps=AT_A_TIME)
            steps += AT_A_TIME
        seconds = time.process_time() - start
        returns = returns_of(ENVIRONMENT, agent.act, 100, seed=TEST_SEED)
        print(f"{seed:4}   {steps:6,}   {seconds:7.0f}   {returns.mean():11.1f}   {returns.min():5.0f}", flush=True)
        missed += returns.mean() < solved
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
