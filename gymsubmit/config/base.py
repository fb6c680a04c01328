"""What every model of the config is built on: strict, closed to unknown keys, and frozen all the way down."""

from collections.abc import Callable, Hashable
from typing import Annotated, Any, NoReturn, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class Model(BaseModel):
    """A part of the config. Strict (`true` is no port, `"8000"` neither), closed to unknown keys, frozen."""

    # Built on first use: the whole tree is built once, from its root, instead of once for every class at import.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True, ser_json_inf_nan="constants")


class FrozenDict(dict[K, V]):
    """A dict that nobody can change. It equals, prints and dumps like the plain dict of its items."""

    __slots__ = ()

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        message = "the config is frozen; build a changed one with model_validate"
        raise TypeError(message)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type["FrozenDict[K, V]"], tuple[dict[K, V]]]:
        # dict's own way to pickle and copy sets item after item.
        return type(self), (dict(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        keys, values = get_args(source) or (Any, Any)
        items = core_schema.dict_schema(handler.generate_schema(keys), handler.generate_schema(values))
        return core_schema.no_info_after_validator_function(cls, items)


def wrong(message: str) -> PydanticCustomError:
    """A validation error whose message is `message` and nothing else."""
    # Only a literal is asked for because a message is a template where there is a context; there is none here.
    return PydanticCustomError("gymsubmit", message)


class Check:
    """Annotation of a field: what is valid of its type is handed to `check`, which returns it, or raises `wrong`.

    (pydantic's AfterValidator, without the look at what arguments the function takes, for every field that has one.)
    """

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))


class EitherOr:
    """Annotation of a field that is one of two shapes told apart by `is_plain`: a plain value or a richer one.

    A union would report the complaints of both shapes; this reports those of the one that was meant.
    """

    def __init__(self, plain: Any, rich: Any, is_plain: Callable[[Any], bool]) -> None:
        self._plain, self._rich, self._is_plain = plain, rich, is_plain

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain, rich = handler.generate_schema(self._plain), handler.generate_schema(self._rich)
        is_plain = self._is_plain
        # Tags would show up in the paths of errors, so each shape passes over what is the other's.
        as_plain = core_schema.no_info_wrap_validator_function(
            lambda value, validate: validate(value) if is_plain(value) else value, plain
        )
        as_rich = core_schema.no_info_wrap_validator_function(
            lambda value, validate: value if is_plain(value) else validate(value), rich
        )
        return core_schema.chain_schema([as_plain, as_rich], serialization=core_schema.simple_ser_schema("any"))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        inner: Any = schema
        while inner["type"] != "chain":
            inner = inner["schema"]
        return {"anyOf": [handler(step) for step in inner["steps"]]}


class ByType:
    """Annotation of a union of models that the text in their field `type` tells apart.

    As pydantic's `Field(discriminator="type")`, but that a model's validator is built when a config first needs it.
    """

    def __init__(self, *models: type[Model]) -> None:
        self.models = {tag: model for model in models for tag in get_args(model.model_fields["type"].annotation)}

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        validators: dict[Hashable, CoreSchema] = {
            tag: core_schema.no_info_plain_validator_function(model.model_validate)
            for tag, model in self.models.items()
        }
        return core_schema.tagged_union_schema(validators, "type", serialization=core_schema.simple_ser_schema("any"))

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        for model in self.models.values():
            model.model_rebuild()
        schemas = {tag: model.__pydantic_core_schema__ for tag, model in self.models.items()}
        return handler(core_schema.tagged_union_schema(schemas, "type"))


def _check_filled(items: FrozenDict[K, V]) -> FrozenDict[K, V]:
    if not items:
        message = "is empty; add at least one entry"
        raise wrong(message)
    return items


Filled = Annotated[T, Check(_check_filled), Field(json_schema_extra={"minProperties": 1})]

# YAML has lists; frozen ones are tuples.
Words = Annotated[tuple[T, ...], Field(strict=False)]

Port = Annotated[int, Field(ge=1, le=65535)]
Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
