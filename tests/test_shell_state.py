"""A template's value is only where bash takes it as one word; everything else is refused when the template loads."""

import subprocess
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import DictLoader

from gymsubmit.errors import TemplateError
from gymsubmit.render.environment import BashEnvironment, render_template
from gymsubmit.words import UserShell

HOSTILE = "HOSTILE $(boom) `boom` '$(boom)' \"$(boom)\" ;boom;\nboom\nE\nboom #} ]]))\\"


def environment(source: str) -> BashEnvironment:
    return BashEnvironment(DictLoader({"x.j2": source}))


def refusal(source: str) -> str | None:
    try:
        environment(source).get_template("x.j2")
    except TemplateError as error:
        return str(error)
    return None


ACCEPTED = [
    "{{ x }}\n",
    "a#{{ x }}\n",
    "a $# ${#} ${#a} ${a#b} ${#a[@]} {{ x }}\n",
    "a \\' \\\" \\` \\# {{ x }}\n",
    "a \\\n  {{ x }}\n",
    "a 'b\\' {{ x }}\n",
    'a "b\\"\'" {{ x }}\n',
    "a $'b\\'\\\\' {{ x }}\n",
    'a $"b" {{ x }}\n',
    "a $$'b' $! $? $- $* $@ $0 {{ x }}\n",
    "a # it's \"\n{{ x }}\n",
    "a 2>&1 >&2 &>b # it's\n{{ x }}\n",
    "a >{{ x }} 2>{{ x }} <{{ x }} >>{{ x }}\n",
    "(a; # it's\n{{ x }}); (b) | { {{ x }}; } && ! {{ x }} &\n",
    '"$(a {{ x }})" "$(a "$(b {{ x }} # it\'s\n)")"\n',
    "$(case $a in (b|c) d {{ x }};; {{ x }}) ;;& *) # it's)\n esac) {{ x }}\n",
    "case $a in in) b;; case) c;; esac; a case b {{ x }}\n",
    "case a in\n  # it's\n  b)\n    case c in d) {{ x }} ;; esac\n    ;;\n  *) {{ x }} ;&\nesac\n",
    "if a; then case b in c) {{ x }};; esac; fi\n",
    "A=b C+=d {{ x }}\n",
    'case "${a}" in esac\n{{ x }}\n',
    "f() { {{ x }}; }\nf_{{ x }}() {\n{{ x }}\n}\ng () ( {{ x }} )\n",
    "a=({{ x }} b # it's\n) b=() c+=(case x in) {{ x }}\n",
    '((a < (b << 1) + ${#c} + $(d {{ x }}))); b $((1 + "$c")) {{ x }}\n',
    "for ((i = 0; i < 3; i++)); do {{ x }}; done\n",
    "for a in {{ x }} b; do c; done\n",
    "[[ $a == {{ x }} && -n {{ x }} ]] || b {{ x }}\n",
    "[[ $a =~ ^(b|c)$ && ( $d != {{ x }} ) ]]\n",
    "[ {{ x }} = a ]\n",
    "a <(b {{ x }}) >(c {{ x }})\n",
    'cat <<<{{ x }} <<< "a" {{ x }}\n',
    'cat <<E\nit\'s "$(a)"\n E\nE\\\nE\nE\n{{ x }}\n',
    "cat <<'E' 3<<-\\F # it's\n'\\\nE\n\"\n\tF\n{{ x }}\n",
    "cat <<E && (a) | b {{ x }}\nit's\nE\n{{ x }}\n",
    "cat <<E\n{% if x %}\nit's\n{% endif %}\nE\n{{ x }}\n",
    "a {{ x | heredoc }}\nb {{ x }}\n",
    '"$(a {{ x | heredoc }}\n)"\n',
    "a {{ x | argv }} &\n",
    "#SBATCH --a={{ x | sbatch }} --{{ x | sbatch }}{% if x %}={{ x | sbatch }}{% endif %}\n\n{{ x }}\n",
    "~/{{ x }} a~b {{ x }}\n",
    "{a,b}c {{ x }}{a,b}\n",
    '${a:-\'b}\'} ${a:-"b}"} ${a:-\\}} "${a:-"}"}" {{ x }}\n',
    "a{% if x %} b{% else %} c{% endif %}; d\n",
    "a {% if x %}b {% endif %}'c' {{ x }}\n",
    "{% for a in x %}\n# it's\n{{ a }}\n{% endfor %}\n# it's\n{{ x }}\n",
    "case a in\n{% for a in x %}\n{{ a }}) b {{ a }};;\n{% endfor %}\nesac\n",
    "{% include 'y' %}\n# it's\n{{ x }}\n",
    'a "$(b {% include x %}{% block c %}d{% endblock %})" {{ x }}\n',
    "{% macro m(a) %}b {{ a }}{% endmacro %}\nc {{ m(x) }} 'd' {{ x }}\n",
    "{% extends 'y' %}\n{% block b %}\n{{ super() }}\n# it's\n{{ x }}\n{% endblock %}\n",
    "{% raw %}{{ it's }}'{% endraw %} {{ x }}\n",
    "{## it's ##}\n{{ x }}\n",
]


