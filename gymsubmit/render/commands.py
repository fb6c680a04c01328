"""Words, operators and reserved words: what literal shell text means outside of quotes."""

import re
from dataclasses import dataclass

from gymsubmit.render.quoting import ESCAPE, EXPANSIONS, UNQUOTED, Frame, Heredoc, Kind, QuoteScanner, tokens

EXPRESSION = "\1"
"""What stands in a word for an expression of the template."""

LEADERS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "time", "!"})
"""Reserved words that a command follows."""

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
DESCRIPTOR = re.compile(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\}")
DELIMITER = re.compile(r"""[ \t]*((?:\\[^\n]|'[^'\n]*'|"[^"\\\n]*"|[^\s'"\\;&|()<>$`])+)(?=[ \t\n;&|()<>])""")
DIRECTIVE = re.compile("#SBATCH ")

COMMANDS = tokens(
    r"^\\$'\"` \t\n#<>;&|()",
    continuation=r"\\\n",
    escape=ESCAPE,
    ansi_c=r"\$'",
    double=r'\$?"',
    single=r"'",
    **EXPANSIONS,
    blanks=r"[ \t]+",
    newline=r"\n",
    hash=r"\#",
    redirection=r"<<<|<>|>\||>>|[<>]&|&>>?|[<>](?![<(])",
    heredoc=r"<<-?",
    process=r"[<>]\(",
    separator=r";;&|;;|;&|&&|\|\||\|&|[;&|]",
    arithmetic_command=r"\(\(",
    function=r"\([ \t]*\)",
    open=r"\(",
    shut=r"\)",
)


