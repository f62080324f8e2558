"""NumPy's side of `bandits.py`: ``bandits_in_numpy.py LEARNER BANDITS PULLS``.

All bandits at once, one pull of each after another. Whatever is slower than NumPy can do it would be a gift to rlsuite,
so all buffers are made once and written in place, tables are laid out as the learner reads them, and what all bandits
have in common is a plain number.
"""

import sys
from typing import Any

import numpy as np
import numpy_draws
import numpy_indices
from bandits_problem import CASES, COPIES, SEED, mean_rewards
from numpy_testbed import ContextualTestbed, Testbed
from serving import serve

BY_ARM = {"softmax", "gradient", "gradient_no_baseline", "exp3"}


def main(name: str, bandits: int, pulls: int) -> None:
    """Serve one learner."""
    case = CASES[name]
    play = getattr(numpy_indices, name, None) or getattr(numpy_draws, name)
    means = np.tile(mean_rewards(case.kind, bandits), (COPIES, 1))
    rng = np.random.default_rng(SEED)
    last: list[Testbed] = []

    def work() -> int:
        if case.kind == "linear":
            bed: Testbed = ContextualTestbed(bandits, COPIES * bandits, rng)
        else:
            bed = Testbed(means, case.kind, rng, by_arm=name in BY_ARM)
        last[:] = [bed]
        play(bed, pulls, **case.parameters)
        return COPIES * bandits * pulls

    serve(work, facts=lambda: reward_per_pull(last[0].total.reshape(COPIES, bandits) / pulls))


def reward_per_pull(totals: Any) -> dict[str, float]:
    """Mean reward, and the variance of the mean reward of one bandit about what it is expected to be."""
    return {"reward": float(totals.mean()), "variance": float(totals.var(axis=0, ddof=1).mean())}


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
