"""What pydantic complains about, in our own words: `what is wrong; what to do`, at a path of the config."""

import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from gymsubmit.config.findings import Path

_OF_KEY = "[key]"  # what pydantic puts behind the path of a key that is wrong itself


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing wrong with a value.

    `at_key`: it is the key at the end of `path` that is wrong, or missing. `drop` is the smallest part of the config
    without which this would be no complaint; what is drawn from anything in `tainted` is not to be trusted.
    """

    path: Path
    message: str
    at_key: bool
    is_missing: bool
    drop: Path
    tainted: Path


def complaints(error: ValidationError, model: type[BaseModel]) -> list[Complaint]:
    """All that is wrong with what `model` refused; a misspelt field is not reported as a missing one too."""
    details = error.errors(include_url=False)
    unknown = {tuple(detail["loc"]) for detail in details if detail["type"] == "extra_forbidden"}
    found = []
    for detail in details:
        location = _locate(model, detail["loc"])
        if detail["type"] == "missing":
            loc = tuple(detail["loc"])
            near = [other[-1] for other in unknown if other[:-1] == loc[:-1]]
            if nearest(str(loc[-1]), map(str, near)):
                continue
        found.append(_complaint(detail, location))
    return found


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `word` was probably meant to be."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake pays for the import

    by_shape = {name.lower().replace("-", "_"): name for name in known}
    match = get_close_matches(word.lower().replace("-", "_"), by_shape, n=1)
    return by_shape[match[0]] if match else None


@dataclass(frozen=True, slots=True)
class _Location:
    """A path without pydantic's additions, the types allowed at its end, and the model right above, if it is one."""

    path: Path
    of_key: bool
    types: tuple[Any, ...]
    above: type[BaseModel] | None


def _locate(model: type[BaseModel], loc: Sequence[str | int]) -> _Location:
    path: list[str | int] = []
    annotation: Any = model
    above = None
    for step in loc:
        members, tags = _members(annotation)
        if step in tags:  # pydantic names the chosen type in the path
            annotation = tags[str(step)]
        elif step != _OF_KEY:
            above = next(
                (member for member in members if isinstance(member, type) and issubclass(member, BaseModel)), None
            )
            annotation = _below(members, step)
            path.append(step)
    return _Location(tuple(path), _OF_KEY in loc[-1:], tuple(_members(annotation)[0]), above)


def _members(annotation: Any) -> tuple[list[Any], dict[str, type[BaseModel]]]:
    """The types that an annotation allows, and those of a discriminated union by their tags."""
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        members, tags = _members(base)
        for field in metadata:
            if isinstance(field, FieldInfo) and isinstance(field.discriminator, str):
                tags = {
                    tag: member
                    for member in members
                    for tag in get_args(member.model_fields[field.discriminator].annotation)
                }
        return members, tags
    if get_origin(annotation) in {typing.Union, types.UnionType}:
        return [member for part in get_args(annotation) for member in _members(part)[0]], {}
    return [annotation], {}


def _below(members: list[Any], step: str | int) -> Any:
    """The annotation of what `step` leads to."""
    for member in members:
        arguments = get_args(member)
        if isinstance(step, int) and get_origin(member) is tuple:
            return arguments[0]
        if isinstance(step, str) and isinstance(member, type) and issubclass(member, BaseModel):
            field = member.model_fields.get(step)
            return field.annotation if field else None
        if isinstance(step, str) and len(arguments) == 2:
            return arguments[1]
    return None


