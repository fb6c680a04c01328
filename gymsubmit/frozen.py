"""Frozen values: what plans and findings are made of.

A Frozen is what a frozen dataclass is. It is not one, because a dataclass writes and compiles half a dozen functions
when its class is made, and a short command would spend a tenth of its time on the classes that it imports.
"""

from typing import Any, ClassVar, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True)
class Frozen:
    """Base of frozen values. A subclass lists its fields as annotations, those with a default last.

    Fields are given by position or by name. Values of one class with equal fields are equal, and hash alike; those of
    two classes never are. `__match_args__` are the names of the fields, in order.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        names = (*cls.__match_args__, *cls.__annotations__)
        cls.__match_args__ = names  # type: ignore[misc]  # final to mypy, which works out the same names
        cls._names = frozenset(names)

    def __init__(self, /, *values: Any, **named: Any) -> None:
        """Take the fields.

        Raises:
            TypeError: one is missing, given twice, or there is none of that name.
        """
        fields = self.__dict__  # `self.name = value` is refused
        fields.update(zip(self.__match_args__, values, strict=False), **named)
        if len(fields) != len(values) + len(named):
            raise TypeError(f"{type(self).__name__}: a field too many, or one given twice")
        if fields.keys() != self._names:
            self._fill()

    def _fill(self) -> None:
        fields = self.__dict__
        for name in self._names - fields.keys():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__}: the field {name} is missing")
            fields[name] = getattr(type(self), name)
        if unknown := fields.keys() - self._names:
            raise TypeError(f"{type(self).__name__}: there is no field {unknown.pop()}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def _values(self) -> tuple[Any, ...]:
        fields = self.__dict__
        return tuple([fields[name] for name in self.__match_args__])

    def __repr__(self) -> str:
        fields = [f"{name}={value!r}" for name, value in zip(self.__match_args__, self._values(), strict=True)]
        return f"{type(self).__name__}({', '.join(fields)})"
