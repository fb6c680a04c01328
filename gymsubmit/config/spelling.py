"""Which known name a misspelt one was meant to be."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `word` was probably meant to be: spelt alike, or the only one that begins with it."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake pays for the import

    by_shape = {_shape(name): name for name in known}
    shape = _shape(word)
    matches = get_close_matches(shape, by_shape, n=1) or [name for name in by_shape if name.startswith(shape + "_")]
    return by_shape[matches[0]] if len(matches) == 1 else None


def _shape(name: str) -> str:
    return name.lower().replace("-", "_")
