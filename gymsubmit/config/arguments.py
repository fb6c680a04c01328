"""Arguments that users hand on to a program: text split into words, or words, and the flags among them."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from gymsubmit.config.base import Check, EitherOr, Words, wrong
from gymsubmit.config.names import Text

# POSIX, Shell Command Language, 2.2 Quoting: what a backslash escapes within double quotes.
_ESCAPED_IN_QUOTES = '$`"\\'
_BLANK = " \t\n"


def split_words(arguments: str | tuple[str, ...]) -> tuple[str, ...]:
    r"""The words of `arguments`: a tuple as it is, text as a POSIX shell splits it.

    Blanks divide; quotes and backslashes quote; a backslash before a line break joins the lines. Nothing else means
    anything: nothing is expanded, `#`, `;` and `|` are text.

    Raises:
        PydanticCustomError: (a ValueError) a quote is not closed, or a backslash stands at the end.
    """
    if not isinstance(arguments, str):
        return arguments
    words: list[str] = []
    word: str | None = None
    text = arguments.replace("\r\n", "\n")
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char in _BLANK:
            if word is not None:
                words.append(word)
            word = None
        elif char == "\\":
            if at == len(text):
                message = "ends in a backslash; remove it, or double it"
                raise wrong(message)
            if text[at] != "\n":
                word = (word or "") + text[at]
            at += 1
        elif char in "'\"":
            quoted, at = _quoted(text, at, char)
            word = (word or "") + quoted
        else:
            word = (word or "") + char
    return tuple(words) if word is None else (*words, word)


def _quoted(text: str, at: int, quote: str) -> tuple[str, int]:
    """What stands from `at` up to the closing `quote`, and the place behind it."""
    start, line, quoted = at, text.count("\n", 0, at) + 1, ""
    while at < len(text):
        char = text[at]
        at += 1
        if char == quote:
            return quoted, at
        if char == "\\" and quote == '"' and at < len(text):
            if text[at] in _ESCAPED_IN_QUOTES:
                char = text[at]
                at += 1
            elif text[at] == "\n":
                char = ""
                at += 1
        quoted += char
    place = f" in line {line}" if "\n" in text.rstrip("\n") else ""
    message = f"has a quote {quote} without its closing one{place}, before {text[start : start + 20]!r}; close it"
    raise wrong(message)


def flags(words: tuple[str, ...]) -> Iterator[str]:
    """The flags among `words`, each as vLLM reads it: without `=value` and `.key`, with dashes for underscores.

    (FlexibleArgumentParser of vllm/utils/argparse_utils.py.) Words after a bare `--` are no flags.
    """
    for word in words:
        if word == "--":
            return
        if word.startswith("-") and not re.fullmatch(_NUMBER, word):
            flag = re.split(r"[=.]", word, maxsplit=1)[0]
            yield flag.replace("_", "-") if flag.startswith("--") else flag


# As argparse tells a negative number from a flag.
_NUMBER = r"-\d+|-\d*\.\d+"


def owned_flag(flag: str, owned: Mapping[str, str]) -> str | None:
    """The key of `owned` that `flag` is, or abbreviates: argparse takes the beginning of a flag for the flag.

    A key that ends in `*` stands for all flags that begin so.
    """
    if flag in owned:
        return flag
    for key in owned:
        if (key.endswith("*") and flag.startswith(key[:-1])) or (flag.strip("-") and key.startswith(flag)):
            return key
    return None


def _check(arguments: str | tuple[str, ...]) -> str | tuple[str, ...]:
    split_words(arguments)
    return arguments


Arguments = Annotated[
    str | tuple[str, ...],
    EitherOr(Text, Words[Text], lambda value: isinstance(value, str)),
    Check(_check),
]
