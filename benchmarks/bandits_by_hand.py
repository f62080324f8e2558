"""Loops written by hand, a side of `bandits.py`: ``bandits_by_hand.py LEARNER BANDITS PULLS``.

As tight as numba makes them when written for one learner with its parameters, ten arms, and bandits that are pulled in
turn: what is the same for all bandits is computed once, what a choice has computed is not computed again, and nothing
is recorded but the rewards. They draw the same random numbers in the same order as rlsuite, so that what is learned
must be what rlsuite learns, to the last bit; `bandits.py` checks it.
"""

import hashlib
import sys
from typing import Any

import hand_draws
import hand_indices
import hand_linear
import numpy as np
from bandits_problem import ARMS, CASES, COPIES, features, mean_rewards
from hand_loop import loop_of
from serving import serve


def generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Those that ``learn(seed=seed)`` gives to the agent and to the environment, which has drawn a start state."""
    agent_seed, env_seed, _ = np.random.SeedSequence(seed).spawn(3)
    env_rng = np.random.default_rng(int(env_seed.generate_state(1)[0]))
    env_rng.random()
    return np.random.default_rng(agent_seed), env_rng


def main(name: str, bandits: int, pulls: int) -> None:
    """Serve one learner."""
    case = CASES[name]
    (make,) = (getattr(module, name) for module in (hand_indices, hand_draws, hand_linear) if hasattr(module, name))
    learner = make(**case.parameters)
    play, means = loop_of(learner, case.kind == "bernoulli"), mean_rewards(case.kind, bandits)
    last: list[tuple[Any, ...]] = []

    def work() -> int:
        last.clear()
        for seed in range(COPIES):
            tables = learner.tables(bandits)
            play(means, tables, np.zeros(ARMS + 1), *generators(seed), pulls)
            last.append(tables)
        return COPIES * bandits * pulls

    def digest() -> dict[str, str]:
        values = [features(bandits) @ found[1] if case.kind == "linear" else found[0] for found in last]
        return {"learned": hashlib.sha256(b"".join(table.tobytes() for table in values)).hexdigest()}

    serve(work, facts=digest)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
