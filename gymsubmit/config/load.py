"""From a file and overrides to a config, or to everything that is wrong with them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gymsubmit.config.checks import check
from gymsubmit.config.complaints import Complaint, complaints
from gymsubmit.config.findings import Finding
from gymsubmit.config.findings import Path as ConfigPath
from gymsubmit.config.interpolation import BROKEN, interpolate
from gymsubmit.config.overrides import apply, parse_override, source_of
from gymsubmit.config.placeholders import escape, is_shell
from gymsubmit.config.report import Report, mark_of, touches
from gymsubmit.config.source import read
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.config.yaml_scalars import dump_yaml
from gymsubmit.config.yaml_tree import Mapping, Node, children, parse, plain
from gymsubmit.errors import ConfigError, Problem


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A sound config, and what is worth a second look in it."""

    config: SubmitConfig
    warnings: tuple[Problem, ...]


def load_config(path: Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Read a config, put the overrides in, resolve its interpolations, and check it.

    Raises:
        ConfigError: all that is wrong with it, each with its place (`FILE:LINE:COL`, or the override).
    """
    report = Report(str(path), tuple(map(source_of, overrides)), [])
    root = _tree(read(path), overrides, report)
    tainted = [fault.path[:-1] or fault.path for fault in report.faults]
    if root is None:
        raise ConfigError(report.problems())
    root = Mapping(root.mark, {key: entry for key, entry in root.entries.items() if not key.startswith("_")})
    data = plain(root)
    if not report.faults:
        try:
            config = SubmitConfig.model_validate(data)
        except ValidationError:
            pass
        else:
            return _checked(config, root, report)
    _report_all(root, tainted, report)
    raise ConfigError(report.problems())


def resolved(config: SubmitConfig) -> dict[str, Any]:
    r"""The fields that were set, as plain data that loads as an equal config: literal `${` escaped as `\${`."""
    spelled: dict[str, Any] = _spelled(config.model_dump(exclude_unset=True), ())
    return spelled


def resolved_yaml(config: SubmitConfig) -> str:
    """`resolved` as a YAML file."""
    return dump_yaml(resolved(config))


def _spelled(value: Any, path: ConfigPath) -> Any:
    if isinstance(value, str):
        return escape(value, is_shell(path)) if "${" in value else value
    if isinstance(value, dict):
        return {key: _spelled(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item, (*path, index)) for index, item in enumerate(value)]
    return value


def _tree(text: str, overrides: Sequence[str], report: Report) -> Mapping | None:
    """The whole config as a tree; None where it has no part that could be checked."""
    parsed = [parse_override(override) for override in overrides]
    report.faults.extend(fault for _, faults in parsed for fault in faults)
    root, faults = parse(text)
    report.faults.extend(faults)
    if root is None:
        return None
    if not isinstance(root, Mapping):
        report.add(root.mark, (), _no_mapping(plain(root)))
        return None
    root, faults = apply(root, [override for override, _ in parsed if override])
    report.faults.extend(faults)
    if "${" not in text and not any("${" in override for override in overrides):
        return root
    interpolated, faults = interpolate(root)
    report.faults.extend(faults)
    return interpolated


def _no_mapping(data: Any) -> str:
    if data is None:
        return "holds nothing but comments; write the sections `services`, `compute`, `driver` and `job`"
    kind = "a list" if isinstance(data, list) else "a single value"
    return f"is {kind} where the sections `services`, `compute`, `driver` and `job` belong; write `section:` lines"


def _checked(config: SubmitConfig, root: Mapping, report: Report) -> LoadedConfig:
    findings = check(config)
    errors = [finding for finding in findings if not finding.warning]
    _note(errors or findings, root, report)
    if errors:
        raise ConfigError(report.problems())
    return LoadedConfig(config, report.problems())


def _note(findings: Iterable[Finding], root: Mapping, report: Report) -> None:
    for finding in findings:
        report.add(mark_of(root, finding.path), finding.path, finding.message)


def _report_all(root: Mapping, tainted: list[ConfigPath], report: Report) -> None:
    """Report what is wrong with the parts, then with what is left when those are taken out.

    A finding that would be drawn from a part that something was taken out of is left out: it may be none, once that
    is corrected.
    """
    broken = list(_broken(root, ()))
    data = _unshared(plain(root))
    for path in broken:
        _drop(data, path)
    names = {path[-1] for path in broken}
    tainted += [path[:-1] for path in broken]
    found = _complaints(data)
    reported = {fault.mark for fault in report.faults}
    for complaint in found:
        mark = mark_of(root, complaint.path, complaint.at_key)
        # What is known to be wrong in itself may well have the wrong type too.
        if mark not in reported and not _follows(complaint, broken):
            report.add(mark, complaint.path, complaint.message)
    while found:
        for complaint in found:
            if not complaint.drop:
                return
            _drop(data, complaint.drop)
            names.add(complaint.drop[-1])
            tainted += [complaint.tainted] if complaint.tainted else [(name,) for name in _absent(root)]
        found = _complaints(data)
    findings = [
        finding
        for finding in check(SubmitConfig.model_validate(data))
        if not finding.warning
        and not any(touches(path, tainted) for path in (finding.path, *finding.involved))
        and _value(data, finding.path) not in names
    ]
    _note(findings, root, report)


def _complaints(data: Any) -> list[Complaint]:
    try:
        SubmitConfig.model_validate(data)
    except ValidationError as error:
        return complaints(error, SubmitConfig)
    return []


def _follows(complaint: Complaint, broken: list[ConfigPath]) -> bool:
    """Whether a complaint comes of a value that was taken out because it does not resolve."""
    return any(path[: len(complaint.path)] == complaint.path for path in broken)


def _broken(node: Node, path: ConfigPath) -> Iterable[ConfigPath]:
    if node is BROKEN:
        yield path
    for step, child in children(node):
        yield from _broken(child, (*path, step))


def _absent(root: Mapping) -> list[str]:
    return [name for name in SubmitConfig.model_fields if name not in root.entries]


def _unshared(data: Any) -> Any:
    """A copy in which nothing is shared, so that taking a part out leaves no other hole."""
    if isinstance(data, dict):
        return {key: _unshared(item) for key, item in data.items()}
    return [_unshared(item) for item in data] if isinstance(data, list) else data


def _drop(data: Any, path: ConfigPath) -> None:
    """Take out what is at `path`; of a list, all of it."""
    for step in path[:-1]:
        if not isinstance(data, dict) or isinstance(data.get(step), list) or step not in data:
            break
        data = data[step]
    else:
        step = path[-1]
    if isinstance(data, dict):
        data.pop(step, None)


def _value(data: Any, path: ConfigPath) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data if isinstance(data, str) else None
