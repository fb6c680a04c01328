"""What pydantic complains about, in our own words: `what is wrong; what to do`, at a path of the config."""

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from gymsubmit.config.findings import ANY_NAME, Path
from gymsubmit.config.locations import Location, locate
from gymsubmit.config.paths import dotted
from gymsubmit.config.spelling import nearest
from gymsubmit.frozen import Frozen


class Complaint(Frozen):
    """One thing wrong with a value.

    `at_key`: it is the key at the end of `path` that is wrong, or missing. `refused` is the smallest part of the config
    that the complaint is about, `stand_in` a value that is right there, None where it can be left out. `open` are the
    paths that may hold anything once it is corrected, without those that are written down already where `is_unknown`:
    an unknown field was meant to be one that is not there.
    """

    path: Path
    message: str
    at_key: bool
    refused: Path
    stand_in: Any
    open: tuple[Path, ...]
    is_unknown: bool


def complaints(error: ValidationError, model: type[BaseModel]) -> list[Complaint]:
    """All that is wrong with what `model` refused; a misspelt field is not reported as a missing one too."""
    details = error.errors(include_url=False)
    unknown = {tuple(detail["loc"]) for detail in details if detail["type"] == "extra_forbidden"}
    found: list[Complaint] = []
    nameless: dict[Path, Complaint] = {}
    for detail in details:
        location = locate(model, detail["loc"])
        if detail["type"] == "missing":
            loc = tuple(detail["loc"])
            near = [other[-1] for other in unknown if other[:-1] == loc[:-1]]
            if nearest(str(loc[-1]), map(str, near)):
                continue
        if _is_field_without_entry(detail, location):
            nameless.setdefault(location.path[:-1], _nameless(location, locate(model, detail["loc"][:-1])))
        found.append(_complaint(detail, location))
    others = [each for each in found if not any(each.path[: len(path)] == path for path in nameless)]
    return [*nameless.values(), *others]


def _is_field_without_entry(detail: Any, location: Location) -> bool:
    """Whether a mapping of names holds, instead of an entry, a single field of one."""
    wants_mapping = _WANTED.get(detail["type"]) == "a mapping"
    return wants_mapping and location.above is None and location.path[-1] in location.names


def _nameless(field: Location, mapping: Location) -> Complaint:
    """About a mapping of names that holds an entry's fields."""
    name, path = field.path[-1], mapping.path
    between = dotted((*path, next(iter(mapping.example or ()), "NAME"), name))
    message = f"holds the field `{name}` where a name belongs; put one between, as in `{between}`"
    return Complaint(path, message, True, path, mapping.example, mapping.fields, False)


def _complaint(detail: Any, location: Location) -> Complaint:
    kind, path, value = detail["type"], location.path, detail["input"]
    refused = outside_lists(path)
    at_key = location.of_key
    stand_in, open_paths = (location.example, location.fields) if refused == path else (None, (refused,))
    if at_key:
        stand_in, open_paths = None, (path, (*path[:-1], ANY_NAME))
    if kind == "missing":
        message, at_key = "is missing; add it", True
    elif kind == "extra_forbidden":
        names = list(location.above.model_fields) if location.above else []
        near = nearest(str(path[-1]), names)
        message, at_key = _unknown_field(path, names, near), True
        open_paths = tuple((*path[:-1], name) for name in ([near] if near else names))
    elif kind in {"union_tag_invalid", "union_tag_not_found"}:
        field = detail["ctx"]["discriminator"].strip("'")
        at_key = kind == "union_tag_not_found"
        misspelt = nearest(field, value) if at_key else None
        path = (*path, misspelt or field)
        message = _wrong_tag(field, value, location.types, misspelt)
    else:
        message = _message(kind, value, detail, location.types)
    if location.example is not None:
        message = message.removesuffix(_OR_NOT)
    return Complaint(path, message, at_key, refused, stand_in, open_paths, kind == "extra_forbidden")


def outside_lists(path: Path) -> Path:
    """The path of the outermost list that `path` leads into; `path` where it leads into none."""
    return path[: next((index for index, step in enumerate(path) if isinstance(step, int)), len(path))]


def _unknown_field(path: Path, names: list[str], near: str | None) -> str:
    if near:
        return f"unknown field `{path[-1]}`; did you mean `{near}`?"
    more = "an option that is no field goes into `extra_args`, " if "extra_args" in names else ""
    return f"unknown field `{path[-1]}`; {more}the fields here are {_listed(sorted(names))}"


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


_OR_NOT = ", or leave the field out"  # which is no remedy where the field is required
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
            remedy = remedy if isinstance(value, list | tuple) else _remedy_for_bool(value)
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
        return "give it a value" + _OR_NOT
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
