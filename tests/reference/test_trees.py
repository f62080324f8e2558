"""Plain trees against scikit-learn's; the notes' numbers are in `test_notes.py`."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from rlsuite import reference
from rlsuite.reference.trees import Node


def random_examples(seed, n, noise=0.1, missing=0.0):
    """Two values an attribute, so that a split is the same as scikit-learn's; the class is a noisy `and`."""
    rng = np.random.default_rng(seed)
    X = rng.integers(2, size=(n, 4))
    labels = np.where((X[:, 0] & X[:, 1]) ^ (rng.random(n) < noise), "yes", "no")
    values = X.astype(str)
    values[rng.random(values.shape) < missing] = "?"
    return X, values, labels


def answers(tree, X, labels):
    classes = np.unique(labels)
    return classes[[reference.class_probabilities(tree, example, classes).argmax() for example in X]]


@pytest.mark.parametrize("seed", range(5))
def test_answers_and_gains_are_those_of_scikit_learn(seed):
    numbers, X, labels = random_examples(seed, 40)
    theirs = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(numbers, labels)
    tree = reference.id3(X, labels)
    assert tree.attribute == theirs.tree_.feature[0]
    known = theirs.predict_proba(numbers).max(axis=1) > 0.5  # elsewhere two classes are equally frequent
    assert (answers(tree, X, labels)[known] == theirs.predict(numbers)[known]).all()
    left, right, count = theirs.tree_.children_left[0], theirs.tree_.children_right[0], theirs.tree_.n_node_samples
    impurity = theirs.tree_.impurity
    gain = impurity[0] - (count[left] * impurity[left] + count[right] * impurity[right]) / count[0]
    column = X[:, tree.attribute]
    assert reference.information_gain(column, labels, np.ones(40)) == pytest.approx(gain)


def test_an_example_with_a_missing_value_counts_in_every_branch():
    X, labels = np.array([["a"], ["a"], ["b"], ["?"]]), np.array(["yes", "yes", "no", "no"])
    tree = reference.id3(X, labels)
    assert {value: branch.size for value, branch in tree.branches.items()} == pytest.approx({"a": 8 / 3, "b": 4 / 3})
    assert sum(part.sum() for part in reference.split(X[:, 0], np.ones(4)).values()) == pytest.approx(4)


def test_trees_grow_on_examples_with_many_missing_values():
    _, X, labels = random_examples(0, 400, noise=0.0, missing=0.2)
    _, whole, truth = random_examples(1, 100, noise=0.0)
    tree = reference.id3(X, labels)
    assert (answers(tree, whole, truth) == truth).all()
    probabilities = reference.class_probabilities(tree, np.array(["?"] * 4), np.unique(labels))
    assert probabilities.sum() == pytest.approx(1)


def test_a_dear_attribute_is_asked_last():
    X, labels = np.array([["a", "c"], ["a", "c"], ["b", "d"], ["b", "c"]]), np.array(["yes", "yes", "no", "no"])
    assert reference.id3(X, labels).attribute == 0
    assert reference.id3(X, labels, cost=np.array([100.0, 1.0])).attribute == 1
    assert reference.id3(X, labels, score=reference.gain_ratio).attribute == 0


def test_a_value_never_seen_gets_the_most_common_class_of_the_node():
    tree = reference.id3(np.array([["a"], ["a"], ["b"]]), np.array(["yes", "yes", "no"]))
    assert answers(tree, np.array([["c"]]), np.array(["yes", "no"])).tolist() == ["yes"]


@pytest.mark.parametrize("seed", range(5))
def test_rules_answer_as_the_tree_and_pruned_ones_no_worse_on_new_examples(seed):
    _, X, labels = random_examples(seed, 200)
    _, new, truth = random_examples(seed + 100, 200)
    tree = reference.id3(X, labels)

    def by(rules):
        return np.array([next(label for c, label in rules if all(one[a] == v for a, v in c.items())) for one in new])

    rules = reference.tree_rules(tree)
    assert (by(rules) == answers(tree, new, truth)).all()
    pruned = reference.prune_rules(rules, new, truth)
    assert sum(len(c) for c, _ in pruned) < sum(len(c) for c, _ in rules)
    assert (by([*pruned, ({}, tree.label)]) == truth).mean() >= (by(rules) == truth).mean()


def test_a_leaf_has_one_rule_without_conditions():
    rules = reference.tree_rules(Node("yes", 1.0, -1, {}))
    assert rules == [({}, "yes")]
    assert reference.prune_rules(rules, np.array([["a"]]), np.array(["yes"])) == rules
