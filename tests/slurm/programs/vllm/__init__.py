"""A stand-in for vLLM: it takes what vLLM takes, refuses what vLLM refuses, and has no model.

Real are the command line (args.py, by the options of a release), the refusals (checks.py), ports that are taken before
the model loads and listened at after, ranks that wait for each other over TCP (ranks.py), GPUs that two servers of a
node cannot fill (devices.py), Ray (ray_workers.py), NIXL's side channels (kv.py), and the lines, answers and exit
statuses. Played are the answers' words, the time that things take, and what goes wrong (faults.py). It is one process
where vLLM is several. Missing are --config, --uds, gRPC, TLS, --nnodes with data parallel, LoRA, tools, other commands
than `serve`, and all that is found out by loading a model.

Settings: STAND_IN_FAULTS (faults.py), STAND_IN_RECORDS (records.py), STAND_IN_..._SECONDS (serve.py).

Needs Python 3.11 and nothing else; `vllm/vllm` runs wherever this directory and records.py lie beside each other.
"""
