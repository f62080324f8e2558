"""How often `seeds="enough"` is wrong, and how many seeds it takes: `python benchmarks/enough_seeds.py`, some minutes.

For each environment two agents learn with many seeds once. Experiments are drawn from these: two equal agents (both
from the runs of one agent, drawn apart), of which a verdict "better" is false; and the two agents, paired by seed, of
which "better" is false if it names the worse one, or "equal" if the means differ by the margin or more. Beside it
stands the number of seeds that a paired t test needs with 80 % power, which knows the difference beforehand, and how
often that test finds a difference between the equal agents if it is repeated after each seed from the fifth on. If
AdaStop is installed (``pip install adastop``), the seeds that it takes of some experiments are there, too.
"""

import argparse
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers its environments
from rlsuite.experiments.comparison import scale_of
from rlsuite.experiments.paired import LEVEL, log_wealth, seeds_needed

Floats = NDArray[np.float64]
POOL, EXPERIMENTS, LONGEST = 1_000, 10_000, 2_000
MARGIN = 0.02


def sarsa(**changes: Any) -> rl.Sarsa:
    """Sarsa with a discount for all environments."""
    return rl.Sarsa(gamma=0.95, **changes)


def q_learning(**changes: Any) -> rl.QLearning:
    """Q-learning with the same."""
    return rl.QLearning(gamma=0.95, **changes)


def curious(agent: Callable[..., Any]) -> Any:
    """An agent that begins with too high hopes."""
    return agent(learning_rate=0.5, exploration=rl.EpsilonGreedy(0.3))


CASES: list[tuple[str, dict[str, Any], int, Any, Any]] = [
    ("FrozenLake-v1", {}, 5_000, sarsa(), q_learning()),
    ("FrozenLake-v1", {"is_slippery": False}, 1_000, sarsa(), curious(q_learning)),
    ("FrozenLake8x8-v1", {}, 20_000, sarsa(), q_learning(learning_rate=0.3)),
    ("CliffWalking-v1", {}, 3_000, sarsa(learning_rate=0.5), q_learning(learning_rate=0.5)),
    ("CliffWalkingSlippery-v1", {}, 10_000, sarsa(learning_rate=0.3), q_learning(learning_rate=0.3)),
    ("Taxi-v4", {}, 30_000, sarsa(learning_rate=0.5), q_learning(learning_rate=0.5)),
    ("rlsuite/GridGoal-v0", {}, 100, sarsa(), curious(q_learning)),
    ("rlsuite/NondeterministicGridGoal-v0", {}, 100, sarsa(), curious(q_learning)),
    ("rlsuite/ObstacleGrid-v0", {}, 500, sarsa(), curious(q_learning)),
    ("rlsuite/SlipperyObstacleGrid-v0", {}, 1_000, sarsa(), q_learning(learning_rate=0.5)),
    ("rlsuite/CliffWalk-v0", {}, 2_000, curious(sarsa), curious(q_learning)),
    ("rlsuite/WindyGrid-v0", {}, 5_000, sarsa(learning_rate=0.5), curious(q_learning)),
    ("rlsuite/ChangingMaze-v0", {}, 5_000, sarsa(), q_learning(learning_rate=0.5)),
    ("rlsuite/MaximizationBias-v0", {}, 300, sarsa(), rl.DoubleQLearning(gamma=0.95)),
    ("rlsuite/Blackjack-v0", {}, 10_000, sarsa(learning_rate=0.02), q_learning(learning_rate=0.3)),
    ("rlsuite/Chain-v0", {}, 2_000, sarsa(), curious(q_learning)),
    ("rlsuite/RiverSwim-v0", {}, 10_000, sarsa(), curious(q_learning)),
    ("rlsuite/TwoWayChain-v0", {}, 2_000, sarsa(), curious(q_learning)),
    ("rlsuite/RandomWalk-v0", {}, 500, sarsa(), curious(q_learning)),
    ("rlsuite/ShortCorridor-v0", {}, 300, sarsa(), curious(q_learning)),
]


def scores_of(env: str, parameters: dict[str, Any], steps: int, agents: list[Any], pool: int) -> Floats:
    """Values (2, pool) of two agents as shares of all that policies can differ by."""
    made = rl.find_env(env, **parameters)
    found = rl.compare(dict(zip("ab", agents, strict=True)), {"env": made}, steps=steps, seeds=pool, workers=2)
    scale = scale_of("env", found.results["env"])
    return np.array([found.scores[label][0] for label in "ab"]) * scale.way / (scale.high - scale.low)


def first(wealth: Floats, level: float = LEVEL) -> NDArray[np.int64]:
    """Number of seeds until the wealth is large enough, in each experiment; more than there are if it never is."""
    reached = wealth >= np.log(2.0 / level)
    return np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, len(wealth) + 1)


