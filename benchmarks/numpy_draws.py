"""NumPy's side of `bandits.py` for learners that draw: arms by probabilities, or means and weights from beliefs.

Where arms are drawn by probabilities, one row of a table is one arm, so that maxima, sums and running sums over the
arms are sums of long rows, in which NumPy is fastest: running sums row by row are ten times as fast as its cumsum.
"""

import numpy as np
from bandits_problem import ARMS, WIDTH
from numpy.typing import NDArray
from numpy_testbed import Averages, ContextualTestbed, Floats, Testbed


class Urn:
    """Draws an arm of each bandit by weights (ARMS, bandits)."""

    def __init__(self, bed: Testbed) -> None:
        self.rng = bed.rng
        self.weights = np.empty((ARMS, bed.bandits))
        self.total = np.empty(bed.bandits)
        self._running, self._below = np.empty_like(self.weights), np.empty((ARMS, bed.bandits), dtype=np.bool_)
        self._threshold = np.empty(bed.bandits)

    def fill(self, table: Floats, sharpness: float = 1.0) -> None:
        """Weights exp(sharpness table), but for a factor that keeps them finite, and their sum."""
        table.max(axis=0, out=self._threshold)
        np.subtract(table, self._threshold, out=self.weights)
        if sharpness != 1.0:
            self.weights *= sharpness
        np.exp(self.weights, out=self.weights)
        self.weights.sum(axis=0, out=self.total)

    def draw(self, arm: NDArray[np.intp]) -> None:
        """Draw by the weights; their sum must be known."""
        running = self._running
        running[0] = self.weights[0]
        for row in range(1, ARMS):
            np.add(running[row - 1], self.weights[row], out=running[row])
        self.rng.random(out=self._threshold)
        self._threshold *= self.total
        np.less_equal(running, self._threshold, out=self._below)
        arm[:] = self._below[:-1].view(np.int8).sum(axis=0, dtype=np.int8)


def softmax(bed: Testbed, pulls: int, temperature: float) -> None:
    """Each arm once; then by exp(Q(a) / temperature)."""
    averages, urn, arm = Averages(bed), Urn(bed), bed.arm()
    for t in range(pulls):
        if t < ARMS:
            arm.fill(t)
        else:
            urn.fill(averages.q, 1.0 / temperature)
            urn.draw(arm)
        averages.learn(bed.pull(arm))


def gradient(bed: Testbed, pulls: int, rate: float, baseline: bool = True) -> None:
    """H(a) <- H(a) + rate (r - b) (1{a = A} - pi(a)), b the mean of the rewards before."""
    urn, arm, mean = Urn(bed), bed.arm(), np.zeros(bed.bandits)
    preferences = np.zeros((ARMS, bed.bandits))
    flat, push = preferences.ravel(), np.empty(bed.bandits)
    for t in range(pulls):
        urn.fill(preferences)
        urn.draw(arm)
        reward = bed.pull(arm)
        np.multiply(reward, rate, out=push)
        if baseline:
            if t == 0:
                mean[:] = reward
            np.subtract(reward, mean, out=push)
            push *= rate
        flat[bed.place] += push
        push /= urn.total
        urn.weights *= push
        preferences -= urn.weights
        reward -= mean
        reward /= t + 1
        mean += reward


def gradient_no_baseline(bed: Testbed, pulls: int, rate: float) -> None:
    """The same with b = 0."""
    gradient(bed, pulls, rate, baseline=False)


def exp3(bed: Testbed, pulls: int, epsilon: float) -> None:
    """p(a) = (1 - epsilon) w(a) / sum w + epsilon / K; ln w(A) <- ln w(A) + epsilon r / (K p(A))."""
    urn, arm = Urn(bed), bed.arm()
    log_weights = np.zeros((ARMS, bed.bandits))
    flat, share = log_weights.ravel(), np.empty(bed.bandits)
    for _ in range(pulls):
        urn.fill(log_weights)
        np.divide(1.0 - epsilon, urn.total, out=share)
        urn.weights *= share
        urn.weights += epsilon / ARMS
        urn.total.fill(1.0)
        urn.draw(arm)
        reward = bed.pull(arm)
        reward *= epsilon / ARMS
        reward /= urn.weights.ravel().take(bed.place)
        flat[bed.place] += reward


def thompson_bernoulli(bed: Testbed, pulls: int) -> None:
    """The largest draw from Beta(successes + 1, failures + 1)."""
    alpha, beta = np.ones(bed.shape), np.ones(bed.shape)
    flat_alpha, flat_beta, arm = alpha.ravel(), beta.ravel(), bed.arm()
    for _ in range(pulls):
        bed.rng.beta(alpha, beta).argmax(axis=1, out=arm)
        reward = bed.pull(arm)
        flat_alpha[bed.place] += reward
        np.subtract(1.0, reward, out=reward)
        flat_beta[bed.place] += reward


