"""Features by an autoencoder: a network that reconstructs its input from a hidden layer of few units.

The fitted networks are kept as plain arrays, in compiled form, which does not need PyTorch. Each layer but the last is
followed by rectified linear units, max(0, x), as in `rlsuite.approximation.deep.network`.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.network import (
    arrays_of,
    build_network,
    check_layers,
    device_of,
    one_thread,
    pytorch,
    reading,
    write_file,
)
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import positive_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.features.checks import check_observations, deviations
from rlsuite.features.estimators import dense
from rlsuite.features.feature_map import UNSEEDED, FeatureMap, FeatureRule, fill_rows
from rlsuite.models.aliases import AnyArray

FORMAT = "rlsuite AutoencoderFeatures 2"


class Layers(NamedTuple):
    """The data of the compiled form of a network."""

    mean: NDArray[np.float64]  # (d,), subtracted from the inputs
    scale: NDArray[np.float64]  # (d,), by which the differences are divided
    widths: NDArray[np.int64]  # (n_layers + 1,), number of inputs of each layer, then of outputs of the last
    weights: NDArray[np.float64]  # layer after layer: weights (inputs, outputs) row by row, then biases (outputs,)
    capacity: int  # largest number of inputs of a layer


@compiled(in_place=True)
def _outputs(
    data: Layers, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Evaluate all layers for an observation; their inputs and outputs are stored after the outputs, in turn."""
    n_layers = data.widths.size - 1
    n_outputs = data.widths[n_layers]
    given, made = n_outputs, n_outputs + data.capacity
    for j in range(data.widths[0]):
        values[given + j] = (observation[j] - data.mean[j]) / data.scale[j]
    weight = 0
    for layer in range(n_layers):
        n_in, n_out, last = data.widths[layer], data.widths[layer + 1], layer == n_layers - 1
        out = 0 if last else made
        bias = weight + n_in * n_out
        for i in range(n_out):
            values[out + i] = data.weights[bias + i]
        for j in range(n_in):
            x = values[given + j]
            for i in range(n_out):
                values[out + i] += data.weights[weight + j * n_out + i] * x
        if not last:
            for i in range(n_out):
                values[out + i] = max(0.0, values[out + i])
        weight = bias + n_out
        given, made = made, given
    for i in range(n_outputs):
        indices[i] = i
    return n_outputs


def layers_rule(
    mean: NDArray[np.float64], scale: NDArray[np.float64], widths: NDArray[np.int64], weights: NDArray[np.float64]
) -> FeatureRule:
    """Return the network as the rule of a feature map; see `Layers`."""
    return FeatureRule(_outputs, Layers(mean, scale, widths, weights, int(widths[:-1].max())))


def capacity_for(widths: NDArray[np.int64]) -> int:
    """Length of the lists that the rule fills: the outputs, and twice the largest input of a layer."""
    return int(widths[-1] + 2 * widths[:-1].max())


