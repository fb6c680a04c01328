"""Spellings of container images."""

import pytest

from gymsubmit.config.images import apptainer_image, pyxis_image

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "pyxis", "apptainer"),
    [
        ("/images/x.sqsh", "/images/x.sqsh", "/images/x.sqsh"),
        ("/a b/x", "/a b/x", "/a b/x"),
        ("python:3.12", "python:3.12", "docker://python:3.12"),
        ("ubuntu", "ubuntu", "docker://ubuntu"),
        ("org/img:Tag_1.0", "org/img:Tag_1.0", "docker://org/img:Tag_1.0"),
        ("nvcr.io/a/b:t", "nvcr.io#a/b:t", "docker://nvcr.io/a/b:t"),
        ("nvcr.io#a/b:t", "nvcr.io#a/b:t", "docker://nvcr.io/a/b:t"),
        ("docker://nvcr.io/a/b:t", "nvcr.io#a/b:t", "docker://nvcr.io/a/b:t"),
        ("docker://nvcr.io#a/b:t", "nvcr.io#a/b:t", "docker://nvcr.io/a/b:t"),
        ("docker://python:3.12", "python:3.12", "docker://python:3.12"),
        ("docker.io/library/python:3.12", "library/python:3.12", "docker://library/python:3.12"),
        ("docker.io#org/img", "org/img", "docker://org/img"),
        ("localhost:5000/img:t", "localhost:5000#img:t", "docker://localhost:5000/img:t"),
        ("localhost/img", "localhost#img", "docker://localhost/img"),
        (
            "registry.example.com:5050/a/b/c",
            "registry.example.com:5050#a/b/c",
            "docker://registry.example.com:5050/a/b/c",
        ),
        ("$oauthtoken@nvcr.io#a/b:t", "$oauthtoken@nvcr.io#a/b:t", "docker://nvcr.io/a/b:t"),
        ("$oauthtoken@nvcr.io/a/b:t", "$oauthtoken@nvcr.io#a/b:t", "docker://nvcr.io/a/b:t"),
        (f"nvcr.io/a/b@{DIGEST}", f"nvcr.io#a/b@{DIGEST}", f"docker://nvcr.io/a/b@{DIGEST}"),
        (f"python@{DIGEST}", f"python@{DIGEST}", f"docker://python@{DIGEST}"),
        ("org/a__b.c-d", "org/a__b.c-d", "docker://org/a__b.c-d"),
    ],
)
def test_each_runtime_is_given_its_own_spelling(text: str, pyxis: str, apptainer: str) -> None:
    assert pyxis_image(text) == pyxis
    assert apptainer_image(text) == apptainer
    assert pyxis_image(pyxis) == pyxis
    assert pyxis_image(apptainer) in {pyxis, pyxis.removeprefix("$oauthtoken@")}


@pytest.mark.parametrize("text", ["./x.sqsh", "../x", "images/x.sqsh", "x.sif", "~/x.sqsh", ".hidden/x"])
def test_a_relative_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is a relative path") as caught:
        pyxis_image(text)
    assert str(caught.value) == f"{text!r} is a relative path; write the absolute path of the image, beginning with /"


@pytest.mark.parametrize(
    "text", ["Org/Img", "a b", "img:", "img:a b", "a//b", "nvcr.io#", "nvcr.io/", "a#b#c", "img@sha256:00", "-x"]
)
def test_what_no_registry_has_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no image") as caught:
        pyxis_image(text)
    assert str(caught.value) == (
        f"{text!r} is no image; write an absolute path, or a registry image such as nvcr.io/org/name:tag"
    )


def test_another_transport_is_refused() -> None:
    with pytest.raises(ValueError, match="oras") as caught:
        apptainer_image("oras://ghcr.io/a/b:t")
    assert str(caught.value) == (
        "'oras://ghcr.io/a/b:t' comes by oras://, which is not supported; write docker://NAME, or an absolute path"
    )
