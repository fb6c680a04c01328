"""Mounts by Pyxis' grammar."""

# ruff: noqa: E501 - a table of what is wrong and how it is said, a line each

import re

import pytest

from gymsubmit.config.mounts import Mount, parse_mount


@pytest.mark.parametrize(
    ("text", "mount"),
    [
        ("/a", Mount("/a", "/a", ())),
        ("/a:/b", Mount("/a", "/b", ())),
        ("/a b:/c d:ro", Mount("/a b", "/c d", ("ro",))),
        ("./a:/b:ro+rprivate+x-create=dir", Mount("./a", "/b", ("ro", "rprivate", "x-create=dir"))),
        ("tmpfs:/scratch:size=10G", Mount("tmpfs", "/scratch", ("size=10G",))),
        ("umount:/proc/x", Mount("umount", "/proc/x", ())),
    ],
)
def test_parts(text: str, mount: Mount) -> None:
    assert parse_mount(text) == mount


def test_what_must_exist_on_the_node() -> None:
    assert [parse_mount(text).host_path for text in ("/a:/b", "tmpfs:/b")] == ["/a", None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; give it a value, or leave the field out"),
        ("a:/b", "'a:/b' mounts 'a', which is no path; begin it with / or ."),
        ("/a:b", "'/a:b' mounts 'b', which is no path; begin it with / or ."),
        ("/a:", "'/a:' mounts '', which is no path; begin it with / or ."),
        ("tmpfs", "'tmpfs' has no destination; write tmpfs:/path"),
        ("/a,/b", "'/a,/b' holds a comma, which would end the mount; write every mount as an item of its own"),
        ("/a:/b:ro:rw", "'/a:/b:ro:rw' has more than three parts; write SRC, SRC:DST or SRC:DST:FLAGS, paths without a colon"),
        ("/a:/b:", "'/a:/b:' ends in no flags; write them joined by a plus, as in ro+nosuid"),
        ("/a:/b:ro+", "'/a:/b:ro+' ends in no flags; write them joined by a plus, as in ro+nosuid"),
        ("/$(id)", "'/$(id)' holds '$', which a shell on the node would expand; choose a path without it"),
        ("/`id`", "'/`id`' holds '`', which a shell on the node would expand; choose a path without it"),
        ('/"', "'/\"' holds '\"', which a shell on the node would expand; choose a path without it"),
        ("/a\\b", "'/a\\\\b' holds '\\\\', which a shell on the node would expand; choose a path without it"),
        ("/a\nb", "holds a line break; write it on one line"),
    ],
)  # fmt: skip
def test_what_is_no_mount(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        parse_mount(text)
    assert str(caught.value) == message
