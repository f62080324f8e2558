"""DQN beside that of Stable-Baselines3: ``python benchmarks/dqn.py [--seeds 10] [--environments ...] [--keep FILE]``.

Both have the settings that Stable-Baselines3's zoo has tuned for its own: the same network, lessons, and exploration.
With ``--parts`` a third side is ours with the parts that the other does not have. The sides run seed by seed, one
thread each. At four times the greedy policy is evaluated, which is not counted as time: it is worth its share of the
exact optimum where the environment has a table, else the mean return of 20 episodes with seeds of their own.

Prints for each side the interquartile mean over the seeds, with an interval of 95 % from a bootstrap over seeds, in the
end and as the mean of the four times; and the steps per second of processor time, in those of Stable-Baselines3. Ends
with status 1 if ours is slower than its target, or worse: the interval of the difference, with the same settings and
over the four times, lies below 0. Needs the extra ``bench``. Ten seeds of all environments take some three hours on one
core; ``--share 0.1`` takes a tenth of the steps; ``--keep runs.jsonl`` keeps each run, and does not run it again;
``--jobs 4`` runs four at a time; ``--device cuda`` has the networks of both on a graphics card.
"""

import argparse
import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from dqn_problems import PROBLEMS
from measuring import Line, Target, print_heading, print_line
from numpy.typing import NDArray
from scipy.stats import trim_mean

SIDES: dict[str, str] = {
    "Stable-Baselines3": "sb3",
    "rlsuite, same settings": "{}",
    "rlsuite, double, dueling, 3 steps": json.dumps({"double": True, "dueling": True, "n_steps": 3}),
}
THEIRS, SAME, _ = SIDES
FASTER = Target(">=", 1.5)
NOT_WORSE = Target(">=", 0.0)


def run(side: str, env: str, seed: int, steps: int, device: str) -> dict[str, Any]:
    """Run one side with one seed in a process of its own."""
    worker = Path(__file__).with_name("dqn_worker.py")
    command = [sys.executable, str(worker), SIDES[side], env, str(seed), str(steps), device]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{side}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


class Kept:
    """Runs that are kept in a file, one in a line; without a file, nothing is."""

    def __init__(self, file: Path | None, device: str) -> None:
        self.file, self.device, self.lock = file, device, Lock()
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None and file.is_file() else []
        self.runs: dict[str, dict[str, Any]] = dict(json.loads(line) for line in lines)

    def run(self, side: str, env: str, seed: int, steps: int) -> dict[str, Any]:
        """The run that is kept, or a new one."""
        where = "" if self.device == "cpu" else f", {self.device}"
        name = f"{side}, {env}, seed {seed}, {steps} steps{where}"
        if name not in self.runs:
            self.runs[name] = run(side, env, seed, steps, self.device)
            print(f"{name}: {self.runs[name]['seconds']:.0f} s", file=sys.stderr, flush=True)
            if self.file is not None:
                with self.lock, self.file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([name, self.runs[name]]) + "\n")
        return self.runs[name]


def interquartile_mean(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the middle half along the last axis."""
    return trim_mean(scores, 0.25, axis=-1)


def resampled(scores: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """Interquartile means (2000,) of seeds drawn with replacement."""
    rows = np.random.default_rng(seed).integers(scores.size, size=(2_000, scores.size))
    return interquartile_mean(scores[rows])


def told(scores: NDArray[np.float64]) -> str:
    """The interquartile mean and its interval."""
    low, high = np.quantile(resampled(scores), [0.025, 0.975])
    return f"{interquartile_mean(scores):8.3g} [{low:.3g}, {high:.3g}]"


def compare(env: str, sides: list[str], seeds: int, steps: int, kept: Kept) -> bool:
    """Print the lines of one environment; whether its targets are met."""
    print_heading(f"{env}, {steps:,} steps, {seeds} seeds")
    runs: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    for seed in range(seeds):
        for side in sides:
            found = kept.run(side, env, seed, steps)
            runs[side].append(found)
            scores = " ".join(f"{score:8.3g}" for score in found["scores"])
            print(f"  seed {seed}  {side:<36}{scores}{steps / found['seconds']:9.0f} steps/s", flush=True)
    on_the_way = {side: np.array([np.mean(each["scores"]) for each in some]) for side, some in runs.items()}
    for side, some in runs.items():
        speed = statistics.median(steps / each["seconds"] for each in some)
        end = np.array([each["scores"][-1] for each in some])
        print(f"{side:<36} end {told(end):<28} mean {told(on_the_way[side]):<28} {speed:7.0f} steps/s")
    met = True
    for side in sides[1:]:
        faster, not_worse = (FASTER, NOT_WORSE) if side == SAME else (None, None)
        pairs = zip(runs[THEIRS], runs[side], strict=True)
        ratio = statistics.median(theirs["seconds"] / ours["seconds"] for theirs, ours in pairs)
        # resampled apart: seed 3 of one has nothing to do with seed 3 of the other
        low, high = np.quantile(
            resampled(on_the_way[side], seed=1) - resampled(on_the_way[THEIRS], seed=2), [0.025, 0.975]
        )
        print_line(Line(f"{side}: times as many steps per processor second", ratio, "x", faster))
        print_line(Line(f"{side}: mean return more, at most (95 %)", high, "", not_worse, f"at least {low:.3g}"))
        met &= (faster is None or faster.met(ratio)) and (not_worse is None or not_worse.met(high))
    return met


def main() -> int:
    """Print all environments; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--environments", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--share", type=float, default=1.0, help="share of the steps of each run")
    parser.add_argument("--parts", action="store_true", help="the third side, too")
    parser.add_argument("--jobs", type=int, default=1, help="how many runs at a time")
    parser.add_argument("--device", default="cpu", help="where the networks are: cpu, cuda, ...")
    parser.add_argument("--keep", type=Path, help="file of the runs, which are not run again")
    chosen = parser.parse_args()
    sides = list(SIDES) if chosen.parts else [THEIRS, SAME]
    kept = Kept(chosen.keep, chosen.device)
    steps = {env: int(PROBLEMS[env].steps * chosen.share) // 4 * 4 for env in chosen.environments}
    with ThreadPoolExecutor(chosen.jobs) as jobs:  # seed by seed: what is kept of a run that ends early is pairs
        todo = [(side, env, seed, steps[env]) for seed in range(chosen.seeds) for env in steps for side in sides]
        list(jobs.map(lambda each: kept.run(*each), todo))
    found = [compare(env, sides, chosen.seeds, steps[env], kept) for env in chosen.environments]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
