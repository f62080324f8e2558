"""rlsuite's side of `bandits.py`: ``bandits_rlsuite.py LEARNER BANDITS PULLS THREADS``.

On two threads a run is `rlsuite.train` as a whole, on one thread it is the loop alone; that is what a loop written by
hand is compared with.
"""

import hashlib
import math
import sys
from typing import Any

import numpy as np
from bandits_problem import CASES, COPIES, Case, features, mean_rewards
from serving import serve

import rlsuite as rl
from rlsuite_envs.bandits import contextual_bandit

LONE_RUNS = 200


def learner(name: str, bandits: int) -> rl.Agent:
    """The learner that is meant by a name."""
    given = CASES[name].parameters
    kinds: dict[str, type[rl.Agent]] = {
        "ucb1": rl.UCB1,
        "ucbv": rl.UCBV,
        "klucb": rl.KLUCB,
        "klucb_normal": rl.KLUCBNormal,
        "moss": rl.MOSS,
        "thompson_bernoulli": rl.ThompsonBernoulli,
        "thompson_normal": rl.ThompsonNormal,
        "thompson_normal_gamma": rl.ThompsonNormalGamma,
        "exp3": rl.EXP3,
        "explore_then_commit": rl.ExploreThenCommit,
        "successive_elimination": rl.SuccessiveElimination,
        "sliding_window_ucb": rl.SlidingWindowUCB,
        "discounted_ucb": rl.DiscountedUCB,
    }
    match name:
        case "epsilon_greedy":
            return rl.SampleAverage(exploration=rl.EpsilonGreedy(given["epsilon"]))
        case "epsilon_decreasing":
            decaying = rl.Inverse(1.0, scale=given["scale"], per="visits")
            return rl.SampleAverage(exploration=rl.EpsilonGreedy(decaying))
        case "softmax":
            return rl.SampleAverage(exploration=rl.Softmax(given["temperature"]))
        case "upper_confidence":
            return rl.SampleAverage(exploration=rl.UpperConfidence(given["c"]))
        case "optimistic":
            greedy, start = rl.EpsilonGreedy(0.0), given["start"]
            return rl.QLearning(gamma=0.0, learning_rate=given["rate"], initial_value=start, exploration=greedy)
        case "gradient":
            return rl.GradientBandit(learning_rate=given["rate"])
        case "gradient_no_baseline":
            return rl.GradientBandit(learning_rate=given["rate"], baseline="none")
        case "lin_ucb":
            return rl.LinUCB(features=features(bandits), **given)
        case "linear_thompson":
            return rl.LinearThompson(features=features(bandits), **given)
        case _:
            return kinds[name](**given)


def problem(case: Case, bandits: int) -> rl.TabularEnv:
    """All bandits, pulled one after another."""
    kind = "bernoulli" if case.kind == "bernoulli" else "normal"
    return contextual_bandit(mean_rewards(case.kind, bandits), kind=kind, order="in turn").to_env()


def main(name: str, bandits: int, pulls: int, threads: int) -> None:
    """Serve one learner."""
    case, agent, env = CASES[name], learner(name, bandits), problem(CASES[name], bandits)
    steps = bandits * pulls

    def train() -> int:
        rl.train(
            agent,
            env,
            steps=steps,
            seeds=COPIES,
            workers=threads,
            loop="compiled",
            record_every=steps,
            regret=False,
        )
        return COPIES * steps

    last: list[rl.Agent] = []

    def start() -> tuple[list[rl.Agent]]:
        last[:] = [learner(name, bandits).learn(env, steps=1, seed=seed, loop="compiled") for seed in range(COPIES)]
        return (last,)

    def go_on(pupils: list[rl.Agent]) -> int:
        for pupil in pupils:
            pupil.learn(env, steps=steps - 1, record_every=steps, loop="compiled")
        return COPIES * (steps - 1)

    if threads > 1:
        serve(train)
    else:
        serve(go_on, start, lambda: {"learned": digest(last), **reward_per_pull(case, agent, env, bandits, pulls)})


def digest(pupils: list[rl.Agent]) -> str:
    """What was learned, to the last bit."""
    learned = b"".join(np.ascontiguousarray(pupil.q_).tobytes() for pupil in pupils)
    return hashlib.sha256(learned).hexdigest()


def reward_per_pull(case: Case, agent: rl.Agent, env: rl.TabularEnv, bandits: int, pulls: int) -> dict[str, Any]:
    """Mean reward of the learners, and how many of them it is the mean of.

    A linear learner learns from all bandits, and is therefore played anew as often as there is time to.
    """
    linear = case.kind == "linear"
    steps, runs = (pulls, LONE_RUNS) if linear else (bandits * pulls, COPIES)
    found = rl.train(agent, env, steps=steps, seeds=runs, loop="compiled", record_every=steps, regret=False)
    mean = math.fsum(float(record.cumulative_reward[-1]) for record in found.records) / (steps * runs)
    return {"reward": mean, "learners": runs if linear else runs * bandits}


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
