"""Environments of other packages without a table: how fast agents learn in them, tabulated and stepped.

``python benchmarks/tabulation.py package:Id-v0 ...`` prints a line of the table of docs/tabulation.md for each id;
``package`` is imported first, and its function ``register()`` called where it has one, as gym_classics2 asks for.
"""

import argparse
import importlib
import time

import gymnasium

import rlsuite as rl
from rlsuite.environments.facts import facts_of
from rlsuite.environments.tabulation import NotTabulated, tabulation_of


def steps_per_second(name: str, loop: str, steps: int) -> float:
    """Steps of Q-learning in a second, once everything is compiled."""
    env = gymnasium.make(name)
    agent = rl.QLearning(gamma=0.9).learn(env, steps=1_000, seed=3, loop=loop)
    began = time.perf_counter()
    agent.learn(env, steps=steps, loop=loop)
    return steps / (time.perf_counter() - began)


def main() -> None:
    """Measure each environment of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env", nargs="+", help="package:Id-v0")
    parser.add_argument("--seconds", type=float, default=60.0, help="give up tabulating after this time")
    chosen = parser.parse_args()
    print("| environment | states | tabulated in s | million steps/s | stepwise, thousand steps/s | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for each in chosen.env:
        package, _, name = each.rpartition(":")
        if package:
            module = importlib.import_module(package)
            if hasattr(module, "register") and name not in gymnasium.registry:
                module.register()
        env = gymnasium.make(name)
        env.reset(seed=0)
        began = time.perf_counter()
        try:
            n_states = tabulation_of(facts_of(env), seconds=chosen.seconds).n_states
        except NotTabulated as reason:
            print(f"| `{name}` | {reason} | | | | |", flush=True)
            continue
        seconds = time.perf_counter() - began
        compiled, stepwise = steps_per_second(name, "compiled", 3_000_000), steps_per_second(name, "stepwise", 30_000)
        print(
            f"| `{name}` | {n_states:,} | {seconds:.2f} | {compiled / 1e6:.1f} | {stepwise / 1e3:.0f} "
            f"| {compiled / stepwise:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
