"""``rlsuite solve ... --save`` and ``rlsuite act``."""

import rlsuite as rl


def test_a_saved_solution_answers(rlsuite, rlsuite_json, tiger_file, tmp_path):
    done = rlsuite("solve", tiger_file, "--gap", 1, "--save", "t.npz")
    assert done.err == "next: rlsuite act t.npz --belief 0.5,0.5\n"
    assert done.out.endswith("  written: t.npz\n")
    done = rlsuite("act", "t.npz", "--belief", "tiger-left=0.99,tiger-right=0.01")
    first, action, value = done.out.splitlines()
    assert first == "t.npz by sarsop, in the belief tiger-left=0.99,tiger-right=0.01"
    assert (action, value.split()[0]) == ("  action  open-right", "value")
    answers = [rlsuite_json("act", "t.npz", "--belief", belief)["action"] for belief in ("0.01,.99", "0.5,0.5")]
    assert answers == [1, 0]
    for suffix in (".alpha", ".policy", ".pg"):
        rlsuite("solve", tiger_file, "--gap", 1, "--save", f"t{suffix}")
        assert rlsuite_json("act", f"t{suffix}", "--model", tiger_file)["action_label"] == "listen"
    rlsuite("solve", tiger_file, "--horizon", 2, "--save", "two.npz")
    assert rlsuite_json("act", "two.npz", "--steps-left", 1)["value"] == -1.0
    assert rlsuite_json("solve", "rlsuite/GridGoal-v0", "--criterion", "total")["gamma"] == 1.0
    done = rlsuite("solve", "rlsuite/GridGoal-v0", "--save", "g.npz")
    assert done.err == "next: rlsuite act g.npz --state S0\n"
    assert rlsuite("act", "g.npz", "--state", "s3").out == "g.npz by policy_iteration, in state S3\n" + (
        "  action  R\n  value   90\n"
    )
    rlsuite("solve", "rlsuite/GridGoal-v0", "--horizon", 3, "--save", "h.npz")
    assert rlsuite_json("act", "h.npz", "--state", 0, "--steps-left", 1)["value"] == 0.0
    rlsuite("solve", "rlsuite/GridGoal-v0", "--save", "g.csv")
    assert (tmp_path / "g.csv").read_text().startswith("state,value,action,q L,q R,q U,q D\nS0,81")
    rl.Sarsa().learn("FrozenLake-v1", steps=10, seed=1).save(tmp_path / "agent.npz")
    for words, message in [
        (["act", "t.npz", "--belief", "0.9"], "has 1 probabilities, and the model 2 states: tiger-left, tiger-right"),
        (["act", "t.npz", "--belief", "ok=1"], "unknown state 'ok' (tiger-left, tiger-right, 0..1)"),
        (["act", "t.npz", "--belief", "0.9,x"], "'x' in --belief is not a number: write 0.5,0.5 or name=0.5,name=0.5"),
        (["act", "t.npz", "--belief", "0.9,0.2"], "sums to 1.1, not 1"),
        (["act", "t.npz", "--state", "1"], "those of a POMDP are hidden: give --belief"),
        (["act", "t.npz", "--model", tiger_file], "t.npz holds its model: leave --model out"),
        (["act", "t.pg"], "t.pg does not hold its model: add --model FILE.pomdp, or an environment"),
        (["act", "t.pg", "--model", "FrozenLake-v1"], "--model FrozenLake-v1 is a MDP, and the plan is for a POMDP"),
        (["act", "g.npz", "--state", "S9"], "unknown state 'S9' (S0, S1, S2, S3, S4, G, 0..5)"),
        (["act", "g.npz", "--state", "99"], "the states are 0..5"),
        (["act", "g.npz", "--belief", "1"], "those of an MDP are seen: give --state"),
        (["act", "g.npz", "--steps-left", "1"], "this solution has no horizon: leave --steps-left out"),
        (["act", "agent.npz"], "agent.npz holds an agent, not a solution"),
        (["act", "none.npz"], "there is no file none.npz"),
        (["solve", tiger_file, "--save", "t.txt"], "unknown suffix '.txt' (choices: .alpha, .cert, .csv,"),
        (["solve", "rlsuite/GridGoal-v0", "--save", "g.pg"], "is a plan for hidden states; use .npz or .csv"),
    ]:
        done = rlsuite(*words)
        assert (done.code, message in done.err) == (2, True), done.err
