"""What a job may see of the submitter's environment: the same job whoever submits it from wherever."""

import os
from collections.abc import Mapping, Sequence

# Besides compute's pass_env; names, or PREFIX_*.
PASSED = ("HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "TZ")


def _passes(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in patterns)


def clean_environment(environ: Mapping[str, str], pass_env: Sequence[str]) -> dict[str, str]:
    """What of `environ` a job may see; `pass_env` holds names and `PREFIX_*`."""
    patterns = (*PASSED, *pass_env)
    return {"PATH": os.defpath} | {name: value for name, value in environ.items() if _passes(name, patterns)}