def _complaint(detail: Any, location: _Location) -> Complaint:
    kind, path, value = detail["type"], location.path, detail["input"]
    entry = path[: next((index for index, step in enumerate(path) if isinstance(step, int)), len(path))]
    drop = entry
    tainted = path[:-1] if location.above else entry
    at_key = location.of_key
    is_missing = False
    if kind == "missing":
        message, at_key, is_missing = "is missing; add it", True, True
        drop = tainted = path[:-1]
    elif kind == "extra_forbidden":
        at_key = True
        message = _unknown_field(path, location.above)
    elif kind in {"union_tag_invalid", "union_tag_not_found"}:
        drop = tainted = path
        field = detail["ctx"]["discriminator"].strip("'")
        is_missing = kind == "union_tag_not_found"
        misspelt = nearest(field, value) if is_missing else None
        at_key = is_missing
        path = (*path, misspelt or field)
        message = _wrong_tag(field, value, location.types, misspelt)
    else:
        message = _message(kind, value, detail, location.types)
    return Complaint(path, message, at_key, is_missing, drop, tainted)


def _unknown_field(path: Path, model: type[BaseModel] | None) -> str:
    names = model.model_fields if model else {}
    name = nearest(str(path[-1]), names)
    if name:
        return f"unknown field `{path[-1]}`; did you mean `{name}`?"
    return f"unknown field `{path[-1]}`; the fields here are {_listed(sorted(names))}"


def _wrong_tag(field: str, value: Any, members: tuple[Any, ...], misspelt: str | None) -> str:
    if misspelt:
        return f"unknown field `{misspelt}`; did you mean `{field}`?"
    tags = [tag for member in members for tag in get_args(member.model_fields[field].annotation)]
    if field not in value:
        return f"is missing; write one of {_listed(tags)}"
    given = value[field]
    if not isinstance(given, str):
        return f"is {_kind(given)} where one of {_listed(tags)} belongs; write one of them"
    near = nearest(given, tags)
    remedy = f"did you mean `{near}`? There are {_listed(tags)}" if near else f"use one of {_listed(tags)}"
    return f"there is no {field} `{given}`; {remedy}"


_WANTED = {
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
}


def _message(kind: str, value: Any, detail: Any, members: tuple[Any, ...]) -> str:
    context = detail.get("ctx", {})
    if wanted := _WANTED.get(kind):
        remedy = _remedy(wanted, value)
        if wanted == "a list" and str in members:
            wanted = "text or a list"
        if wanted == "a mapping" and bool in members:
            wanted = "true, false or a mapping"
        return f"is {_kind(value)} where {wanted} belongs; {remedy}"
    match kind:
        case "greater_than_equal":
            return f"is {value}; use at least {context['ge']}"
        case "less_than_equal":
            return f"is {value}; use at most {context['le']}"
        case "finite_number":
            return f"is {value}; use a finite number"
        case "literal_error":
            choices = [choice for member in members for choice in get_args(member)]
            near = nearest(value, choices) if isinstance(value, str) else None
            shown = f"`{value}`" if isinstance(value, str) else _kind(value)
            return f"is {shown}; {f'did you mean `{near}`? There are' if near else 'use one of'} {_listed(choices)}"
        case "value_error":
            return str(context["error"])
        case "gymsubmit":
            return str(detail["msg"])
    return f"is refused ({detail['msg']}); correct it"


def _remedy(wanted: str, value: Any) -> str:
    if value is None and wanted != "a mapping":
        return "give it a value, or leave the field out"
    is_collection = isinstance(value, dict | list | tuple)
    match wanted:
        case "a mapping" if isinstance(value, list | tuple):
            return "write its entries as `name: value`, without dashes"
        case "a mapping":
            return "write its entries below it, indented, as `name: value`"
        case "a list":
            return "write its items as `- item`"
        case "text":
            return "write a single value" if is_collection else "put it in quotes"
        case "true or false":
            return _remedy_for_bool(value)
    if isinstance(value, str) and value.lstrip("+-").isdecimal():
        return "write it without quotes"
    return f"write {wanted}"


def _remedy_for_bool(value: Any) -> str:
    word = value.lower() if isinstance(value, str) else value
    if word in ("true", "false"):
        return "write it without quotes"
    if word in ("yes", "on", "y", 1):
        return "write true"
    if word in ("no", "off", "n", 0):
        return "write false"
    return "write true or false"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return f"the number {value}"
        case str():
            return "text"
        case dict():
            return "a mapping"
    return "a list"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
