"""From a file and overrides to a config, or to everything that is wrong with them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gymsubmit.config.checks import check
from gymsubmit.config.findings import Finding
from gymsubmit.config.overrides import apply, parse_override, source_of
from gymsubmit.config.report import Report
from gymsubmit.config.source import read
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.config.tree import Mapping, plain
from gymsubmit.config.yaml_tree import parse
from gymsubmit.errors import ConfigError, Problem
from gymsubmit.frozen import Frozen


class LoadedConfig(Frozen):
    """A sound config, and what is worth a second look in it."""

    config: SubmitConfig
    warnings: tuple[Problem, ...]
    tree: Mapping
    report: Report

    def with_config(self, config: SubmitConfig) -> "LoadedConfig":
        """The same file, of which only `config` is wanted."""
        return LoadedConfig(config, self.warnings, self.tree, self.report)

    def problems(self, findings: Iterable[Finding]) -> tuple[Problem, ...]:
        """What was found out about the config after it was loaded, each with its place, in the order of the file."""
        report = self.report.fresh()
        for finding in findings:
            report.add_finding(finding, self.tree)
        return report.problems()


def load_config(path: Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Read a config, put the overrides in, resolve its interpolations, and check it.

    Raises:
        ConfigError: all that is wrong with it, each with its place (`FILE:LINE:COL`, or the override).
    """
    report = Report(str(path), read(path), tuple(map(source_of, overrides)), [])
    root = _tree(report.text, overrides, report)
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
    from gymsubmit.config.refused import report_refused  # noqa: PLC0415  # only a mistake pays for the import

    report_refused(root, report)
    raise ConfigError(report.problems())


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
    from gymsubmit.config.interpolation import interpolate  # noqa: PLC0415  # most configs have none

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
    return LoadedConfig(config, report.problems(), root, report.fresh())


def _note(findings: Iterable[Finding], root: Mapping, report: Report) -> None:
    for finding in findings:
        report.add_finding(finding, root)
