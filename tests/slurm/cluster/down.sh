#!/usr/bin/env bash
# Stops what up.sh started, by recorded process. With --purge the state directory goes too, and nothing is left.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# gone NAME
gone() {
    ! pid_of "$1"
}

# stop NAME: the end of PID 1 of a PID namespace is the end of all that runs in that host
stop() {
    local pid
    if pid=$(pid_of "$1"); then
        # The relay has a process for each connection, in its process group.
        kill -KILL "$([[ $1 == relay ]] && echo "-$pid" || echo "$pid")" 2>/dev/null || true
        wait_for 10 gone "$1" || die "$1 (process $pid) does not end"
    fi
    rm -f "$STATE/pids/$1"
}

for file in "$STATE"/pids/*; do
    [[ ! -e $file ]] || stop "${file##*/}"
done
! mountpoint --quiet "$STATE/scratch" || umount "$STATE/scratch"
if [[ ${1:-} == --purge ]]; then
    # Only what is a cluster's state is removed, whatever CLUSTER_STATE says.
    if [[ -e $STATE/settings ]]; then
        rm -rf --one-file-system "$STATE"
    fi
    for directory in "$STATE" "$CACHE"; do
        [[ ! -d $directory ]] || rmdir --ignore-fail-on-non-empty "$directory"
    done
fi
echo "down"
