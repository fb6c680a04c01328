"""Quotes, expansions, comments and here-documents: where literal shell text stops being part of one.

A scanner reads the literal text of a template piece by piece; between the pieces are the template's expressions and
tags. It follows bash's own (parse.y: read_token, read_token_word, parse_matched_pair), and refuses what only a full
parse could tell, such as backticks. `commands.py` goes on with what is outside of quotes.
"""

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Self


class RefusedTextError(Exception):
    """What is wrong on `line` of a template; the message is `what is wrong; what to do`."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


class Kind(Enum):
    """What opened a level of nesting; the value is for messages."""

    TOP = "no quotes"
    SUBSHELL = "( )"
    SUBSTITUTION = "$( )"
    ARRAY = "an array's ( )"
    CASE = "case"
    CONDITION = "[[ ]]"
    SINGLE = "single quotes"
    ANSI_C = "$'...'"
    DOUBLE = "double quotes"
    PARAMETER = "${ }"
    ARITHMETIC = "(( ))"
    COMMENT = "a comment"
    DIRECTIVE = "an #SBATCH line"
    HEREDOC = "a here-document"


UNQUOTED = frozenset({Kind.TOP, Kind.SUBSHELL, Kind.SUBSTITUTION, Kind.ARRAY, Kind.CASE, Kind.CONDITION})


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document that the text has announced."""

    delimiter: str
    strip_tabs: bool
    quoted: bool


@dataclass(slots=True)
class Frame:
    """One level of nesting.

    `word` is the unfinished word: "" between words, None when that is unknown. `begins` tells whether the next word
    begins a command (in `[[ ]]`: an operand; in a case: a pattern), None when unknown. `previous` is the last finished
    word, `redirected` whether the next one is a redirection's target. `phase` is the part of a case (head, subject,
    pattern, body), of a condition (regex), or of a here-document (continued); `depth` counts arithmetic's parentheses.
    """

    kind: Kind
    word: str | None = ""
    begins: bool | None = True
    previous: str | None = ""
    redirected: bool = False
    phase: str = ""
    depth: int = 0
    heredoc: Heredoc | None = None


QUOTED = "\0"
"""What stands in a word for a quoted or expanded part."""


def tokens(text: str, **alternatives: str) -> re.Pattern[str]:
    """Make the pattern for one kind of place; each alternative is named after the method that takes it.

    `text` is a character class of what is plain there.
    """
    groups = [f"(?P<{name}>{pattern})" for name, pattern in alternatives.items()]
    return re.compile("|".join([*groups, f"(?P<text>[{text}]+)", "(?P<any>.)"]), re.DOTALL)


EXPANSIONS = {
    "cut": r"[\\$]\Z",
    "arithmetic": r"\$\(\(",
    "substitution": r"\$\(",
    "parameter": r"\$\{",
    "old_arithmetic": r"\$\[",
    "variable": r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])",
    "backtick": r"`",
}

ESCAPE = r"\\."

INNER = {
    Kind.SINGLE: tokens("^'", close=r"'"),
    Kind.ANSI_C: tokens(r"^\\'", cut=r"\\\Z", escape=ESCAPE, close=r"'"),
    Kind.DOUBLE: tokens(r'^\\$"`', escape=ESCAPE, **EXPANSIONS, close=r'"'),
    Kind.PARAMETER: tokens(
        r"^\\$'\"`}", escape=ESCAPE, ansi_c=r"\$'", double=r'\$?"', single="'", **EXPANSIONS, close=r"\}"
    ),
    Kind.ARITHMETIC: tokens(
        r"^\\$'\"`()", escape=ESCAPE, double=r'\$?"', single="'", **EXPANSIONS, deeper=r"\(", shallower=r"\)"
    ),
    Kind.COMMENT: tokens(r"^\n", end_comment=r"(?=\n)"),
    Kind.DIRECTIVE: tokens(r"^\n", end_comment=r"(?=\n)"),
}


