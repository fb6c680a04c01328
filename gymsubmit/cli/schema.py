"""`gymsubmit schema`."""

import json

import click

from gymsubmit.cli import logs
from gymsubmit.cli.common import show
from gymsubmit.config.submit import SubmitConfig


@click.command()
@logs.options
def command() -> None:
    """Print the JSON Schema of a config, for editors."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | SubmitConfig.model_json_schema()
    show(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
