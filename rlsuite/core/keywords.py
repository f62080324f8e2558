"""Calls with an unknown keyword: the message says what to write, from the tables of `rlsuite.synonyms`."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import Parameter
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, ParamSpec, Protocol, TypeVar, get_args, get_origin

from rlsuite.errors import CallError, ParameterError
from rlsuite.synonyms import nearest

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

LONGEST: Final = 40
"""Characters of a value that is repeated in a message."""

MEANT_BY_MISSING: Final = {"gamma": "0.99", "n_states": "16", "n_actions": "4", "actions": "4"}
"""Keywords without a default, with a value that shows what they take."""
EXCLUSIVE: Final = {"steps": "episodes", "episodes": "steps"}
"""Keywords of which one alone is given."""
KINDS: Final[dict[type, tuple[str, ...]]] = {
    bool: ("bool", "ArrayLike"),
    int: ("int", "float", "ArrayLike"),
    float: ("float", "ArrayLike"),
    str: ("str",),
    list: ("Sequence", "ArrayLike"),
}
"""Type of a value -> words of the annotations of parameters that take it."""
LEARNED: Final = "hmm_"
"""Where estimators keep the model that they have learned."""
COPIED: Final = {"copied from another object": True}
"""What `SaysWhatToWrite.__new__` is given where an object is copied or unpickled, without its constructor."""
MODELS: Final = ("mdp", "pomdp", "model")
"""Names of parameters that take a model, which has its own discount factor."""


class _Model(Protocol):
    what_to_write: ClassVar[str]
    """The call for dense arrays."""


def says_what_to_write(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Make a function suggest the keyword that is probably meant for an unknown one, or for a value without its name.

    Parameters that are annotated as models take nothing else.

    >>> @says_what_to_write
    ... def learn(env, *, steps: int): return steps
    >>> learn("Maze", total_timesteps=5)
    Traceback (most recent call last):
    rlsuite.errors.CallError: learn() has no parameter 'total_timesteps'; did you mean steps=5? (parameters: env, steps)
    >>> learn("Maze", 5)
    Traceback (most recent call last):
    rlsuite.errors.CallError: learn() takes values by name after env: write learn('Maze', steps=5)
    """
    names, takes_any = _names(function)
    needed = _needed(function)
    places = _places(function)
    most = len(_by_place(function))
    models = _models(function)
    takes_more = any(one.kind is one.VAR_POSITIONAL for one in inspect.signature(function).parameters.values())

    @wraps(function)
    def checked(*args: Given.args, **given: Given.kwargs) -> Answer:
        what = f"{function.__name__}()"
        if len(args) > most and not takes_more:
            raise CallError(_with_names(function.__name__, function, args, given))
        _check(what, {} if takes_any else given, names)
        absent = [name for name in places[len(args) :] if name not in given]
        if absent:
            on_class = f"; on a class, make an object first: Class().{what}" if places[0] == "self" else ""
            raise CallError(f"{what} needs {' and '.join(absent)}{on_class}")
        missing = [name for name in needed if name not in given]
        if missing:  # an unknown keyword is one of the environment, unless it resembles a missing one
            _check(what, {name: value for name, value in given.items() if nearest(name, missing)}, missing)
            raise CallError(
                f"{what} needs {' and '.join(missing)}: write {_with_missing(function, args, missing, given)}"
            )
        for place, name, kinds in models:
            value = args[place] if place < len(args) else given.get(name)
            if not isinstance(value, kinds):
                raise CallError(_no_model(function, name, kinds, value, args))
        try:
            return function(*args, **given)
        except ParameterError as error:  # a keyword that the environment does not know may be meant for the function
            for name, value in given.items():
                if f"unknown keyword {name!r}" in str(error) and nearest(name, names):
                    _check(what, {name: value}, names)
            raise

    return checked


def shows_keywords(values: Mapping[str, object]) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Make a function that takes ``**options`` of a TypedDict show each of them in its signature, with its default.

    The function itself is given all of them. Unknown keywords get a suggestion, as by `says_what_to_write`.

    Parameters
    ----------
    values : mapping
        The defaults, in the order in which the signature shows them; those that the TypedDict lacks are left out.

    Returns
    -------
    callable
        The decorator. The last parameter of its function is a ``**options: Unpack[SomeTypedDict]``.
    """

    def decorated(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        written = inspect.signature(function)
        shown = dict(written.parameters)
        (kind,) = get_args(shown.popitem()[1].annotation)
        types: dict[str, object] = kind.__annotations__  # a TypedDict has those of its bases, too
        defaults = {name: value for name, value in values.items() if name in types}
        for name, value in values.items():
            if name in types:
                annotation = getattr(types[name], "__forward_arg__", types[name])
                shown[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=value, annotation=annotation)
            elif name in shown:  # one that the function documents itself: it keeps its place in the row
                shown[name] = shown.pop(name)

        @wraps(function)
        def filled(*args: Given.args, **given: Given.kwargs) -> Answer:
            for name, value in defaults.items():
                given.setdefault(name, value)
            return function(*args, **given)

        filled.__dict__["__signature__"] = written.replace(parameters=list(shown.values()))
        return says_what_to_write(filled)

    return decorated


class _SignatureOfInit:
    """The signature of a class, taken from its ``__init__``: some versions of Python 3.11 show that of ``__new__``."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        signature = inspect.signature(owner.__init__)
        taken = [] if owner.__init__ is object.__init__ else [*signature.parameters.values()][1:]
        return signature.replace(parameters=taken)