@dataclass
class QuoteScanner:
    """The state after the text read so far; `last` is the set of what may stand right before the next character."""

    frames: list[Frame] = field(default_factory=lambda: [Frame(Kind.TOP)])
    pending: tuple[Heredoc, ...] = ()
    last: frozenset[str] = frozenset("\n")
    line: int = 1

    @property
    def top(self) -> Frame:
        """The innermost level."""
        return self.frames[-1]

    def copy(self) -> Self:
        """Give a scanner in the same state, for another way through the template."""
        return replace(self, frames=[copy.copy(frame) for frame in self.frames])

    def refused(self, message: str) -> RefusedTextError:
        """Make the error for the line that was read last."""
        return RefusedTextError(self.line, message)

    def read(self, text: str, line: int) -> None:
        """Go through literal text that begins on `line`.

        Raises:
            RefusedTextError: The text holds, or ends in the middle of, something that is not followed here.
        """
        self.line = line
        position = 0
        while position < len(text):
            end = self._step(text, position)
            self.line += text.count("\n", position, end)
            position = end
        if self.top.kind is Kind.HEREDOC and (not text.endswith("\n") or self.top.phase):
            raise self.refused("a tag or the end within a line of a here-document; put it between two lines")
        self.last = frozenset(text[-1:]) or self.last

    def _step(self, text: str, position: int) -> int:
        kind = self.top.kind
        if kind is Kind.HEREDOC:
            return self._heredoc_line(text, position)
        found = self._pattern(kind).match(text, position)
        assert found is not None and found.lastgroup is not None  # noqa: S101 (`any` takes every character)
        if self.pending and kind not in UNQUOTED and "\n" in found.group():
            raise self.refused(f"a line break in {kind.value} before a here-document's text; end the line first")
        handle: Callable[[re.Match[str]], int | None] = getattr(self, f"_{found.lastgroup}")
        end = handle(found)
        return found.end() if end is None else end

    def _pattern(self, kind: Kind) -> re.Pattern[str]:
        return INNER[kind]

    def _nest(self, frame: Frame) -> None:
        self._add(QUOTED)
        self.frames.append(frame)

    def _add(self, part: str) -> None:
        if self.top.word is not None:
            self.top.word += part

    # One method for each kind of token; it returns where to go on if that is not right behind the token.

    def _text(self, found: re.Match[str]) -> None:
        self._add(found.group())

    def _any(self, found: re.Match[str]) -> None:
        self._add(found.group())

    def _escape(self, _: re.Match[str]) -> None:
        self._add(QUOTED)

    def _variable(self, _: re.Match[str]) -> None:
        self._add(QUOTED)

    def _cut(self, found: re.Match[str]) -> None:
        raise self.refused(f"`{found.group()}` right before a tag or the end; it would act on what comes there")

    def _backtick(self, _: re.Match[str]) -> None:
        raise self.refused("a backtick; write $( )")

    def _old_arithmetic(self, _: re.Match[str]) -> None:
        raise self.refused("$[ ]; write $(( ))")

    def _arithmetic(self, _: re.Match[str]) -> None:
        self._nest(Frame(Kind.ARITHMETIC))

    def _substitution(self, _: re.Match[str]) -> None:
        if self.pending:
            raise self.refused("$( ) before a here-document's text; put it on another line")
        self._nest(Frame(Kind.SUBSTITUTION))

    def _parameter(self, found: re.Match[str]) -> None:
        if re.compile(r"[ \t\n|]|\Z").match(found.string, found.end()):
            raise self.refused("${ with a command; write $( )")
        self._nest(Frame(Kind.PARAMETER))

    def _double(self, _: re.Match[str]) -> None:
        self._nest(Frame(Kind.DOUBLE))

    def _single(self, _: re.Match[str]) -> None:
        self._open_single(Kind.SINGLE)

    def _ansi_c(self, _: re.Match[str]) -> None:
        self._open_single(Kind.ANSI_C)

    def _open_single(self, kind: Kind) -> None:
        around = next(frame.kind for frame in reversed(self.frames) if frame.kind is not Kind.PARAMETER)
        if around not in UNQUOTED:
            # There it is a quote for some operators and versions of bash, and plain text for others.
            raise self.refused(f"a single quote in an expansion inside {around.value}; use a variable for the text")
        self._nest(Frame(kind))

    def _close(self, _: re.Match[str]) -> None:
        self.frames.pop()

    def _deeper(self, _: re.Match[str]) -> None:
        self.top.depth += 1

    def _shallower(self, found: re.Match[str]) -> int | None:
        if self.top.depth:
            self.top.depth -= 1
            return None
        if not found.string.startswith("))", found.start()):
            raise self.refused("`((` that is not arithmetic, or not closed by `))`; put a blank between `( (`")
        self.frames.pop()
        return found.end() + 1

    def _end_comment(self, _: re.Match[str]) -> None:
        self.frames.pop()

    def _heredoc_line(self, text: str, position: int) -> int:
        frame = self.top
        assert frame.heredoc is not None  # noqa: S101 (set when the frame was opened)
        end = text.find("\n", position)
        if end < 0:
            return len(text)
        line = text[position:end]
        if frame.heredoc.strip_tabs:
            line = line.lstrip("\t")
        if line == frame.heredoc.delimiter and not frame.phase:
            self.frames.pop()
        elif not frame.heredoc.quoted:
            # bash joins the next line to this one before it looks for the delimiter.
            frame.phase = "continued" if (len(line) - len(line.rstrip("\\"))) % 2 else ""
        return end + 1
