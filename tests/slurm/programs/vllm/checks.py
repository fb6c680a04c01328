"""What vLLM refuses once its command line has been parsed, and what the command line makes of this process.

The rules and messages are those of vLLM 0.33: vllm/entrypoints/cli/serve.py, vllm/entrypoints/common/cli_args.py,
`create_engine_config` in vllm/engine/arg_utils.py and vllm/config/parallel.py. A refusal is an exception that nobody
catches, as there: a traceback and status 1.
"""

import re
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from vllm.args import flags

RPC_PORT = 29550
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Layout:
    """What this process is among those that serve one model.

    `ranks` are its own of `size` in all: data-parallel ranks, or nodes with --nnodes. `first` awaits the others at
    `address` and `port`; they are headless, unless the load is balanced `outside`. `devices` is how many it needs of
    its own node, none where Ray gives them. `api_servers` is 0 for a headless process.
    """

    ranks: range
    size: int
    first: bool
    outside: bool
    address: str
    port: int
    devices: int
    world_size: int
    ray: bool
    api_servers: int

    @property
    def alone(self) -> bool:
        return len(self.ranks) == self.size

    @property
    def serves(self) -> bool:
        return self.api_servers > 0


def check_options(args: Namespace) -> None:
    """`validate_parsed_serve_args`."""
    template = args.chat_template
    if template is not None and not any(letter in template for letter in "{}\n") and not Path(template).exists():
        raise ValueError(f"The supplied chat template string ({template}) appears path-like, but doesn't exist!")
    if args.enable_auto_tool_choice and not args.tool_call_parser:
        raise TypeError("Error: --enable-auto-tool-choice requires --tool-call-parser")
    if args.enable_log_outputs and not args.enable_log_requests:
        raise TypeError("Error: --enable-log-outputs requires --enable-log-requests")
    if args.sse_keep_alive_interval < 0:
        raise ValueError("Error: --sse-keep-alive-interval must be a non-negative integer (0 disables it).")
    if args.headless and args.api_server_count:
        raise ValueError(
            f"--api-server-count={args.api_server_count} cannot be used with --headless "
            "(no API servers are started in headless mode)."
        )
    for name in ("config", "grpc", "uds", "ssl_certfile", "data_parallel_multi_port_external_lb"):
        if getattr(args, name):
            raise NotImplementedError(f"--{name.replace('_', '-')}: the stand-in does not play it")


def check_parsers(args: Namespace) -> None:
    """`validate_api_server_args`, which a headless process does not do. A plugin may bring any name."""
    for kind, name, plugin in (
        ("tool call", args.enable_auto_tool_choice and args.tool_call_parser, args.tool_parser_plugin),
        ("reasoning", args.reasoning_parser, args.reasoning_parser_plugin),
    ):
        known = flags()["tool_parsers" if kind == "tool call" else "reasoning_parsers"]
        if name and not plugin and name not in known:
            raise KeyError(f"invalid {kind} parser: {name} (chose from {{ {','.join(known)} }})")


def check_model(model: str) -> None:
    """A directory with a configuration, or what may be a repository; whether that exists is not looked up."""
    there = any((Path(model) / name).is_file() for name in ("config.json", "params.json"))
    if not there and not re.fullmatch(r"[\w.-]+(/[\w.-]+)?|\w+://.+", model):
        raise ValueError(
            f"Invalid repository ID or local directory specified: '{model}'.\n"
            "Please verify the following requirements:\n1. Provide a valid Hugging Face repository ID.\n"
            "2. Specify a local directory that contains a recognized configuration file."
        )


def _modes(args: Namespace) -> tuple[bool, bool]:
    """Whether the load is balanced outside of vLLM, and whether outside between nodes and inside within one."""
    external = args.data_parallel_external_lb or args.data_parallel_rank is not None
    hybrid = args.data_parallel_hybrid_lb or (args.data_parallel_start_rank is not None and not args.headless)
    if external and (args.data_parallel_hybrid_lb or args.data_parallel_start_rank is not None):
        raise ValueError(
            "Cannot use more than one data parallel load balancing mode. Choose one of: "
            "--data-parallel-multi-port-external-lb, --data-parallel-external-lb (or --data-parallel-rank), "
            "--data-parallel-hybrid-lb (or --data-parallel-start-rank)."
        )
    if args.headless and args.data_parallel_hybrid_lb:
        raise ValueError("data_parallel_hybrid_lb is not applicable in headless mode")
    return external, hybrid


