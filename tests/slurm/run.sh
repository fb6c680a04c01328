#!/usr/bin/env bash
# run.sh [PYTEST ARGUMENT...]: brings a cluster up, runs the tests of this directory on it, and takes it down again
# without a trace, however they ended. With KEEP=1 it stays up for a look.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

take_down() {
    if [[ ${KEEP:-} ]]; then
        echo "kept: CLUSTER_STATE=$CLUSTER_STATE"
    else
        "$here/cluster/down.sh" --purge
    fi
}

# A state directory of its own, so that it does not touch a cluster that is up already.
CLUSTER_STATE=$(mktemp -d "${TMPDIR:-/var/tmp}/gymsubmit-cluster.XXXXXX")
export CLUSTER_STATE
if ! reason=$("$here/cluster/can.sh" "$CLUSTER_STATE"); then
    rmdir "$CLUSTER_STATE"
    echo "skipped: $reason"
    exit 0
fi
trap take_down EXIT
"$here/cluster/up.sh"
# A file's tests stay together: they have images and waits in common.
pytest --dist=loadfile "$@" "$here"
