"""The forty exercises of the course, each with its exact answer; the notebooks ask them one by one.

>>> from rlsuite_envs.course import EXERCISES
>>> import rlsuite as rl
>>> rl.testing.grade(0.5333, EXERCISES["1.1 chance"])
1 point of 1: correct
"""

import numpy as np

import rlsuite as rl
from rlsuite.testing import BestPath, BestPolicy, Exercise, Number, Probabilities, Values

EXERCISES: dict[str, Exercise] = {}

# 1. Bandits: three arms that pay 1 with probability .3, .5 and .8, and nothing else.
ARMS = np.array([0.3, 0.5, 0.8])
EXERCISES["1.1 chance"] = Number(1.6 / 3, question="What does an arm pay on average that is drawn at random?")
EXERCISES["1.2 regret"] = Number(
    0.08 / 3,
    question="Who knows the best arm and explores with epsilon = 0.1: what is the expected regret of one step?",
)
EXERCISES["1.3 recency"] = Number(
    0.2629, question="Begin with the estimate 0 and step size 0.1; the rewards are 1, 0, 1, 1. What is the estimate?"
)
EXERCISES["1.4 softmax"] = Probabilities(
    np.exp(ARMS / 0.1) / np.exp(ARMS / 0.1).sum(),
    ["arm 0", "arm 1", "arm 2"],
    question="With which probabilities does softmax exploration at temperature 0.1 choose, if it knows the means?",
)
EXERCISES["1.5 posterior"] = Number(
    2 / 3, question="Thompson sampling has seen 7 successes and 3 failures, with the prior Beta(1, 1). Posterior mean?"
)

# 2. Planning: the grid of the lecture notes (2 x 3 cells, the goal pays 100), a lake, and ten cells in a row.
GRID = rl.MDP.from_env("rlsuite/GridGoal-v0", gamma=0.9)
LAKE = rl.MDP.from_env("FrozenLake-v1", gamma=0.99)
EXERCISES["2.1 values"] = Values(GRID, question="What are the optimal values of the 2 x 3 grid?")
EXERCISES["2.2 policy"] = BestPolicy(GRID, question="Which policy is best on the 2 x 3 grid?")
EXERCISES["2.3 chance"] = Values(
    GRID,
    GRID.legal / np.maximum(GRID.legal.sum(axis=1, keepdims=True), 1),
    question="What are the values on the 2 x 3 grid if each legal action is equally probable?",
)
EXERCISES["2.4 lake"] = BestPolicy(LAKE, question="Which policy is best on the slippery lake?")
EXERCISES["2.5 how many"] = Number(4, question="How many deterministic policies of the 2 x 3 grid are optimal?")

# 3. Temporal differences: the random walk of five states, where only the right end pays 1 (S&B2 Example 6.2).
WALK = rl.MDP.from_env("rlsuite/RandomWalk-v0", gamma=1.0)
EVEN = WALK.legal / np.maximum(WALK.legal.sum(axis=1, keepdims=True), 1)
EXERCISES["3.1 walk"] = Values(WALK, EVEN, question="What is the value of each state, if both directions are equal?")
EXERCISES["3.2 error"] = Number(-0.4, question="V(s) = 5, V(s') = 4, reward 1, gamma = 0.9. What is the TD error?")
EXERCISES["3.3 update"] = Number(
    0.45, question="All values are 0.5, step size 0.1. What is V of the state from which the walk ends left?"
)
EXERCISES["3.4 three steps"] = Number(
    4, question="Rewards 1, 2, 4, then V = 8; gamma = 0.5. What is the 3-step return?"
)
EXERCISES["3.5 lambda"] = Number(
    3, question="Rewards 1, 2, then the end; V = 6 after the first; gamma = lambda = 0.5. What is the lambda-return?"
)

# 4. Control: a cliff; each step costs 1, a fall 100 (S&B2 Example 6.6).
CLIFF = rl.MDP.from_env("CliffWalking-v1", gamma=1.0)
SHORTEST = rl.solve(CLIFF).policy
SOFT = np.full((CLIFF.n_states, CLIFF.n_actions), 0.1 / CLIFF.n_actions) * CLIFF.legal
SOFT[np.arange(CLIFF.n_states), SHORTEST] += 0.9
EXERCISES["4.1 cliff"] = BestPolicy(CLIFF, question="Which policy is best at the cliff?")
EXERCISES["4.2 explored"] = Number(
    float(CLIFF.start @ rl.evaluate_policy(CLIFF, SOFT)),
    question="What does an episode pay on average if the shortest way is followed with epsilon = 0.1?",
)
EXERCISES["4.3 q-learning"] = Number(
    2.85,
    question="Q(s, a) = 1, reward 2, Q(s', .) = (3, 1), step size 0.5, gamma 0.9. Q(s, a) after a step of Q-learning?",
)
EXERCISES["4.4 sarsa"] = Number(1.95, question="The same for Sarsa, which takes the second action in s'?")
EXERCISES["4.5 expected"] = Number(
    2.76, question="The same for Expected Sarsa, which takes the first action with probability 0.9?"
)

