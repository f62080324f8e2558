"""Networks of PyTorch: ours, the user's own, and their weights in files.

Networks: convolutions for images, then hidden layers of rectified linear units, then a linear output.

Rectified linear units are max(0, x); each layer but the last is followed by them.

In plain NumPy: `rlsuite.reference.deep_q.duelling_values`.

A network of the user's own: any ``torch.nn.Module``, or what makes one; it is tried before anything is learned.

PyTorch is an extra: it is loaded on first use, used with one thread, and its settings are restored.

Nothing of ours draws from PyTorch's generators: all random numbers come from NumPy generators of our own. What modules
of the user draw is seeded by these, and PyTorch's generator is put back where it was.

Saving and loading networks: one .npz file of arrays and JSON text, never a pickle.
"""

import copy
import importlib
import inspect
import json
import math
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.checks import whole_number
from rlsuite.core.files import replacing
from rlsuite.core.npz import Npz, reading_npz
from rlsuite.environments.finding import module_of, parts_of
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


class Convolution(NamedTuple):
    """A convolutional layer without padding: its output is (size - kernel) // stride + 1 high and wide.

    A plain tuple ``(filters, kernel, stride)`` does as well.
    """

    filters: int
    """Number of filters: the planes of the output."""
    kernel: int = 3
    """Height and width of a filter."""
    stride: int = 1
    """Distance between two positions of the filter."""


