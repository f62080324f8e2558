"""LSPI on the inverted pendulum (Lagoudakis & Parr 2003, section 9.2)."""

import warnings

import gymnasium
import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation import LSPI, Batch, episode_of
from rlsuite.errors import ConvergenceWarning

CENTRES = np.array([(angle, speed) for angle in (-np.pi / 4, 0, np.pi / 4) for speed in (-1, 0, 1)])
WATCHED = 3_000


def bumps(seen):
    """A constant and nine bumps of width 1, as in the paper."""
    return np.c_[np.ones(len(seen)), np.exp(-((seen[:, None] - CENTRES) ** 2).sum(axis=2) / 2)]


def balanced(falls, seed):
    """Steps that the policy learned from random falls keeps the pole up."""
    pole = gymnasium.make("rlsuite/InvertedPendulum-v0", max_episode_steps=WATCHED)
    agent = LSPI(FunctionTransformer(bumps), gamma=0.95, iterations=20)
    with warnings.catch_warnings():  # from few falls the policy may go round in circles
        warnings.simplefilter("ignore", ConvergenceWarning)
        agent.learn(Batch.collect(pole, episodes=falls, seed=seed))
    return episode_of(pole, agent.act, seed=100 + seed, max_steps=WATCHED).length


@pytest.mark.parametrize(
    ("falls", "share"), [(50, (0.0, 0.7)), pytest.param(1_000, (0.9, 1.0), marks=pytest.mark.slow)]
)
def test_from_a_thousand_falls_it_stands(falls, share):
    """A policy succeeds if it balances for 3000 steps (5 minutes): of a thousand falls nearly all do, of fifty not.

    Of ten policies, each from a batch of its own; random actions last nine steps.
    """
    lengths = np.array([balanced(falls, seed) for seed in range(10)])
    assert share[0] <= (lengths == WATCHED).mean() <= share[1]
    if falls == 1_000:
        assert lengths.mean() > 2_850
