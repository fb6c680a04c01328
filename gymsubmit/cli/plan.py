"""`gymsubmit plan`."""

import json
from pathlib import Path

import click

from gymsubmit.cli import logs
from gymsubmit.cli.common import config_options, fixed_plans, load, require_config, show, warn_of_unset
from gymsubmit.cli.placement import table
from gymsubmit.plan_json import plan_json


@click.command()
@config_options()
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="A drawing for people, or a list of the plans.",
)
@logs.options
def command(config: Path | None, overrides: tuple[str, ...], form: str) -> None:
    """Show which service, process and port sits on which node, and what the driver dials."""
    config = require_config(config, overrides)
    loaded = load(config, overrides)
    warn_of_unset(loaded)
    plans = fixed_plans(loaded)
    if form == "json":
        show(json.dumps([json.loads(plan_json(plan)) for plan in plans], indent=2, ensure_ascii=False) + "\n")
    else:
        show(table(loaded.config, plans))
