"""What is wrong across the fields of a config some of which were refused.

Examples stand in for what is refused, so that the rest can be checked. What was found out with their help may be
nothing once the config is corrected, and is left out.
"""

from collections.abc import Callable, Iterable
from typing import Any

from gymsubmit.config.checks import check
from gymsubmit.config.complaints import Complaint
from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.submit import SubmitConfig

_MOST_ROUNDS = 10


def findings_beside(
    data: Any,
    refused: Iterable[Path],
    complaints: Callable[[Any], list[Complaint]],
    is_overridden: Callable[[Complaint], bool],
) -> list[Finding]:
    """The errors across fields of a config that were drawn from nothing that is refused.

    `refused` are paths whose values were refused before; `complaints` says what is wrong with the fields of `data`, and
    `is_overridden` whether that comes of an override, which may have been meant for a value that is there already.
    """
    data, tainted = _unshared(data), list(refused)
    # Where something was put right, something else may show; it follows from what has been reported.
    for _ in range(_MOST_ROUNDS):
        found = complaints(data)
        if not found:
            break
        for complaint in found:
            tainted += [
                path
                for path in complaint.open
                if not complaint.is_unknown or is_overridden(complaint) or not _is_there(data, path)
            ]
        for complaint in found:
            _put(data, complaint.refused, complaint.stand_in)
    else:
        return []
    return [
        finding
        for finding in check(SubmitConfig.model_validate(data))
        if not finding.warning and not any(map(_within(tainted), (finding.path, *finding.involved)))
    ]


def _within(tainted: list[Path]) -> Callable[[Path], bool]:
    return lambda path: any(path[: len(other)] == other for other in tainted)


def _unshared(data: Any) -> Any:
    """A copy in which nothing is shared, so that a change in one place is none in another."""
    if isinstance(data, dict):
        return {key: _unshared(item) for key, item in data.items()}
    return [_unshared(item) for item in data] if isinstance(data, list) else data


def _is_there(data: Any, path: Path) -> bool:
    for step in path:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True


def _put(data: Any, path: Path, value: Any) -> None:
    """Put a copy of `value` at `path`, which leads through mappings alone; None takes out what is there."""
    for step in path[:-1]:
        data = data.get(step) if isinstance(data, dict) else None
    if isinstance(data, dict) and path:
        data.pop(path[-1], None)
        if value is not None:
            data[path[-1]] = _unshared(value)
