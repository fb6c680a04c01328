"""All that is wrong with a config that the models refuse, or that does not resolve."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from gymsubmit.config.complaints import Complaint, complaints, outside_lists
from gymsubmit.config.findings import Path
from gymsubmit.config.interpolation import BROKEN
from gymsubmit.config.repair import findings_beside
from gymsubmit.config.report import Report, mark_of
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.config.tree import Mapping, Mark, Node, children, plain


def report_refused(root: Mapping, report: Report) -> None:
    """Report what is wrong with the fields, and what is wrong across those that are not."""
    refused = [fault.path[:1] if fault.mark.source else outside_lists(fault.path) for fault in report.faults]
    broken = list(_broken(root, ()))
    data = plain(root)
    reported = {fault.mark for fault in report.faults}

    def mark(complaint: Complaint) -> Mark:
        return mark_of(root, complaint.path, complaint.at_key)

    for complaint in _complaints(data):
        # What is known to be wrong in itself may well have the wrong type too.
        if mark(complaint) not in reported and not _follows(complaint, broken):
            report.add(mark(complaint), complaint.path, complaint.message)
    refused += map(outside_lists, broken)
    for finding in findings_beside(data, refused, _complaints, lambda complaint: mark(complaint).source is not None):
        report.add_finding(finding, root)


def _complaints(data: Any) -> list[Complaint]:
    try:
        SubmitConfig.model_validate(data)
    except ValidationError as error:
        return complaints(error, SubmitConfig)
    return []


def _follows(complaint: Complaint, broken: list[Path]) -> bool:
    """Whether a complaint is about a value that does not resolve."""
    return any(path[: len(complaint.path)] == complaint.path for path in broken)


def _broken(node: Node, path: Path) -> Iterable[Path]:
    if node is BROKEN:
        yield path
    for step, child in children(node):
        yield from _broken(child, (*path, step))