class SaysWhatToWrite:
    """Base of classes whose constructors suggest keywords, as `says_what_to_write` does.

    Attributes
    ----------
    not_here : str
        What the error adds about keywords that belong elsewhere.
    """

    not_here: ClassVar[str] = ""

    if not TYPE_CHECKING:  # type checkers should look at `__init__`
        __signature__ = _SignatureOfInit()

        def __new__(cls, *args: object, **given: object) -> Any:
            """Make an object, unless a keyword is unknown, or lacking."""
            if given == COPIED:
                return super().__new__(cls)
            code = getattr(cls.__init__, "__code__", None)
            if code is not None and len(args) >= code.co_argcount and not code.co_flags & inspect.CO_VARARGS:
                raise CallError(_with_names(cls.__name__, cls.__init__, (cls, *args), given) + cls.remark_on(given))
            if given and not given.keys() <= getattr(cls, "__dataclass_fields__", {}).keys():
                names, takes_any = _names(cls.__init__)
                _check(cls.__name__, {} if takes_any else given, names, cls.not_here or cls.remark_on(given))
            missing = [name for name in (*_places(cls)[len(args) :], *_needed(cls)) if name not in given]
            if missing:
                advice = cls.remark_on(given) or f": write {_with_missing(cls, args, missing, given)}"
                raise CallError(f"{cls.__name__} needs {', '.join(missing)}{advice}")
            return super().__new__(cls)

        def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, bool]]:
            return (), COPIED

    @classmethod
    def remark_on(cls, given: Mapping[str, object]) -> str:
        """What to say, as the end of a sentence, of arguments that do not fit."""
        known: str = getattr(cls, "what_to_write", "")
        return f". For arrays, write {known}" if known else ""


