"""Policy search by random perturbations, the lecture notes' way to learn a robot's gait (Kohl & Stone 2004).

From the parameters theta come k candidates R_i = theta + delta_i; each delta_ij is -epsilon_j, 0 or +epsilon_j, all
three equally likely. Each candidate has a score F(R_i), the mean return of its episodes. Then

- either the best candidate is the new policy: theta <- R_i*, i* = argmax_i F(R_i);
- or all candidates count: theta <- theta + eta A / ||A||, where A_j compares the mean scores of the candidates with
  +epsilon_j, with 0 and with -epsilon_j; it is 0 where the zeros have done best, and the difference of the outer two
  elsewhere.

The notes print t candidates in one place and k in the other, and leave open what a mean over no candidates is and what
A / ||A|| is where A is 0. Here their number is `candidates`; a group without candidates takes no part in the
comparison, and a direction that is 0 moves nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.approximation.policies.search import PolicySearch
from rlsuite.core.checks import positive_number


@dataclass(eq=False, kw_only=True)
class PerturbationSearch(PolicySearch):
    """Move to the best of a few random perturbations (the notes' "easiest case").

    The best candidate is taken whether or not it is better than what it was made from: under chance a single lucky
    score would otherwise hold the search for ever. Of equally good ones that which was moved least is taken, so that
    the search comes to rest where all is well.

    Parameters
    ----------
    policy : ParametricPolicy
        What is searched for: a `LinearPolicy`, or anything of your own with its four methods.
    candidates : int
        Perturbations that are tried in each iteration.
    episodes : int
        Episodes that each of them plays.
    gamma : float
        Discount per step of the returns, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.
    epsilon : float or array (n_parameters,)
        How far each parameter is moved, above 0.

    Attributes
    ----------
    policy_ : ParametricPolicy
        The policy found so far.
    parameters_ : ndarray of float64, shape (n_parameters,)
        Its parameters.
    scores_ : ndarray of float64, shape (n_iterations, candidates)
        Mean return of each candidate of each iteration.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> search = PerturbationSearch(epsilon=0.5).learn("CartPole-v1", iterations=5, seed=7)
    >>> search.scores_.shape, bool(search.scores_[-1].max() > 2 * search.scores_[0].mean())
    ((5, 20), True)
    """

    epsilon: float | ArrayLike = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in np.ravel(np.asarray(self.epsilon, dtype=object)):
            if positive_number("epsilon", one) == np.inf:
                raise errors.ParameterError("epsilon=inf is not a finite number")

    def begin(self, n_parameters: int) -> None:
        """Check that there is one epsilon, or one for each parameter."""
        size = np.shape(np.asarray(self.epsilon))
        if size not in ((), (n_parameters,)):
            raise errors.ParameterError(
                f"epsilon has shape {size}; give one number, or one for each of the {n_parameters} parameters"
            )

    def propose(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Perturb the parameters: (candidates, n_parameters)."""
        signs = rng.integers(-1, 2, size=(self.candidates, self.parameters_.size))
        return self.parameters_ + signs * np.asarray(self.epsilon, dtype=np.float64)

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Take the best; of equal scores, the first that was moved least."""
        best = tried[scores == scores.max()]
        moved = np.linalg.norm(best - self.parameters_, axis=1)
        self.parameters_ = best[moved.argmin()]


@dataclass(eq=False, kw_only=True)
class PerturbationGradient(PerturbationSearch):
    """Move in the direction given by the mean scores of random perturbations (Kohl & Stone 2004, table 1).

    Parameters
    ----------
    policy : ParametricPolicy
        What is searched for: a `LinearPolicy`, or anything of your own with its four methods.
    candidates : int
        Perturbations that are tried in each iteration; a mean needs some of each sign: a dozen or more.
    episodes : int
        Episodes that each of them plays.
    gamma : float
        Discount per step of the returns, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.
    epsilon : float or array (n_parameters,)
        How far each parameter is moved, above 0.
    step_length : float
        Euclidean length of a step in the space of parameters (the notes' eta), above 0.

    Attributes
    ----------
    policy_ : ParametricPolicy
        The policy found so far.
    parameters_ : ndarray of float64, shape (n_parameters,)
        Its parameters.
    scores_ : ndarray of float64, shape (n_iterations, candidates)
        Mean return of each candidate of each iteration.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> search = PerturbationGradient(epsilon=0.2, step_length=0.5).learn("CartPole-v1", iterations=5, seed=7)
    >>> bool(search.scores_[-1].mean() > 2 * search.scores_[0].mean())
    True
    """

    step_length: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if positive_number("step_length", self.step_length) == np.inf:
            raise errors.ParameterError("step_length=inf is not a finite number")

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Take a step of the given length along A; none if A is 0."""
        signs = np.sign(tried - self.parameters_).astype(np.int64)
        direction = compared(signs, scores)
        length = np.linalg.norm(direction)
        if length > 0.0:
            self.parameters_ = self.parameters_ + self.step_length * direction / length


def compared(signs: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A_j of each parameter, from the signs (candidates, n_parameters) of its perturbations and the scores they had.

    0 where the mean score of the candidates with sign 0 exceeds those of both others; else the mean of the positive
    less the mean of the negative ones. 0 where one of these two groups is empty: one side alone says nothing of the
    slope. If only the group of the zeros is empty, the other two decide.

    Examples
    --------
    >>> compared(np.array([[-1, 1], [0, 1], [1, 0]]), np.array([1.0, 5.0, 4.0])).tolist()
    [0.0, 0.0]
    >>> compared(np.array([[-1, 1], [0, -1], [1, 1]]), np.array([1.0, 2.0, 4.0])).tolist()
    [3.0, 0.5]
    """
    sizes = np.stack([(signs == sign).sum(axis=0) for sign in (-1, 0, 1)])
    sums = np.stack([scores @ (signs == sign) for sign in (-1, 0, 1)])
    lower, middle, upper = np.where(sizes > 0, sums / np.maximum(sizes, 1), -np.inf)
    stays = (sizes[0] == 0) | (sizes[2] == 0) | ((middle > lower) & (middle > upper))
    return np.where(stays, 0.0, upper - np.where(stays, 0.0, lower))
