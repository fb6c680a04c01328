"""Interpolation: `${a.b}` of the config itself, `${oc.env:VAR}` of the environment.

Paths are followed here, so that what they lead to keeps its place in the file; what resolvers make of their arguments
is OmegaConf's.
"""

import re
from collections.abc import Iterator

from gymsubmit.config.findings import Path
from gymsubmit.config.paths import dotted, parse_path
from gymsubmit.config.placeholders import PlaceholderError, is_credential, is_shell, resolver_of, split
from gymsubmit.config.resolvers import (
    NOWHERE,
    CredentialError,
    UnresolvedError,
    call,
    refuse_credentials,
    shortened,
    tree_of,
    variable,
)
from gymsubmit.config.spelling import nearest
from gymsubmit.config.tree import (
    MOST_VALUES,
    Entry,
    Fault,
    Mapping,
    Mark,
    Node,
    Scalar,
    Sequence,
    children,
    count,
    plain,
)
from gymsubmit.config.yaml_scalars import resolve

BROKEN = Scalar(Mark(1, 1), None)
"""Stands in a tree for a value that does not resolve."""

LONGEST_TEXT = 1_000_000

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_SELECTS = re.compile(r"""oc\.(?:select|dict\.keys|dict\.values)\s*:\s*["']?([^\s,"'}]+)""")


def interpolate(root: Mapping) -> tuple[Mapping | None, list[Fault]]:
    """The config with its interpolations resolved, and what is wrong with them; None where it has no sound part.

    Scratch values are resolved only where others refer to them: nobody else reads them.
    """
    resolution = _Resolution(root)
    entries = {}
    try:
        for key, entry in root.entries.items():
            if key.startswith("_"):
                resolution.find_credentials(entry.node, (key,))
                entries[key] = entry
            else:
                entries[key] = Entry(entry.key, resolution.resolved(entry.node, (key,)))
        result = Mapping(root.mark, entries)
        problem = f"make more than {MOST_VALUES} values" if count(result) > MOST_VALUES else None
    except RecursionError:
        problem = "refer to each other too deeply"
    if problem is None:
        return result, resolution.faults
    return None, [Fault(root.mark, (), f"its interpolations {problem}; use fewer")]


class _SecondaryError(Exception):
    """What a placeholder leads to is broken, which has been reported."""


