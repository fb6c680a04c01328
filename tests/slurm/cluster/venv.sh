#!/usr/bin/env bash
# venv.sh REQUIREMENT...: prints the directory of a virtual environment that holds these packages, for all hosts and,
# put in by mkimage.sh -l, for images. It is made once and kept in CLUSTER_CACHE, read-only for the hosts; its path is the
# same in every one of them. The Python is Debian's, since hosts and images have no other.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

(($#)) || die "venv.sh: which packages?"
mkdir -p "$CACHE"
exec 9<"$CACHE"
flock 9
key=$({ /usr/bin/python3 --version && printf '%s\n' "$@"; } | sha256sum | cut -c1-12)
directory=$CACHE/venv-$key
if [[ ! -e $directory/complete ]]; then
    rm -rf "$directory"
    /usr/bin/python3 -m venv "$directory"
    "$directory/bin/pip" install --quiet --quiet "$@" >&2
    chmod -R a+rX "$directory"
    touch "$directory/complete"
fi
echo "$directory"
