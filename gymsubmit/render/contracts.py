"""The comment that opens every template: what it is for, and the variables that it receives."""

import re

from jinja2 import meta

from gymsubmit.errors import TemplateError
from gymsubmit.frozen import Frozen
from gymsubmit.render.environment import BashEnvironment

OPENING = re.compile(r"\{## (?P<summary>[^#]*?)\nReceives: (?P<receives>nothing|[a-z_]+(?:, [a-z_]+)*)\. ##\}\n")


class Contract(Frozen):
    """What a template's opening comment says."""

    summary: str
    receives: frozenset[str]


def contract(environment: BashEnvironment, name: str) -> Contract:
    """Read the opening comment of the template `name`.

    It is `{## SENTENCES`, a line break, `Receives: NAME, NAME. ##}`; a template without variables receives `nothing`.

    Raises:
        TemplateError: There is no such comment.
    """
    found = OPENING.match(_source(environment, name))
    if found is None:
        raise TemplateError(
            f"templates/{name}:1: no opening comment; write `{{## What it is for.` and a line `Receives: NAME. ##}}`"
        )
    receives = found["receives"]
    return Contract(found["summary"], frozenset() if receives == "nothing" else frozenset(receives.split(", ")))


def used(environment: BashEnvironment, name: str) -> frozenset[str]:
    """Find the variables that the template `name` itself uses and does not set."""
    return frozenset(meta.find_undeclared_variables(environment.parse(_source(environment, name), name)))


def _source(environment: BashEnvironment, name: str) -> str:
    assert environment.loader is not None  # noqa: S101 (an environment is made with one)
    return environment.loader.get_source(environment, name)[0]
