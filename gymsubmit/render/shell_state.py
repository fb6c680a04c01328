"""Refuses a value where bash would not take it as one word: in quotes, comments, here-documents, arithmetic.

Every template, block and macro begins and ends outside of all quotes, so that each can be checked on its own and put
together with any other. Every way through it, by whatever branch or number of loops, must agree on where it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from jinja2 import nodes

from gymsubmit.render.commands import EXPRESSION, Scanner
from gymsubmit.render.quoting import QUOTED, UNQUOTED, Frame, Kind, RefusedTextError

ANYTHING = "*"
"""Stands in `Scanner.last` for text that comes from elsewhere."""

IN_A_VARIABLE = "put it into a variable before, and use that"
ADVICE = {
    Kind.SINGLE: "put it outside: it comes out as one quoted word",
    Kind.ANSI_C: "put it outside: it comes out as one quoted word",
    Kind.DOUBLE: "put it outside: it comes out as one quoted word",
    Kind.PARAMETER: IN_A_VARIABLE,
    Kind.ARITHMETIC: IN_A_VARIABLE,
    Kind.HEREDOC: IN_A_VARIABLE,
    Kind.COMMENT: "leave it out: it comes out as a quoted word",
}

# What gives the rest of a word a meaning that the value would be part of: a home directory, braces, a subscript.
OPEN_PART = re.compile(r"~[^/]*\Z|\{|\[[^\]]*\Z")


def check_comments(source: str) -> None:
    """Refuse what would open a comment by mistake, or is meant as one and is none.

    Raises:
        RefusedTextError: `{#` that is neither bash's `${#name}` nor one of our comments, or a `${##` .
    """
    for found in re.finditer(r"(\$?)\{#(#?)", source):
        line = source.count("\n", 0, found.start()) + 1
        if found[1] and found[2]:
            raise RefusedTextError(line, "`${##`, where Jinja begins a comment; put the value into a variable first")
        if not found[1] and not found[2]:
            raise RefusedTextError(line, "`{#`, which begins no comment here; write {## ... ##}")


def check_shell_state(tree: nodes.Template) -> None:
    """Follow the shell text of a template.

    Raises:
        RefusedTextError: A value, or the end of a template, block or macro, is where it must not be.
    """
    units: list[nodes.Template | nodes.Block | nodes.Macro] = [
        tree,
        *tree.find_all(nodes.Block),
        *tree.find_all(nodes.Macro),
    ]
    for unit in units:
        scanner = TemplateScanner(line=unit.lineno)
        scanner.walk(unit.body)
        scanner.end()


@dataclass
class TemplateScanner(Scanner):
    """Follows shell text with a template's expressions and tags in it."""

    after_heredoc: bool = False

    def walk(self, body: Sequence[nodes.Node]) -> None:
        """Go through the nodes in order."""
        for node in body:
            match node:
                case nodes.Output():
                    for part in node.nodes:
                        self._output(part)
                case nodes.If():
                    self._tag(node.lineno)
                    self._branch(node, [node.body, *(each.body for each in node.elif_), node.else_])
                case nodes.For():
                    self._tag(node.lineno)
                    self._loop(node)
                case nodes.Include() | nodes.Block():
                    self._insertion(node.lineno)
                case _:
                    self._tag(node.lineno)

    def end(self) -> None:
        """End a template, block or macro: what it opened must be closed."""
        self._tag(self.line)
        self.end_word()
        if self.pending:
            raise self.refused("the end before a here-document's text; put the text here")
        if len(self.frames) > 1:
            raise self.refused(f"the end inside {self.top.kind.value}; close it: what follows begins outside of quotes")

    def _output(self, part: nodes.Node) -> None:
        match part:
            case nodes.TemplateData():
                self._check_seam(part.data, part.lineno)
                self.read(part.data, part.lineno)
            case nodes.Call():
                self._insertion(part.lineno)
            case nodes.Filter():
                self._expression(part.lineno, part.name)
            case _:
                self._expression(part.lineno, "word")

    def _branch(self, node: nodes.Node, bodies: Sequence[Sequence[nodes.Node]]) -> None:
        ways = [self.copy() for _ in bodies]
        for way, body in zip(ways, bodies, strict=True):
            way.walk(body)
            way._tag(way.line)
        self._become(ways[0])
        for way in ways[1:]:
            self._join(way, node)

    def _loop(self, node: nodes.For) -> None:
        while True:
            before = self.copy()
            once = self.copy()
            once.walk(node.body)
            once._tag(once.line)
            self._join(once, node)
            if self._state() == before._state():
                return

    def _state(self) -> object:
        return self.frames, self.last

    def _become(self, other: Self) -> None:
        self.frames, self.pending, self.last, self.line = other.frames, other.pending, other.last, other.line

    def _join(self, other: Self, node: nodes.Node) -> None:
        """Keep what is true whether the template came this way or as `other`."""
        if self.pending != other.pending:
            raise RefusedTextError(
                node.lineno, "a tag around a part of a here-document; put all of it inside, or nothing"
            )
        if self._nesting() != other._nesting():
            ends = " and ".join(dict.fromkeys((self.top.kind.value, other.top.kind.value)))
            raise RefusedTextError(
                node.lineno, f"ways that end differently (inside {ends}); open and close on the same way"
            )
        for mine, theirs in zip(self.frames, other.frames, strict=True):
            if mine.word != theirs.word:
                if OPEN_PART.search(mine.word or "") or OPEN_PART.search(theirs.word or ""):
                    raise RefusedTextError(
                        node.lineno, "a tag that cuts a word with `~`, `{` or `[`; put the whole word inside"
                    )
                mine.word = QUOTED if mine.word and theirs.word else None
            if mine.begins is not theirs.begins:
                mine.begins = None
            if mine.previous != theirs.previous:
                mine.previous = None
            mine.redirected = mine.redirected or theirs.redirected
        self.last |= other.last

    def _nesting(self) -> list[object]:
        return [(frame.kind, frame.phase, frame.depth, frame.heredoc) for frame in self.frames]

    def _tag(self, line: int) -> None:
        self.line = line
        if self.after_heredoc:
            raise self.refused("something on the line of a here-document behind it; end the line")

    def _insertion(self, line: int) -> None:
        """Pass an include, a block, a macro's output or super(): shell text that is complete in itself.

        It is trusted to end as whole lines where it stands on a line of its own; in the middle of a line nothing is
        known after it but that no quotes are open.
        """
        self._tag(line)
        frame = self.top
        if frame.kind not in UNQUOTED:
            raise self.refused(f"other text inside {frame.kind.value}; put it outside: it begins outside of quotes")
        if self.pending:
            raise self.refused("other text before a here-document's text; put it behind")
        if frame.word or not self.last.isdisjoint("<>"):
            raise self.refused("other text within a word; put a blank before it")
        if not self.last <= {"\n"}:
            frame.word = frame.begins = frame.previous = None
            self.last = frozenset(ANYTHING)

    def _expression(self, line: int, filter_name: str) -> None:
        self._tag(line)
        frame = self.top
        if frame.kind is Kind.DIRECTIVE:
            if filter_name != "sbatch":
                raise self.refused("an expression on an #SBATCH line; add `| sbatch`, which quotes as sbatch does")
            return
        if filter_name == "sbatch":
            raise self.refused("the filter sbatch outside of an #SBATCH line; leave it out")
        if frame.kind not in UNQUOTED:
            raise self.refused(f"an expression inside {frame.kind.value}; {ADVICE[frame.kind]}")
        if frame.kind is Kind.CONDITION:
            self._check_operand(frame)
        part = OPEN_PART.search(frame.word or "")
        if part:
            raise self.refused(f"an expression after `{part.group()[0]}` in the same word; {IN_A_VARIABLE}")
        if filter_name not in ("word", "commas") and frame.word:
            raise self.refused(f"the filter {filter_name} within a word; put a blank before it")
        if filter_name == "heredoc":
            if self.pending or not self.last <= {" ", "\t"}:
                raise self.refused("the filter heredoc behind a word or a here-document; put a blank before it")
            self.after_heredoc = True
            return
        frame.word = (frame.word or "") + EXPRESSION
        self.last = frozenset(EXPRESSION)

    def _check_operand(self, frame: Frame) -> None:
        if frame.phase == "regex":
            raise self.refused("an expression in a regular expression; compare with ==")
        if frame.word == "" and frame.begins is not False:
            raise self.refused("an expression where [[ ]] may take it for an operator; put it behind ==")

    def _check_seam(self, text: str, line: int) -> None:
        """Refuse text that would make one token together with what may stand before it."""
        first = text[:1]
        if self.after_heredoc and first:
            self.after_heredoc = False
            if first != "\n":
                self.line = line
                raise self.refused("something on the line of a here-document behind it; end the line")
        if self.top.kind not in UNQUOTED or not first:
            return
        before = self.last - {"\n"}
        self.line = line
        if first in "<>" and not before.isdisjoint({EXPRESSION, ANYTHING}):
            raise self.refused(f"`{first}` behind a value, which may be a number; put a blank between them")
        repeatable = "<(;" if self.top.kind is Kind.CASE else "<("
        if first in repeatable and not before.isdisjoint({first, ANYTHING}):
            raise self.refused(f"`{first}` behind a tag that may end with another; write them together")
