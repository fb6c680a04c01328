#!/usr/bin/env bash
# Exit 0 if a cluster can run on this machine; otherwise one line on stdout says why not, and the exit status is 1.
# can.sh [DIRECTORY]: where the state is to lie (default: where it lies by default)
set -u

cannot() {
    echo "$*"
    exit 1
}

[[ $UID == 0 ]] || cannot "the cluster needs root, for namespaces and mounts"
[[ -x $(command -v apt-get) && -e /etc/debian_version ]] || cannot "the cluster needs Debian, for its Slurm packages"

# A host's root is an overlay of the machine's and a container's /usr one of the host's; the kernel stacks two at most.
where=${1:-/var/tmp}
while [[ ! -d $where ]]; do
    where=$(dirname "$where")
done
[[ $(stat --file-system --format=%T "$where") != overlayfs ]] ||
    cannot "$where lies on an overlayfs, which takes no white-outs; set CLUSTER_STATE to a directory elsewhere"
try=$(mktemp -d)
why=$(unshare --mount --uts --ipc --net --pid --fork bash -ec '
    mount -t tmpfs none "$1"
    mkdir "$1"/{upper,work,root,upper2,work2,root2}
    mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" none "$1/root"
    mount -t overlay -o "lowerdir=$1/root/usr,upperdir=$1/upper2,workdir=$1/work2" none "$1/root2"
    if command -v ip >/dev/null; then
        ip link add br0 type bridge
        ip link add v0 type veth peer name v1
    fi' - "$try" 2>&1)
status=$?
rmdir "$try"
[[ $status == 0 ]] || cannot "the kernel refuses namespaces, overlays or bridges here: ${why//$'\n'/; }"
