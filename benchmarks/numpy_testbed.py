"""Many bandits at once in NumPy: their arms, and what is known of them."""

import numpy as np
from bandits_problem import ARMS, features, mean_rewards
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Testbed:
    """Bandits whose arms are pulled together.

    Parameters
    ----------
    means : ndarray (bandits, ARMS)
    kind : {"normal", "bernoulli"}
    rng : Generator
    by_arm : bool
        Whether the tables of the learner have the shape (ARMS, bandits) instead of (bandits, ARMS).

    Attributes
    ----------
    shape : tuple
        Shape of a table.
    place : ndarray (bandits,)
        Where the arms pulled last stand in a flat table.
    total : ndarray (bandits,)
        Sum of all rewards.
    """

    def __init__(self, means: Floats, kind: str, rng: np.random.Generator, by_arm: bool = False) -> None:
        self.bandits = len(means)
        self.shape = (ARMS, self.bandits) if by_arm else (self.bandits, ARMS)
        self.rng = rng
        self.total = np.zeros(self.bandits)
        self.place = np.zeros(self.bandits, dtype=np.intp)
        self._means = (means.T if by_arm else means).ravel()
        self._stride = self.bandits if by_arm else 1
        self._first = np.arange(self.bandits) * (1 if by_arm else ARMS)
        self._bernoulli = kind == "bernoulli"
        self._reward, self._mean = np.empty(self.bandits), np.empty(self.bandits)

    def arm(self) -> NDArray[np.intp]:
        """Room for an arm of each bandit."""
        return np.zeros(self.bandits, dtype=np.intp)

    def pull(self, arm: NDArray[np.intp]) -> Floats:
        """Pull one arm of each bandit; the rewards (bandits,) may be overwritten."""
        np.multiply(arm, self._stride, out=self.place)
        self.place += self._first
        reward, mean = self._reward, self._mean
        self.look_up(arm, mean)
        if self._bernoulli:
            self.rng.random(out=reward)
            np.less(reward, mean, out=reward)
        else:
            self.rng.standard_normal(out=reward)
            reward += mean
        self.total += reward
        return reward

    def look_up(self, arm: NDArray[np.intp], mean: Floats) -> None:
        """Find the mean rewards of arms."""
        self._means.take(self.place, out=mean, mode="clip")  # clipping needs no second buffer


class ContextualTestbed(Testbed):
    """Learners that all see the same context, and another one after each pull.

    Attributes
    ----------
    features : ndarray (ARMS, WIDTH)
        Those of the present context.
    """

    def __init__(self, contexts: int, learners: int, rng: np.random.Generator) -> None:
        super().__init__(np.zeros((learners, ARMS)), "normal", rng)
        self._contexts, self._now = features(contexts), 0
        self._means_of_contexts = mean_rewards("linear", contexts)
        self.features = self._contexts[0]

    def look_up(self, arm: NDArray[np.intp], mean: Floats) -> None:
        """Find the mean rewards of arms, and go on to the next context."""
        self._means_of_contexts[self._now].take(arm, out=mean, mode="clip")
        self._now = (self._now + 1) % len(self._contexts)
        self.features = self._contexts[self._now]


class Averages:
    """Mean reward and number of pulls of every arm, as tables."""

    def __init__(self, bed: Testbed) -> None:
        self.bed = bed
        self.q, self.n = np.zeros(bed.shape), np.zeros(bed.shape)
        self.flat_q, self.flat_n = self.q.ravel(), self.n.ravel()

    def learn(self, reward: Floats) -> None:
        """Q(a) <- Q(a) + (r - Q(a)) / N(a) for the arms pulled last; overwrites the rewards."""
        place = self.bed.place
        n = self.flat_n.take(place)
        n += 1.0
        self.flat_n[place] = n
        q = self.flat_q.take(place)
        reward -= q
        reward /= n
        q += reward
        self.flat_q[place] = q
