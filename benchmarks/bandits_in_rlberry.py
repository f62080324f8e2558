"""One side of `bandits.py`: rlberry plays some bandits, as its bandit agents do in ``fit``.

``python bandits_in_rlberry.py LEARNER``, started by `sides.py` under the Python that `peers.py` calls rlberry_bandits.
Agents, indices and arms are the library's own. Making the agents is not counted.
"""

import sys
from typing import Any

import numpy as np
from serving import serve

BANDITS, PULLS, ARMS = 2, 500, 10

# By name of the learner: the environment, the agent, the function that makes its index or prior, and its parameters.
LEARNERS: "dict[str, tuple[str, str, str, dict[str, Any]]]" = {
    "ucb": ("NormalBandit", "IndexAgent", "makeSubgaussianUCBIndex", {"sigma": 1.0}),
    "ucb1": ("BernoulliBandit", "IndexAgent", "makeBoundedUCBIndex", {}),
    "ucbv": ("BernoulliBandit", "IndexAgent", "makeBoundedUCBVIndex", {}),
    "moss": ("BernoulliBandit", "IndexAgent", "makeBoundedMOSSIndex", {"T": PULLS, "A": ARMS}),
    "explore_then_commit": ("NormalBandit", "IndexAgent", "makeETCIndex", {"A": ARMS, "m": 20}),
    "exp3": ("BernoulliBandit", "RandomizedAgent", "makeEXP3Index", {}),
    "thompson_bernoulli": ("BernoulliBandit", "TSAgent", "makeBetaPrior", {}),
    "thompson_normal": ("NormalBandit", "TSAgent", "makeGaussianPrior", {}),
}


def agents(learner: str, rng: np.random.Generator) -> "list[Any]":
    """Make a new agent and new arms for each bandit."""
    import rlberry.agents.bandits as library
    import rlberry.envs.bandits as environments

    env, agent, make, parameters = LEARNERS[learner]
    rule, tracker = getattr(library, make)(**parameters)
    means = "p" if env == "BernoulliBandit" else "means"
    draw = rng.random if env == "BernoulliBandit" else rng.standard_normal
    return [
        getattr(library, agent)((getattr(environments, env), {means: draw(ARMS)}), rule, tracker_params=tracker)
        for _ in range(BANDITS)
    ]


def play(agents: "list[Any]") -> int:
    """Play all bandits, one after the other; return the number of pulls."""
    for agent in agents:
        agent.fit(budget=PULLS)
    return len(agents) * PULLS


def main(learner: str) -> None:
    """Serve one learner."""
    if learner not in LEARNERS:
        raise SystemExit(f"rlberry has no learner {learner!r}; it has {', '.join(LEARNERS)}")
    rng = np.random.default_rng(7)
    serve(play, lambda: (agents(learner, rng),))


if __name__ == "__main__":
    main(*sys.argv[1:])
