"""What the models say about a place of the config: which types are allowed there, and what it could hold."""

import types
import typing
from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from gymsubmit.config.base import ByType, Model
from gymsubmit.config.findings import Path
from gymsubmit.frozen import Frozen

_OF_KEY = "[key]"  # what pydantic puts behind the path of a key that is wrong itself


class Location(Frozen):
    """A path without pydantic's additions, the types allowed at its end, and the model right above, if it is one.

    `example` is a value that is right there, where one is required; None where it could be left out.
    """

    path: Path
    of_key: bool
    types: tuple[Any, ...]
    above: type[BaseModel] | None
    example: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of the models that are allowed there."""
        models = filter(_is_model, self.types)
        return tuple(dict.fromkeys(name for model in models for name in model.model_fields))

    @property
    def fields(self) -> tuple[Path, ...]:
        """The paths of all that could stand right below it, where that is a model and required; else its own."""
        names = self.names if self.example is not None else ()
        return tuple((*self.path, name) for name in names) or (self.path,)


def locate(model: type[BaseModel], loc: Sequence[str | int]) -> Location:
    """What `model` says about a place that pydantic names."""
    path: list[str | int] = []
    annotation: Any = model
    above = example = None
    for step in loc:
        members, tags = _members(annotation)
        if step in tags:  # pydantic names the chosen type in the path
            annotation = tags[str(step)]
        elif step != _OF_KEY:
            above = next(filter(_is_model, members), None)
            annotation, example = _below(members, step, example)
            path.append(step)
    return Location(tuple(path), _OF_KEY in loc[-1:], tuple(_members(annotation)[0]), above, example)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _members(annotation: Any) -> tuple[list[Any], dict[str, type[Model]]]:
    """The types that an annotation allows, and those of a discriminated union by their tags."""
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        members, tags = _members(base)
        for each in metadata:
            if isinstance(each, ByType):
                tags = each.models
        return members, tags
    if get_origin(annotation) in {typing.Union, types.UnionType}:
        return [member for part in get_args(annotation) for member in _members(part)[0]], {}
    return [annotation], {}


def _below(members: list[Any], step: str | int, example: Any) -> tuple[Any, Any]:
    """The annotation of what `step` leads to, and an example of it, given one of what it leads from."""
    for member in members:
        arguments = get_args(member)
        if isinstance(step, int) and get_origin(member) is tuple:
            return arguments[0], None
        if isinstance(step, str) and _is_model(member):
            field = member.model_fields.get(step)
            return (field.annotation, (field.examples or [None])[0]) if field else (None, None)
        if isinstance(step, str) and len(arguments) == 2:
            return arguments[1], next(iter(example.values()), None) if isinstance(example, dict) else None
    return None, None