@pytest.mark.parametrize("source", ACCEPTED)
def test_a_value_outside_of_quotes_is_accepted(source: str) -> None:
    assert refusal(source) is None


OUTSIDE = "put it outside: it comes out as one quoted word"
VARIABLE = "put it into a variable before, and use that"
REFUSED = [
    ('a "{{ x }}"', f"1: an expression inside double quotes; {OUTSIDE}"),
    ('a\n"b\nc {{ x }}"', f"3: an expression inside double quotes; {OUTSIDE}"),
    ('a $"{{ x }}"', f"1: an expression inside double quotes; {OUTSIDE}"),
    ("a '{{ x }}'", f"1: an expression inside single quotes; {OUTSIDE}"),
    ("a $'\\'{{ x }}'", f"1: an expression inside $'...'; {OUTSIDE}"),
    ("# {{ x }}\n", "1: an expression inside a comment; leave it out: it comes out as a quoted word"),
    ("$(a # {{ x }}\n)\n", "1: an expression inside a comment; leave it out: it comes out as a quoted word"),
    ("cat <<E\n{{ x }}\nE\n", f"2: an expression inside a here-document; {VARIABLE}"),
    ("cat <<-'E'\n\tE \n{{ x }}\nE\n", f"3: an expression inside a here-document; {VARIABLE}"),
    ("cat <<E\nE\\\nE\n{{ x }}\nE\n", f"4: an expression inside a here-document; {VARIABLE}"),
    ("$((1 + {{ x }}))\n", f"1: an expression inside (( )); {VARIABLE}"),
    ("if ((a < {{ x }})); then\n", f"1: an expression inside (( )); {VARIABLE}"),
    ('"${a:{{ x }}}"\n', f"1: an expression inside ${{ }}; {VARIABLE}"),
    ("${a:-{{ x }}}\n", f"1: an expression inside ${{ }}; {VARIABLE}"),
    ("a `b {{ x }}`\n", "1: a backtick; write $( )"),
    ('a "`b`"\n', "1: a backtick; write $( )"),
    ("$[1 + 1]\n", "1: $[ ]; write $(( ))"),
    ("${ a; }\n", "1: ${ with a command; write $( )"),
    ("${{ x }}\n", "1: `$` right before a tag or the end; it would act on what comes there"),
    ("\\{{ x }}\n", "1: `\\` right before a tag or the end; it would act on what comes there"),
    ("~{{ x }}\n", f"1: an expression after `~` in the same word; {VARIABLE}"),
    ("A=b:~c{{ x }}\n", f"1: an expression after `~` in the same word; {VARIABLE}"),
    ("{a,{{ x }}}\n", f"1: an expression after `{{` in the same word; {VARIABLE}"),
    ("a[{{ x }}]=1\n", f"1: an expression after `[` in the same word; {VARIABLE}"),
    ("a=([{{ x }}]=1)\n", f"1: an expression after `[` in the same word; {VARIABLE}"),
    ("[[ {{ x }} == a ]]\n", "1: an expression where [[ ]] may take it for an operator; put it behind =="),
    ("[[ -n a && ! {{ x }} ]]\n", "1: an expression where [[ ]] may take it for an operator; put it behind =="),
    ("[[ a =~ b|{{ x }} ]]\n", "1: an expression in a regular expression; compare with =="),
    ("{{ x }}>a\n", "1: `>` behind a value, which may be a number; put a blank between them"),
    ("{{ x }}{% if x %}<{% endif %}a\n", "1: `<` behind a value, which may be a number; put a blank between them"),
    ("<{% if x %}<E{% endif %}\n", "1: `<` behind a tag that may end with another; write them together"),
    ("({% if x %}(a) b{% endif %})\n", "1: `(` behind a tag that may end with another; write them together"),
    ("a <<{{ x }}\n", "1: a here-document whose delimiter is no plain word; write <<'END'"),
    ("a <<$b\n", "1: a here-document whose delimiter is no plain word; write <<'END'"),
    ("a <<E 'b\nc'\nE\n", "1: a line break in single quotes before a here-document's text; end the line first"),
    ("a <<E $(b)\nE\n", "1: $( ) before a here-document's text; put it on another line"),
    ("a $(b <<E)\nE\n", "1: `)` before a here-document's text; put the text first"),
    ("a <<E", "1: a here-document whose delimiter is no plain word; write <<'END'"),
    ("a <<E\nb", "2: a tag or the end within a line of a here-document; put it between two lines"),
    (
        "a <<E\nb{% if x %}c{% endif %}\nE\n",
        "2: a tag or the end within a line of a here-document; put it between two lines",
    ),
    ("a <<E\nb\n", "3: the end inside a here-document; close it: what follows begins outside of quotes"),
    ("a <<E {% include 'y' %}\nE\n", "1: other text before a here-document's text; put it behind"),
    ("a{{ x | heredoc }}\n", "1: the filter heredoc within a word; put a blank before it"),
    ("{{ x | heredoc }}\n", "1: the filter heredoc behind a word or a here-document; put a blank before it"),
    ("a <<E {{ x | heredoc }}\nE\n", "1: the filter heredoc behind a word or a here-document; put a blank before it"),
    ("a {{ x | heredoc }} b\n", "1: something on the line of a here-document behind it; end the line"),
    ("a {{ x | heredoc }}{{ x }}\n", "1: something on the line of a here-document behind it; end the line"),
    (
        "{% if x %}a {{ x | heredoc }}{% endif %}\n",
        "1: something on the line of a here-document behind it; end the line",
    ),
    ("a\nb {{ x | heredoc }}", "2: something on the line of a here-document behind it; end the line"),
    ("'{{ x | heredoc }}\n'\n", f"1: an expression inside single quotes; {OUTSIDE}"),
    ("a={{ x | argv }}\n", "1: the filter argv within a word; put a blank before it"),
    ("#SBATCH --a={{ x }}\n", "1: an expression on an #SBATCH line; add `| sbatch`, which quotes as sbatch does"),
    ("#SBATCH {{ x | argv }}\n", "1: an expression on an #SBATCH line; add `| sbatch`, which quotes as sbatch does"),
    ("a {{ x | sbatch }}\n", "1: the filter sbatch outside of an #SBATCH line; leave it out"),
    ("a\n #SBATCH {{ x | sbatch }}\n", "2: the filter sbatch outside of an #SBATCH line; leave it out"),
    ("##SBATCH {{ x | sbatch }}\n", "1: the filter sbatch outside of an #SBATCH line; leave it out"),
    (
        "#SBATCH --a={% include 'y' %}\n",
        "1: other text inside an #SBATCH line; put it outside: it begins outside of quotes",
    ),
    ("a)\n", "1: a `)` that closes nothing inside no quotes; remove it"),
    ("case a in b) c ) ;; esac\n", "1: a `)` that closes nothing inside case; remove it"),
    ("a @(b|c)\n", "1: `(` within a word or where no command begins; quote it, or put a blank before it"),
    ("$((a); b)\n", "1: `((` that is not arithmetic, or not closed by `))`; put a blank between `( (`"),
    ("\"${a#'b'}\"\n", "1: a single quote in an expansion inside double quotes; use a variable for the text"),
    ("a 'b\n", "2: the end inside single quotes; close it: what follows begins outside of quotes"),
    ("a # b", "1: the end inside a comment; close it: what follows begins outside of quotes"),
    ("{% block b %}\n(a\n{% endblock %}\n", "3: the end inside ( ); close it: what follows begins outside of quotes"),
    (
        "{% macro m() %}'{% endmacro %}\n",
        "1: the end inside single quotes; close it: what follows begins outside of quotes",
    ),
    (
        "a\n{% if x %}'{% endif %}a'\n",
        "2: ways that end differently (inside single quotes and no quotes); open and close on the same way",
    ),
    (
        "{% if x %}'a'{% else %}\"{% endif %}\n",
        "1: ways that end differently (inside no quotes and double quotes); open and close on the same way",
    ),
    (
        "{% if x %}{% elif x %}# a{% endif %}\n",
        "1: ways that end differently (inside no quotes and a comment); open and close on the same way",
    ),
    (
        '{% for a in x %}"{% endfor %}\n',
        "1: ways that end differently (inside no quotes and double quotes); open and close on the same way",
    ),
    ("{% if x %}a <<E {% endif %}\nE\n", "1: a tag around a part of a here-document; put all of it inside, or nothing"),
    ("{% if x %}{a,{% endif %}{{ x }}}\n", "1: a tag that cuts a word with `~`, `{` or `[`; put the whole word inside"),
    (
        "a {% include 'y' %}# it's\n",
        "1: `#` after something that may end within a word; put a blank or a line break before it",
    ),
    (
        "{% if x %}a{% endif %}# it's\n",
        "1: `#` after something that may end within a word; put a blank or a line break before it",
    ),
    (
        "{% if x %}a {% endif %}case b in c) d;; esac\n",
        "1: `case` where it is unknown whether a command begins; begin a new line",
    ),
    ("{% if x %}a {% endif %}((b))\n", "1: `((` where it is unknown whether a command begins; begin a new line"),
    ("a{% include 'y' %}\n", "1: other text within a word; put a blank before it"),
    ("'{% include 'y' %}'\n", "1: other text inside single quotes; put it outside: it begins outside of quotes"),
    (
        "\"$(A=({{ x }} a\\' # it's\n) b)\"\n",
        "1: an array's ( ) inside $( ); assign it before, and use it there",
    ),
    ("# {% block b %}{% endblock %}\n", "1: other text inside a comment; put it outside: it begins outside of quotes"),
    (
        '{% block b %}"{{ super() }}"{% endblock %}\n',
        "1: other text inside double quotes; put it outside: it begins outside of quotes",
    ),
    ("{% raw %}'{% endraw %}{{ x }}'\n", f"1: an expression inside single quotes; {OUTSIDE}"),
    ("'{## it's ##}{{ x }}'\n", f"1: an expression inside single quotes; {OUTSIDE}"),
]


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_anything_else_is_refused(source: str, message: str) -> None:
    assert refusal(source) == f"templates/x.j2:{message}"


