"""K-fold cross-validation (lecture notes, Alg. 1.2): the values of squares that a regressor never saw.

The obstacle grid has 28 squares with an optimal value; row and column are the inputs. Three neighbours know more of a
way around walls than a plane does, and than one neighbour. Run as
``python examples/notes/alg_1_2_cross_validation.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib import pyplot as plt
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/ObstacleGrid-v0")
value, cells = rl.solve(rl.MDP.from_env(env, gamma=0.9)).value, env.unwrapped.layout.cells
inside = value > 0
assert inside.sum() == 28
regressors = {
    "plane": LinearRegression(),
    "nearest neighbour": KNeighborsRegressor(1),
    "three neighbours": KNeighborsRegressor(3),
    "forest": ExtraTreesRegressor(100, random_state=0),
}
errors, folds, measure = {}, KFold(10, shuffle=True, random_state=0), "neg_root_mean_squared_error"
for name, regressor in regressors.items():
    errors[name] = -cross_val_score(regressor, cells[inside], value[inside], cv=folds, scoring=measure)
assert min(errors, key=lambda name: errors[name].mean()) == "three neighbours"

figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for row, found in enumerate(errors.values()):
    ax.plot(found, [row] * len(found), "o", color="#0072b2", alpha=0.5)
    ax.plot(found.mean(), row, "|", color="#d55e00", markersize=24, markeredgewidth=3)
look = {"title": "Optimal values of the obstacle grid", "xlabel": "error on the squares left out", "ylim": (3.6, -0.6)}
captions = ["Dots: n = 10 parts of the 28 squares, each left out once. Bars: their mean.", "Unit: reward."]
plotting.style_axes(captions, ax=ax, **look)
ax.set_yticks(range(4), list(errors))
plotting.save(figure, (sys.argv[1:] or ["alg_1_2_cross_validation.png"])[0])
