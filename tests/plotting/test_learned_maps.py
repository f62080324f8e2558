"""Maps of what the best agent of an experiment has learned: of a run that is repeated exactly, or none."""

from dataclasses import replace

import numpy as np

import rlsuite as rl
from rlsuite.experiments import AgentEntry, EnvironmentEntry, Experiment
from rlsuite.plotting.reporting import learned_maps


def test_maps_are_those_of_the_repeated_run(tmp_path):
    places = [EnvironmentEntry(env_id) for env_id in ("FrozenLake-v1", "Taxi-v4")]
    experiment = Experiment(environments=places, agents=[AgentEntry(rl.Sarsa())], steps=500, seeds=[3])
    results = experiment.run(tmp_path / "lake")
    (run,) = results["FrozenLake-v1"]
    (values, _), (errors, ax) = learned_maps(experiment.plain(), run)
    assert values == "Map of the values and the greedy policy that Sarsa has learned, seed 3"
    assert errors.startswith("Map of the optimal values less the values that Sarsa")
    agent = rl.Sarsa().learn("FrozenLake-v1", steps=500, seed=3)
    optimum = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.99))
    error = (optimum.value - agent.q_.max(axis=1))[0]
    assert f"{error:.2f}" in [text.get_text() for text in ax.texts]
    other = replace(run, records=[replace(run.records[0], episode_return=np.zeros(3))])  # of another version, say
    assert learned_maps(experiment.plain(), other) == []
    assert learned_maps(experiment.plain(), results["Taxi-v4"][0]) == []  # no grid
    assert learned_maps({**experiment.plain(), "steps": 10**9}, run) == []
