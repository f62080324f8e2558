"""TD is the end of every spectrum."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl

seeds = st.integers(0, 2**31)
gammas = st.sampled_from([0.0, 0.5, 0.9, 1.0])


def same_values(ours, theirs, tolerance=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


TRACES = {
    "accumulating": lambda trace, alpha: trace + alpha,
    "replacing": lambda trace, alpha: alpha,
    "dutch": lambda trace, alpha: (1 - alpha) * trace + alpha,
}


@settings(max_examples=20)
@given(seeds, gammas)
def test_ends_of_the_spectrum(random_episodes, replay, seed, gamma):
    episodes = random_episodes(seed)
    constant = {"gamma": gamma, "learning_rate": 0.3}
    td = replay(rl.TD(**constant), episodes)
    for same in (
        rl.NStepTD(n=1, **constant),
        *(rl.TDLambda(lambda_=0.0, traces=traces, **constant) for traces in TRACES),
    ):
        assert np.array_equal(replay(same, episodes), td)
    same_values(replay(rl.TrueOnlineTDLambda(lambda_=0.0, **constant), episodes), td, 1e-14)
    for options in (constant, {"gamma": gamma, "learning_rate": rl.Inverse(1.0, per="visits")}):
        monte_carlo = replay(rl.EveryVisitMonteCarlo(**options), episodes)
        for same in (rl.NStepTD(n=15, **options), rl.OfflineLambdaReturn(lambda_=1.0, **options)):
            assert np.array_equal(replay(same, episodes), monte_carlo)
    ending = random_episodes(seed, cut=False)
    monte_carlo = replay(rl.EveryVisitMonteCarlo(**constant), ending)
    same_values(replay(rl.TrueOnlineTDLambda(lambda_=1.0, **constant), ending), monte_carlo)
