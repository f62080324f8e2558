"""PyTorch is an extra: it is loaded on first use, used with one thread, and its settings are restored.

Nothing of ours draws from PyTorch's generators: all random numbers come from NumPy generators of our own. What modules
of the user draw is seeded by these, and PyTorch's generator is put back where it was.
"""

import importlib
import math
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.models.aliases import AnyArray

_lock = threading.Lock()
_generator_lock = threading.Lock()
_working: list[int] = []
"""The callers that work with one thread: for each of them the number of threads before."""


def pytorch() -> Any:
    """Return the module ``torch``.

    Raises
    ------
    MissingPackage
        If it is not installed.

    Examples
    --------
    >>> pytorch().ones(2).tolist()
    [1.0, 1.0]
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise errors.MissingPackage(
            f"neural networks need PyTorch, which is not installed ({error}); pip install 'rlsuite[torch]'"
        ) from error


def device_of(name: str) -> Any:
    """Return the ``torch.device`` of a name, which exists and can be used.

    A gradient is taken there once: on a graphics card this starts the thread that differentiates, which otherwise warns
    if the first thing that it computes is a product of matrices.

    Raises
    ------
    ParameterError
        If there is no such device here.
    """
    torch = pytorch()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            tried = torch.ones(1, device=torch.device(name), requires_grad=True)
            (2.0 * tried).backward()
        tried.grad.cpu()  # "meta" has no numbers
        return tried.device
    except (RuntimeError, TypeError, AssertionError) as error:
        raise errors.ParameterError(
            f"device={name!r} cannot be used here; 'cpu' always can ({str(error).splitlines()[0]})"
        ) from error


@contextmanager
def one_thread() -> Generator[None]:
    """Let PyTorch use one thread inside, and as many as before outside.

    Matrices as small as ours are multiplied faster by one thread than by several, which would mostly wait for each
    other; and the last bits of a sum do not depend on the number of cores. Several Python threads may be inside at
    once: the last one restores.
    """
    torch = pytorch()
    with _lock:
        _working.append(torch.get_num_threads() if not _working else _working[0])
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            before = _working.pop()
            if not _working:
                torch.set_num_threads(before)


@contextmanager
def own_generator(seed: int) -> Generator[None]:
    """Let PyTorch draw from a generator with this seed; afterwards its own generator continues where it was.

    Only for code that cannot be told where to draw from: the user's own. One thread at a time is inside.
    """
    generator = pytorch().default_generator
    with _generator_lock:
        before = generator.get_state()
        generator.manual_seed(seed)
        try:
            yield
        finally:
            generator.set_state(before)


def initialise(network: Any, rng: np.random.Generator) -> None:
    """Draw all weights and biases of a network uniformly from +-1 / sqrt(inputs of the unit) (LeCun et al. 1998).

    Parameters
    ----------
    network : torch.nn.Sequential
        Linear and convolutional layers, and layers without weights.
    rng : numpy.random.Generator
        Where the numbers come from: neither the device nor PyTorch's own generator matters.
    """
    torch = pytorch()
    with torch.no_grad():
        for layer in network:
            if hasattr(layer, "weight"):
                bound = 1.0 / math.sqrt(math.prod(layer.weight.shape[1:]))
                for tensor in (layer.weight, layer.bias):
                    drawn = rng.uniform(-bound, bound, tuple(tensor.shape)).astype(np.float32)
                    tensor.copy_(torch.from_numpy(drawn))


def empty_layer(kind: Any, *sizes: int, device: Any, **options: int) -> Any:
    """Make a layer without drawing its weights, which would change PyTorch's own generator."""
    return pytorch().nn.utils.skip_init(kind, *sizes, device=device, **options)


def arrays_of(network: Any) -> dict[str, NDArray[np.float32]]:
    """Return copies of a network's weights by their names."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def put_arrays(network: Any, arrays: dict[str, AnyArray]) -> None:
    """Set the weights of a network to those that `arrays_of` has returned.

    Raises
    ------
    ValueError
        If names, shapes or types are not those of the network, or a weight is not finite.
    """
    torch = pytorch()
    wanted = arrays_of(network)
    if wanted.keys() != arrays.keys():
        raise ValueError(f"the weights are {sorted(arrays)}, not {sorted(wanted)}")
    for name, array in arrays.items():
        if array.shape != wanted[name].shape or array.dtype != wanted[name].dtype or not np.isfinite(array).all():
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}, or not finite; it must be float32 {wanted[name].shape}"
            )
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
