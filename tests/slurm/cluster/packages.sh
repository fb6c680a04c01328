#!/usr/bin/env bash
# Installs the Debian packages that the cluster needs and this machine lacks. None of their services is started.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PACKAGES=(
    slurmctld slurmd slurm-client slurmdbd slurm-wlm-mysql-plugin mariadb-server munge
    openssh-server openssh-client rsync socat iproute2 procps curl
    gcc libc6-dev libslurm-dev python3 python3-venv
)

# missing: those that are not installed, one a line
missing() {
    comm -13 \
        <(dpkg-query --show --showformat='${db:Status-Abbrev} ${Package}\n' "${PACKAGES[@]}" 2>/dev/null |
            awk '$1 == "ii" { print $2 }' | sort) \
        <(printf '%s\n' "${PACKAGES[@]}" | sort)
}

apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

install_missing() {
    local packages policy=/usr/sbin/policy-rc.d log
    mapfile -t packages < <(missing)
    ((${#packages[@]})) || return 0
    echo "installing ${packages[*]}"
    log=$(mktemp)
    if [[ ! -e $policy ]]; then
        # The daemons are to run in the hosts, not on the machine.
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    if ! { apt update && apt install --yes --no-install-recommends "${packages[@]}"; } >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        die "apt-get failed; its whole output is in $log"
    fi
    rm -f "$log"
}

# One installation at a time: the second finds nothing missing, and must not lose the first one's policy-rc.d.
exec 9</usr/sbin
flock 9
install_missing