def thompson_normal(bed: Testbed, pulls: int) -> None:
    """The largest draw from N(mu(a), 1 / precision(a)), with unit prior and unit noise."""
    mean, precision, drawn, width = (np.zeros(bed.shape) for _ in range(4))
    precision += 1.0
    flat_mean, flat_precision, arm = mean.ravel(), precision.ravel(), bed.arm()
    for _ in range(pulls):
        bed.rng.standard_normal(out=drawn)
        np.sqrt(precision, out=width)
        drawn /= width
        drawn += mean
        drawn.argmax(axis=1, out=arm)
        reward = bed.pull(arm)
        sharper = flat_precision.take(bed.place)
        sharper += 1.0
        flat_precision[bed.place] = sharper
        reward -= flat_mean.take(bed.place)
        reward /= sharper
        flat_mean[bed.place] += reward


def thompson_normal_gamma(bed: Testbed, pulls: int) -> None:
    """The largest of draws tau ~ Gamma(alpha, rate beta), m ~ N(mu, 1 / (kappa tau))."""
    shape = bed.shape
    mean, drawn, tau = (np.zeros(shape) for _ in range(3))
    kappa, alpha, beta = (np.ones(shape) for _ in range(3))
    flat_mean, flat_kappa, flat_alpha, flat_beta = (table.ravel() for table in (mean, kappa, alpha, beta))
    arm = bed.arm()
    for _ in range(pulls):
        bed.rng.standard_gamma(alpha, out=tau)
        tau /= beta
        tau *= kappa
        np.sqrt(tau, out=tau)
        bed.rng.standard_normal(out=drawn)
        drawn /= tau
        drawn += mean
        drawn.argmax(axis=1, out=arm)
        distance = bed.pull(arm)
        distance -= flat_mean.take(bed.place)
        seen = flat_kappa.take(bed.place)
        more = seen + 1.0
        seen /= more
        seen *= distance
        seen *= distance
        seen *= 0.5
        flat_beta[bed.place] += seen
        flat_alpha[bed.place] += 0.5
        flat_kappa[bed.place] = more
        distance /= more
        flat_mean[bed.place] += distance


def lin_ucb(bed: ContextualTestbed, pulls: int, alpha: float) -> None:
    """Index x . w + alpha sqrt(x' B x), B <- B - u u' / (1 + x . u) with u = B x; w <- w + u (r - x . w) / (1 + x . u).

    All bandits have come to the same context, so that all quadratic forms are one product of matrices.
    """
    arm, found = bed.arm(), np.empty(bed.shape)
    inverse = np.tile(np.eye(WIDTH), (bed.bandits, 1, 1))
    squares, weights = inverse.reshape(bed.bandits, -1), np.zeros((bed.bandits, WIDTH))
    outer, predicted = np.empty_like(inverse), np.empty_like(found)
    for _ in range(pulls):
        x = bed.features
        products = (x[:, :, None] * x[:, None, :]).reshape(ARMS, -1)
        np.dot(squares, products.T, out=found)
        np.maximum(found, 0.0, out=found)
        np.sqrt(found, out=found)
        found *= alpha
        np.dot(weights, x.T, out=predicted)
        found += predicted
        found.argmax(axis=1, out=arm)
        error = bed.pull(arm)
        error -= predicted.ravel().take(bed.place)
        chosen = x[arm]
        u = np.einsum("nij,nj->ni", inverse, chosen)
        gain = 1.0 / (1.0 + np.einsum("ni,ni->n", u, chosen))
        scaled = u * gain[:, None]
        weights += scaled * error[:, None]
        np.einsum("ni,nj->nij", scaled, u, out=outer)
        inverse -= outer


def linear_thompson(bed: ContextualTestbed, pulls: int, v: float) -> None:
    """Value x . (w + v S z), z standard normal, where S S' = B is what `lin_ucb` calls so.

    A square root of B is carried along, which no factorization has to find: S <- S - beta (S f) f' with f = S' x and
    beta = 1 / (a + sqrt(a)), a = 1 + f . f (Potter's rule).
    """
    arm, found = bed.arm(), np.empty(bed.shape)
    root, weights = np.tile(np.eye(WIDTH), (bed.bandits, 1, 1)), np.zeros((bed.bandits, WIDTH))
    outer, z = np.empty_like(root), np.empty((bed.bandits, WIDTH))
    for _ in range(pulls):
        x = bed.features
        bed.rng.standard_normal(out=z)
        drawn = np.einsum("nij,nj->ni", root, z)
        drawn *= v
        drawn += weights
        np.dot(drawn, x.T, out=found)
        found.argmax(axis=1, out=arm)
        error = bed.pull(arm)
        chosen = x[arm]
        error -= np.einsum("ni,ni->n", chosen, weights)
        f = np.einsum("nji,nj->ni", root, chosen)
        u = np.einsum("nij,nj->ni", root, f)
        a = 1.0 + np.einsum("ni,ni->n", f, f)
        error /= a
        weights += u * error[:, None]
        u /= (a + np.sqrt(a))[:, None]
        np.einsum("ni,nj->nij", u, f, out=outer)
        root -= outer
