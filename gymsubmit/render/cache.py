"""Keeps compiled templates between runs, so that unchanged ones are neither checked nor compiled again."""

import contextlib
import functools
import hashlib
import marshal
import os
import pickle
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import jinja2
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket, bc_magic


class TemplateCache(BytecodeCache):
    """Files in a directory that only its owner can write.

    Any failure means that there is no cache. What is not the user's own, or can be written by others, is not read:
    a compiled template is code.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def get_source_checksum(self, source: str) -> str:
        """Digest a template's source and the code that checks and compiles it, so that a changed check looks again."""
        return hashlib.sha256(f"{_code_digest()}\n{source}".encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read the compiled template, if it is there and was made from the same source by the same code."""
        try:
            with self._opened() as directory:
                file = os.open(bucket.key, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
                with os.fdopen(file, "rb") as stream:
                    if _is_private(os.fstat(file)) and stream.read(len(bc_magic)) == bc_magic:
                        _load(bucket, stream)
        except Exception:
            # A damaged file can fail in any way.
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the compiled template beside and rename it: other runs may read at the same time."""
        beside = f".{bucket.key}.{os.urandom(8).hex()}"
        with contextlib.suppress(OSError):
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            self.directory.mkdir(mode=0o700, exist_ok=True)
            with self._opened() as directory:
                file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
                try:
                    with os.fdopen(file, "wb") as stream:
                        bucket.write_bytecode(stream)
                    os.rename(beside, bucket.key, src_dir_fd=directory, dst_dir_fd=directory)
                except OSError:
                    os.unlink(beside, dir_fd=directory)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        # All files are reached through the descriptor, so that what was looked at is what is used.
        directory = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if not _is_private(os.fstat(directory)):
                raise PermissionError(self.directory)
            yield directory
        finally:
            os.close(directory)


def user_cache() -> TemplateCache | None:
    """The cache of the user that runs this: below $XDG_CACHE_HOME, else ~/.cache; None without a home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
        _code_digest()
    except (OSError, RuntimeError):
        return None
    return TemplateCache(home / "gymsubmit" / "templates")


def _load(bucket: Bucket, stream: BinaryIO) -> None:
    # As Bucket.load_bytecode does, which has marshal ask the file for every few bytes, and takes four times as long.
    if pickle.load(stream) == bucket.checksum:  # noqa: S301
        bucket.code = marshal.loads(stream.read())  # noqa: S302


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@functools.cache
def _code_digest() -> str:
    digest = hashlib.sha256(f"jinja2 {jinja2.__version__}".encode())
    for path in sorted(path for path in Path(__file__).parent.iterdir() if path.suffix == ".py"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