@cache
def _names(function: Callable[..., object]) -> tuple[list[str], bool]:
    """Return the keywords that a function takes, and whether it takes others, too."""
    parameters = inspect.signature(function).parameters
    kinds = {name: one.kind for name, one in parameters.items() if name not in ("self", "cls")}
    names = [name for name, kind in kinds.items() if kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    return names, Parameter.VAR_KEYWORD in kinds.values()


def _by_place(function: Callable[..., object]) -> list[Parameter]:
    """Return the parameters that may be given by position."""
    parameters = inspect.signature(function).parameters.values()
    return [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


@cache
@cache
def _places(function: Callable[..., object]) -> list[str]:
    """Return the parameters without a default that may be given by position."""
    return [one.name for one in _by_place(function) if one.default is one.empty]


def _models(function: Callable[..., object]) -> list[tuple[int, str, tuple[type, ...]]]:
    """Return place, name and classes of the parameters without a default that take nothing but models."""
    names: dict[str, object] = getattr(inspect.unwrap(function), "__globals__", {})
    found: list[tuple[int, str, tuple[type, ...]]] = []
    for place, one in enumerate(_by_place(function)):
        kinds: tuple[object, ...] = (one.annotation,)
        if isinstance(one.annotation, UnionType):
            kinds = get_args(one.annotation)
        elif isinstance(one.annotation, str):
            kinds = tuple(names.get(name.strip()) for name in one.annotation.split("|"))
        classes = tuple(kind for kind in kinds if isinstance(kind, type))
        if one.default is one.empty and classes == kinds and hasattr(classes[0], "what_to_write"):
            found.append((place, one.name, classes))
    return found


def _no_model(
    function: Callable[..., object], name: str, kinds: tuple[type, ...], value: object, args: tuple[Any, ...]
) -> str:
    """Return a sentence about an argument that is not a model, and what to write."""
    models: list[type[_Model]] = [kind for kind in kinds if hasattr(kind, "what_to_write")]
    wanted = [with_article(kind.__name__.removesuffix("Parameters")) for kind in models]
    refused = f"neither {' nor '.join(wanted)}" if len(wanted) > 1 else f"not {wanted[0]}"
    found = _short(value) if isinstance(value, int | float | str | None) else with_article(type(value).__name__)
    said = f"{function.__name__}(): {name} is {found}, {refused}"
    if hasattr(value, LEARNED):
        return f"{said}; the model that an estimator has learned is its {LEARNED}"
    if any(isinstance(other, kinds) for other in args):
        return f"{said}; the order is {function.__name__}({', '.join(one.name for one in _by_place(function))})"
    if isinstance(value, str) and hasattr(models[0], "from_env"):
        return f"{said}; write {models[0].__name__}.from_env({value!r}, gamma=0.99)"
    return f"{said}; for arrays, write {models[0].what_to_write}"


def with_article(name: str) -> str:
    """Put a or an before the name of a class.

    >>> [with_article(name) for name in ("MDP", "POMDP", "MarkovChain", "HMM", "object")]
    ['an MDP', 'a POMDP', 'a MarkovChain', 'an HMM', 'an object']
    """
    spelled = name[1:2].isupper()  # an em, dee, pee
    return f"{'an' if name[0].upper() in ('AEFHILMNORSX' if spelled else 'AEIOU') else 'a'} {name}"


@cache
@cache
def _needed(function: Callable[..., object]) -> list[str]:
    """Return the keywords without a default."""
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]


def _short(value: object) -> str:
    """The repr of a value, or dots if it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST and "\n" not in text else "..."


def _with_missing(
    function: Callable[..., object], args: tuple[Any, ...], missing: Iterable[str], given: Mapping[str, object]
) -> str:
    """Return a call with the keywords that were missing."""
    owner = [args[0].__name__] if _places(function)[:1] == ["cls"] else []
    positional = map(_short, args[len(owner) :])
    keywords = [f"{name}={_short(value)}" for name, value in given.items()]
    keywords += [f"{name}={MEANT_BY_MISSING.get(name, '...')}" for name in missing]
    return f"{'.'.join([*owner, function.__name__])}({', '.join([*positional, *keywords])})"


def _with_names(name: str, function: Callable[..., object], args: tuple[Any, ...], given: Mapping[str, object]) -> str:
    """Return a sentence about a call in which values lack the names by which they have to be given."""
    by_place = [one.name for one in _by_place(function)]
    parameters = inspect.signature(function).parameters.values()
    free = [one for one in parameters if one.kind is one.KEYWORD_ONLY and one.name not in given]
    choices = ", ".join(f"{one.name}=" for one in free)
    named: dict[str, object] = {}
    for value in args[len(by_place) :]:
        fit = next((one.name for one in free if _takes(one, value)), "")
        named[fit] = value
        free = [one for one in free if one.name not in (fit, EXCLUSIVE.get(fit))]
    if by_place[:1] == ["cls"]:
        name = f"{args[0].__name__}.{name}"
    own = int(by_place[:1] in (["self"], ["cls"]))
    places, shown = by_place[own:], map(_short, args[own : len(by_place)])
    words = [place if text == "..." else text for place, text in zip(places, shown, strict=True)]
    words += [f"{keyword}={_short(value)}" for keyword, value in {**named, **given}.items()]
    words += [f"{one.name}={MEANT_BY_MISSING.get(one.name, '...')}" for one in free if one.default is one.empty]
    if not choices:
        return f"{name}() takes {' and '.join(places) or 'nothing'} only, not {len(args) - own} values"
    advice = choices if "" in named else f"write {name}({', '.join(words)})"
    return f"{name}() takes values by name{f' after {places[-1]}' if places else ''}: {advice}"


def _takes(parameter: Parameter, value: object) -> bool:
    """Whether a value may be one of a parameter, as far as its annotation says."""
    annotation = parameter.annotation
    if isinstance(value, str) and get_origin(annotation) is Literal:
        return value in get_args(annotation)
    kinds = KINDS.get(type(value), ())
    if isinstance(value, float) and value.is_integer():
        kinds = KINDS[int]
    return bool({*kinds} & {*re.findall(r"\w+", getattr(annotation, "__name__", "") + str(annotation))})


def _check(what: str, given: Mapping[str, object], known: list[str], remark: str = "") -> None:
    for name, value in given.items():
        if name not in known:
            short = _short(value)
            near = nearest(name, known, value=short)
            hint = f"; did you mean {near[0]}?" if near else ""
            model = next((one for one in known if one in MODELS), "")
            if not near and model and nearest(name, ["gamma"]):
                hint = f"; the discount factor belongs to the model: {model}.replace(gamma={short})"
            raise CallError(f"{what} has no parameter {name!r}{hint} (parameters: {', '.join(known)}){remark}")