def times(differences: Floats) -> dict[str, NDArray[np.int64]]:
    """When each verdict is reached, in each experiment, as `rlsuite.experiments.paired.verdict` does for one."""
    equal = [first(log_wealth(sign * differences, margin=MARGIN)) for sign in (1.0, -1.0)]
    return {
        "first": first(log_wealth(differences)),
        "second": first(log_wealth(-differences)),
        "equal": np.maximum(*equal),
    }


def repeated_t(differences: Floats) -> float:
    """Share of the experiments in which a t test finds a difference at some time."""
    n = np.arange(1, len(differences) + 1)[:, None]
    mean = np.cumsum(differences, axis=0) / n
    variance = np.maximum(np.cumsum(differences**2, axis=0) / n - mean**2, 1e-18)
    t = np.abs(mean) * np.sqrt((n - 1) / variance)
    return float((t[4:] > student.ppf(0.975, n[4:] - 1)).any(axis=0).mean())


def adastop_seeds(pool: Floats, experiments: int, rng: np.random.Generator) -> float | None:
    """Median number of seeds that AdaStop takes, five at a time, at most 100; None if it is not installed."""
    try:
        from adastop import MultipleAgentsComparator
    except ImportError:
        return None
    taken: list[int] = []
    for number in range(experiments):
        comparator = MultipleAgentsComparator(n=5, K=20, B=1_000, alpha=LEVEL, seed=number)
        drawn = pool[:, rng.integers(pool.shape[1], size=100)]
        for k in range(1, 21):
            so_far = {name: own[: 5 * k] for name, own in zip("ab", drawn, strict=True)}
            comparator.partial_compare(so_far, verbose=False)
            if comparator.is_finished:
                break
        taken.append(5 * k)
    return median(taken)


def main() -> int:
    """Print a line for each environment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=EXPERIMENTS)
    parser.add_argument("--pool", type=int, default=POOL)
    parser.add_argument("--adastop", type=int, default=20, help="experiments of AdaStop, which takes a second for each")
    chosen = parser.parse_args()
    rng = np.random.default_rng(1)
    head = ("false, equal", "repeated t", "false", "difference", "correlation", "seeds", "fixed t", "ratio", "AdaStop")
    print(f"{'environment':36s}" + "".join(f"{word:>13s}" for word in head))
    worst, ratios = 0.0, []
    for env, parameters, steps, one, other in CASES:
        pool = scores_of(env, parameters, steps, [one, other], chosen.pool)
        # Two equal agents: any two runs of the first one.
        length = 300
        picked = rng.integers(chosen.pool, size=(2, length, chosen.experiments))
        null = pool[0][picked[0]] - pool[0][picked[1]]
        found = times(np.clip(null, -1.0, 1.0))
        false = float((np.minimum(found["first"], found["second"]) < np.minimum(found["equal"], length + 1)).mean())
        by_t = repeated_t(null)
        # The two agents, paired.
        truth = pool[0] - pool[1]
        picked = rng.integers(chosen.pool, size=(LONGEST, chosen.experiments // 10))
        found = times(np.clip(truth[picked], -1.0, 1.0))
        when = np.minimum(np.minimum(found["first"], found["second"]), found["equal"])
        better, worse = ("first", "second") if truth.mean() > 0.0 else ("second", "first")
        wrong = found[worse] == when
        if abs(truth.mean()) >= MARGIN:
            wrong |= (found["equal"] == when) & (found["equal"] < found[better])
        mistakes = float((wrong & (when <= LONGEST)).mean())
        spread = np.ptp(pool, axis=1).min() > 0.0
        correlation = float(np.corrcoef(pool)[0, 1]) if spread else np.nan
        fixed = seeds_needed(truth)
        taken = float(np.median(when))
        share = taken / fixed if fixed and (found[better] == when).mean() > 0.5 else np.nan
        ada = adastop_seeds(pool, chosen.adastop, rng) if chosen.adastop else None
        told = (f"{false:.2%}", f"{by_t:.1%}", f"{mistakes:.2%}", f"{truth.mean():.4f}", f"{correlation:.2f}")
        told += (f"{taken:.0f}", str(fixed or "-"), f"{share:.2f}", "-" if ada is None else f"{ada:.0f}")
        print(f"{env:36s}" + "".join(f"{text:>13s}" for text in told), flush=True)
        worst = max(worst, false, mistakes)
        ratios.append(share)
    print(f"most false verdicts {worst:.2%}; median of the ratios {np.nanmedian(ratios):.2f}")
    return int(worst > LEVEL)


if __name__ == "__main__":
    sys.exit(main())
