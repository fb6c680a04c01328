"""YAML text read into a tree."""

from typing import Any

import yaml

from gymsubmit.config.findings import Path
from gymsubmit.config.tree import (
    DEEPEST,
    MOST_VALUES,
    Entry,
    Fault,
    Mapping,
    Mark,
    Node,
    Scalar,
    Sequence,
    count,
    is_utf8,
)
from gymsubmit.config.yaml_scalars import Value, dump_yaml, resolve
from gymsubmit.config.yaml_syntax import PythonParser, explain


def parse(text: str, source: str | None = None, parser: Any = None) -> tuple[Node | None, list[Fault]]:
    """Read one YAML document.

    `source` is the override that `text` is the value of, None for a file. The node is None where the text is no
    YAML at all; whatever else is wrong leaves a tree without the part that is.
    """
    tree = _Tree(source)
    try:
        return tree.build((parser or _Parser)(text)), tree.faults
    except _TreeError as error:
        return None, [*tree.faults, error.fault]
    except yaml.YAMLError as error:
        if parser is None and _Parser is not PythonParser:
            # Slower, but its complaints are the precise ones, and the same on every machine.
            return parse(text, source, PythonParser)
        line, column, message = explain(error, text)
        return None, [Fault(Mark(line, column, source), (), message)]


_Parser: Any = getattr(yaml, "CSafeLoader", PythonParser)


class _TreeError(Exception):
    """The text cannot become a tree."""

    def __init__(self, mark: Mark, path: Path, message: str) -> None:
        self.fault = Fault(mark, path, message)
        super().__init__(message)


class _Frame:
    """A collection that is still open, and the key of a mapping that waits for its value."""

    __slots__ = ("height", "key", "key_mark", "merged", "merging", "node")

    def __init__(self, node: Sequence | Mapping) -> None:
        self.node = node
        self.height = 1
        self.key: str | None = None
        self.key_mark: Mark | None = None
        self.merging = False
        self.merged: set[str] | None = None


_CORE = "tag:yaml.org,2002:"
_STRUCTURES = {yaml.MappingStartEvent: {None, "!", _CORE + "map"}, yaml.SequenceStartEvent: {None, "!", _CORE + "seq"}}
_TYPES = {_CORE + "int": int, _CORE + "bool": bool, _CORE + "null": type(None), _CORE + "float": float}