# Scripts that bash accepts, with values in the places where a template may have them.
PIECES = (
    "a",
    "'b\"#'",
    '"c\'#"',
    "$'d\\'\"'",
    "\\'",
    "$#",
    "${#A}",
    "${B:-'}'}",
    '"${B:-"}"}"',
    "$((1 + (2)))",
    "#",
    "$$",
)
VALUES = ("{{ x }}", "pre{{ x }}", "{{ x }}post", "'q'{{ x }}")
SHOWN = {HOSTILE, "pre" + HOSTILE, HOSTILE + "post", "q" + HOSTILE}
COMMENTS = ("", "", " # it's \" ) $( esac", "\n# it's `")
ARRAY = 'A=({value} {literal} # it\'s\n{value})\nshow "${{A[@]}}"'
SUBSTITUTION = 'show "$( {lines})" {value}'
FORMS = (
    "{show} <<E\nit's \" ) # \\$( \\`\n\\\\\nE\n",
    "{show} 3<<-'E' 4<<F; {show}\n\\\n'\n\tE\n\"\nF\n",
    "{show} {{{{ t | heredoc }}}}\n",
    "( {lines})",
    "{{ {lines}}}",
    SUBSTITUTION,
    "if [[ -n $A && ! -n {value} ]]; then\n:\nelse\n{lines}fi",
    "case {value} in\n(b|c) {lines};; # it's\n'd') ;;\n*) {lines}esac",
    "f() {{\n{lines}}}\nf",
    ARRAY,
    "for v in {value} {literal}; do\n{lines}done",
    "{{% if x %}}\n{lines}{{% else %}}\nshow 'b'\n{{% endif %}}",
    "{{% for _ in both %}}\n{lines}{{% endfor %}}",
)


