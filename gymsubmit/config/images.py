"""Container images: how users spell them, and how each runtime does."""

import re
from typing import Annotated

from gymsubmit.config.base import Check, wrong
from gymsubmit.config.names import check_filled_line

_SCHEME = "docker://"
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_FILE = re.compile(r"[.~]|.*\.(sqsh|sqfs|squashfs|sif|img|tar)\Z", re.DOTALL)
# The parts of distribution/reference's grammar, and enroot's USER@ and REGISTRY# in front.
_USER = r"(?:(?P<user>[^@/#\s]+)@(?!sha[0-9]+:))?"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?|\[[0-9A-Fa-f:]+\](?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_VERSION = r"(?P<version>(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z0-9_+.-]+:[0-9a-fA-F]{32,})?)"
_REGISTRY_IMAGE = re.compile(rf"{_USER}(?:(?P<host>{_HOST})#)?(?P<name>{_PART}(?:/{_PART})*){_VERSION}")
_HOST_FIRST = re.compile(rf"{_USER}(?P<host>{_HOST})/(?P<rest>[^#]+)")
_DOCKER_HUB = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"})


def pyxis_image(text: str) -> str:
    """`text` as Pyxis takes it: an absolute path, or `[USER@][REGISTRY#]NAME[:TAG]`.

    Pyxis looks `nvcr.io/a/b` up on Docker Hub, where nobody wanted it to. Images of Docker Hub stand without registry.

    Raises:
        PydanticCustomError: (a ValueError) `text` is neither an absolute path nor a registry image.
    """
    if text.startswith("/"):
        return text
    user, host, rest = _registry_image(text)
    return f"{user}@" * bool(user) + f"{host}#" * bool(host) + rest


def apptainer_image(text: str) -> str:
    """`text` as Apptainer takes it: an absolute path, or `docker://[REGISTRY/]NAME[:TAG]`.

    Raises:
        PydanticCustomError: (a ValueError) `text` is neither an absolute path nor a registry image.
    """
    if text.startswith("/"):
        return text
    _, host, rest = _registry_image(text)
    return _SCHEME + f"{host}/" * bool(host) + rest


def check_image(text: str) -> str:
    """Return `text` if it is an absolute path or a registry image; raise otherwise."""
    check_filled_line(text)
    pyxis_image(text)
    return text


def _registry_image(text: str) -> tuple[str, str, str]:
    """User, registry (empty for Docker Hub) and the rest of a registry image."""
    bare = text.removeprefix(_SCHEME)
    if other := _OTHER_SCHEME.match(bare):
        message = f"{text!r} comes by {other[0]}, which is not supported; write {_SCHEME}NAME, or an absolute path"
        raise wrong(message)
    if text == bare and _FILE.match(text):
        message = f"{text!r} is a relative path; write the absolute path of the image, beginning with /"
        raise wrong(message)
    # As docker tells a registry from the first part of a name: by a dot, a port, or as localhost.
    if "#" not in bare and (first := _HOST_FIRST.fullmatch(bare)):
        host = first["host"]
        if "." in host or ":" in host or host == "localhost":
            user = f"{first['user']}@" if first["user"] else ""
            bare = f"{user}{host}#{first['rest']}"
    if not (match := _REGISTRY_IMAGE.fullmatch(bare)):
        message = f"{text!r} is no image; write an absolute path, or a registry image such as nvcr.io/org/name:tag"
        raise wrong(message)
    host = match["host"] or ""
    if host in _DOCKER_HUB:
        host = ""
    return match["user"] or "", host, match["name"] + match["version"]


Image = Annotated[str, Check(check_image)]
