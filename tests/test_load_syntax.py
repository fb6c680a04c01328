"""Files that are no YAML, or not the YAML that was meant: one message each, that says where to look."""

import pytest
from broken_configs import problems, with_

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    port: 8000", "\tport: 8000", "6:1: a tab cannot indent; use spaces"),
        ("    port: 8000", "    port 8000", "6:5: no `:` after `port 8000`; write `key: value`"),
        ("    port: 8000", "    port:8000", "6:5: no blank after the `:`; write `port: 8000`"),
        ("  policy:\n", "  policy\n", "2:3: no `:` after `policy`; write `key: value`"),
        (
            "    port: 8000",
            "     port: 8000",
            "6:6: indented deeper than the line above, which has its value already; indent both alike",
        ),
        (
            "    port: 8000",
            "   port: 8000",
            "6:4: the indentation fits no line above; indent it like the lines that it belongs with",
        ),
        ("org/model", "'org/model", "4:12: the quote that opens here is never closed; close it"),
        (
            "org/model",
            '"org\\model"',
            "4:16: `\\m` means nothing between double quotes; write `\\\\m`, or use single quotes",
        ),
        ("org/model", "@org/model", "4:12: text cannot begin with '@'; put it in quotes"),
        ("org/model", "%model", "4:12: text cannot begin with '%'; put it in quotes"),
        (
            "org/model",
            "*model",
            "4:12: services.policy.model: `*model` names no anchor above it; write `&model` before the value "
            "that is meant, or put text that begins with `*` in quotes",
        ),
        (
            "org/model",
            "!model",
            "4:12: services.policy.model: the tag `!model` means nothing here; remove it, or put text that "
            "begins with `!` in quotes",
        ),
        ("org/model", "model: org", "4:17: a second `: ` on the line; put quotes around a value that holds one"),
        ("org/model", "'org'/model", "4:17: text after the end of a value; put the whole value in one pair of quotes"),
        (
            "org/model",
            "{{ model }}",
            "4:13: services.policy.model: a mapping cannot be a key; put text with brackets in quotes",
        ),
        ("org/model", "[org", "4:12: the `[` that opens here is never closed; close it with `]`"),
        (
            "org/model",
            "- org",
            "4:12: a list cannot begin on the line of its key; put each `- item` on a line of its own below",
        ),
        ("    port: 8000", "\u00a0\u00a0\u00a0\u00a0port: 8000", "6:1: the blank U+00A0 cannot indent; use spaces"),
        ("    port: 8000", "    mounts:\n  \u3000 - /a", "7:3: the blank U+3000 cannot indent; use spaces"),
        (
            "org/model",
            "|x",
            "4:12: `|` or `>` begins a block of lines below it; put text that begins with one of them in quotes",
        ),
        (
            "org/model",
            "& x",
            "4:12: `&` and `*` begin the name of an anchor; put text that begins with one of them in quotes",
        ),
        ("org/model", "]", "4:12: text cannot begin with ']'; put it in quotes"),
        (
            "org/model",
            "!<x y>",
            "4:15: is not YAML here (while parsing a tag expected '>', but found ' '); correct it",
        ),
        ("services:", "--- :\nservices:", "1:5: no `:` belongs here; put quotes around text that holds one"),
        ("    port: 8000", "    : 8000", "6:5: a key is missing before the `:`; add it"),
        (
            "    port: 8000",
            "    port: 8000\n    - 8001",
            "7:5: a list item where a `key: value` belongs; indent it under its key",
        ),
        (
            "    port: 8000",
            "    mounts:\n      - /a\n      b: 1",
            "8:7: a `key: value` where a list item (`- ...`) belongs; indent it as the item it belongs to",
        ),
        (
            "    port: 8000",
            "    mounts: [,]",
            "6:14: a value is missing before this; add it, or put the text in quotes",
        ),
        (
            "    env:\n      HF_TOKEN: host:HF_TOKEN",
            "    env: {A: lit:1 B: lit:2}",
            "7:21: a `,` or `}` is missing before this; add it, or put the text in quotes",
        ),
        (
            "    env:\n      HF_TOKEN: host:HF_TOKEN",
            "    env: {A: lit:${job.output_path}}",
            "7:18: `${` cannot stand unquoted between `{` and `}`; put the value in quotes",
        ),
    ],
)
def test_one_mistake_in_yaml(old: str, new: str, message: str) -> None:
    assert problems(with_((old, new))) == [message]
