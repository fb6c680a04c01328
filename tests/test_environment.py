"""What a template may contain, what comes out of it, and what is said when something is wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from jinja2 import DictLoader
from markupsafe import Markup

from gymsubmit.errors import TemplateError
from gymsubmit.frozen import Frozen
from gymsubmit.render.contracts import Contract, contract, used
from gymsubmit.render.environment import BashEnvironment, make_environment, render_template
from gymsubmit.words import RuntimeEnv, Secret, UserShell


class Thing(Frozen):
    name: str
    words: tuple[object, ...] = ()
    nothing: None = None
    _hidden: str = "hidden"

    @property
    def computed(self) -> str:
        return "computed"


def rendered(source: str | Mapping[str, str], **variables: object) -> str:
    templates = {"x.j2": source} if isinstance(source, str) else source
    return render_template(BashEnvironment(DictLoader(templates)), "x.j2", **variables)


def refusal(source: str | Mapping[str, str], **variables: object) -> str:
    with pytest.raises(TemplateError) as refused:
        rendered(source, **variables)
    assert refused.value.exit_status == 2
    return str(refused.value)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a {{ x }}\n", "a 'b & <c>'\n"),
        ('a {{ "it\'s <b>" }} {{ "" }} {{ 3 }}\n', "a 'it'\\''s <b>' '' 3\n"),
        (
            "{{ thing.name }} {{ thing.words[1] }} {{ thing.words | argv }}\n",
            '\'a b\' "$GYM_RUNTIME_A" run "$GYM_RUNTIME_A" \\\n        --x\n',
        ),
        ("{{ thing.words | argv(2) }}\n", 'run "$GYM_RUNTIME_A" \\\n  --x\n'),
        (
            "{% macro m(a, b='c d') %}\n{{ a }} {{ b }}\n{% endmacro %}\n{{ m(x) }}{{ m(b=1, a=x) }}",
            "'b & <c>' 'c d'\n'b & <c>' 1\n",
        ),
        (
            "{% for a, b in pairs %}\n{{ a }}={{ b }}{% if not loop.last %};{% endif %}\n\n{% endfor %}\n",
            "A=1;\nB='2 3'\n",
        ),
        ("{% for w in thing.words %}\n{% if loop.first %}\n{{ w }}\n{% endif %}\n{% endfor %}\n", "run\n"),
        ("{% if thing.nothing is none and not (y is defined or thing.z is defined) %}a{% else %}b{% endif %}\n", "a"),
        ("{% if thing.nothing %}a{% elif thing.words %}b{% endif %}\n", "b"),
        ("{% set a = thing.name %}\n{{ a }}\n", "'a b'\n"),
        ("  {% if x %}\n\n  a {{ '' }}\n  {% endif %}\n\n", "\n  a ''\n\n"),
        ("${#a[@]} ${a#b} {## not seen ##}b {{ x }}\n", "${#a[@]} ${a#b} b 'b & <c>'\n"),
        ("a {{ markup }}\n", "a 'as it is'\n"),
        ("a {{ script | heredoc }}\nb\n", "a <<'END_OF_SCRIPT'\nexit <1>\nEND_OF_SCRIPT\nb\n"),
        ("#SBATCH --a={{ x | sbatch }}\n", '#SBATCH --a="b & <c>"\n'),
        ("{% raw %}{{ x }}{% endraw %}\n", "{{ x }}"),
    ],
)
def test_what_comes_out(source: str, text: str) -> None:
    assert (
        rendered(
            source,
            x="b & <c>",
            thing=Thing("a b", ("run", RuntimeEnv("A"), "--x")),
            pairs=(("A", 1), ("B", "2 3")),
            markup=Markup("'as it is'"),
            script=UserShell("exit <1>\n"),
        )
        == text
    )


def test_templates_together_quote_each_value_once() -> None:
    templates = {
        "x.j2": "{% extends base %}\n{% import 'm.j2' as m %}\n{% from 'm.j2' import say as tell %}\n"
        "{% block a %}\n{{ super() }}{{ m.say(x) }}{{ tell('<') }}{% include 'i.j2' %}\n{% endblock %}\n",
        "b.j2": "begin\n{% block a %}\nbase {{ x }}\n{% endblock %}\nend {{ self_made }}\n",
        "m.j2": "{% macro say(what) %}\nsay {{ what }}\n{% endmacro %}\n",
        "i.j2": "{% for each in (x) %}\n{% endfor %}\nincluded {{ x }}\n",
    }
    expected = "begin\nbase 'a & \"b\"'\nsay 'a & \"b\"'\nsay '<'\nincluded 'a & \"b\"'\nend \"$GYM_SECRET_S\"\n"
    assert rendered(templates, base="b.j2", x='a & "b"', self_made=Secret("S")) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n{{ x ~ 'a' }}", "2: `~`; decide it in the plan, a tuple of words is one word"),
        ("{{ x + 1 }}", "1: `+`; decide it in the plan"),
        ("{{ 'a %s' % x }}", "1: `%`; decide it in the plan"),
        ("{{ x - 1 }}", "1: `-`; decide it in the plan"),
        ("{{ -1 }}", "1: `-`; decide it in the plan"),
        ("{{ x * 2 }}", "1: mul; decide it in the plan"),
        (
            "{% if x == 1 %}{% endif %}",
            "1: a comparison; decide it in the plan, a template only tests whether something is there",
        ),
        (
            "{% if x in y %}{% endif %}",
            "1: a comparison; decide it in the plan, a template only tests whether something is there",
        ),
        ("{{ x if y else z }}", "1: an inline if; use {% if %}"),
        ("{{ x[1:] }}", "1: a slice; decide it in the plan"),
        ("{{ x[y] }}", "1: a computed subscript; decide it in the plan"),
        ("{{ 'abc'.x }}", "1: a part of a constant; decide it in the plan"),
        ("{{ x._y }}", "1: the private attribute `_y`; use a public field"),
        ("{{ x.y() }}", "1: a call of something that is no macro; decide it in the plan"),
        ("{{ x() }}", "1: a call of something that is no macro; decide it in the plan"),
        ("{{ 'a'.join(x) }}", "1: a call of something that is no macro; decide it in the plan"),
        ("{{ range(3) }}", "1: a call of something that is no macro; decide it in the plan"),
        ("{% macro m() %}{% endmacro %}{{ m(*x) }}", "1: a call with * or **; write the arguments"),
        (
            "{% macro m() %}{% endmacro %}{{ m(m()) }}",
            "1: a call within an expression; decide it in the plan, a macro's output stands alone in {{ }}",
        ),
        (
            "{% macro m() %}{% endmacro %}{% set a = m() %}",
            "1: a call within an expression; decide it in the plan, a macro's output stands alone in {{ }}",
        ),
        ("{{ x | upper }}", "1: the filter upper; there are only argv, commas, heredoc, sbatch"),
        ("{{ x | safe }}", "1: the filter safe; there are only argv, commas, heredoc, sbatch"),
        ("{{ x | argv(y) }}", "1: the filter argv with a computed argument; write the number"),
        ("{{ x | argv | argv }}", "1: the filter argv within an expression; it stands last in {{ }}"),
        ("{% set a = x | argv %}", "1: the filter argv within an expression; it stands last in {{ }}"),
        ("{% for a in x | list %}{% endfor %}", "1: the filter list within an expression; it stands last in {{ }}"),
        (
            "{% if x is divisibleby 3 %}{% endif %}",
            "1: the test `is divisibleby`; there are only defined, undefined, none",
        ),
        ("{{ x is none }}", "1: a test outside of {% if %}; decide it in the plan"),
        ("{{ not x }}", "1: a test outside of {% if %}; decide it in the plan"),
        ("{{ x or 'a' }}", "1: a test outside of {% if %}; decide it in the plan"),
        ("{{ ['a'] }}", "1: a list; decide it in the plan"),
        ("{{ {} }}", "1: a mapping; decide it in the plan"),
        ("{{ (x, y) }}", "1: a tuple; decide it in the plan"),
        ("{{ loop }}", "1: `loop` itself; there are only loop.first and loop.last"),
        ("{% for a in x %}{{ loop.index }}{% endfor %}", "1: `loop.index`; there are only loop.first and loop.last"),
        ("{{ self.a() }}", "1: a call of something that is no macro; decide it in the plan"),
        ("{{ caller }}", "1: Jinja's own name `caller`; pass what you need as a variable"),
        (
            "{% for a in x if a %}{% endfor %}",
            "1: a loop with `if`, `else` or `recursive`; loop over what the plan lists",
        ),
        (
            "{% for a in x %}{% else %}b{% endfor %}",
            "1: a loop with `if`, `else` or `recursive`; loop over what the plan lists",
        ),
        ("{% for a, (b, c) in x %}{% endfor %}", "1: a loop over nested names; loop over one or several plain names"),
        ("{% include 'a' ignore missing %}", "1: `ignore missing`; say when the template is there with {% if %}"),
        ("{% include ['a', 'b'] %}", "1: a computed template name; give the name, or a variable that holds it"),
        ("{% import x as m %}", "1: an import whose name is a variable; write the name"),
        ("{% set a, b = x %}", "1: {% set %} of several names; set one at a time"),
        ("{% set a %}b{% endset %}", "1: {% set %} with a body; use a macro"),
        ("{% filter upper %}a{% endfilter %}", "1: {% filter %}; use `| filter` on one value"),
        ("{% autoescape false %}a{% endautoescape %}", "1: {% autoescape %}; leave it out, every value is quoted"),
        ("{% call m() %}a{% endcall %}", "1: {% call %}; use a block"),
        ("{% with a = x %}{% endwith %}", "1: {% with %}; use {% set %}"),
        ("a\n{# b #}\n", "2: `{#`, which begins no comment here; write {## ... ##}"),
        ("a ${##} b ##}\n", "1: `${##`, where Jinja begins a comment; put the value into a variable first"),
        ("a\n{% do x %}", "2: Encountered unknown tag 'do'.; see Jinja's syntax"),
        ("a\n\n{{ x", "3: unexpected end of template, expected 'end of print statement'.; see Jinja's syntax"),
        ("{% block a %}{% endblock %}\n{% block a %}{% endblock %}", "2: block 'a' defined twice; see Jinja's syntax"),
    ],
)
def test_what_a_template_must_not_contain(source: str, message: str) -> None:
    assert refusal(source) == f"templates/x.j2:{message}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{{ y }}\n", "2: 'y' is undefined; pass it to the template, or correct the name"),
        ("a\n{% for b in y %}\n{% endfor %}\n", "2: 'y' is undefined; pass it to the template, or correct the name"),
        ("{{ thing.nothing }}\n", "1: None is not a word; pass text, a number or another Word"),
        ("{{ none }} {{ true }}\n", "1: None is not a word; pass text, a number or another Word"),
        (
            "a\n\n{{ thing.words }} {{ thing }}\n",
            "3: a value of type Thing is not a word; pass text, a number or another Word",
        ),
        ("{{ thing.words[5] }}\n", "1: tuple object has no element 5; pass it to the template, or correct the name"),
        ("{% for a in 5 %}\n{% endfor %}\n", "1: 'int' object is not iterable"),
        (
            "{{ thing.words | heredoc }}\n",
            "1: the filter heredoc behind a word or a here-document; put a blank before it",
        ),
        ("a {{ thing.name | argv }}\n", "1: a value of type str is not a command; argv takes a tuple of words"),
        ("a\n{% include 'y.j2' %}\n", "2: there is no template y.j2; correct the name"),
        ("{% include thing.name %}\n", "1: there is no template a b; correct the name"),
        ("{% include 'x.j2' %}\n", "1: templates that include or extend one another without end; break the circle"),
        ("{% extends 'x.j2' %}\n", "1: templates that include or extend one another without end; break the circle"),
    ],
)
def test_a_failure_while_rendering_names_its_line(source: str, message: str) -> None:
    assert refusal(source, thing=Thing("a b", ("c",))) == f"templates/x.j2:{message}"


@pytest.mark.parametrize("attribute", ["computed", "__class__", "missing", "words.count"])
def test_a_template_reaches_only_public_fields(attribute: str) -> None:
    message = refusal(f"{{{{ thing.{attribute} }}}}", thing=Thing("a"))
    assert message.startswith("templates/x.j2:1: ")
    assert "hidden" not in message


def test_a_failure_in_an_included_template_names_that_template() -> None:
    templates = {
        "x.j2": "{% import 'm.j2' as m %}\n{% include 'y.j2' %}\n",
        "y.j2": "{% import 'm.j2' as m %}\n\n{{ m.say(x) }}\n",
        "m.j2": "{% macro say(a) %}\n\n\n{{ a }}\n{% endmacro %}\n",
    }
    message = "templates/m.j2:4: a boolean is not a word; pass what it stands for as text"
    assert refusal(templates, x=True) == message
    assert refusal({"x.j2": "\n{% include 'y.j2' %}\n", "y.j2": "a\n'{{ x }}'\n"}).startswith("templates/y.j2:2: ")


def test_there_is_no_such_template() -> None:
    with pytest.raises(TemplateError) as refused:
        render_template(BashEnvironment(DictLoader({})), "x.j2")
    assert str(refused.value) == "templates/x.j2: there is no template x.j2; correct the name"


def test_templates_come_from_a_directory_in_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "parts").mkdir()
    (tmp_path / "x.j2").write_text("é {% include 'parts/y.j2' %}", encoding="utf-8")
    (tmp_path / "parts/y.j2").write_text("{{ x }}", encoding="utf-8")
    assert render_template(make_environment(tmp_path), "x.j2", x="ü") == "é 'ü'"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{## What it is.\nReceives: nothing. ##}\n", Contract("What it is.", frozenset())),
        (
            "{## Two lines\nof it. And more.\nReceives: plan, step. ##}\na\n",
            Contract("Two lines\nof it. And more.", frozenset({"plan", "step"})),
        ),
    ],
)
def test_the_opening_comment_is_a_contract(source: str, expected: Contract) -> None:
    assert contract(BashEnvironment(DictLoader({"x.j2": source})), "x.j2") == expected


@pytest.mark.parametrize(
    "source", ["", "a\n{## What.\nReceives: nothing. ##}\n", "{## What. ##}\n", "{## What.\nReceives: a b. ##}\n"]
)
def test_a_template_without_a_contract_is_refused(source: str) -> None:
    with pytest.raises(TemplateError) as refused:
        contract(BashEnvironment(DictLoader({"x.j2": source})), "x.j2")
    assert str(refused.value) == (
        "templates/x.j2:1: no opening comment; write `{## What it is for.` and a line `Receives: NAME. ##}`"
    )


def test_what_a_template_uses_is_what_it_does_not_set() -> None:
    source = (
        "{% import 'm' as m %}\n{% set a = x.y %}\n{% for b in a %}\n{{ b }} {{ m.f(c) }}\n{% endfor %}\n"
        "{% macro g(d) %}{{ d }} {{ e }}{% endmacro %}\n{% include f %}\n"
    )
    assert used(BashEnvironment(DictLoader({"x.j2": source})), "x.j2") == {"x", "c", "e", "f"}
