"""What is wrong with text that is no YAML, in words that say where to look."""

import re
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner


class PythonParser(Reader, Scanner, Parser, Composer):
    """PyYAML's own parser, reading what libyaml reads.

    It is the fallback where there is no libyaml, and the one that finds out what is wrong with text: libyaml's
    complaints say less.
    """

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)

    def scan_to_next_token(self) -> None:
        """Skip blanks before a token, tabs too where they are no indentation, as libyaml and YAML itself do."""
        scanner: Any = self
        while True:
            super().scan_to_next_token()
            if scanner.peek() != "\t" or not (scanner.flow_level or not scanner.allow_simple_key):
                return
            scanner.forward()


def explain(error: yaml.YAMLError, text: str) -> tuple[int, int, str]:
    """Line and column (from 1) of a syntax error that `PythonParser` found in `text`, and a message."""
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        line = before.count("\n") + 1
        # A surrogate or a C0 control character; str input only ever fails on one of those.
        message = f"holds the control character U+{_code(error.character):04X}; remove it"
        return line, error.position - before.rfind("\n"), message
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return 1, 1, f"is not YAML ({error}); correct it"
    return _Explained(error, text.splitlines()).result


def _code(character: Any) -> int:
    return ord(character) if isinstance(character, str) else int(character)


# Blanks of Unicode, and characters that are not seen at all.
_ODD_INDENTATION = r" *[\u00a0\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]"


class _Explained:
    """One error of the scanner or the parser, and the lines around it."""

    def __init__(self, error: yaml.MarkedYAMLError, lines: list[str]) -> None:
        mark = error.problem_mark
        assert mark is not None  # noqa: S101
        self._context = error.context or ""
        self._problem = error.problem or ""
        self._opened = error.context_mark or mark
        self._lines = lines
        self._row, self._column = mark.line, mark.column
        message = self._message()
        self.result = self._row + 1, self._column + 1, message

    def _line(self, row: int) -> str:
        return self._lines[row] if row < len(self._lines) else ""

    def _move_to(self, row: int, column: int) -> None:
        self._row, self._column = row, column

    def _message(self) -> str:
        return self._odd_blank() or self._of_scanner() or self._of_parser() or self._unknown()

    def _odd_blank(self) -> str | None:
        """About an indentation that looks like one and is none: what was copied from a page may have such blanks."""
        for row in (self._row, self._row - 1):
            match = re.match(_ODD_INDENTATION, self._line(row)) if row >= 0 else None
            if match:
                self._move_to(row, match.end() - 1)
                return f"the blank U+{ord(match[0][-1]):04X} cannot indent; use spaces"
        return None

    def _of_scanner(self) -> str | None:
        """About characters."""
        problem = self._problem
        if match := re.match(r"found character '(.*)' that cannot start any token", problem):
            return self._stray_character(match[1])
        if problem == "could not find expected ':'":
            return self._no_colon(self._opened.line, self._opened.column)
        if problem == "mapping values are not allowed here":
            return self._stray_colon()
        if problem in {"found unexpected end of stream", "found unexpected document separator"}:
            self._move_to(self._opened.line, self._opened.column)
            return "the quote that opens here is never closed; close it"
        if problem.startswith("found unknown escape character"):
            return self._bad_escape()
        if problem == "sequence entries are not allowed here":
            return "a list cannot begin on the line of its key; put each `- item` on a line of its own below"
        return None

    def _of_parser(self) -> str | None:
        """About what stands where."""
        context = self._context
        if context == "while scanning a block scalar":
            self._move_to(self._opened.line, self._opened.column)
            return "`|` or `>` begins a block of lines below it; put text that begins with one of them in quotes"
        if context in {"while scanning an anchor", "while scanning an alias"}:
            self._move_to(self._opened.line, self._opened.column)
            return "`&` and `*` begin the name of an anchor; put text that begins with one of them in quotes"
        if self._problem.startswith("expected '<document start>'"):
            return "cannot follow what is above it; begin all sections in the same column"
        if "flow" in context:
            return self._flow(self._opened.line, self._opened.column)
        if match := re.match(r"expected the node content, but found '([^<'])'", self._problem):
            return self._stray_character(match[1])
        if self._problem.startswith("expected <block end>"):
            return self._block(self._problem)
        return None

    def _unknown(self) -> str:
        return f"is not YAML here ({' '.join(filter(None, (self._context, self._problem)))}); correct it"

    def _stray_character(self, character: str) -> str:
        if character in {"\\t", "\t"}:
            return "a tab cannot indent; use spaces"
        return f"text cannot begin with {character!r}; put it in quotes"

    def _no_colon(self, row: int, column: int) -> str:
        self._move_to(row, column)
        text = self._line(row)[column:].strip()
        if match := re.match(r"([A-Za-z_][\w-]*):(\S.*)", text):
            return f"no blank after the `:`; write `{match[1]}: {match[2]}`"
        return f"no `:` after `{_shortened(text)}`; write `key: value`"

    def _stray_colon(self) -> str:
        line = self._line(self._row)
        if re.search(r":\s", line[: self._column]):
            return "a second `: ` on the line; put quotes around a value that holds one"
        row = self._row - 1
        while row >= 0 and (not self._line(row).strip() or self._line(row).lstrip().startswith("#")):
            row -= 1
        above = self._line(row) if row >= 0 else ""
        indent = len(above) - len(above.lstrip())
        if row < 0:
            return "no `:` belongs here; put quotes around text that holds one"
        if not re.search(r":(\s|$)", above):
            return self._no_colon(row, indent)
        self._column = len(line) - len(line.lstrip())
        return "indented deeper than the line above, which has its value already; indent both alike"

    def _bad_escape(self) -> str:
        escape = "\\" + self._line(self._row)[self._column : self._column + 1]
        self._column = max(self._column - 1, 0)
        return f"`{escape}` means nothing between double quotes; write `\\{escape}`, or use single quotes"

    def _flow(self, row: int, column: int) -> str:
        opening = self._line(row)[column : column + 1]
        closing = {"{": "}", "[": "]"}.get(opening)
        if closing is None:
            return "a value is missing before this; add it, or put the text in quotes"
        at_line = self._row + 1
        if "<stream end>" in self._problem or (at_line > row + 1 and "':'" in self._problem):
            self._move_to(row, column)
            return f"the `{opening}` that opens here is never closed; close it with `{closing}`"
        if self._line(self._row)[: self._column].endswith("$"):
            self._column -= 1
            return f"`${{` cannot stand unquoted between `{opening}` and `{closing}`; put the value in quotes"
        return f"a `,` or `{closing}` is missing before this; add it, or put the text in quotes"

    def _block(self, problem: str) -> str:
        line = self._line(self._row)
        inside_line = bool(line[: self._column].strip())
        if inside_line:
            return "text after the end of a value; put the whole value in one pair of quotes"
        if problem.endswith("found '-'"):
            return "a list item where a `key: value` belongs; indent it under its key"
        if problem.endswith("found '?'"):
            return "a `key: value` where a list item (`- ...`) belongs; indent it as the item it belongs to"
        if problem.endswith("found ':'"):
            return "a key is missing before the `:`; add it"
        return "the indentation fits no line above; indent it like the lines that it belongs with"


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