def send_through(
    widths: NDArray[np.int64], weights: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Send rows (n, d) through a network, as they are; return its outputs (n, n_outputs).

    Examples
    --------
    Two inputs, one hidden unit max(0, x_1 - x_2), and twice that as output:

    >>> send_through(np.array([2, 1, 1]), np.array([1.0, -1.0, 0.0, 2.0, 0.0]), np.array([[3.0, 1.0], [1.0, 3.0]]))
    array([[4.],
           [0.]])
    """
    width, capacity = int(widths[0]), capacity_for(widths)
    rule = layers_rule(np.zeros(width), np.ones(width), widths, weights)
    outputs = np.zeros((len(rows), int(widths[-1])))
    fill_rows(rule, rows, np.zeros(capacity, dtype=np.int64), np.zeros(capacity), outputs)
    return outputs


def n_weights(widths: NDArray[np.int64]) -> int:
    """Number of weights and biases of a network.

    >>> n_weights(np.array([2, 1, 1]))
    5
    """
    sizes: list[int] = widths.tolist()  # Python integers do not overflow
    return sum((n_in + 1) * n_out for n_in, n_out in itertools.pairwise(sizes))


def flat_weights(network: Any) -> NDArray[np.float64]:
    """Return all weights of a ``torch.nn.Sequential`` of linear layers in the order of `Layers`."""
    # PyTorch keeps (outputs, inputs), and lists the weights of a layer before its biases
    return np.concatenate([each.T.ravel() for each in arrays_of(network).values()]).astype(np.float64)


@dataclass(eq=False, repr=False)
class AutoencoderFeatures(FeatureMap):
    """Features that an autoencoder has learned (Rumelhart, Hinton & Williams 1986); needs PyTorch: ``rlsuite[torch]``.

    Two networks: one turns an observation into a few numbers, its code, the other turns the code into an observation
    again. Both are fitted together so that the mean squared difference to the first observation is small. The codes
    are the features. With ``hidden=()`` they span what the first principal components span (Baldi & Hornik 1989);
    hidden layers let them follow what is curved.

    PyTorch fits the networks; what it has found is kept as plain arrays. So the features are compiled as those of all
    feature maps, and saved with an agent; only `fit` needs PyTorch. A linear agent is given a fitted one: call `fit`
    with observations from a few random episodes.
    Each column is first moved to mean 0 and divided by its standard deviation, where that is not 0.

    Parameters
    ----------
    n_features : int
        Length of a code.
    hidden : sequence of int
        Units of the hidden layers of the first network; the second has them in opposite order.
    learning_rate : float
        Step size of Adam (Kingma & Ba 2015).
    epochs : int
        How often all observations are looked at.
    batch_size : int
        Observations to learn from at a time.
    seed : int or None
        Source of the first weights and of the order of the observations; None draws one.
    device : str
        Where the networks are fitted: "cpu", "cuda", ...

    Attributes
    ----------
    mean_, scale_ : ndarray of float64, shape (d,)
        Mean and standard deviation of the observations; where these are all the same, the latter is 1.
    widths_ : ndarray of int64, shape (len(hidden) + 2,)
        How many numbers go into each layer of the first network, and how many come out in the end.
    encoder_, decoder_ : ndarray of float64, shape (n_weights,)
        Both networks, layer after layer: weights (inputs, outputs) row by row, then biases (outputs,).
    losses_ : ndarray of float64, shape (epochs,)
        Mean squared difference in standardised units, epoch by epoch: the mean over the lessons of the epoch.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values, the observations are not a finite (n, d) array, or
        there is no such device.
    MissingPackage
        From `fit`, if PyTorch is not installed.

    Examples
    --------
    Points on a circle need two numbers, or one and a good network:

    >>> angle = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> features = AutoencoderFeatures(n_features=2, hidden=(), epochs=30, seed=1).fit(circle)
    >>> features.transform(circle).shape
    (64, 2)
    >>> bool(features.losses_[-1] < features.losses_[0])
    True
    """

    n_features: int = 8
    hidden: Sequence[int] = (32,)
    learning_rate: float = 1e-3
    epochs: int = 200
    batch_size: int = 64
    seed: int | None = None
    device: str = "cpu"

    expected_failed_checks: ClassVar[dict[str, str]] = UNSEEDED

    def check_parameters(self) -> None:
        """Raise unless the numbers are above 0, and the hidden layers a sequence of such numbers."""
        if not hasattr(self.hidden, "__len__"):  # an iterator would be empty the second time
            raise errors.ParameterError(f"hidden={self.hidden!r} must be a sequence of layer sizes such as (32,)")
        check_layers(self.hidden, ())
        for name in ("n_features", "epochs", "batch_size"):
            whole_number(name, getattr(self, name))
        positive_number("learning_rate", self.learning_rate)
        if self.seed is not None:
            whole_number("seed", self.seed, at_least=0)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn to reconstruct observations (n, d); `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter is outside its allowed values, or the observations are not a finite (n, d) array.
        LearningError
            If learning diverges; what an earlier fit has learned is kept.
        """
        self.check_parameters()
        observations = check_observations(X, None, "AutoencoderFeatures")
        mean, scale = observations.mean(axis=0), deviations(observations)
        widths = np.array([observations.shape[1], *self.hidden, self.n_features], dtype=np.int64)
        encoder, decoder, losses = self._learn(((observations - mean) / scale).astype(np.float32), widths.tolist())
        return self.restore(
            {
                "mean_": mean,
                "scale_": scale,
                "widths_": widths,
                "encoder_": encoder,
                "decoder_": decoder,
                "losses_": losses,
            }
        ).name_columns(X)

    def _learn(self, rows: NDArray[np.float32], widths: list[int]) -> tuple[NDArray[np.float64], ...]:
        """Fit both networks to standardised rows; return their weights, and the mean loss of each epoch."""
        rng = np.random.default_rng(self.seed)
        with one_thread():
            device = device_of(self.device)
            first, *hidden, last = widths
            encoder = build_network((first,), last, hidden, (), rng, device)
            decoder = build_network((last,), first, hidden[::-1], (), rng, device)
            losses = _fit(encoder, decoder, rows, self.learning_rate, self.epochs, self.batch_size, rng)
            found = flat_weights(encoder), flat_weights(decoder)
        if not (np.isfinite(found[0]).all() and np.isfinite(found[1]).all()):
            raise _divergence("a learned weight is not finite", self.learning_rate)
        return *found, losses

    def restore(self, fitted: dict[str, AnyArray]) -> Self:
        """Restore the arrays that `fitted_` returned.

        Raises
        ------
        KeyError
            If an array is missing.
        ValueError
            If the arrays do not fit together: the compiled form would read beyond their ends.
        """
        mean, scale, widths, encoder, decoder, losses = (
            fitted[f"{name}_"] for name in ("mean", "scale", "widths", "encoder", "decoder", "losses")
        )
        if widths.dtype != np.int64 or widths.ndim != 1 or widths.size < 2 or widths.min() < 1:
            raise ValueError(f"widths_ is {widths}; it must hold two or more whole numbers of at least 1")
        expected = {f"{name}_" for name in ("mean", "scale", "widths", "encoder", "decoder", "losses")}
        for name in sorted(fitted.keys() - expected - {"n_features_in_", "n_features_out_", "most_active_"}):
            raise ValueError(f"it has an unknown array {name!r}")
        shapes = [(int(widths[0]),), (int(widths[0]),), (n_weights(widths),), (n_weights(widths[::-1]),)]
        for name, shape in zip(("mean_", "scale_", "encoder_", "decoder_"), shapes, strict=True):
            array = fitted[name]
            if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} is {array.dtype} {array.shape}, or not finite; it must be float64 {shape}")
        self.mean_: NDArray[np.float64] = mean
        self.scale_: NDArray[np.float64] = scale
        self.widths_: NDArray[np.int64] = widths
        self.encoder_: NDArray[np.float64] = encoder
        self.decoder_: NDArray[np.float64] = decoder
        self.losses_: NDArray[np.float64] = losses
        self.n_features_in_, self.n_features_out_ = int(widths[0]), int(widths[-1])
        self.most_active_ = capacity_for(widths)
        return self

    @property
    def rule(self) -> FeatureRule:
        """The first network in compiled form."""
        return layers_rule(self.mean_, self.scale_, self.widths_, self.encoder_)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the observations (n, d) that the second network makes of codes (n, n_features).

        Raises
        ------
        NotLearned
            Before `fit`.
        ParameterError
            If the codes are not a finite (n, n_features) array.
        """
        self.check_fitted()
        codes = check_observations(X, self.n_features_out_, "AutoencoderFeatures")
        return send_through(self.widths_[::-1].copy(), self.decoder_, codes) * self.scale_ + self.mean_

    def novelty(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the reconstruction error of n observations, shape (n,): the mean squared difference.

        In standardised units, as ``losses_``. Observations unlike those in `fit` are reconstructed badly, so a bound on
        this number separates known from new ones.
        """
        known = check_observations(X, None, "AutoencoderFeatures")
        again = self.inverse_transform(dense(self.transform(known)))
        return np.square((again - known) / self.scale_).mean(axis=1)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the features, as scikit-learn's pipelines ask for them: ``code0`` and so on."""
        names = super().get_feature_names_out(input_features)
        return np.array([f"code{i}" for i in range(len(names))], dtype=object)

    def save(self, path: str | PathLike[str]) -> None:
        """Write parameters and networks to an .npz file; `load` reads it.

        Raises
        ------
        NotLearned
            Before `fit`.
        FileError
            If the file cannot be written.
        """
        self.check_fitted()
        parameters = {each.name: getattr(self, each.name) for each in fields(self)}
        write_file(path, FORMAT, {"parameters": parameters | {"hidden": list(self.hidden)}}, self.fitted_, {})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read features that were written by `save`.

        Raises
        ------
        FileError
            If the file is missing, damaged, or written by something else.
        """
        with reading(path, FORMAT) as (header, arrays):
            parameters = header["parameters"]
            made = cls(**(parameters | {"hidden": tuple(parameters["hidden"])}))
            return made.restore({name: arrays.take(name) for name in arrays.below("")})


def _fit(
    encoder: Any,
    decoder: Any,
    standardised: NDArray[np.float32],
    learning_rate: float,
    epochs: int,
    batch_size: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Fit both networks to the rows; return the mean loss of each epoch."""
    torch = pytorch()
    rows = torch.from_numpy(standardised).to(next(encoder.parameters()).device)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=learning_rate, fused=True)
    losses = np.zeros(epochs)
    for epoch in range(epochs):
        order = rng.permutation(len(rows))
        for first in range(0, len(rows), batch_size):
            some = rows[order[first : first + batch_size]]
            loss = torch.nn.functional.mse_loss(decoder(encoder(some)), some)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[epoch] += loss.item() * len(some) / len(rows)
        if not np.isfinite(losses[epoch]):
            raise _divergence(f"the loss of epoch {epoch + 1} is {losses[epoch]}", learning_rate)
    return losses


def _divergence(what: str, learning_rate: float) -> errors.LearningError:
    return errors.LearningError(f"learning diverges: {what}; give a smaller learning_rate= than {learning_rate:g}")