# 5. Approximation: a grid with obstacles, seen as (row, column); and two states of which one looks like the other.
OBSTACLES = rl.MDP.from_env("rlsuite/ObstacleGrid-v0", gamma=0.9)
EXERCISES["5.1 obstacles"] = BestPolicy(OBSTACLES, question="Which policy is best on the grid with obstacles?")
EXERCISES["5.2 values"] = Values(OBSTACLES, question="What are its optimal values?")
EXERCISES["5.3 tilings"] = Number(8, question="Eight tilings: how many features of an observation are 1?")
EXERCISES["5.4 gradient"] = Number(
    0.65, question="v = w x with w = 0.5, x = 3, target 2, step size 0.1. What is w after a semi-gradient step?"
)
EXERCISES["5.5 fixed point"] = Number(
    1 / 0.55, question="v = w x; x = 1 leads to x = 0.5 with reward 1; gamma = 0.9. At which w does this update stop?"
)

# 6. Hidden Markov models: the umbrella of Russell & Norvig, the casino and the islands of Durbin et al.
UMBRELLA = rl.HMM(
    start=[0.5, 0.5],
    transition=[[0.7, 0.3], [0.3, 0.7]],
    emission=[[0.9, 0.1], [0.2, 0.8]],
    state_labels=["rain", "dry"],
)
CASINO = rl.HMM(
    start=[0.5, 0.5],
    transition=[[0.95, 0.05], [0.1, 0.9]],
    emission=[[1 / 6] * 6, [0.1] * 5 + [0.5]],
    state_labels=["fair", "loaded"],
)
ROLLS = np.array([int(roll) for roll in "12435126345266366616661234512453"]) - 1
EXERCISES["6.1 filtered"] = Probabilities(
    rl.inference.filter(UMBRELLA, [0, 0])[-1], UMBRELLA.state_labels, question="Umbrellas on two days: rain today?"
)
EXERCISES["6.2 smoothed"] = Probabilities(
    rl.inference.smooth(UMBRELLA, [0, 0])[0], UMBRELLA.state_labels, question="And was there rain on the first day?"
)
EXERCISES["6.3 weather"] = BestPath(UMBRELLA, [0, 0, 1, 0, 0], question="Umbrella on days 1, 2, 4 and 5: the weather?")
EXERCISES["6.4 casino"] = BestPath(CASINO, ROLLS, question="When was the die loaded, most probably?")
EXERCISES["6.5 island"] = Number(
    20.0, question="An island is left with probability 0.05 after each base. How many bases does it have on average?"
)

# 7. The tiger: listening costs 1 and is right with probability .85.
TIGER = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
HEARD = {"left": "hear left", "right": "hear right"}
for number, sounds in (("7.1 once", ["left"]), ("7.2 twice", ["left"] * 2), ("7.3 both", ["left", "right"])):
    EXERCISES[number] = Probabilities.of_belief(
        TIGER, ["listen"] * len(sounds), [HEARD[sound] for sound in sounds], question=f"The belief after {sounds}?"
    )
EXERCISES["7.4 blind"] = Number(-45.0, question="What does it pay on average to open a door without having listened?")
EXERCISES["7.5 worth"] = Number(19.371, question="What is the problem worth at its start, with gamma = 0.95?")

# 8. Experiments: the final returns of two agents with ten seeds each, in pairs.
FIRST = np.array([12.0, 9.0, 14.0, 11.0, 10.0, 13.0, 8.0, 12.0, 15.0, 10.0])
SECOND = np.array([10.0, 8.0, 13.0, 11.0, 7.0, 12.0, 9.0, 9.0, 12.0, 8.0])
EXERCISES["8.1 error"] = Number(0.70238, question="What is the standard error of the mean of the first agent?")
EXERCISES["8.2 interval"] = Number(1.58889, question="How far does its 95 % t interval reach from the mean?")
EXERCISES["8.3 middle"] = Number(34 / 3, question="What is its interquartile mean (SciPy's trim_mean)?")
EXERCISES["8.4 improvement"] = Number(
    0.69,
    question="With what probability is a run of the first agent better than one of the second (a tie counts half)?",
)
EXERCISES["8.5 paired"] = Number(0.0066893, question="What is the p value of the paired t test?")
