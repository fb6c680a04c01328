"""The values that a plan is made of.

A plan holds words, never command lines: one Word becomes one argument (or one value of a variable), whatever it
holds. A value that is known only on the cluster stays a typed value until a template writes it, so that
`Secret("A")` is never taken for the text "A". Only `gymsubmit.render.shell` turns a Word into shell text.
"""

from pathlib import PurePosixPath

from gymsubmit.frozen import Frozen


class RuntimeEnv(Frozen):
    """What the variable `name` holds in the environment of the batch script."""

    name: str


class Secret(Frozen):
    """The value of the submitting machine's variable `name`; it travels in secrets.env alone."""

    name: str


class NodeHost(Frozen):
    """Host name of the allocation's node `index` (from 0, in the allocation's order)."""

    index: int


class NodeAddress(Frozen):
    """The address that other nodes dial to reach node `index`; never a loopback one."""

    index: int


class NodeUrl(Frozen):
    """The start of a URL on node `index`: `http://ADDRESS:PORT`, an IPv6 address in brackets."""

    index: int
    port: int


class NodeEndpoint(Frozen):
    """`ADDRESS:PORT` on node `index`, an IPv6 address in brackets."""

    index: int
    port: int


class OwnAddress(Frozen):
    """The address that other nodes dial to reach the node this task runs on."""


class PoolHosts(Frozen):
    """The hosts of a node pool, comma-separated, as one word; `variable` is the exported variable that holds them."""

    variable: str


class AllHosts(Frozen):
    """The hosts of the whole allocation, comma-separated, as one word."""


class RankOffset(Frozen):
    """`per_node` times this task's node number within its step (from 0)."""

    per_node: int


class UserShell(Frozen):
    """Shell text that the user wrote. Carried untouched; the only shell text a plan may hold."""

    text: str


Word = (
    str
    | int
    | PurePosixPath
    | RuntimeEnv
    | Secret
    | NodeHost
    | NodeAddress
    | NodeUrl
    | NodeEndpoint
    | OwnAddress
    | PoolHosts
    | AllHosts
    | RankOffset
    | UserShell
    | tuple["Word", ...]
)
"""One argument or value. A tuple is its parts joined without a separator."""
