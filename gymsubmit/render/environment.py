"""The Jinja environment for bash: every value is one shell word, and a template can do little but place values."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import (
    BaseLoader,
    BytecodeCache,
    FileSystemLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
    Undefined,
    UndefinedError,
    nodes,
    pass_context,
)
from jinja2.environment import TemplateModule
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import test_defined, test_none, test_undefined
from jinja2.utils import concat
from markupsafe import Markup

from gymsubmit.errors import TemplateError
from gymsubmit.frozen import Frozen
from gymsubmit.render.cache import user_cache
from gymsubmit.render.shell import FILTERS, word

PACKAGE = Path(__file__).parents[1]


@pass_context
def _finalize(_: Context, value: Any) -> Markup:
    # A finalize without the context would be folded at compile time, and constants would come out HTML-escaped.
    if isinstance(value, Undefined):
        str(value)  # raises
    return value if isinstance(value, Markup) else word(value)


class BashEnvironment(ImmutableSandboxedEnvironment):
    """Loads templates that hold bash, and refuses what would decide something or come out unquoted."""

    def __init__(self, loader: BaseLoader, bytecode_cache: BytecodeCache | None = None) -> None:
        super().__init__(
            loader=loader,
            bytecode_cache=bytecode_cache,
            # Without it the output of macros and super() would be quoted a second time.
            autoescape=True,
            finalize=_finalize,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            # Jinja's own would take `${#array[@]}` for the start of one.
            comment_start_string="{##",
            comment_end_string="##}",
            auto_reload=False,
        )
        self.filters = dict(FILTERS)
        self.tests = {"defined": test_defined, "undefined": test_undefined, "none": test_none}
        self.globals = {}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        # Only for what is not in the cache, where what was not refused here is not looked at again.
        from gymsubmit.render.allowlist import check_allowed  # noqa: PLC0415
        from gymsubmit.render.quoting import RefusedTextError  # noqa: PLC0415
        from gymsubmit.render.shell_state import check_comments, check_shell_state  # noqa: PLC0415

        try:
            check_comments(source)
            tree = super()._parse(source, name, filename)
            check_allowed(tree)
            check_shell_state(tree)
        except RefusedTextError as error:
            raise TemplateError(f"templates/{name}:{error.line}: {error}") from None
        except TemplateSyntaxError as error:
            raise TemplateError(f"templates/{name}:{error.lineno}: {error.message}; see Jinja's syntax") from None
        return tree

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        try:
            return super()._generate(source, name, filename, defer_init)
        except TemplateSyntaxError as error:
            raise TemplateError(f"templates/{name}:{error.lineno}: {error.message}; see Jinja's syntax") from None

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Give a public field of a Frozen, a macro of an imported template, or a property of `loop`."""
        kind: type = type(obj)
        if attribute in _public_fields(kind):
            return getattr(obj, attribute)
        if isinstance(obj, Undefined):
            return super().getattr(obj, attribute)
        allowed = isinstance(obj, TemplateModule | LoopContext) and not attribute.startswith("_")
        return super().getattr(obj, attribute) if allowed else self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Give an item of a tuple or a mapping; never an attribute."""
        if isinstance(obj, tuple | dict):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        return self.undefined(obj=obj, name=argument)


@cache
def _public_fields(kind: type) -> frozenset[str]:
    # Asked for every value of every template.
    fields = kind.__match_args__ if issubclass(kind, Frozen) else ()
    return frozenset(field for field in fields if not field.startswith("_"))


def make_environment(template_directory: Path | None = None) -> BashEnvironment:
    """Make the environment for the templates in `template_directory`, by default those of the package."""
    return BashEnvironment(FileSystemLoader(template_directory or packaged_templates()), user_cache())


def packaged_templates() -> Path:
    """The directory of our own templates: inside the package in a wheel, at the top of a checkout."""
    installed = PACKAGE / "templates"
    return installed if installed.is_dir() else PACKAGE.parent / "templates"


def render_template(environment: BashEnvironment, name: str, **variables: object) -> str:
    """Render the template `name`.

    Raises:
        TemplateError: Something is wrong with a template, or with a value that it was given.
    """
    try:
        template = environment.get_template(name)
        # Template.render would replace the traceback's frames by others, which no longer know their template.
        return concat(template.root_render_func(template.new_context(variables)))
    except TemplateError:
        raise
    except Exception as error:
        raise TemplateError(f"{_where(error, name)}: {_what(error)}") from error


def _where(error: BaseException, name: str) -> str:
    where = f"templates/{name}"
    step = error.__traceback__
    while step is not None:
        template = step.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            where = f"templates/{template.name}:{template.get_corresponding_lineno(step.tb_lineno)}"
        step = step.tb_next
    return where


def _what(error: BaseException) -> str:
    match error:
        case TemplateNotFound():
            return f"there is no template {error.name}; correct the name"
        case UndefinedError():
            return f"{error}; pass it to the template, or correct the name"
        case RecursionError():
            return "templates that include or extend one another without end; break the circle"
        case _:
            return str(error)