class _Tree:
    """Builds a tree from a parser's events: without recursion, so that no nesting can end the process."""

    def __init__(self, source: str | None) -> None:
        self.faults: list[Fault] = []
        self._source = source
        self._anchors: dict[str, Node] = {}
        self._heights: dict[int, int] = {}
        self._open: list[_Frame] = []
        self._root: Node = Scalar(Mark(1, 1, source), None)
        self._aliased = False

    def build(self, parser: Any) -> Node:
        parser.get_event()  # the start of the stream
        event = parser.get_event()
        if isinstance(event, yaml.StreamEndEvent):
            return self._root
        take = {
            yaml.ScalarEvent: self._take_scalar,
            yaml.MappingStartEvent: self._take_start,
            yaml.SequenceStartEvent: self._take_start,
            yaml.MappingEndEvent: self._take_end,
            yaml.SequenceEndEvent: self._take_end,
            yaml.AliasEvent: self._take_alias,
        }
        event = parser.get_event()  # behind the start of the document
        while not isinstance(event, yaml.DocumentEndEvent):
            take[type(event)](event)
            event = parser.get_event()
        event = parser.get_event()
        if not isinstance(event, yaml.StreamEndEvent):
            message = "a second document begins here; keep one, without `---` lines in between"
            raise _TreeError(self._mark(event), (), message)
        if self._aliased and count(self._root) > MOST_VALUES:
            raise _TreeError(self._root.mark, (), f"its aliases make more than {MOST_VALUES} values; use fewer")
        return self._root

    def _mark(self, event: Any) -> Mark:
        start = event.start_mark
        return Mark(start.line + 1, start.column + 1, self._source)

    def _path(self) -> Path:
        """Path of what comes next."""
        steps = (len(frame.node.items) if isinstance(frame.node, Sequence) else frame.key for frame in self._open)
        return tuple(step for step in steps if step is not None)

    def _fault(self, mark: Mark, message: str) -> None:
        self.faults.append(Fault(mark, self._path(), message))

    def _take_start(self, event: Any) -> None:
        mark = self._mark(event)
        if len(self._open) >= DEEPEST:
            raise _TreeError(mark, (), f"nested more than {DEEPEST} deep; use fewer levels")
        if event.tag not in _STRUCTURES[type(event)]:
            self._fault(mark, _no_such_tag(event.tag))
        frame = _Frame(Mapping(mark, {}) if isinstance(event, yaml.MappingStartEvent) else Sequence(mark, []))
        if event.anchor is not None:
            self._anchors[event.anchor] = frame.node
        self._open.append(frame)

    def _take_end(self, event: Any) -> None:
        frame = self._open.pop()
        self._heights[id(frame.node)] = frame.height
        self._add(frame.node, frame.height)

    def _take_alias(self, event: Any) -> None:
        mark, name = self._mark(event), event.anchor
        if name not in self._anchors:
            message = f"`*{name}` names no anchor above it; write `&{name}` before the value that is meant, "
            raise _TreeError(mark, self._path(), message + "or put text that begins with `*` in quotes")
        node = self._anchors[name]
        if any(frame.node is node for frame in self._open):
            raise _TreeError(mark, self._path(), f"`*{name}` stands inside the value of `&{name}`; take it out")
        height = self._heights.get(id(node), 0)
        if len(self._open) + height > DEEPEST:
            raise _TreeError(mark, self._path(), f"nested more than {DEEPEST} deep; use fewer levels")
        self._aliased = True
        self._add(node, height)

    def _take_scalar(self, event: Any) -> None:
        mark, text, tag = self._mark(event), event.value, event.tag
        is_plain = tag is None and event.implicit[0]
        if is_plain and text == "<<" and self._open:
            frame = self._open[-1]
            if isinstance(frame.node, Mapping) and frame.key_mark is None:
                frame.key_mark, frame.merging = mark, True
                return
        if "\0" in text or not (text.isascii() or is_utf8(text)):
            what = "a NUL character" if "\0" in text else "half of a surrogate pair"
            self._fault(mark, f"holds {what}, which no program can be given; remove it")
            text = text.encode(errors="replace").decode().replace("\0", "")
        value: Value = self._resolved(mark, text) if is_plain or tag in _TYPES else text
        if tag in _TYPES:
            if tag == _CORE + "float" and type(value) is int:
                value = float(value)
            if type(value) is not _TYPES[tag]:
                self._fault(mark, f"is no `{_short(tag)}`, as its tag says; correct the value, or remove the tag")
        elif tag not in {None, "!", _CORE + "str"}:
            self._fault(mark, _no_such_tag(tag))
        node = Scalar(mark, value, mark.line + 1 if event.style == "|" else None)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._add(node, 0)

    def _resolved(self, mark: Mark, text: str) -> Value:
        try:
            return resolve(text)
        except ValueError as error:
            self._fault(mark, str(error))
            return text

    def _add(self, node: Node, height: int) -> None:
        """Put a complete node where it belongs in the innermost open collection."""
        if not self._open:
            self._root = node
            return
        frame = self._open[-1]
        frame.height = max(frame.height, height + 1)
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
        elif frame.key_mark is None:
            self._begin_entry(frame, node)
        else:
            self._end_entry(frame, frame.node, frame.key_mark, node)

    def _begin_entry(self, frame: _Frame, node: Node) -> None:
        mark = node.mark
        if not isinstance(node, Scalar):
            what = "mapping" if isinstance(node, Mapping) else "list"
            raise _TreeError(mark, self._path(), f"a {what} cannot be a key; put text with brackets in quotes")
        if node.value is None:
            self._fault(mark, "a key is missing before the `:`; add it, or put the key in quotes")
        elif isinstance(node.value, str):
            frame.key = node.value
        else:
            text = dump_yaml(node.value).splitlines()[0]
            self._fault(mark, f'the key {text} is no text; put it in quotes: "{text}"')
            frame.key = text
        frame.key_mark = mark

    def _end_entry(self, frame: _Frame, mapping: Mapping, mark: Mark, node: Node) -> None:
        if frame.merging:
            self._merge(frame, mapping, node)
        elif frame.key is not None:
            first = mapping.entries.get(frame.key)
            if first is None or (frame.merged and frame.key in frame.merged):
                mapping.entries[frame.key] = Entry(mark, node)
                if frame.merged:
                    frame.merged.discard(frame.key)
            else:
                self._fault(mark, f"is there twice, first in line {first.key.line}; remove one of the two")
        frame.key = frame.key_mark = None
        frame.merging = False

    def _merge(self, frame: _Frame, mapping: Mapping, node: Node) -> None:
        """`<<`: keys of its own beat merged ones, and of two merged mappings the first wins (YAML's merge type)."""
        mark = frame.key_mark or node.mark
        sources = node.items if isinstance(node, Sequence) else [node]
        if frame.merged is not None:
            self._fault(mark, "`<<` is there twice; merge several mappings with `<<: [*a, *b]`")
            return
        frame.merged = set()
        for source in sources:
            if not isinstance(source, Mapping):
                self._fault(mark, "`<<` merges mappings only; give it the `*NAME` of one, or a list of them")
                return
            for key, entry in source.entries.items():
                if key not in mapping.entries:
                    mapping.entries[key] = entry
                    frame.merged.add(key)


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag


def _no_such_tag(tag: str) -> str:
    return f"the tag `{_short(tag)}` means nothing here; remove it, or put text that begins with `!` in quotes"