class _Resolution:
    """One config while its placeholders are resolved."""

    def __init__(self, root: Mapping) -> None:
        self.faults: list[Fault] = []
        self._root = root
        self._scalars: dict[tuple[int, bool], Node] = {}
        self._placeholders: dict[str, Node] = {}
        self._under_way: set[int] = set()

    def resolved(self, node: Node, path: Path) -> Node:
        """`node` with all placeholders in it resolved; itself where there are none."""
        if isinstance(node, Scalar):
            if not isinstance(node.value, str) or "${" not in node.value:
                return node
            key = id(node), is_shell(path)
            if key not in self._scalars:
                self._scalars[key] = self._resolved_text(node, node.value, path)
            return self._scalars[key]
        # Most of a config has no placeholder: paths and copies are made only where there may be one.
        changed = {}
        for step, child in children(node):
            if not isinstance(child, Scalar) or (isinstance(child.value, str) and "${" in child.value):
                new = self.resolved(child, (*path, step))
                if new is not child:
                    changed[step] = new
        if not changed:
            return node
        if isinstance(node, Mapping):
            entries = {key: entry._replace(node=changed.get(key, entry.node)) for key, entry in node.entries.items()}
            return Mapping(node.mark, entries)
        return Sequence(node.mark, [changed.get(index, item) for index, item in enumerate(node.items)])

    def find_credentials(self, node: Node, path: Path) -> None:
        """Report the credentials that a scratch value reads, whoever refers to it."""
        for step, child in children(node):
            self.find_credentials(child, (*path, step))
        if isinstance(node, Scalar) and isinstance(node.value, str) and "${" in node.value:
            placeholder = ""
            try:
                for is_placeholder, placeholder in split(node.value, is_shell(path)):
                    if is_placeholder:
                        refuse_credentials(placeholder)
            except CredentialError as error:
                self.faults.append(Fault(node.mark, path, error.message(placeholder)))
            except (PlaceholderError, UnresolvedError):
                pass  # reported where somebody refers to it

    def _resolved_text(self, node: Scalar, text: str, path: Path) -> Node:
        if id(node) in self._under_way:
            raise UnresolvedError("it refers back to itself")
        self._under_way.add(id(node))
        placeholder = text
        try:
            parts = [part for part in split(text, is_shell(path)) if part[1]]
            if parts == [(True, text)]:
                return _whole(self._value(text), text, node.mark)
            texts = []
            for is_placeholder, placeholder in parts:
                texts.append(self._text(placeholder) if is_placeholder else placeholder)
            if sum(map(len, texts)) > LONGEST_TEXT:
                raise UnresolvedError(f"the text grows longer than {LONGEST_TEXT} characters")
            resolved = "".join(texts)
            is_as_long = resolved.count("\n") == text.count("\n")
            return Scalar(node.mark, resolved, node.first_line if is_as_long else None)
        except PlaceholderError as error:
            message = (
                f"`{shortened(error.text)}` does not end: its closing brace is missing, or a quote in it is open; "
                "close it, or write `\\${` for the text itself"
            )
            self.faults.append(Fault(node.mark, path, message))
        except UnresolvedError as error:
            self.faults.append(Fault(node.mark, path, error.message(placeholder)))
        except _SecondaryError:
            pass
        finally:
            self._under_way.discard(id(node))
        return BROKEN

    def _text(self, placeholder: str) -> str:
        """The value of a placeholder as a part of a text, as OmegaConf writes it (`True`, `None`)."""
        node = self._value(placeholder)
        if not isinstance(node, Scalar):
            kind = "mapping" if isinstance(node, Mapping) else "list"
            raise UnresolvedError(f"it is a {kind}, which cannot be a part of a text", "let it stand alone")
        return str(node.value)

    def _value(self, placeholder: str) -> Node:
        if placeholder not in self._placeholders:
            self._placeholders[placeholder] = self._evaluated(placeholder)
        return self._placeholders[placeholder]

    def _evaluated(self, placeholder: str) -> Node:
        refuse_credentials(placeholder)
        if (value := variable(placeholder)) is not None:
            return value
        if resolver_of(placeholder):
            return call(placeholder, [(path, self._followed(path)) for path in self._paths_in(placeholder)])
        return self._followed(self._path(placeholder))

    def _path(self, placeholder: str) -> tuple[str, ...]:
        """The path that a placeholder names, with the placeholders in it (`${a.${b}}`) filled in."""
        parts = split(placeholder[2:-1], in_shell=False)
        text = "".join(self._text(part) if is_placeholder else part for is_placeholder, part in parts).strip()
        if text.startswith("."):
            raise UnresolvedError("it is relative", "write the whole path from the top")
        path = parse_path(text)
        if path is None:
            raise UnresolvedError("it names neither a path nor a resolver")
        return path

    def _followed(self, path: tuple[str, ...]) -> Node:
        """What a path leads to, resolved."""
        node: Node = self._root
        is_resolved = False
        for index, step in enumerate(path):
            if isinstance(node, Scalar) and not is_resolved:
                node, is_resolved = self._target(node, path[:index]), True
            if isinstance(node, Mapping) and step in node.entries:
                node = node.entries[step].node
            elif isinstance(node, Sequence) and step.isdecimal() and int(step) < len(node.items):
                node = node.items[int(step)]
            else:
                raise UnresolvedError(
                    f"there is no `{dotted(path[: index + 1])}` in the config", _remedy(node, path, index)
                )
        return node if is_resolved else self._target(node, path)

    def _target(self, node: Node, path: Path) -> Node:
        is_collection = not isinstance(node, Scalar)
        if is_collection and id(node) in self._under_way:
            raise UnresolvedError("it refers back to itself")
        if is_collection:
            self._under_way.add(id(node))
        try:
            target = self.resolved(node, path)
        finally:
            if is_collection:
                self._under_way.discard(id(node))
        if _is_broken(target, set()):
            raise _SecondaryError
        return target

    def _paths_in(self, placeholder: str) -> Iterator[tuple[str, ...]]:
        """The paths of the config that a call's arguments lead to."""
        for match in _SELECTS.finditer(placeholder):
            if path := parse_path(match[1]):
                yield from self._existing(path)
        for is_placeholder, part in split(placeholder[2:-1], in_shell=False):
            if is_placeholder and resolver_of(part):
                yield from self._paths_in(part)
            elif is_placeholder:
                yield self._path(part)

    def _existing(self, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        try:
            self._followed(path)
        except UnresolvedError:
            return  # then the resolver's own default counts
        yield path


def _remedy(node: Node, path: tuple[str, ...], index: int) -> str:
    """What to do where `node` has no `path[index]`."""
    name = path[index]
    near = nearest(name, node.entries) if isinstance(node, Mapping) else None
    if near:
        return f"write `${{{dotted((*path[:index], near, *path[index + 1 :]))}}}`"
    if len(path) > 1 or not _VARIABLE.fullmatch(name):
        return "correct it"
    if is_credential(name):
        return f"put `{name}: host:{name}` under `env` for the submitting machine's variable"
    return f"write `${{oc.env:{name}}}` for the submitting machine's variable"


def _whole(node: Node, placeholder: str, mark: Mark) -> Node:
    """What a placeholder that is a whole value makes of it; errors in it point to where it stands."""
    if not isinstance(node, Scalar):
        if node.mark == NOWHERE:
            return tree_of(plain(node), mark)
        return Mapping(mark, node.entries) if isinstance(node, Mapping) else Sequence(mark, node.items)
    value = node.value
    if isinstance(value, str) and value and resolver_of(placeholder) == "oc.env":
        try:
            value = resolve(value)
        except ValueError as error:
            raise UnresolvedError(f"it {error}") from None
    return Scalar(mark, value)


def _is_broken(node: Node, sound: set[int]) -> bool:
    """Whether anything in `node` is; `sound` are the nodes seen before, since what is shared is looked at once."""
    if node is BROKEN or id(node) in sound:
        return node is BROKEN
    sound.add(id(node))
    return any(_is_broken(child, sound) for _, child in children(node))
