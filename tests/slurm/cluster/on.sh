#!/usr/bin/env bash
# on.sh [-u USER] [-d DIRECTORY] HOST [COMMAND...]: runs a command (default: bash) on a host, as root or as USER, in
# DIRECTORY or in the user's home
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

user=root
directory=
while getopts u:d: option; do
    case $option in
    u) user=$OPTARG ;;
    d) directory=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
host=${1:?which host?}
shift
(($#)) || set -- bash

if [[ $user == root ]]; then
    in_host "$host" bash -ec 'cd "$1"; shift; exec "$@"' - "${directory:-/root}" "$@"
else
    in_host "$host" bash -ec '
        user=$1 directory=$2
        shift 2
        home=$(getent passwd "$user" | cut -d: -f6)
        cd "${directory:-$home}"
        exec env HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash PATH=/usr/local/bin:/usr/bin:/bin \
            setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"' - "$user" "$directory" "$@"
fi
