"""Bash that runs where sbatch is: the files in scripts/, none of which is put together from values."""

from collections.abc import Sequence
from pathlib import Path

from gymsubmit.connections.base import Answer, Connection

_SCRIPTS = Path(__file__).with_name("scripts")


def run(connection: Connection, script: str, arguments: Sequence[str]) -> Answer:
    """Run scripts/`script`.sh with `arguments` in a shell that knows `clean_environment`."""
    texts = [(_SCRIPTS / f"{name}.sh").read_text(encoding="utf-8") for name in ("clean_environment", script)]
    return connection.run("\n".join(texts), arguments)