def check_layers(
    hidden: Iterable[int], convolutions: Iterable[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[Convolution, ...]]:
    """Return the sizes of hidden layers and the convolutions, checked.

    Raises
    ------
    ParameterError
        If a size is not a whole number of at least 1.

    Examples
    --------
    >>> check_layers([64, 64], [(16, 3, 1)])
    ((64, 64), (Convolution(filters=16, kernel=3, stride=1),))
    """
    try:
        sizes, layers = tuple(hidden), tuple(Convolution(*layer) for layer in convolutions)
    except TypeError as error:
        raise errors.ParameterError(
            f"hidden={hidden!r} must be layer sizes such as (64, 64), and convolutions={convolutions!r} "
            "layers (filters, kernel, stride) such as [(16, 3, 1)]"
        ) from error
    checked = tuple(
        Convolution(*(whole_number(f"convolutions[{i}].{name}", size) for name, size in layer._asdict().items()))
        for i, layer in enumerate(layers)
    )
    return tuple(whole_number(f"hidden[{i}]", size) for i, size in enumerate(sizes)), checked


def build_network(
    shape: tuple[int, ...],
    n_outputs: int,
    hidden: Sequence[int],
    convolutions: Sequence[Convolution],
    rng: np.random.Generator,
    device: Any = "cpu",
) -> Any:
    """Make a network with weights drawn from `rng`.

    Parameters
    ----------
    shape : tuple of int
        Shape of an observation. Convolutions take images: (planes, rows, columns), or (rows, columns) for one plane.
    n_outputs : int
        Number of outputs.
    hidden : sequence of int
        Units of the hidden layers.
    convolutions : sequence of Convolution
        Layers before them.
    rng : numpy.random.Generator
        Where the weights come from.
    device : torch.device or str
        Device of the network.

    Returns
    -------
    torch.nn.Sequential
        From float32 (n, *shape) to float32 (n, n_outputs).

    Raises
    ------
    UnsuitableEnvironment
        If there are convolutions and observations are not images, or smaller than the kernels.

    Examples
    --------
    >>> network = build_network((4,), 2, hidden=(8,), convolutions=(), rng=np.random.default_rng(1))
    >>> sum(weights.numel() for weights in network.parameters()) == (4 + 1) * 8 + (8 + 1) * 2
    True
    """
    nn = pytorch().nn
    layers: list[Any] = []
    width = int(np.prod(shape))
    if convolutions:
        planes, rows, columns = _image(shape)
        layers = [nn.Unflatten(1, (1, rows))] if len(shape) == 2 else []
        for filters, kernel, stride in convolutions:
            if kernel > min(rows, columns):
                raise errors.UnsuitableEnvironment(
                    f"a kernel of {kernel} x {kernel} does not fit into {rows} x {columns} numbers (observations are "
                    f"{shape[0] if len(shape) == 3 else 1} planes of {shape[-2]} x {shape[-1]}); give fewer or smaller "
                    "convolutions, or channels='last' (or 'first') if the planes are the other axis"
                )
            layers += [empty_layer(nn.Conv2d, planes, filters, kernel, stride=stride, device=device), nn.ReLU()]
            planes, rows, columns = filters, (rows - kernel) // stride + 1, (columns - kernel) // stride + 1
        width = planes * rows * columns
    layers.append(nn.Flatten())
    for units in hidden:
        layers += [empty_layer(nn.Linear, width, units, device=device), nn.ReLU()]
        width = units
    network = nn.Sequential(*layers, empty_layer(nn.Linear, width, n_outputs, device=device))
    initialise(network, rng)
    return network


def _image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    if len(shape) == 2:
        return 1, shape[0], shape[1]
    if len(shape) == 3:
        return shape[0], shape[1], shape[2]
    raise errors.UnsuitableEnvironment(
        f"convolutions need images of shape (planes, rows, columns), (rows, columns, planes) or (rows, columns), and "
        f"observations have {shape}; use convolutions=() for vectors, and convert colour images to grey before "
        "stacking them (gymnasium.wrappers.GrayscaleObservation)"
    )


def action_values(outputs: NDArray[np.float32], dueling: bool) -> NDArray[np.float32]:
    """Turn the outputs (n, n_outputs) of a network into action values (n, n_actions).

    A duelling network has one output more: V(s) comes first, then the advantages A(s, a), and
    Q(s, a) = V(s) + A(s, a) - mean_a' A(s, a') (Wang et al. 2016, eq. 9).

    Examples
    --------
    >>> action_values(np.array([[10.0, 1.0, 3.0]]), dueling=True)
    array([[ 9., 11.]])
    """
    if not dueling:
        return outputs
    advantage = outputs[:, 1:]
    return outputs[:, :1] + (advantage - advantage.mean(axis=1, keepdims=True))


def slope_of_outputs(slope: NDArray[np.float32], dueling: bool) -> NDArray[np.float32]:
    """Turn the slope of a loss in action values (n, n_actions) into that in outputs (n, n_outputs).

    V(s) enters each value of the state; A(s, a) that of its action, and all of them by minus a share of the mean.

    Examples
    --------
    >>> slope_of_outputs(np.array([[1.0, 0.0]]), dueling=True)
    array([[ 1. ,  0.5, -0.5]])
    """
    if not dueling:
        return slope
    return np.concatenate([slope.sum(axis=1, keepdims=True), slope - slope.mean(axis=1, keepdims=True)], axis=1)


Maker: TypeAlias = Callable[[tuple[int, ...], int], Any]
"""``maker(shape, n_outputs) -> torch.nn.Module``, of the shape of one observation: a function, or a class."""

TRIED = 2
"""Observations that a network is tried on."""


def named(network: object) -> str:
    """Return the name of a module's class, or of what makes one, as a file keeps it.

    >>> named(np.zeros), named("nets.py:Net")
    ('numpy.zeros', 'nets.py:Net')
    """
    if isinstance(network, str):
        return network
    named_one: Any = network if inspect.isroutine(network) or inspect.isclass(network) else type(network)
    return f"{named_one.__module__}.{named_one.__qualname__}"


def check_maker(network: object) -> None:
    """Raise unless this is a module, or may make one.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if isinstance(network, str):
        _imported(network)
    elif not (isinstance(network, pytorch().nn.Module) or callable(network)):
        raise errors.ParameterError(
            f"network={network!r} must be a torch.nn.Module, or a class or function that makes one: "
            "network(shape, n_outputs), as itself or as 'module:Name' or 'file.py:Name'"
        )


def own_network(
    network: object, shape: tuple[int, ...], outputs: Sequence[str], rng: np.random.Generator, device: Any
) -> Any:
    """Return a copy of a module, or a new one, on a device.

    What it draws from PyTorch's generator while it is made is seeded by `rng`, and the generator is restored.

    Parameters
    ----------
    network : torch.nn.Module, callable or str
        The module, or what makes it; see `Maker`.
    shape : tuple of int
        Shape of an observation as it enters the network.
    outputs : sequence of str
        What each of its outputs is.
    rng : numpy.random.Generator
        Where the first weights come from, unless the module has its own.
    device : torch.device
        Device of the network.

    Raises
    ------
    ParameterError
        If it is no such thing, cannot take the observations, returns numbers of another shape or type, or other numbers
        when it is asked again.
    """
    nn, what = pytorch().nn, f"network={named(network)}"
    given: Any = _imported(network) if isinstance(network, str) else network
    with own_generator(int(rng.integers(2**62))):
        made: Any = copy.deepcopy(given) if isinstance(given, nn.Module) else _made(what, given, shape, len(outputs))
        if not isinstance(made, nn.Module):
            raise errors.ParameterError(f"{what} makes {type(made).__name__}, not a torch.nn.Module")
        made: Any = made.to(device)
        first = answers(made, shape, device, what)
        _check_answers(what, first, outputs)
        before = arrays_of(made)
        again, after = answers(made, shape, device, what), arrays_of(made)
    if not np.array_equal(first, again) or any(not np.array_equal(before[name], after[name]) for name in before):
        raise errors.ParameterError(
            f"{what} answers differently when it is asked again, as Dropout, BatchNorm and noisy layers do: nothing "
            "could be repeated. Leave them out (LayerNorm may stay), or call .eval() on the module before it is given"
        )
    if not any(weight.requires_grad for weight in made.parameters()):
        raise errors.ParameterError(f"{what} has no weights that can be learned")
    return made


def answers(network: Any, shape: tuple[int, ...], device: Any, what: str) -> AnyArray:
    """Return the outputs of a network for a few fixed inputs, shape (TRIED, n_outputs).

    Raises
    ------
    ParameterError
        If it cannot take them.
    """
    torch = pytorch()
    numbers = np.random.default_rng(0).uniform(-1.0, 1.0, (TRIED, *shape)).astype(np.float32)
    try:
        with torch.no_grad():
            return network(torch.from_numpy(numbers).to(device)).cpu().numpy()
    except Exception as error:  # whatever the user's own module raises
        raise errors.ParameterError(
            f"{what} cannot take {TRIED} observations, float32 {numbers.shape} ({type(error).__name__}: {error})"
        ) from error


def _made(what: str, maker: Any, shape: tuple[int, ...], n_outputs: int) -> Any:
    try:
        return maker(shape, n_outputs)
    except Exception as error:  # whatever the user's own function raises
        raise errors.ParameterError(
            f"{what} is called with the shape of one observation and the number of outputs, {shape} and {n_outputs}, "
            f"and raised {type(error).__name__}: {error}"
        ) from error


def _check_answers(what: str, found: AnyArray, outputs: Sequence[str]) -> None:
    wanted = TRIED, len(outputs)
    if found.shape != wanted or found.dtype != np.float32:
        raise errors.ParameterError(
            f"{what} returns {found.dtype} {found.shape} for {TRIED} observations; it must return float32 {wanted}: "
            f"{', '.join(outputs)}"
        )
    if not np.isfinite(found).all():
        raise errors.ParameterError(f"{what} returns {found[~np.isfinite(found)][0]} for numbers between -1 and 1")


def _imported(spec: str) -> Any:
    """Return what ``module:Name`` or ``file.py:Name`` names."""
    place, name = parts_of(spec)
    if not (place and name):
        raise errors.ParameterError(f"network={spec!r} must be 'module:Name' or 'file.py:Name'")
    try:
        module = module_of(place)
    except errors.FileError as error:
        raise errors.ParameterError(f"network={spec!r}: {error}") from error
    if not hasattr(module, name):
        public = [other for other in vars(module) if not other.startswith("_")]
        raise errors.ParameterError(f"network={spec!r}: " + errors.unknown("name", name, public))
    return getattr(module, name)


Arrays = dict[str, AnyArray]


def write_file(
    path: str | PathLike[str],
    file_format: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
    networks: Mapping[str, Any],
) -> None:
    """Write a header of plain data, arrays, and the weights of networks as arrays "NETWORK.WEIGHT".

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    content: Arrays = {"header": np.array(json.dumps({"format": file_format, **header})), **arrays}
    for which, network in networks.items():
        content |= {f"{which}.{name}": array for name, array in arrays_of(network).items()}
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **content)  # pyright: ignore[reportArgumentType] - no array has a parameter's name


@contextmanager
def reading(path: str | PathLike[str], file_format: str) -> Generator[tuple[dict[str, Any], Npz]]:
    """Yield the header and the arrays of a file; an inconsistency between them is an error of the file.

    Raises
    ------
    FileError
        If the file is missing, damaged, written by something else, or has arrays that are not taken.
    """
    with reading_npz(path, f"a {file_format}") as arrays:
        header: dict[str, Any] = arrays.take_json("header")
        if header["format"] != file_format:
            raise errors.FileError(f"{path} has the format {header['format']!r}, not {file_format!r}")
        yield header, arrays
        arrays.finish()


def put_weights(networks: Mapping[str, Any], arrays: Npz) -> None:
    """Give networks the weights that `write_file` has written.

    Raises
    ------
    ValueError
        If they are not those of such networks.
    """
    for which, network in networks.items():
        wanted = arrays_of(network)
        found = {name.removeprefix(f"{which}.") for name in arrays.below(f"{which}.")}
        if wanted.keys() != found:
            raise ValueError(f"the weights are {sorted(found)}, not {sorted(wanted)}")
        put_arrays(
            network, {name: arrays.take(f"{which}.{name}", each.dtype, each.shape) for name, each in wanted.items()}
        )
