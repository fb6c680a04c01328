"""Durations in Slurm's grammar, in seconds."""

import re
from typing import Annotated

from gymsubmit.config.base import Check, EitherOr, wrong

# time_str2secs in Slurm's src/common/parse_time.c, without UNLIMITED and without the bare D- that it takes as well.
_WITH_DAYS = re.compile(r"([0-9]+)-([0-9]+)(?::([0-9]+)(?::([0-9]+))?)?")
_WITHOUT_DAYS = re.compile(r"([0-9]+)(?::([0-9]+)(?::([0-9]+))?)?")
# Slurm counts a time limit in minutes, in 32 bits, of which the topmost values mean something else.
_MOST_SECONDS = 60 * 0xFFFFFF00
_FORMS = "MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"


def duration_seconds(value: str | int) -> int:
    """The seconds that `value` lasts; a number is minutes.

    Raises:
        ValueError: `value` does not follow the grammar, is zero, or is more than Slurm can count.
    """
    text = str(value)
    days = hours = minutes = seconds = 0
    if match := _WITH_DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    elif match := _WITHOUT_DAYS.fullmatch(text):
        first, second, third = match.groups()
        if third is not None:
            hours, minutes, seconds = int(first), int(second), int(third)
        else:
            minutes, seconds = int(first), int(second or 0)
    else:
        message = f"{text!r} is no duration; write {_FORMS}"
        raise ValueError(message)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total == 0:
        message = f"{text!r} is no time at all; write how long it may take, as {_FORMS}"
        raise ValueError(message)
    if total > _MOST_SECONDS:
        message = f"{text!r} is longer than Slurm can count; write a shorter time"
        raise ValueError(message)
    return total


def _check(value: str | int) -> str | int:
    try:
        duration_seconds(value)
    except ValueError as error:
        raise wrong(str(error)) from None
    return value


Duration = Annotated[str | int, EitherOr(int, str, lambda value: isinstance(value, int)), Check(_check)]