@dataclass
class Scanner(QuoteScanner):
    """Follows shell text inside and outside of quotes."""

    def _pattern(self, kind: Kind) -> re.Pattern[str]:
        return COMMANDS if kind in UNQUOTED else super()._pattern(kind)

    def _continuation(self, _: re.Match[str]) -> None:
        pass

    def _blanks(self, _: re.Match[str]) -> None:
        self.end_word()

    def _newline(self, _: re.Match[str]) -> None:
        self._begin_command()
        self.frames += [Frame(Kind.HEREDOC, heredoc=heredoc) for heredoc in reversed(self.pending)]
        self.pending = ()

    def _hash(self, found: re.Match[str]) -> None:
        if self.top.word is None:
            raise self.refused("`#` after something that may end within a word; put a blank or a line break before it")
        if self.top.word:
            self._add("#")
            return
        line_begins = found.string[found.start() - 1] == "\n" if found.start() else self.last <= {"\n"}
        is_directive = line_begins and DIRECTIVE.match(found.string, found.start())
        self.frames.append(Frame(Kind.DIRECTIVE if is_directive else Kind.COMMENT))

    def _redirection(self, _: re.Match[str]) -> None:
        if DESCRIPTOR.fullmatch(self.top.word or ""):
            self.top.word = ""
        self.end_word()
        self.top.redirected = True

    def _heredoc(self, found: re.Match[str]) -> int:
        self._redirection(found)
        self.top.redirected = False
        delimiter = DELIMITER.match(found.string, found.end())
        if delimiter is None:
            raise self.refused("a here-document whose delimiter is no plain word; write <<'END'")
        written = delimiter[1]
        plain = re.sub(r"""\\(.)|'(.*?)'|"(.*?)\"""", lambda part: "".join(filter(None, part.groups())), written)
        self.pending += (Heredoc(plain, strip_tabs=found.group() == "<<-", quoted=plain != written),)
        return delimiter.end()

    def _process(self, found: re.Match[str]) -> None:
        self._substitution(found)

    def _separator(self, found: re.Match[str]) -> None:
        self.end_word()
        frame = self.top
        if frame.kind is Kind.CASE and frame.phase == "body" and found.group() in (";;", ";&", ";;&"):
            frame.phase = "pattern"
            frame.begins = True
        elif frame.kind is Kind.CONDITION and found.group() in ("&&", "||"):
            frame.phase = ""
            frame.begins = True
        else:
            self._begin_command()

    def _arithmetic_command(self, found: re.Match[str]) -> int | None:
        frame = self.top
        if takes_commands(frame) and frame.word == "":
            if frame.begins is None:
                raise self.refused("`((` where it is unknown whether a command begins; begin a new line")
            if frame.begins or frame.previous == "for":
                frame.begins = False
                self.frames.append(Frame(Kind.ARITHMETIC))
                return None
        self._open(found)
        return found.start() + 1

    def _function(self, found: re.Match[str]) -> int | None:
        frame = self.top
        if not takes_commands(frame) or (frame.word or "").endswith("="):
            self._open(found)
            return found.start() + 1
        frame.word = ""
        frame.begins = True
        return None

    def _open(self, _: re.Match[str]) -> None:
        frame = self.top
        if frame.kind is Kind.CONDITION:
            # A group, or a part of a regular expression.
            self.end_word()
        elif frame.kind is Kind.CASE and frame.phase == "pattern" and frame.word == "":
            pass
        elif takes_commands(frame) and frame.word == "":
            frame.begins = False
            self.frames.append(Frame(Kind.SUBSHELL))
        elif takes_commands(frame) and frame.word and frame.word.endswith("="):
            # bash 5.2 reads it twice there, and the second time a comment or a \' opens a quotation.
            if any(around.kind is Kind.SUBSTITUTION for around in self.frames):
                raise self.refused("an array's ( ) inside $( ); assign it before, and use it there")
            self._nest(Frame(Kind.ARRAY))
        else:
            raise self.refused("`(` within a word or where no command begins; quote it, or put a blank before it")

    def _shut(self, _: re.Match[str]) -> None:
        self.end_word()
        frame = self.top
        if frame.kind is Kind.CONDITION:
            return
        if frame.kind is Kind.CASE and frame.phase == "pattern":
            frame.phase = "body"
            frame.begins = True
        elif frame.kind in (Kind.SUBSHELL, Kind.SUBSTITUTION, Kind.ARRAY):
            if frame.kind is Kind.SUBSTITUTION and self.pending:
                raise self.refused("`)` before a here-document's text; put the text first")
            self.frames.pop()
        else:
            raise self.refused(f"a `)` that closes nothing inside {frame.kind.value}; remove it")

    def _begin_command(self) -> None:
        self.end_word()
        frame = self.top
        if takes_commands(frame):
            frame.begins, frame.previous, frame.redirected = True, "", False

    def end_word(self) -> None:
        """Take the unfinished word, if there is one, as finished."""
        frame = self.top
        word, frame.word = frame.word, ""
        if word == "":
            return
        frame.previous = word
        if frame.redirected:
            frame.redirected = False
        elif word is None:
            frame.begins = None if frame.begins else frame.begins
        elif frame.kind is Kind.CONDITION:
            self._end_condition_word(frame, word)
        elif frame.kind is Kind.CASE and frame.phase != "body":
            self._end_case_word(frame, word)
        elif frame.kind is not Kind.ARRAY:
            self._end_command_word(frame, word)

    def _end_condition_word(self, frame: Frame, word: str) -> None:
        if word == "]]":
            self.frames.pop()
        elif word == "=~":
            frame.phase = "regex"
        elif word != "!":
            frame.begins = False

    def _end_case_word(self, frame: Frame, word: str) -> None:
        if frame.phase == "head":
            frame.phase = "subject"
        elif frame.phase == "subject" and word == "in":
            frame.phase, frame.begins = "pattern", True
        elif word == "esac" and frame.begins:
            self.frames.pop()
        elif word == "esac" and frame.begins is None:
            raise self.refused("`esac` where it is unknown whether a pattern begins; begin a new line")
        else:
            frame.begins = False

    def _end_command_word(self, frame: Frame, word: str) -> None:
        if word in ("case", "esac", "[[") and frame.begins is None:
            raise self.refused(f"`{word}` where it is unknown whether a command begins; begin a new line")
        if word == "{" or (word in LEADERS and frame.begins is not False):
            frame.begins = True if word == "{" else frame.begins
        elif frame.begins and ASSIGNMENT.match(word):
            pass
        elif frame.begins and word == "case":
            frame.begins = False
            self.frames.append(Frame(Kind.CASE, phase="head"))
        elif frame.begins and word == "[[":
            frame.begins = False
            self.frames.append(Frame(Kind.CONDITION))
        elif frame.begins and word == "esac" and frame.kind is Kind.CASE:
            self.frames.pop()
        elif frame.begins and EXPRESSION in word:
            # The value may be the name of a variable that the rest assigns to.
            frame.begins = None
        else:
            frame.begins = False


def takes_commands(frame: Frame) -> bool:
    """Whether commands stand directly on this level."""
    return frame.kind in (Kind.TOP, Kind.SUBSHELL, Kind.SUBSTITUTION) or frame.phase == "body"
