#!/usr/bin/env bash
# node.sh crash NODE: ends slurmd, its steps and their processes unasked, as a machine that is lost, and says so to
#                     Slurm, which would else notice it after SlurmdTimeout
# node.sh start NODE: starts slurmd again, as a machine that comes back
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ ${1:-} == @(crash|start) && " ${NODES[*]} " == *" ${2:-} "* ]] || {
    sed -n '2,4s/^# \?//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
node=$2

if [[ $1 == crash ]]; then
    # All but PID 1, munged and what was sent into the host from outside, which has no parent there.
    in_host "$node" bash -c '
        while read -r pid parent name; do
            [[ $pid == 1 || $parent == 0 || $parent == "$$" || $name == munged ]] || kill -KILL "$pid" 2>/dev/null
        done < <(ps -e -o pid=,ppid=,comm=)
        true'
    in_host "$LOGIN" scontrol update nodename="$node" state=down reason=crashed
else
    in_host "$node" bash -c 'rm -rf /run/box/*; pgrep -x slurmd >/dev/null || slurmd'
    # Refused where the node's registration has done it already (ReturnToService).
    in_host "$LOGIN" scontrol update nodename="$node" state=resume 2>/dev/null || true
fi