@st.composite
def scripts(draw: st.DrawFn, depth: int = 3, forms: tuple[str, ...] = FORMS) -> str:
    literals = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(lambda pieces: "a" + "".join(pieces))
    values = st.sampled_from(VALUES)
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        show = " ".join(["show", *draw(st.lists(literals | values, max_size=4))])
        form = draw(st.sampled_from(forms)) if depth and draw(st.booleans()) else "{show}"
        within = tuple(each for each in forms if each != ARRAY) if form == SUBSTITUTION else forms
        line = form.format(
            show=show,
            lines=draw(scripts(depth - 1, within)) if "{lines}" in form else "",
            value=draw(values),
            literal=draw(literals),
        )
        lines.append(f"{line}{draw(st.sampled_from(COMMENTS))}\n" if form == "{show}" else f"{line}\n")
    return "".join(lines)


def run(source: str) -> tuple[list[str], str]:
    """What the script's commands were given, and what bash complains about."""
    rendered = render_template(environment(source), "x.j2", x=HOSTILE, t=UserShell(HOSTILE), both=(1, 2))
    # A line for each argument, so that those of a pipeline's commands do not mix.
    show = "show() { local each; for each; do printf '%s\\n' \"${each//$'\\n'/¶}\"; done >&9; }"
    prelude = f"exec 9>&1; FUNCNEST=20; {show}; boom() {{ show BOOM; }}\n"
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["/bin/bash", "/dev/stdin"],
            input=(prelude + rendered).encode(),
            capture_output=True,
            cwd=directory,
            env={"PATH": "/nowhere", "LC_ALL": "C.UTF-8"},
            timeout=20,
            check=False,
        )
    return [line.replace("¶", "\n") for line in done.stdout.decode().split("\n")], done.stderr.decode()


