"""``rlsuite schema``: the JSON Schema of experiments in TOML files, with which editors complete and check them.

Everything is taken from what reads such a file: keys and types from the fields of `Experiment`, of its entries and of
the agents, which are found as `rlsuite agents` finds them, and names from the lists that errors print. What a value has
to be beyond its type (a range, another label) only the reader says.
"""

import inspect
import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

from rlsuite.cli.flags import documented
from rlsuite.cli.options import parameters
from rlsuite.synonyms import in_dashes

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema, or a part of one."""

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
"""The newest draft that editors of TOML files know well."""

ELSEWHERE: Final = {"pattern": r":|\.py$"}
"""module:Class or file.py:Class, of which nothing is known here."""

PLAIN_TYPES: Final[dict[object, str]] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def schema() -> int:
    """Print the JSON Schema of experiments, for editors.

    Print the JSON Schema of the TOML files of 'rlsuite run'. An editor that knows it completes keys and names, and
    marks mistakes: Even Better TOML and taplo look for it in the first line of the file, #:schema
    experiment.schema.json.

    Examples
    --------
    rlsuite schema > experiment.schema.json
    """
    print(json.dumps(experiment_schema(), indent=1))
    return 0


def experiment_schema() -> Schema:
    """The JSON Schema (draft 7) of an experiment.

    Examples
    --------
    >>> schema = experiment_schema()
    >>> schema["properties"]["loop"]["enum"]
    ['auto', 'compiled', 'stepwise']
    >>> schema["definitions"]["agent.QLearning"]["properties"]["gamma"]["type"]
    'number'
    """
    from rlsuite.experiments import Experiment
    from rlsuite.experiments.config import SEARCH, EnvironmentEntry, Limits

    amount = {"type": "integer", "minimum": 1}
    seeds = {"minimum": 1, "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": True}
    known: Schema = {
        **dict.fromkeys(("steps", "episodes", "evaluate_every", "record_every"), amount),
        "seeds": {"type": ["integer", "array"], **seeds},
        "figures": {"type": "array", "items": {"anyOf": list(_figures())}},
        "search": {"type": "object", "propertyNames": {"enum": [*SEARCH]}},
        "limits": {
            "type": "object",
            "propertyNames": {"enum": [*Limits._fields]},
            "additionalProperties": {"type": ["number", "string"]},
        },
        "environments": {"type": "array", "minItems": 1, "items": _ref("environment")},
        "agents": {"type": "array", "minItems": 1, "items": _ref("agent")},
    }
    properties = _properties(Experiment, known, leave_out=("file",))
    environment = _properties(
        EnvironmentEntry,
        {"id": {"type": "string", "minLength": 1}, "max_episode_steps": amount, "parameters": _ref("keywords")},
    )
    plain = {"type": ["boolean", "number", "string", "array", "object"]}
    plain |= {"items": _ref("plain"), "additionalProperties": _ref("plain")}
    return {
        "$schema": DRAFT,
        "title": "An experiment of rlsuite",
        "description": _first_line(Experiment),
        **_table(properties, required=("environments", "agents")),
        "oneOf": [{"required": ["steps"]}, {"required": ["episodes"]}],
        "definitions": {
            "environment": _table(environment, required=("id",)),
            "keywords": {"type": "object", "additionalProperties": _ref("plain")},
            "plain": plain,
            **_values_to_try(),
            **_agents(),
        },
    }


def _agents() -> Schema:
    """The definition of an agent, those of the agents that there are, and those of all their parts.

    What holds for every agent, one of the user's too, is in the first one, and not repeated.
    """
    from rlsuite.experiments.config import AgentEntry
    from rlsuite.experiments.lookup import keys_of
    from rlsuite.registry import choices, learner_classes

    classes: dict[str, Any] = dict(sorted(learner_classes().items()))
    own = _properties(
        AgentEntry, {"environment": _ref("keywords"), "setting": _ref("keywords")}, leave_out=("agent", "source")
    )
    found: Schema = {}
    every: Schema = {}
    for name, kind in classes.items():
        declared = {field.name: field for field in fields(kind) if field.init}
        own_keys = {key: {} if _of_key(key) else _of_type(declared[key].type) for key in keys_of(kind)}
        parts = _with_descriptions(kind, own_keys)
        paths = {"pattern": rf"^({'|'.join(declared)})(\.|$)"}
        others: Schema = {**{key: {} for key in own}, "sweep": {"propertyNames": paths}}
        definition = _table({"name": {}, **others, **parts}, required=("name", *_needed(kind)))
        found[f"agent.{name}"] = {"description": _first_line(kind), **definition}
        # of other keys the description alone: an agent of the user's may have another parameter of this name
        every |= {key: _of_key(key) or {"description": part.get("description", "")} for key, part in parts.items()}
    agent = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": _name_of(classes), **own, "sweep": _ref("sweep"), **every},
        "dependencies": {"name": {"allOf": [_case(f"agent.{name}", name) for name in classes]}},
    }
    for family in ("exploration", "values", "features", "policy", "schedule"):
        found |= _family(*choices(family))
    return {"agent": agent, **found}


def _family(what: str, members: Mapping[str, type]) -> Schema:
    """The definitions of what makes an object of one of some classes: its name, its table, and what holds for that.

    What holds for a table stands beside the alternatives, where `_one_of` puts it: so an editor marks the key that is
    wrong, and not all of the table.
    """
    found: Schema = {f"{what}.name": {"type": "string", **_name_of(members)}}
    for name, kind in sorted(members.items()):
        parts = {field.name: _of_field(field) for field in fields(kind) if field.init}
        definition = _table({"name": {}, **_with_descriptions(kind, parts)}, required=("name", *_needed(kind)))
        found[f"{what}.{name}"] = {"description": _first_line(kind), **definition}
    any_name = {"anyOf": [_ref(f"{what}.name"), {"type": "string"}]}
    found[what] = {"type": "object", "required": ["name"], "properties": {"name": any_name}}
    named = {"properties": {"name": _ref(f"{what}.name")}}
    found[f"{what}.rules"] = {"allOf": [named, *(_case(f"{what}.{name}", name) for name in sorted(members))]}
    return found


def _one_of(what: str, *others: Schema) -> Schema:
    """A table of a family, or something else."""
    return {"anyOf": [*others, _ref(what)], "dependencies": {"name": _ref(f"{what}.rules")}}


def _name_of(members: Mapping[str, type]) -> Schema:
    return {"anyOf": [{"enum": [name for kind in sorted(members) for name in _spellings(kind)]}, ELSEWHERE]}


def _case(definition: str, name: str) -> Schema:
    """What holds for a table whose name is that of a class."""
    return {"if": {"properties": {"name": {"enum": _spellings(name)}}}, "then": _ref(definition)}


def _of_field(field: "Field[Any]") -> Schema:
    """The values that a parameter of an agent, or of a part of it, takes."""
    return _of_key(field.name) or _of_type(field.type)


def _of_key(key: str) -> Schema:
    """The values of a parameter that `rlsuite.core.described` knows by its name; empty for others."""
    from rlsuite.core.described import NAMED
    from rlsuite.core.named_estimators import ESTIMATORS

    if key == "fit_on":
        return {"type": "integer", "minimum": 1}
    if key not in NAMED:
        return {}
    if key not in ESTIMATORS:
        return _one_of(key, _ref(f"{key}.name"))
    if key == "features":
        one = _one_of(key, _ref(f"{key}.name"))
    else:  # of scikit-learn or the user's own
        table = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", **ELSEWHERE}}}
        one = {"anyOf": [{"type": "string", **ELSEWHERE}, table]}
    return {**one, "anyOf": [*one["anyOf"], {"type": "array", "items": one, "minItems": 1}]}


def _of_type(hint: object) -> Schema:
    """The values of a type; all that there are, if it is one that TOML does not have."""
    from rlsuite.core.described import Described

    if isinstance(hint, type) and hint in PLAIN_TYPES:
        return {"type": PLAIN_TYPES[hint]}
    if isinstance(hint, type) and issubclass(hint, Described):
        return _one_of(hint.described_as)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _of_type(inner[0])
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is Mapping:
        return {"type": "object"}
    if origin in (Sequence, Iterable):
        return {"type": "array", "items": _of_type(inner[0])}
    if origin in (Union, types.UnionType):
        parts = [_of_type(one) for one in inner if one is not type(None)]
        rules = [one for one in parts if "dependencies" in one]  # at most one: the parts of an agent are of one family
        listed = [one for part in parts for one in (part["anyOf"] if part in rules else [part])]
        return {} if {} in parts else parts[0] if len(parts) == 1 else {**(rules or [{}])[0], "anyOf": listed}
    return {}


def _values_to_try() -> Schema:
    """The definitions of a sweep: a table of lists, or of ranges."""
    ends = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    count = {"type": "integer", "minimum": 1}
    ranges = [_table({kind: ends, "n": count}, required=(kind, "n")) for kind in ("log", "linear")]
    tried = {"anyOf": [{"type": "array", "minItems": 1, "uniqueItems": True}, *ranges]}
    sweep = {"type": "object", "minProperties": 1, "additionalProperties": _ref("sweep.values")}
    return {"sweep.values": tried, "sweep": sweep}


def _figures() -> Iterator[Schema]:
    """A name of a figure, or a table of the name and keywords of that figure."""
    from rlsuite.plotting import figures

    yield {"enum": [*figures()]}
    for name, draw in figures().items():
        keywords: Schema = {key: {} for key in sorted(parameters(draw) - {"ax", "palette"})}
        yield {"description": _first_line(draw), **_table({"name": {"enum": [name]}, **keywords}, required=("name",))}


def _properties(kind: type, known: Schema, leave_out: Sequence[str] = ()) -> Schema:
    """The keys of a table that are fields of a class, with what is known of some of them."""
    listed = [field for field in fields(kind) if field.name not in leave_out]
    return _with_descriptions(kind, {one.name: known.get(one.name) or _of_type(one.type) for one in listed})


def _with_descriptions(kind: type, parts: Schema) -> Schema:
    """The same properties, each with what the class and its bases say about it."""
    said = documented(kind)
    return {key: {"description": said[key][1], **part} if key in said else part for key, part in parts.items()}


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _needed(kind: type) -> list[str]:
    """Parameters without a default."""
    listed = [field for field in fields(kind) if field.init]
    return [one.name for one in listed if one.default is MISSING and one.default_factory is MISSING]


def _spellings(name: str) -> list[str]:
    """The name of a class, as Python and as the command line write it."""
    return list(dict.fromkeys([name, in_dashes(name)]))


def _table(properties: Schema, required: Sequence[str]) -> Schema:
    """A table that has no other keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}
