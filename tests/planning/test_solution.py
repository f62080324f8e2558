"""What a solution says of itself at the prompt."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.cli import main
from rlsuite.errors import ParameterError, RlsuiteError


def model(start=(0.25, 0.75, 0.0)):
    """From 1 to 0, earning 2; from 0 to the end, earning 4."""
    return rl.MDP.from_successors([[2], [0], [None]], [[4.0], [2.0], [0.0]], gamma=0.5, start=start)


def test_a_solution_shows_its_value_at_the_start():
    for options in [{}, {"method": "value_iteration"}, {"horizon": 5, "method": "backward_induction"}]:
        solution = rl.solve(model(), **options)
        assert solution.value_at_start == pytest.approx(0.25 * 4.0 + 0.75 * 4.0)
        assert solution.value_at_start == pytest.approx(float(model().start @ solution.value))
        assert "value_at_start=4, " in repr(solution)
        assert "\n" not in repr(solution)


def test_costs_are_minimised_and_shown(tmp_path, capsys):
    repair = [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]]
    costs = np.array([[1.0, 4.0], [9.0, 4.0]])
    machine = rl.MDP.from_arrays(repair, costs=costs, order="sas", gamma=0.9, start=0, state_labels=["ok", "broken"])
    as_rewards = rl.MDP.from_arrays(repair, -costs, order="sas", gamma=0.9, start=0)
    solution = rl.solve(machine)
    assert solution.value.tolist() == rl.solve(as_rewards).value.tolist()
    assert solution.cost.tolist() == (-solution.value).tolist()
    assert f"cost_at_start={solution.cost[0]:.6g}, " in repr(solution)
    assert "cost_per_step=1.27273, " in repr(rl.solve(machine, criterion="average"))
    assert solution.columns()["cost"] == solution.cost.tolist()
    machine.write(tmp_path / "machine.npz")
    machine.write(tmp_path / "machine.mdp")
    assert "values: cost\n" in (tmp_path / "machine.mdp").read_text()
    from_text = rl.MDP.read(tmp_path / "machine.mdp")
    assert (from_text.costs, from_text.expected_reward().tolist()) == (True, (-costs).tolist())
    solution.save(tmp_path / "plan.npz")
    read = rl.MDP.read(tmp_path / "machine.npz")
    assert (read.costs, read.replace(gamma=0.5).costs, read.without_termination().costs) == (True, True, True)
    assert (as_rewards.costs, rl.load(tmp_path / "plan.npz").lookahead.mdp.costs) == (False, True)
    assert main(["solve", str(tmp_path / "machine.npz"), "--show"]) == 0
    shown = capsys.readouterr().out
    assert f"cost at start  {solution.cost[0]:.6g}" in shown
    assert shown.splitlines()[-3].split() == ["state", "cost", "best", "action"]
    assert main(["act", str(tmp_path / "plan.npz"), "broken"]) == 0
    assert f"cost    {solution.cost[1]:.6g}" in capsys.readouterr().out
    axes = rl.plotting.state_values(solution)
    assert axes.get_ylabel() == "cost"
    assert sorted(line.get_ydata()[0] for line in axes.get_lines()) == sorted(solution.cost.tolist())
    infinite = rl.MDP.from_arrays(repair, costs=[[1.0, np.inf], [9.0, 4.0]], order="sas", gamma=0.9)
    assert infinite.legal.tolist() == [[True, False], [True, True]]

    def step(state, action):
        return (
            {state: 0.9, "broken": 0.1} if action == "run" and state == "ok" else "broken" if action == "run" else "ok"
        )

    prices = {("ok", "run"): 1, ("ok", "fix"): 4, ("broken", "run"): 9, ("broken", "fix"): 4}
    explored = rl.MDP.from_function(
        step, "ok", gamma=0.9, actions=["run", "fix"], cost=lambda state, action, after: prices[state, action]
    )
    assert rl.solve(explored).cost.round(9).tolist() == solution.cost.round(9).tolist()
    for asked, words in [
        (lambda: rl.MDP.from_arrays(repair, gamma=0.9), "rewards R or costs= are needed"),
        (lambda: rl.MDP.from_arrays(repair, costs, costs=costs, gamma=0.9), "and not both"),
        (lambda: rl.MDP.from_arrays(repair, cost=costs, gamma=0.9), "did you mean costs="),
        (lambda: rl.MDP.from_function(step, "ok", gamma=0.9, actions=["run"], costs=len), "did you mean cost="),
        (lambda: rl.MDP.from_function(step, "ok", gamma=0.9, actions=["run"], cost=len, reward=len), "not both"),
    ]:
        with pytest.raises(RlsuiteError, match=words):
            asked()


def test_of_the_average_reward_the_gain_is_shown_and_not_a_relative_value():
    two_circles = rl.MDP.from_successors([[0], [1]], [[1.0], [3.0]], gamma=0.9, start=[0.5, 0.5])
    solution = rl.solve(two_circles, method="average_reward_policy_iteration")
    assert solution.gain_at_start == pytest.approx(2.0)
    assert "gain_at_start=2, " in repr(solution)
    assert "value_at_start" not in repr(solution)
    assert np.isscalar(solution.value_at_start)


def test_a_solution_acts_by_numbers_and_names(tiger):
    names = {"state_labels": ["in", "out"], "action_labels": ["stay", "leave"]}
    mdp = rl.MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.9, **names)
    solution, two_steps = rl.solve(mdp), rl.solve(mdp, horizon=2)
    assert (solution.act("in", named=True), two_steps.act("in", 1, named=True)) == ("stay", "leave")
    hidden = rl.solve(tiger(0.9).replace(action_labels=["listen", "open left", "open right"]))
    assert [hidden.act([p, 1 - p], named=True) for p in (0.5, 1.0)] == ["listen", "open right"]
    assert (solution.act("in"), solution.act(0), two_steps.act("in", steps_left=1), two_steps.act(0)) == (0, 0, 1, 0)
    assert repr(solution).startswith("Solution(method='policy_iteration', value_at_start=10, error_bound=")
    for asked, words in [
        (lambda: solution.act("on"), r"unknown state 'on' \(in, out, 0..1\)"),
        (lambda: solution.act(2), "state=2 is not a state; the states are 0..1"),
        (lambda: solution.act("out"), "state='out' is an end: no action is legal there"),
        (lambda: two_steps.act(0, steps_left=3), "steps_left=3 is more than the 2 steps of this plan"),
        (lambda: solution.act(0, steps_left=1), "this solution has no horizon: leave steps_left out"),
        (lambda: two_steps.act(0, steps_left=0), "steps_left=0 is less than 1"),
    ]:
        with pytest.raises(ParameterError, match=words):
            asked()


def test_a_solution_is_drawn_and_answers_names_of_others(tiger):
    model = tiger(0.9)
    for solution, drawn in (
        (rl.solve(model.mdp), "state"),
        (rl.solve(model), "probability"),
        (rl.solve("FrozenLake-v1", gamma=0.9), ""),
    ):
        axes = solution.plot(title="the plan")
        assert axes.get_title(loc="left") + axes.get_title() == "the plan"
        assert drawn in axes.get_xlabel()
        with pytest.raises(AttributeError, match=r"has no attribute 'V'; did you mean 'value'\?"):
            _ = solution.V
