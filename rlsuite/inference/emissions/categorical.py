"""Symbols: each hidden state has a distribution over the same M of them (R89 section II.B)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, Self, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError
from rlsuite.inference import dirichlet
from rlsuite.inference.emissions.base import Emission, Likelihoods, whole_numbers
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Categorical(Emission):
    """One of M symbols.

    Parameters
    ----------
    table : array_like (K, M)
        ``table[k, z]`` = Pr(z | k), the b_k(z) of the lecture notes; each row sums to 1 within 1e-8.
    labels : sequence of str, optional
        M distinct names of the symbols; observations may then be given by name.

    Raises
    ------
    ModelError
        If a row is not a distribution, or the names are not M different ones.

    Examples
    --------
    >>> coins = Categorical([[0.5, 0.5], [0.9, 0.1]])
    >>> coins.n_states, coins.n_symbols, coins.n_parameters
    (2, 2, 2)
    >>> coins.likelihoods(coins.check([0, 1, -1]))[0].tolist()
    [[0.5, 0.9], [0.5, 0.1], [1.0, 1.0]]
    >>> Categorical([[0.5, 0.5], [0.9, 0.1]], labels=["heads", "tails"]).check(["tails", "heads"]).tolist()
    [1, 0]
    """

    table: FloatArray
    labels: Sequence[str] | None = None

    discrete: ClassVar[bool] = True
    parameter_names: ClassVar[tuple[str, ...]] = ("table",)

    def __post_init__(self) -> None:
        table = validation.floats("emission", self.table)
        if table.ndim != 2 or 0 in table.shape:
            raise ModelError(f"emission has shape {table.shape}, not (K, M): emission[k, z]")
        for k, row in enumerate(table):
            validation.distribution(f"emission[k={k}]", row)
        object.__setattr__(self, "table", validation.frozen(table, self.table))
        names = None if self.labels is None else [str(name) for name in self.labels]
        object.__setattr__(self, "labels", validation.labels("labels", names, table.shape[1]))

    @classmethod
    @says_what_to_write
    def from_data(cls, z: ArrayLike, n_states: int, rng: np.random.Generator, *, n_symbols: int | None = None) -> Self:
        """Return random rows over the symbols 0..max(z), or over `n_symbols` of them."""
        most = None if n_symbols is None else whole_number("n_symbols", n_symbols)
        seen = whole_numbers(z, "symbols", most)
        symbols = most or int(seen.max(initial=0)) + 1
        return cls(rng.dirichlet(np.ones(symbols), size=n_states))

    @property
    def n_states(self) -> int:
        """K."""
        return self.table.shape[0]

    @property
    def n_symbols(self) -> int:
        """M."""
        return self.table.shape[1]

    @property
    def n_parameters(self) -> int:
        """For each state, the number of its possible symbols less one."""
        return int(np.count_nonzero(self.table)) - self.n_states

    def check(self, z: ArrayLike) -> IndexArray:
        """Return symbols as int64 (T,), -1 where one is missing."""
        symbols = whole_numbers(self._numbers(z), "symbols", self.n_symbols)
        if symbols.ndim == 2 and symbols.shape[1] == 1:
            symbols = symbols[:, 0]
        if symbols.ndim != 1:
            raise ModelError(f"z has shape {symbols.shape}, not (T,): one symbol for each time")
        return symbols

    def _numbers(self, z: ArrayLike) -> ArrayLike:
        """Symbols that are given by their names as numbers."""
        given = np.asarray(z)
        if self.labels is None or given.dtype.kind != "U":
            return z
        numbers = [
            validation.number_of("observation", name, self.n_symbols, self.labels) for name in given.ravel().tolist()
        ]
        return np.array(numbers, dtype=np.int64).reshape(given.shape)

    def missing(self, z: AnyArray) -> BoolArray:
        """Return which symbols are missing: (T,) bool."""
        return z < 0

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return ln Pr(z_t | k) in nats."""
        with np.errstate(divide="ignore"):
            return np.log(self._rows)[z]

    def likelihoods(self, z: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return Pr(z_t | k), with nothing taken out, and nothing raised."""
        return self._rows[z], np.zeros(len(z))

    def prepare(self, z: AnyArray) -> Likelihoods:
        """Return one row for each symbol, and a last one for those that are missing."""
        return Likelihoods(self._rows, self.distinct(z)[1])

    def distinct(self, z: AnyArray) -> tuple[AnyArray, IndexArray]:
        """Return the symbols 0..M-1 and -1, and the number of each observation among them."""
        symbols = np.append(np.arange(self.n_symbols), -1)
        return symbols, np.where(z < 0, self.n_symbols, z) if len(z) and z.min() < 0 else z

    def sample(self, states: IndexArray, rng: np.random.Generator) -> IndexArray:
        """Draw one symbol for each of the hidden states (T,)."""
        cumulative = np.cumsum(self.table, axis=1)
        last = self.n_symbols - 1 - np.argmax(self.table[:, ::-1] > 0.0, axis=1)
        drawn = np.empty(len(states), dtype=np.int64)
        draws = rng.random(len(states))
        for k in range(self.n_states):
            of_state = states == k
            found = cast("IndexArray", cumulative[k].searchsorted(draws[of_state] * cumulative[k, -1], side="right"))
            drawn[of_state] = np.minimum(found, last[k])  # the product may be rounded up to the sum
        return drawn

    def fit_weighted(
        self, z: AnyArray, weights: FloatArray, prior: object = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return relative frequencies: b_k(z) = sum_{t: z_t = z} w_t(k) / sum_t w_t(k) (R89 eq. 40c)."""
        if "table" in frozen:
            return self
        seen = z >= 0
        counts = np.zeros((self.n_symbols, self.n_states))
        np.add.at(counts, z[seen], weights[seen])
        pseudo = np.zeros(self.table.shape) if prior is None else np.asarray(prior, dtype=np.float64)
        return type(self)(dirichlet.most_probable(counts.T, pseudo, self.table), self.labels)

    def resolve_prior(self, prior: object, z: AnyArray) -> FloatArray | None:
        """Return pseudo-counts (K, M): one number for every possible symbol, or one for each entry of the table."""
        return (
            None
            if prior is None
            else dirichlet.pseudo_counts("prior of the emission", cast("ArrayLike", prior), self.table)
        )

    def log_prior(self, prior: object) -> float:
        """Return the sum of c ln b_k(z), in nats."""
        return 0.0 if prior is None else dirichlet.log_density(self.table, np.asarray(prior, dtype=np.float64))

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return random rows; what is impossible stays impossible."""
        drawn = rng.exponential(size=self.table.shape) * (self.table > 0.0)
        return type(self)(drawn / drawn.sum(axis=1, keepdims=True), self.labels)

    def arrays(self) -> Mapping[str, object]:
        """Return the table, and the names, for files."""
        return {"table": self.table, **({} if self.labels is None else {"labels": np.array(self.labels)})}

    @property
    def _rows(self) -> FloatArray:
        """(M + 1, K): the likelihoods of each symbol, and of a missing one."""
        return np.vstack([self.table.T, np.ones(self.n_states)])
