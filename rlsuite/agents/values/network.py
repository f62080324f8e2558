"""A small network: its layers make values of the features of an observation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.memory import ABSENT, Memory
from rlsuite.agents.values.feature_values import FeatureValues
from rlsuite.agents.values.features import by_fresh_values
from rlsuite.agents.values.layers import (
    CURRENT_NETWORK,
    NETWORK,
    UNANSWERED,
    Layout,
    Upper,
    evaluate_vectors,
    new_units,
)
from rlsuite.core.aliases import Env
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.described import Plain
from rlsuite.core.fingerprints import reads
from rlsuite.environments.observation_view import Encoding
from rlsuite.training.kernels import Step

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap

SPREAD = 4.0
"""Standard deviation of the first layer's weights: by smaller ones, a network is slow to tell near places apart."""

WIDEST = 1e6
"""Bounds further apart than this are placeholders."""


@dataclass(eq=False)
class Network(FeatureValues):
    """Values by a network with hidden layers of tanh units, which learns from each step by backpropagation.

    It is compiled and needs no PyTorch. Rules that learn from one step take it, as `QLearning`, `Sarsa`,
    `ExpectedSarsa` and `TD`, and those that learn from whole episodes, as `EveryVisitMonteCarlo` and `Reinforce`; also
    rules of your own like these. The network of `rlsuite.approximation.DQN` is another, of PyTorch, which learns from a
    replay: it needs fewer steps, each of which takes a hundred times as long, and sees pictures, too.

    Parameters
    ----------
    hidden : sequence of int, or int
        Units of the hidden layers; a number stands for one layer.
    initial : float
        What every value is before anything is learned: the weights of the last layer are 0 at first. Those of the
        others are drawn by the seed of the run.
    features : FeatureMap or transformer, optional
        What enters the network, as for `Linear`. By default ids enter it by `OneHot`, numbers with bounds by `Scaling`,
        and others by `Standardization`.
    fit_on : int
        As for `Linear`.

    Raises
    ------
    ParameterError
        If there is no hidden layer, or a parameter is outside its allowed values; from the agent, if its rule asks for
        what a network cannot do.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite.agents.values import Network
    >>> agent = rl.QLearning(values=Network(hidden=(32,))).learn("CartPole-v1", steps=100, seed=1)
    >>> agent.q([[0.0, 0.0, 0.0, 0.0]]).shape
    (1, 2)
    >>> [(weights.shape, biases.shape) for weights, biases in agent.layers_]
    [((4, 32), (32,)), ((32, 2), (2,))]
    """

    lacks: ClassVar[Mapping[str, str]] = {
        "visits_": "it has a network, and only a table counts visits",
        "weights_": "it has a network: its weights are in layers_",
    }

    hidden: Iterable[int] | int = (64,)
    initial: float = 0.0
    features: "FeatureMap | Transformer | None" = None
    fit_on: int = 1_000

    def __post_init__(self) -> None:
        super().__post_init__()
        given = (self.hidden,) if isinstance(self.hidden, int) else self.hidden
        if isinstance(given, str) or not isinstance(cast(object, given), Iterable):
            raise errors.ParameterError(f"hidden={self.hidden!r} must be layer sizes such as (64,)")
        self.hidden = tuple(whole_number(f"hidden[{i}]", units) for i, units in enumerate(given))
        if not self.hidden:
            raise errors.ParameterError("hidden=() has no layer: a network without one is values=Linear(features)")
        self.initial = finite_number("initial", self.initial)
        self.seed = 0

    # ---------------------------------------------------------------------------------------------- before learning

    def check_rule(self, step: Step) -> None:
        """Raise ParameterError if a rule asks for what a network cannot do."""
        needs = [why for name, why in UNANSWERED.items() if reads(step, name)]
        if needs:
            raise errors.ParameterError(
                f"{self.owner} cannot learn in a network: its rule needs {needs[0]}. QLearning, Sarsa, ExpectedSarsa, "
                "TD, EveryVisitMonteCarlo and Reinforce can; give this one features=, or use DQN"
            )

    def features_for(self, found: Encoding) -> "FeatureMap | Transformer | None":
        """The features of such observations: those that were given, or numbers of about one size."""
        if self.features is not None or found.n_ids:
            return self.features
        from rlsuite.features.scaling import Scaling, Standardization

        return Scaling() if bool((found.high - found.low <= WIDEST).all()) else Standardization()

    def bind(self, env: Env, has_learned: bool, seed: int | None) -> Encoding:
        """Fit the features to an environment, and keep the seed of the first weights; errors as of `Linear.bind`."""
        if seed is not None and not has_learned:
            self.seed = seed
        return super().bind(env, has_learned, seed)

    def of_actions(self, memory: Memory) -> Memory:
        """Add a network with an output for each action.

        Raises
        ------
        ParameterError
            If the rule learns more than values.
        """
        memory = memory._replace(**self._initial(memory, memory.legal.shape[1]), operations=NETWORK)
        if memory.exploration is ABSENT:
            return memory
        return memory._replace(exploration=by_fresh_values(memory.exploration))

    def kept_current(self, memory: Memory) -> Memory:
        """Let each update compute the values of both rows again."""
        return memory._replace(operations=CURRENT_NETWORK)

    def of_states(self, memory: Memory, followed: "ArrayLike | None", evaluated: NDArray[np.float64] | None) -> Memory:
        """Add a network with one output, and the tables of the policies.

        Raises
        ------
        ParameterError
            If a policy does not fit the environment, or the rule learns more than values.
        """
        policies = self.of_policies(followed, evaluated, memory.legal.shape[1])
        return memory._replace(**self._initial(memory, n_columns=1), **policies, operations=NETWORK)

    def _initial(self, memory: Memory, n_columns: int) -> Plain:
        """The fields of a memory that are the same for values of actions and of states."""
        if memory.learned != ():
            raise errors.ParameterError(
                f"{self.owner} cannot learn in a network: it learns more than values, {type(memory.learned).__name__}"
            )
        sizes = np.array([*cast("tuple[int, ...]", self.hidden), n_columns], dtype=np.int64)
        entering = np.array([self.most_active, *sizes[:-1]])
        numbers = sizes * np.array([1, *(1 + sizes[:-1])])  # biases and weights; of the first layer biases alone
        rng = np.random.default_rng(np.random.SeedSequence(self.seed).spawn(5)[4])  # a run takes the four before
        spread, bias = (1.0, 0.0) if self.most_active == 1 else (SPREAD, SPREAD)  # single features are apart already
        weights = spread * rng.standard_normal((self.fitted.n_features_out_, sizes[0]))
        upper = rng.standard_normal(int(numbers.sum()))
        upper[: sizes[0]] *= bias
        upper[-numbers[-1] :] = 0.0
        layout = Layout(
            *self.rule(),
            sizes=sizes,
            scales=1.0 / np.sqrt(entering + 1),
            outputs=np.cumsum(sizes) - sizes,
            biases=np.cumsum(numbers) - numbers,
        )
        scale = 2.0 ** np.ceil(np.log2(max(abs(self.initial), 1.0)))
        upper[-numbers[-1] :][:n_columns] = self.initial / scale * np.sqrt(entering[-1] + 1.0)
        return {
            "weights": weights,
            "features": layout,
            "learned": Upper(upper, np.array([scale])),
            "active": new_units(self.most_active, int(sizes.sum())),
            "q": np.full((2, n_columns), self.initial),
            "visits": np.zeros((2, n_columns), dtype=np.int64),
        }

    # --------------------------------------------------------------------------------------------- what was learned

    def valuation(self, memory: Memory) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """The function from vectors (n, d) to their values (n, n_columns): the outputs of the last layer."""
        layout, weights, upper = memory.features, memory.weights, memory.learned
        indices, values = np.zeros(self.most_active, dtype=np.int64), np.zeros(self.most_active)
        output = np.zeros(int(layout.sizes.sum()))

        def value(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
            q = np.zeros((len(vectors), int(layout.sizes[-1])))
            evaluate_vectors(layout, weights, upper, vectors, indices, values, output, q)
            return q

        return value

    def layers(self, memory: Memory) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Weights (inputs, units) and biases (units,) of each layer, the first one first."""
        layout, (upper, scale) = memory.features, memory.learned
        found: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        for layer, (width, bias) in enumerate(zip(layout.sizes.tolist(), layout.biases.tolist(), strict=True)):
            first = bias + width
            end = first + layout.sizes[layer - 1] * width
            weights = memory.weights if layer == 0 else upper[first:end].reshape(-1, width)
            size = scale[0] if layer == len(layout.sizes) - 1 else 1.0
            found.append((weights * size, upper[bias:first] * size))
        return found
