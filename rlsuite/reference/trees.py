"""Decision trees for attributes with few values: Mitchell, "Machine Learning", 1997, chapter 3 (M97).

An array X (n, d) of strings has an example in each row; "?" is a missing value. The weights of examples are counts: one
with a missing value goes into every branch, with a fraction of its weight (M97 section 3.7.4).

Fast forms: `sklearn.tree.DecisionTreeClassifier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rlsuite.models.aliases import FloatArray

MISSING = "?"


class Node(NamedTuple):
    """A tree that tests an attribute, or a leaf if it has no branches."""

    label: str  # the most common class here: the answer of a leaf, and for a value that was never seen
    size: float  # the weight of the examples here
    attribute: int
    branches: dict[str, Node]


def entropy(labels: NDArray[Any], weights: FloatArray) -> float:
    """Return H = -sum_c p_c log2 p_c, in bits. M97 (3.3).

    Parameters
    ----------
    labels : ndarray (n,) str
        The class of each example.
    weights : ndarray (n,) float64
        How often it counts.

    Returns
    -------
    float
        0 if all are of one class, 1 if two classes are equally frequent.

    Examples
    --------
    Nine days to play tennis, and five not to:

    >>> round(entropy(np.array(["yes"] * 9 + ["no"] * 5), np.ones(14)), 6)
    0.940286
    """
    p = np.array([weights[labels == c].sum() for c in np.unique(labels)]) / weights.sum()
    p = p[p > 0.0]
    return -float(p @ np.log2(p))


def split(column: NDArray[Any], weights: FloatArray) -> dict[str, FloatArray]:
    """Return the weights of the examples in the branch of each value of an attribute.

    Parameters
    ----------
    column : ndarray (n,) str
        The attribute's value in each example, at least one of them known.
    weights : ndarray (n,) float64
        How often each example counts.

    Returns
    -------
    dict
        For each value an array (n,) float64.

    Examples
    --------
    >>> split(np.array(["weak", "weak", "strong", "?"]), np.ones(4))["weak"].round(3).tolist()
    [1.0, 1.0, 0.0, 0.667]
    """
    known = column != MISSING
    values = [v for v in np.unique(column[known]) if weights[column == v].any()]
    share = {v: weights[column == v].sum() / weights[known].sum() for v in values}
    return {str(v): weights * np.where(known, column == v, share[v]) for v in values}


def information_gain(column: NDArray[Any], labels: NDArray[Any], weights: FloatArray) -> float:
    """Return by how much knowing an attribute is expected to lower the entropy. M97 (3.4).

    Parameters
    ----------
    column, labels : ndarray (n,) str
        The attribute's value, and the class, of each example.
    weights : ndarray (n,) float64
        How often it counts.

    Returns
    -------
    float
        In bits, at least 0.

    Examples
    --------
    With weak wind six days to play and two not to, with strong wind three of each:

    >>> wind = np.array(["weak"] * 8 + ["strong"] * 6)
    >>> play = np.array(["yes"] * 6 + ["no"] * 2 + ["yes"] * 3 + ["no"] * 3)
    >>> round(information_gain(wind, play, np.ones(14)), 6)
    0.048127
    """
    parts = split(column, weights).values()
    rest = sum(float(part.sum() / weights.sum()) * entropy(labels, part) for part in parts)
    return entropy(labels, weights) - rest


def gain_ratio(column: NDArray[Any], labels: NDArray[Any], weights: FloatArray) -> float:
    """Return the gain divided by the entropy of the attribute itself, which many values make large. M97 (3.5), (3.6).

    Parameters
    ----------
    column, labels : ndarray (n,) str
        The attribute's value, and the class, of each example.
    weights : ndarray (n,) float64
        How often it counts.

    Returns
    -------
    float
        0 for an attribute with one value, which says nothing.

    Examples
    --------
    >>> day, play = np.array(["monday", "tuesday", "friday", "sunday"]), np.array(["yes", "no", "yes", "no"])
    >>> information_gain(day, play, np.ones(4)), gain_ratio(day, play, np.ones(4))
    (1.0, 0.5)
    """
    parts = split(column, weights)
    sizes = np.array([part.sum() for part in parts.values()])
    information = entropy(np.array(list(parts)), sizes)
    return information_gain(column, labels, weights) / information if information > 0.0 else 0.0


def gain_for_cost(gain: FloatArray, cost: FloatArray, importance: float | None = None) -> FloatArray:
    """Return the scores of attributes whose values must be measured. M97 section 3.7.5.

    Parameters
    ----------
    gain, cost : ndarray (d,) float64
        Information gain and cost of each attribute.
    importance : float, optional
        Between 0 and 1: (2^gain - 1) / (cost + 1)^importance (Nunez 1988). Without it, gain^2 / cost (Tan and Schlimmer
        1990).

    Returns
    -------
    ndarray (d,) float64
        Their order says which to measure first.

    Examples
    --------
    >>> gain, cost = np.array([0.5, 1.0]), np.array([1.0, 8.0])
    >>> gain_for_cost(gain, cost).tolist(), gain_for_cost(gain, cost, importance=0.0).round(3).tolist()
    ([0.25, 0.125], [0.414, 1.0])
    """
    if importance is None:
        return gain**2 / cost
    return (2.0**gain - 1.0) / (cost + 1.0) ** importance


def best_threshold(numbers: FloatArray, labels: NDArray[Any]) -> tuple[float, float]:
    """Return the threshold with the largest information gain, and that gain. M97 section 3.7.2.

    Only the middle between neighbours of different classes can be the best.

    Parameters
    ----------
    numbers : ndarray (n,) float64
        A numerical attribute, no two examples with the same number.
    labels : ndarray (n,) str
        The class of each example, of at least two.

    Returns
    -------
    threshold, gain : float
        Greater than the threshold or not is an attribute with two values.

    Examples
    --------
    >>> threshold, gain = best_threshold(np.array([23.0, 27, 32, 34, 35, 38]), np.array(list("yynnyn")))
    >>> threshold, round(gain, 6)
    (29.5, 0.459148)
    """
    order = np.argsort(numbers)
    x, y, weights = numbers[order], labels[order], np.ones(len(order))
    candidates = [(x[i] + x[i + 1]) / 2.0 for i in range(len(x) - 1) if y[i] != y[i + 1]]
    gains = [information_gain(np.where(x > c, "greater", "less"), y, weights) for c in candidates]
    return float(candidates[int(np.argmax(gains))]), max(gains)


def id3(
    X: NDArray[Any],
    labels: NDArray[Any],
    weights: FloatArray | None = None,
    score: Callable[[NDArray[Any], NDArray[Any], FloatArray], float] = information_gain,
    cost: FloatArray | None = None,
) -> Node:
    """Grow a tree: test the attribute with the best score, continue in each branch with the examples there. M97 3.4.

    Parameters
    ----------
    X : ndarray (n, d) str
        The attributes of each example; "?" where one is missing.
    labels : ndarray (n,) str
        Its class.
    weights : ndarray (n,) float64, optional
        How often it counts; default 1.
    score : callable, optional
        `information_gain` or `gain_ratio`.
    cost : ndarray (d,) float64, optional
        What it costs to measure each attribute; see `gain_for_cost`.

    Returns
    -------
    Node
        A branch ends where all examples are of one class, or no attribute says anything more.

    Examples
    --------
    >>> X = np.array([["sun", "dry"], ["sun", "wet"], ["rain", "dry"], ["rain", "wet"]])
    >>> tree = id3(X, np.array(["play", "stay", "stay", "stay"]))
    >>> tree.attribute, tree.branches["sun"].branches["dry"].label, tree.branches["rain"].label
    (0, 'play', 'stay')
    """
    weights = np.ones(len(X)) if weights is None else weights
    classes = np.unique(labels)
    label = str(classes[np.argmax([weights[labels == c].sum() for c in classes])])
    open_ = [a for a in range(X.shape[1]) if len(split(X[:, a], weights)) > 1] if entropy(labels, weights) > 0.0 else []
    if not open_:
        return Node(label, float(weights.sum()), -1, {})
    scores = np.array([score(X[:, a], labels, weights) for a in open_])
    if cost is not None:
        scores = gain_for_cost(scores, cost[open_])
    best = open_[int(np.argmax(scores))]
    asked = X.copy()
    asked[:, best] = MISSING  # an attribute is tested once on each path
    parts = split(X[:, best], weights)
    branches = {value: id3(asked, labels, part, score, cost) for value, part in parts.items()}
    return Node(label, float(weights.sum()), best, branches)


def class_probabilities(tree: Node, example: NDArray[Any], classes: NDArray[Any]) -> FloatArray:
    """Return how probable the classes are; a missing value goes into every branch, as in learning. M97 section 3.7.4.

    Parameters
    ----------
    tree : Node
        What `id3` returned.
    example : ndarray (d,) str
        The attributes; "?" where one is missing.
    classes : ndarray (k,) str
        The classes.

    Returns
    -------
    ndarray (k,) float64
        A single 1, unless a value is missing.

    Examples
    --------
    >>> leaves = {"sun": Node("play", 3.0, -1, {}), "rain": Node("stay", 1.0, -1, {})}
    >>> class_probabilities(Node("play", 4.0, 0, leaves), np.array(["?"]), np.array(["play", "stay"])).tolist()
    [0.75, 0.25]
    """
    value = example[tree.attribute]
    taken = list(tree.branches.values()) if value == MISSING else [b for v, b in tree.branches.items() if v == value]
    if not taken:
        return (classes == tree.label).astype(np.float64)
    found = [branch.size * class_probabilities(branch, example, classes) for branch in taken]
    return np.sum(found, axis=0) / sum(branch.size for branch in taken)


def tree_rules(tree: Node) -> list[tuple[dict[int, str], str]]:
    """Return a rule for each leaf: the values on the way to it, and its class. M97 section 3.7.1.2.

    Parameters
    ----------
    tree : Node
        What `id3` returned.

    Returns
    -------
    list of tuple
        For each leaf the value of each attribute tested, and the label.

    Examples
    --------
    >>> leaves = {"sun": Node("play", 3.0, -1, {}), "rain": Node("stay", 1.0, -1, {})}
    >>> tree_rules(Node("play", 4.0, 0, leaves))
    [({0: 'sun'}, 'play'), ({0: 'rain'}, 'stay')]
    """
    if not tree.branches:
        return [({}, tree.label)]
    return [
        ({tree.attribute: value, **conditions}, label)
        for value, branch in tree.branches.items()
        for conditions, label in tree_rules(branch)
    ]


def prune_rules(
    rules: list[tuple[dict[int, str], str]], X: NDArray[Any], labels: NDArray[Any]
) -> list[tuple[dict[int, str], str]]:
    """Shorten each rule as long as it gets no worse, and put the most accurate rules first. M97 section 3.7.1.2.

    Parameters
    ----------
    rules : list of tuple
        What `tree_rules` returned.
    X : ndarray (n, d) str
        The attributes of examples that the tree was not grown on.
    labels : ndarray (n,) str
        Their classes.

    Returns
    -------
    list of tuple
        Without duplicates; the first rule that fits an example answers.

    Examples
    --------
    >>> X, labels = np.array([["sun", "dry"], ["sun", "wet"], ["rain", "dry"]]), np.array(["play", "play", "stay"])
    >>> prune_rules([({0: "rain", 1: "dry"}, "stay"), ({0: "sun", 1: "dry"}, "play")], X, labels)
    [({0: 'rain'}, 'stay'), ({0: 'sun'}, 'play')]
    """

    def accuracy(conditions: dict[int, str], label: str) -> float:
        fits = np.all([X[:, a] == value for a, value in conditions.items()], axis=0) & np.ones(len(X), dtype=bool)
        return float((labels[fits] == label).mean()) if fits.any() else 0.0

    shortened: list[tuple[dict[int, str], str]] = []
    for conditions, label in rules:
        while conditions:
            shorter = [{a: v for a, v in conditions.items() if a != left_out} for left_out in conditions]
            best = max(shorter, key=lambda one: accuracy(one, label))
            if accuracy(best, label) < accuracy(conditions, label):
                break
            conditions = best
        if (conditions, label) not in shortened:
            shortened.append((conditions, label))
    return sorted(shortened, key=lambda rule: -accuracy(*rule))
