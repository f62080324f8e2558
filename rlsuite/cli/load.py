"""From a file, or an environment that has a model, to the model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rlsuite.cli.options import DEFAULT_GAMMA, Keywords, import_packages, parameters
from rlsuite.core.npz import reading_npz
from rlsuite.errors import FileError, ParameterError, UnsuitableEnvironment, unknown, unknown_suffix
from rlsuite.inference import HMM, HSMM
from rlsuite.models import MDP, POMDP, MarkovChain, programs
from rlsuite.models.files import kind_in
from rlsuite.models.markov_chain import SUFFIXES as CHAIN_SUFFIXES
from rlsuite.models.mdp import SUFFIXES as MDP_SUFFIXES
from rlsuite.models.pomdp import SUFFIXES as POMDP_SUFFIXES

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env

Hidden: TypeAlias = HMM | HSMM
Model: TypeAlias = MDP | POMDP | Hidden | MarkovChain

SUFFIXES = frozenset(MDP_SUFFIXES) | frozenset(POMDP_SUFFIXES) | frozenset(CHAIN_SUFFIXES)
"""Suffixes of the files of all kinds of models."""


IN_PYTHON = "Ask for one: rl.tabulate(env, gamma=...)"
ON_COMMAND_LINE = "Build one with --tabulate (rl.tabulate in Python)"
"""How a table is asked for, in the error of an environment without one."""


class Opened(NamedTuple):
    """A model, and its source."""

    model: Model
    env: "Env | None" = None
    """None if it comes from a file."""


def open_model(name: str, given: Keywords, gamma: float | None = None, *, probe: bool = False) -> Opened:
    """Return the model of a file or an environment.

    Parameters
    ----------
    name : str
        A file, or what `rlsuite.environments.finding.find_env` takes.
    given : dict
        Keywords of the environment, or of the `read` of the kind of model.
    gamma : float, optional
        Discount instead of the model's own.
    probe : bool
        Whether to build the model by probing the environment, as `rlsuite.tabulate` does.

    Raises
    ------
    RlsuiteError
        Of any kind: there is no such file or environment, it does not take the keywords, it has no model.
    """
    path = Path(name)
    if path.suffix.lower() in SUFFIXES or (path.suffix not in ("", ".py") and path.is_file()):
        return Opened(_read(path, given, gamma))
    from rlsuite.environments.finding import find_env

    import_packages()
    env = find_env(name, **given)
    if probe:
        from rlsuite.environments.tabulated_model import tabulate

        return Opened(tabulate(env, gamma=DEFAULT_GAMMA if gamma is None else gamma), env)
    own = getattr(env.unwrapped, "model", None)
    own_gamma = own.gamma if isinstance(own, MDP | POMDP) else DEFAULT_GAMMA
    kind = POMDP if isinstance(own, POMDP) else MDP
    try:
        return Opened(kind.from_env(env, gamma=own_gamma if gamma is None else gamma), env)
    except UnsuitableEnvironment as error:
        raise UnsuitableEnvironment(str(error).replace(IN_PYTHON, ON_COMMAND_LINE)) from error


def _read(path: Path, given: Keywords, gamma: float | None) -> Model:
    if path.suffix.lower() not in SUFFIXES:
        raise FileError(f"{path}: {unknown_suffix(path.suffix, SUFFIXES)}")
    kind = _kind_of(path)
    known = parameters(kind.read) - {"gamma"}
    for keyword in given.keys() - known:
        if not known:
            raise ParameterError(f"{path}: {kind.__name__}.read takes no keyword {keyword!r}")
        raise ParameterError(f"{path}: {unknown(f'keyword of {kind.__name__}.read', keyword, known)}")
    if kind in (HMM, HSMM) and gamma is not None:
        raise ParameterError(
            f"gamma={gamma:g} discounts rewards, and the hidden Markov model in {path} has none: leave gamma out"
        )
    read: Any = kind.read
    return read(path, **given) if kind not in (MDP, POMDP) else read(path, gamma=gamma, **given)


def _kind_of(path: Path) -> type[Model]:
    """Return the class of the model in a file; if that is unknown, the one whose `read` will say why."""
    if path.suffix.lower() == ".pomdp":
        return POMDP
    if path.suffix.lower() in programs.SUFFIXES:
        found = programs.kind_in(path)
        return {"pomdp": POMDP, "dtmc": MarkovChain}.get(found, MDP)
    if path.suffix.lower() != ".npz":
        return MDP
    try:
        with reading_npz(path, "a model") as arrays:
            found = kind_in(path, arrays)
    except FileError:
        return MDP
    known: tuple[type[Model], ...] = (MDP, POMDP, HMM, HSMM, MarkovChain)
    kinds: dict[object, type[Model]] = {kind.__name__: kind for kind in known}
    return kinds.get(found, MDP)
