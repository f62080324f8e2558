"""Choose the regressor of fitted Q iteration by cross-validation; report its return on other seeds.

Left: the error of each on held-out episodes. Right: the return of the best one on the pole, learned from 60 episodes of
random pushes. Run as ``python examples/78_choose_an_approximator.py [figure.png]``.
"""

import sys

from matplotlib import pyplot as plt
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from rlsuite import plotting
from rlsuite.approximation import Batch, FittedQ, choose_approximator

regressors = {
    "ridge": Ridge(),
    "one tree": DecisionTreeRegressor(),
    "15 neighbours": KNeighborsRegressor(15),
    "extra trees": ExtraTreesRegressor(8, min_samples_leaf=3),
}
candidates = {name: FittedQ(regressor, gamma=0.95, iterations=10) for name, regressor in regressors.items()}
settings = {"training_seeds": range(3), "report_seeds": range(100, 104), "cv": 3, "report_episodes": 2}
choice = choose_approximator(candidates, "CartPole-v1", episodes=60, max_steps=200, **settings)

figure, (left, right) = plt.subplots(1, 2, figsize=(12.0, 4.8), layout="constrained")
for row, errors in enumerate(choice.errors.mean(axis=2)):
    left.plot(errors, [row] * errors.size, "o", color="#0072b2", alpha=0.6)
    left.text(errors.max() + 0.1, row, choice.verdict(choice.names[row]), va="center")
left.set_yticks(range(4), choice.names)
plotting.style_axes(["Points: n = 3 seeds."], ax=left, xlabel="squared TD error on held-out episodes", ylim=(3.5, -0.5))
left.set_xlim(0.0, 4.0)
winner = candidates[choice.best].learn(Batch.collect("CartPole-v1", episodes=60, seed=100), seed=100)
names = ["cart position", "cart velocity", "pole angle", "pole velocity"]
slice_ = {"dimensions": (2, 3), "limits": {2: (-0.21, 0.21), 3: (-2.0, 2.0)}, "labels": names}
plotting.policy_map("CartPole-v1", winner.policy, actions=["push left", "push right"], ax=right, **slice_)
figure.suptitle(str(choice).splitlines()[-1], fontsize=12)
plotting.save(figure, (sys.argv[1:] or ["78_choose_an_approximator.png"])[0])
