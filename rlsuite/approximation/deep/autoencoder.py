"""Features by an autoencoder: a network that has to say again what it was told, through a narrow waist."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Self, cast

import numpy as np
import sklearn.base
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.approximation.deep.network import build_network, check_layers
from rlsuite.approximation.deep.pytorch import device_of, one_thread, pytorch
from rlsuite.approximation.deep.storage import put_weights, reading, write_file
from rlsuite.approximation.features.feature_map import check_observations
from rlsuite.checks import positive_number, whole_number

# scikit-learn carries no types that strict checking could use
_BaseEstimator: Any = sklearn.base.BaseEstimator
_TransformerMixin: Any = sklearn.base.TransformerMixin

FORMAT = "rlsuite AutoencoderFeatures 1"


@dataclass(eq=False)
class AutoencoderFeatures(_BaseEstimator, _TransformerMixin):
    """Features that an autoencoder has learned (Rumelhart, Hinton & Williams 1986); needs PyTorch: ``rlsuite[torch]``.

    Two networks: one turns an observation into a few numbers, its code, the other turns the code into an observation
    again. Both are fitted together so that the mean squared difference to the first observation is small. The codes
    are the features. With ``hidden=()`` they span what the first principal components span (Baldi & Hornik 1989);
    hidden layers let them follow what is curved.

    It is a scikit-learn transformer for regressors that are fitted to a batch; as a network it has no compiled form.
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
        Where the networks live: "cpu", "cuda", ...

    Attributes
    ----------
    n_features_in_, n_features_out_ : int
        Length of an observation and of a code.
    losses_ : ndarray of float64, shape (epochs,)
        Mean squared difference in standardised units, epoch by epoch: the mean over the lessons of the epoch.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values or the observations are no finite (n, d).
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
    hidden: Iterable[int] = (32,)
    learning_rate: float = 1e-3
    epochs: int = 200
    batch_size: int = 64
    seed: int | None = None
    device: str = "cpu"

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn to reconstruct observations (n, d); `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter is outside its allowed values, or the observations are no finite (n, d).
        LearningError
            If learning diverges; what an earlier fit has learned is kept.
        """
        observations = check_observations(X, None, type(self).__name__)
        if not observations.size:
            raise errors.ParameterError(f"AutoencoderFeatures: there is nothing to learn from in {observations.shape}")
        epochs, batch_size = whole_number("epochs", self.epochs), whole_number("batch_size", self.batch_size)
        learning_rate = positive_number("learning_rate", self.learning_rate)
        seed = None if self.seed is None else whole_number("seed", self.seed, at_least=0)
        rng = np.random.default_rng(seed)
        mean, scale = observations.mean(axis=0), observations.std(axis=0)
        scale[scale == 0.0] = 1.0
        with one_thread():
            encoder, decoder = self._networks(observations.shape[1], rng)
            standardised = ((observations - mean) / scale).astype(np.float32)
            losses = _fit(encoder, decoder, standardised, learning_rate, epochs, batch_size, rng)
        self.encoder_, self.decoder_ = encoder, decoder
        self.mean_, self.scale_, self.losses_ = mean, scale, losses
        self.n_features_in_, self.n_features_out_ = observations.shape[1], int(self.n_features)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the codes (n, n_features) of observations (n, d).

        Raises
        ------
        NotLearned
            Before `fit`.
        ParameterError
            If the observations are no finite (n, d), d that of `fit`.
        """
        self._fitted()
        observations = check_observations(X, self.n_features_in_, type(self).__name__)
        standardised = ((observations - self.mean_) / self.scale_).astype(np.float32)
        return _outputs(self.encoder_, standardised)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the observations (n, d) that the second network makes of codes (n, n_features).

        Raises
        ------
        NotLearned
            Before `fit`.
        ParameterError
            If the codes are no finite (n, n_features).
        """
        self._fitted()
        codes = check_observations(X, self.n_features_out_, type(self).__name__)
        return _outputs(self.decoder_, codes.astype(np.float32)) * self.scale_ + self.mean_

    def novelty(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how badly each of n observations is reconstructed, shape (n,): the mean squared difference.

        In standardised units, as ``losses_``. What is unlike everything in `fit` is reconstructed badly, so a bound on
        this number tells the known from the new.
        """
        known = check_observations(X, None, type(self).__name__)
        again = self.inverse_transform(self.transform(known))
        return np.square((again - known) / self.scale_).mean(axis=1)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the features, as scikit-learn's pipelines ask for them."""
        self._fitted()
        return np.array([f"code{i}" for i in range(self.n_features_out_)], dtype=object)

    def _networks(self, width: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """The two networks, with new weights."""
        n_features, device = whole_number("n_features", self.n_features), device_of(self.device)
        hidden, _ = check_layers(self.hidden, ())
        encoder = build_network((width,), n_features, hidden, (), rng, device)
        return encoder, build_network((n_features,), width, hidden[::-1], (), rng, device)

    def _fitted(self) -> None:
        if not hasattr(self, "encoder_"):
            raise errors.NotLearned("this AutoencoderFeatures is not fitted yet; call fit(observations) first")

    def save(self, path: str | PathLike[str]) -> None:
        """Write parameters and networks to an .npz file; `load` reads it.

        Raises
        ------
        NotLearned
            Before `fit`.
        FileError
            If the file cannot be written.
        """
        self._fitted()
        parameters = {each.name: getattr(self, each.name) for each in fields(self)} | {"hidden": list(self.hidden)}
        arrays = {"mean": self.mean_, "scale": self.scale_, "losses": self.losses_}
        networks = {"encoder": self.encoder_, "decoder": self.decoder_}
        write_file(path, FORMAT, {"parameters": parameters}, arrays, networks)

    @classmethod
    def load(cls, path: str | PathLike[str], device: str = "cpu") -> "AutoencoderFeatures":
        """Read features that were written by `save`.

        Raises
        ------
        FileError
            If the file is missing, damaged, or written by something else.
        ParameterError
            If there is no such device here.
        """
        device_of(device)
        with reading(path, FORMAT) as (header, arrays):
            parameters = header["parameters"]
            found = cls(**(parameters | {"hidden": tuple(parameters["hidden"]), "device": device}))
            found.mean_, found.scale_, found.losses_ = (arrays[name] for name in ("mean", "scale", "losses"))
            found.n_features_in_, found.n_features_out_ = int(found.mean_.size), int(found.n_features)
            encoder, decoder = found._networks(found.n_features_in_, np.random.default_rng(0))
            put_weights({"encoder": encoder, "decoder": decoder}, arrays)
            found.encoder_, found.decoder_ = encoder, decoder
        return found


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
            raise errors.LearningError(
                f"learning diverges: the loss of epoch {epoch + 1} is {losses[epoch]}; give a smaller learning_rate= "
                f"than {learning_rate:g}"
            )
    return losses


def _outputs(network: Any, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    torch = pytorch()
    with torch.inference_mode(), one_thread():
        device = next(network.parameters()).device
        return cast("NDArray[np.float64]", network(torch.from_numpy(rows).to(device)).cpu().numpy().astype(np.float64))
