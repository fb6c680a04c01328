# shellcheck shell=bash disable=SC2034  # the settings are used by the scripts that source this file
# Settings and helpers of the cluster's scripts, which source it. A setting is an environment variable that up.sh reads;
# what the cluster came up with is kept in its state directory, and there the other scripts find it.
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
STATE=${CLUSTER_STATE:-/var/tmp/gymsubmit-cluster-$UID}   # all that a running cluster writes outside of its hosts
CACHE=${CLUSTER_CACHE:-/var/cache/gymsubmit-cluster}      # virtual environments (venv.sh), kept from run to run

# strip: the words of a list, one a line
strip() { tr -s ' ' '\n' <<<"$1" | sed '/^$/d'; }

mapfile -t NODES < <(strip "${CLUSTER_NODES:-n1 n2 n3 n4 n5 n6 n7 n8}")  # compute nodes
mapfile -t USERS < <(strip "${CLUSTER_USERS:-alice:2001 bob:2002}")    # NAME:UID
mapfile -t BINDS < <(strip "${CLUSTER_BINDS:-}")                       # more that every host sees: SOURCE:TARGET[:ro]
LOGIN=login                              # the host of slurmctld, slurmdbd, MariaDB and sshd
SUBNET=10.77.0                           # between the hosts; it exists only in their network namespaces
FAST_SUBNET=10.78.0                      # between the nodes, on their interface ib0
SSH_PORT=${CLUSTER_SSH_PORT:-}           # on 127.0.0.1 of the machine; by default the first free one from 2222 on
CPUS=${CLUSTER_CPUS:-32}                 # of a node; claimed, whatever the machine has
MEM=${CLUSTER_MEM:-256000}               # of a node in MB, claimed too
SCRATCH=4m                               # size of /scratch, a file system that fills up
GPUS=${CLUSTER_GPUS:-8}                  # of a node, fake
BOX_ARGS=${CLUSTER_BOX_ARGS:-}           # more arguments of the container plugin, see box/plugin.c
SLURM_CONF_EXTRA=${CLUSTER_SLURM_CONF_EXTRA:-}                         # lines added to slurm.conf

SETTINGS=(NODES USERS BINDS SSH_PORT CPUS MEM GPUS BOX_ARGS SLURM_CONF_EXTRA)
if [[ -e $STATE/settings && ${0##*/} != up.sh ]]; then
    # shellcheck source=/dev/null
    . "$STATE/settings"
fi
HOSTS=("$LOGIN" "${NODES[@]}")

die() {
    echo "cluster: $*" >&2
    exit 1
}

# A process is recorded as "PID STARTTIME", so that another one which got its number is never killed.
# start_time PID: empty if it is gone, or dead and not yet reaped
start_time() {
    local fields
    fields=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) || return 0
    [[ $fields == Z* ]] || cut -d' ' -f20 <<<"$fields"
}

# record NAME PID
record() {
    echo "$2 $(start_time "$2")" >"$STATE/pids/$1"
}

# pid_of NAME: fails if that process is gone
pid_of() {
    local pid start
    read -r pid start 2>/dev/null <"$STATE/pids/$1" || return 1
    [[ -n $start && $(start_time "$pid") == "$start" ]] && echo "$pid"
}

# in_host HOST COMMAND...: as root in all namespaces of a host, in a clean environment
in_host() {
    local pid
    pid=$(pid_of "$1") || die "host $1 is not up"
    nsenter --target "$pid" --mount --uts --ipc --net --pid --root --wd -- env --ignore-environment \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" "${@:2}"
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
    local end=$((SECONDS + $1))
    until "${@:2}" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}