def _local_size(args: Namespace, external: bool, hybrid: bool) -> int:
    size, local = args.data_parallel_size, args.data_parallel_size_local
    launch = "Invalid data-parallel launch options: "
    if external:
        if args.data_parallel_rank is None:
            raise ValueError(
                f"{launch}`--data-parallel-external-lb` requires a data-parallel rank. Set `--data-parallel-rank`."
            )
        if local not in {1, None}:
            raise ValueError(
                f"{launch}an external data-parallel rank requires `--data-parallel-size-local 1`; got {local}. "
                "Set it to 1 or omit it."
            )
        return 1
    if local is None and hybrid and args.data_parallel_hybrid_lb:
        raise ValueError(
            f"{launch}`--data-parallel-hybrid-lb` requires `--data-parallel-size-local`. "
            "Set it to the number of data-parallel ranks on this node."
        )
    local = size if local is None else int(local)
    if local > size:
        raise ValueError(f"data_parallel_size_local ({local}) must be <= data_parallel_size ({size})")
    if local <= 0 and args.headless:
        raise ValueError("data_parallel_size_local must be > 0 in headless mode")
    return local


def _over_nodes(args: Namespace, world_size: int) -> Layout:
    """One instance over nodes without Ray: --nnodes."""
    launch = "Invalid data-parallel launch options: "
    if args.data_parallel_size > 1:
        raise NotImplementedError("--nnodes with --data-parallel-size: the stand-in does not play it")
    if world_size % args.nnodes:
        raise ValueError(
            f"{launch}`--nnodes {args.nnodes}` must evenly divide the total world size ({world_size}). "
            "Adjust `--nnodes`, `--data-parallel-size`, `--pipeline-parallel-size`, `--tensor-parallel-size`, or "
            "`--prefill-context-parallel-size`."
        )
    if not 0 <= args.node_rank < args.nnodes:
        raise ValueError(
            f"{launch}`--node-rank` must be between 0 and {args.nnodes - 1}; got `--node-rank {args.node_rank}`. "
            "Set it to this node's zero-based index."
        )
    if args.distributed_executor_backend not in {None, "mp", "uni", "external_launcher"}:
        raise ValueError(
            "nnodes > 1 can only be set when distributed executor backend is mp, uni or external_launcher."
        )
    return Layout(
        ranks=range(args.node_rank, args.node_rank + 1),
        size=args.nnodes,
        first=args.node_rank == 0,
        outside=False,
        address=args.master_addr,
        port=args.master_port,
        devices=world_size // args.nnodes,
        world_size=world_size,
        ray=False,
        api_servers=0 if args.headless else 1,
    )


def layout_of(args: Namespace) -> Layout:
    """What this process is; ValueError for options that do not add up."""
    check_options(args)
    external, hybrid = _modes(args)
    world_size = args.tensor_parallel_size * args.pipeline_parallel_size * args.prefill_context_parallel_size
    if world_size < 1 or args.data_parallel_size < 1:
        raise ValueError("1 validation error for ParallelConfig\n  Input should be greater than or equal to 1")
    if args.nnodes > 1:
        return _over_nodes(args, world_size)
    backend = args.distributed_executor_backend
    if backend not in {None, "ray", "mp", "uni", "external_launcher"} and "." not in backend:
        raise ValueError(
            f"Unrecognized distributed executor backend {backend}. Supported values are 'ray', 'mp' 'uni', "
            "'external_launcher', custom Executor subclass or its import path."
        )
    local = _local_size(args, external, hybrid)
    start = args.data_parallel_rank if external else args.data_parallel_start_rank or 0
    if not 0 <= start < args.data_parallel_size:
        raise ValueError(f"data_parallel_rank ({start}) must be in the range [0, {args.data_parallel_size})")
    api_servers = args.api_server_count
    if args.headless:
        api_servers = 0
    elif api_servers is None:
        api_servers = 1 if external else local or 1 if hybrid else args.data_parallel_size
    return Layout(
        ranks=range(start, start + local),
        size=args.data_parallel_size,
        first=start == 0 and not args.headless,
        outside=external or hybrid,
        address=args.data_parallel_address or args.master_addr or LOOPBACK,
        port=args.data_parallel_rpc_port or RPC_PORT,
        devices=0 if backend == "ray" else local * world_size,
        world_size=world_size,
        ray=backend == "ray",
        api_servers=api_servers,
    )
