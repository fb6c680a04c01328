"""A config as it was resolved: written so that it loads as an equal one."""

from typing import Any

from gymsubmit.config.findings import Path
from gymsubmit.config.placeholders import escape, is_shell
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.config.yaml_scalars import dump_yaml


def resolved(config: SubmitConfig) -> dict[str, Any]:
    r"""The fields that were set, as plain data that loads as an equal config: literal `${` escaped as `\${`."""
    spelled: dict[str, Any] = _spelled(config.model_dump(exclude_unset=True), ())
    return spelled


def resolved_yaml(config: SubmitConfig) -> str:
    """`resolved` as a YAML file."""
    return dump_yaml(resolved(config))


def _spelled(value: Any, path: Path) -> Any:
    if isinstance(value, str):
        return escape(value, is_shell(path)) if "${" in value else value
    if isinstance(value, dict):
        return {key: _spelled(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item, (*path, index)) for index, item in enumerate(value)]
    return value