@given(source=scripts())
@settings(max_examples=150, deadline=None)
def test_scripts_that_bash_accepts_are_accepted_and_get_their_values(source: str) -> None:
    arguments, complaints = run(source)
    assert complaints == ""
    assert {argument for argument in arguments if "HOSTILE" in argument or "BOOM" in argument} <= SHOWN


@given(
    source=scripts(),
    edits=st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.integers(0, 2),
            st.sampled_from(
                [
                    *"'\"\\$(){}[]#<>;|&=~ \n`!",
                    "$(",
                    "((",
                    "))",
                    "${",
                    "<<",
                    "$'",
                    "case ",
                    " in ",
                    "esac",
                    "[[ ",
                    " ]]",
                    "{{ x }}",
                ]
            ),
        ),
        min_size=1,
        max_size=3,
    ),
)
@settings(max_examples=500, deadline=None)
def test_no_accepted_template_runs_a_part_of_a_value(source: str, edits: list[tuple[float, int, str]]) -> None:
    for where, removed, added in edits:
        at = int(where * len(source))
        source = source[:at] + added + source[at + removed :]
    try:
        arguments, _ = run(source)
    except TemplateError:
        return
    assert "BOOM" not in arguments
    assert all(HOSTILE in argument for argument in arguments if "HOSTILE" in argument)
