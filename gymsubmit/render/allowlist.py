"""What a template may contain: an allowlist over Jinja's syntax tree.

A template places values, tests whether something is there, and loops over what it is given. Whatever else Jinja can
do either decides something, which is lowering's part, or makes text out of values that is then not quoted.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Self

from jinja2 import nodes

from gymsubmit.render.quoting import RefusedTextError
from gymsubmit.render.shell import FILTERS

TESTS = ("defined", "undefined", "none")
LOOP = ("first", "last")

DECIDE = "decide it in the plan"
REFUSED = {
    "Concat": f"`~`; {DECIDE}, a tuple of words is one word",
    "Add": f"`+`; {DECIDE}",
    "Mod": f"`%`; {DECIDE}",
    "Compare": f"a comparison; {DECIDE}, a template only tests whether something is there",
    "CondExpr": "an inline if; use {% if %}",
    "Slice": f"a slice; {DECIDE}",
    "Sub": f"`-`; {DECIDE}",
    "Neg": f"`-`; {DECIDE}",
    "FilterBlock": "{% filter %}; use `| filter` on one value",
    "AssignBlock": "{% set %} with a body; use a macro",
    "Scope": "{% autoescape %}; leave it out, every value is quoted",
    "ScopedEvalContextModifier": "{% autoescape %}; leave it out, every value is quoted",
    "EvalContextModifier": "{% autoescape %}; leave it out, every value is quoted",
    "CallBlock": "{% call %}; use a block",
    "With": "{% with %}; use {% set %}",
    "List": f"a list; {DECIDE}",
    "Dict": f"a mapping; {DECIDE}",
    "Tuple": f"a tuple; {DECIDE}",
}


def check_allowed(tree: nodes.Template) -> None:
    """Compare a template's syntax tree with what is allowed.

    Raises:
        RefusedTextError: The template contains something else.
    """
    _Allowlist(tree).body(tree.body)


class _Allowlist:
    def __init__(self, tree: nodes.Template) -> None:
        self.modules = {node.target for node in tree.find_all(nodes.Import)}
        self.macros = {"super"} | {node.name for node in tree.find_all(nodes.Macro)}
        for node in tree.find_all(nodes.FromImport):
            self.macros |= {name if isinstance(name, str) else name[1] for name in node.names}

    def body(self, body: Iterable[nodes.Node]) -> None:
        for node in body:
            self.look(node, STATEMENTS)

    def value(self, node: nodes.Node) -> None:
        self.look(node, VALUES)

    def look(self, node: nodes.Node, allowed: Mapping[type[nodes.Node], Callable[[Self, Any], None]]) -> None:
        allowed.get(type(node), _Allowlist.refuse)(self, node)

    def refuse(self, node: nodes.Node, message: str | None = None) -> NoReturn:
        kind = type(node).__name__
        # Jinja gives no line to a node that it made up around others.
        line = node.lineno or next((part.lineno for part in node.find_all(nodes.Node) if part.lineno), 1)
        raise RefusedTextError(line, message or REFUSED.get(kind) or f"{kind.lower()}; {DECIDE}")

    # --- statements

    def output(self, node: nodes.Output) -> None:
        for part in node.nodes:
            self.look(part, OUTPUTS)

    def branch(self, node: nodes.If) -> None:
        self.look(node.test, CONDITIONS)
        self.body([*node.body, *node.elif_, *node.else_])

    def loop(self, node: nodes.For) -> None:
        if node.recursive or node.test is not None or node.else_:
            self.refuse(node, "a loop with `if`, `else` or `recursive`; loop over what the plan lists")
        targets = node.target.items if isinstance(node.target, nodes.Tuple) else [node.target]
        if not all(isinstance(target, nodes.Name) for target in targets):
            self.refuse(node, "a loop over nested names; loop over one or several plain names")
        self.value(node.iter)
        self.body(node.body)

    def include(self, node: nodes.Include) -> None:
        if node.ignore_missing:
            self.refuse(node, "`ignore missing`; say when the template is there with {% if %}")
        self.extends(node)

    def extends(self, node: nodes.Include | nodes.Extends) -> None:
        if not isinstance(node.template, nodes.Const | nodes.Name | nodes.Getattr):
            self.refuse(node, "a computed template name; give the name, or a variable that holds it")
        self.value(node.template)

    def imports(self, node: nodes.Import | nodes.FromImport) -> None:
        if not isinstance(node.template, nodes.Const):
            self.refuse(node, "an import whose name is a variable; write the name")

    def scope(self, node: nodes.Scope) -> None:
        # Jinja's parser wraps {% autoescape %} in one, without a line.
        self.refuse(node.body[0])

    def block(self, node: nodes.Block) -> None:
        self.body(node.body)

    def macro(self, node: nodes.Macro) -> None:
        for default in node.defaults:
            self.value(default)
        self.body(node.body)

    def assign(self, node: nodes.Assign) -> None:
        if not isinstance(node.target, nodes.Name):
            self.refuse(node, "{% set %} of several names; set one at a time")
        self.value(node.node)

    # --- what stands in {{ }} and {% if %}

    def text(self, _: nodes.TemplateData) -> None:
        pass

    def filtered(self, node: nodes.Filter) -> None:
        if node.name not in FILTERS:
            self.refuse(node, f"the filter {node.name}; there are only {', '.join(FILTERS)}")
        constant = all(isinstance(argument, nodes.Const) for argument in node.args)
        if node.node is None or node.kwargs or node.dyn_args or node.dyn_kwargs or not constant:
            self.refuse(node, f"the filter {node.name} with a computed argument; write the number")
        self.value(node.node)

    def call(self, node: nodes.Call) -> None:
        match node.node:
            case nodes.Name(name=name) if name in self.macros:
                pass
            case nodes.Getattr(node=nodes.Name(name=name)) if name in self.modules:
                pass
            case _:
                self.refuse(node, f"a call of something that is no macro; {DECIDE}")
        if node.dyn_args or node.dyn_kwargs:
            self.refuse(node, "a call with * or **; write the arguments")
        for argument in [*node.args, *(keyword.value for keyword in node.kwargs)]:
            self.value(argument)

    def negation(self, node: nodes.Not) -> None:
        self.look(node.node, CONDITIONS)

    def connection(self, node: nodes.And | nodes.Or) -> None:
        self.look(node.left, CONDITIONS)
        self.look(node.right, CONDITIONS)

    def test(self, node: nodes.Test) -> None:
        if node.name not in TESTS:
            self.refuse(node, f"the test `is {node.name}`; there are only {', '.join(TESTS)}")
        self.value(node.node)

    # --- values

    def constant(self, _: nodes.Const) -> None:
        pass

    def name(self, node: nodes.Name) -> None:
        if node.name == "loop":
            self.refuse(node, "`loop` itself; there are only loop.first and loop.last")
        if node.name in ("self", "caller", "varargs", "kwargs"):
            self.refuse(node, f"Jinja's own name `{node.name}`; pass what you need as a variable")

    def attribute(self, node: nodes.Getattr) -> None:
        if isinstance(node.node, nodes.Name) and node.node.name == "loop":
            if node.attr not in LOOP:
                self.refuse(node, f"`loop.{node.attr}`; there are only loop.first and loop.last")
            return
        if node.attr.startswith("_"):
            self.refuse(node, f"the private attribute `{node.attr}`; use a public field")
        self.part(node)

    def item(self, node: nodes.Getitem) -> None:
        if isinstance(node.arg, nodes.Slice):
            self.refuse(node.arg)
        if not isinstance(node.arg, nodes.Const):
            self.refuse(node, f"a computed subscript; {DECIDE}")
        self.part(node)

    def part(self, node: nodes.Getattr | nodes.Getitem) -> None:
        if isinstance(node.node, nodes.Const):
            self.refuse(node, f"a part of a constant; {DECIDE}")
        self.value(node.node)

    def inner_call(self, node: nodes.Call) -> None:
        self.refuse(node, f"a call within an expression; {DECIDE}, a macro's output stands alone in {{{{ }}}}")

    def inner_filter(self, node: nodes.Filter) -> None:
        self.refuse(node, f"the filter {node.name} within an expression; it stands last in {{{{ }}}}")

    def inner_test(self, node: nodes.Test | nodes.Not | nodes.And | nodes.Or) -> None:
        self.refuse(node, f"a test outside of {{% if %}}; {DECIDE}")


Allowed = dict[type[nodes.Node], Callable[[_Allowlist, Any], None]]

STATEMENTS: Allowed = {
    nodes.Output: _Allowlist.output,
    nodes.If: _Allowlist.branch,
    nodes.For: _Allowlist.loop,
    nodes.Include: _Allowlist.include,
    nodes.Extends: _Allowlist.extends,
    nodes.Import: _Allowlist.imports,
    nodes.FromImport: _Allowlist.imports,
    nodes.Block: _Allowlist.block,
    nodes.Macro: _Allowlist.macro,
    nodes.Assign: _Allowlist.assign,
    nodes.Scope: _Allowlist.scope,
}

VALUES: Allowed = {
    nodes.Const: _Allowlist.constant,
    nodes.Name: _Allowlist.name,
    nodes.Getattr: _Allowlist.attribute,
    nodes.Getitem: _Allowlist.item,
    nodes.Call: _Allowlist.inner_call,
    nodes.Filter: _Allowlist.inner_filter,
    nodes.Test: _Allowlist.inner_test,
    nodes.Not: _Allowlist.inner_test,
    nodes.And: _Allowlist.inner_test,
    nodes.Or: _Allowlist.inner_test,
}

OUTPUTS: Allowed = VALUES | {
    nodes.TemplateData: _Allowlist.text,
    nodes.Filter: _Allowlist.filtered,
    nodes.Call: _Allowlist.call,
}

CONDITIONS: Allowed = VALUES | {
    nodes.Not: _Allowlist.negation,
    nodes.And: _Allowlist.connection,
    nodes.Or: _Allowlist.connection,
    nodes.Test: _Allowlist.test,
}
