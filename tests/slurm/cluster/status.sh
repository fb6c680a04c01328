#!/usr/bin/env bash
# Exit 0 only if every host and every daemon is there and every node is usable.
set -u
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
status=0

bad() {
    echo "$*"
    status=1
}

for name in "${HOSTS[@]}" relay; do
    pid_of "$name" >/dev/null || bad "$name is down"
done
((status == 0)) || exit 1
for host in "${HOSTS[@]}"; do
    daemons=(munged slurmd)
    [[ $host != "$LOGIN" ]] || daemons=(munged mariadbd slurmdbd slurmctld sshd)
    for daemon in "${daemons[@]}"; do
        in_host "$host" pgrep -x "$daemon" >/dev/null || bad "$host: $daemon is not running"
    done
done
in_host "$LOGIN" sinfo -N -o '%N %P %T %C %m %G' || status=1
! in_host "$LOGIN" sinfo -h -N -t down,drain,fail,unknown -o %N | grep -q . || status=1
exit "$status"
