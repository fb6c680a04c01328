"""What placeholders give that are no paths: variables of the environment, and what OmegaConf's resolvers return.

OmegaConf is imported only where a config needs it.
"""

import os
import warnings
from collections.abc import Iterable
from typing import Any

from gymsubmit.config.placeholders import escape, is_credential, only_variable, resolver_of, variables
from gymsubmit.config.tree import Entry, Mapping, Mark, Node, Scalar, Sequence, is_utf8

NOWHERE = Mark(0, 0)
"""The place of what stands in no file."""


class UnresolvedError(Exception):
    """A placeholder has no value."""

    def __init__(self, reason: str, remedy: str = "correct it") -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(reason)

    def message(self, placeholder: str) -> str:
        """What is wrong with `placeholder`, and what to do."""
        shown = shortened(placeholder)
        return f"`{shown}` does not resolve: {self.reason}; {self.remedy}, or write `\\{shown}` for the text itself"


class CredentialError(UnresolvedError):
    """A placeholder reads a variable that usually holds a secret; `reason` is its name."""

    def message(self, placeholder: str) -> str:
        """How to hand a secret on without writing it down."""
        name = self.reason
        return (
            f"`{shortened(placeholder)}` would write a secret into files; put `{name}: host:{name}` under `env`, "
            f"and write `\\${{oc.env:{name}}}` where the driver is to read it"
        )


def refuse_credentials(placeholder: str) -> None:
    """Raise where a placeholder reads what is usually a secret, or hides which variable it reads."""
    names = variables(placeholder)
    if names is None:
        raise UnresolvedError("a variable's name must be written out")
    for name in filter(is_credential, names):
        raise CredentialError(name)


def variable(placeholder: str) -> Node | None:
    """The value of `${oc.env:VAR}`; None for any other placeholder.

    Raises:
        UnresolvedError: the variable is not set.
    """
    name = only_variable(placeholder)
    if name is None:
        return None
    if name not in os.environ:
        raise UnresolvedError(
            f"the variable {name} is not set", f"set it, give a default (`${{oc.env:{name},DEFAULT}}`)"
        )
    return tree_of(os.environ[name])


def call(placeholder: str, known: Iterable[tuple[tuple[str, ...], Node]]) -> Node:
    """What a resolver's call gives; `known` are the resolved parts of the config that its arguments name, by path.

    Raises:
        UnresolvedError: there is no such resolver, or it takes no such arguments.
    """
    from omegaconf import OmegaConf  # noqa: PLC0415
    from omegaconf.errors import GrammarParseError  # noqa: PLC0415

    data: dict[str, Any] = {}
    for path, node in known:
        _put(data, path, _escaped(node))
    try:
        config = OmegaConf.create(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `${oc.env:X,}` warns that its default is no quoted ""
            config[_RESULT] = placeholder
            value = config[_RESULT]
        if OmegaConf.is_config(value):
            value = OmegaConf.to_container(value, resolve=True)
    except RecursionError:
        raise
    except Exception as error:  # resolvers raise what they like
        name = resolver_of(placeholder) or ""
        if not OmegaConf.has_resolver(name):
            raise UnresolvedError(f"there is no resolver `{name}`") from None
        if isinstance(error, GrammarParseError):
            raise UnresolvedError("its arguments cannot be read", "quote them") from None
        raise UnresolvedError(str(error).splitlines()[0].rstrip(".")) from None
    return tree_of(value)


_RESULT = "gymsubmit-result"


def tree_of(value: Any, mark: Mark = NOWHERE) -> Node:
    """Data that no file holds, as a tree.

    Raises:
        UnresolvedError: no config could hold it.
    """
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return Mapping(mark, {key: Entry(mark, tree_of(item, mark)) for key, item in value.items()})
    if isinstance(value, list):
        return Sequence(mark, [tree_of(item, mark) for item in value])
    if isinstance(value, str) and not is_utf8(value):
        raise UnresolvedError("it holds bytes that are not UTF-8")
    if value is None or type(value) in {str, bool, int, float}:
        return Scalar(mark, value)
    raise UnresolvedError(f"it gives a {type(value).__name__}, which no config holds")


def _escaped(node: Node) -> Any:
    """The data of a resolved tree, for OmegaConf to take as it is."""
    if isinstance(node, Mapping):
        return {key: _escaped(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [_escaped(item) for item in node.items]
    return escape(node.value, in_shell=False) if isinstance(node.value, str) else node.value


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        inner = data.setdefault(step, {})
        if not isinstance(inner, dict):
            return  # the whole of it is there already
        data = inner
    data[path[-1]] = value


def shortened(text: str) -> str:
    """A placeholder as messages show it."""
    return text if len(text) <= 60 else text[:57] + "..."
