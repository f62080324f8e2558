"""A network of the user's own: any ``torch.nn.Module``, or what makes one; it is tried before anything is learned."""

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from rlsuite import errors
from rlsuite.approximation.deep.pytorch import arrays_of, own_generator, pytorch
from rlsuite.environments.finding import module_of, parts_of
from rlsuite.models.aliases import AnyArray

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
