#!/usr/bin/env bash
# mkimage.sh IMAGE [-e NAME=VALUE]... [-w DIRECTORY] [-m SOURCE:TARGET]... [-f PATH=SOURCE]... [-l PATH=SOURCE]... [-x PATH]...
#   makes, or replaces, the stand-in for container image IMAGE:
#   -e  variable that the image defines       -w  the image's working directory (default /)
#   -f  put a copy of SOURCE at PATH          -l  the same by hard links, for large trees that nobody changes
#   -m  what every container of the image has mounted
#   -x  path of the host below /usr or /etc that the image does not have
# mkimage.sh --mask: makes the layer that hides Slurm from every image
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
    sed -n '2,/^set/{/^set/d; s/^# \?//p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}

# hide PATH...: by overlayfs white-outs
hide() {
    local path
    for path; do
        mkdir -p "$STATE/images/.mask$(dirname "$path")"
        mknod "$STATE/images/.mask$path" c 0 0
    done
}

make_mask() {
    hide /usr/bin/{sacct,sacctmgr,salloc,sattach,sbatch,sbcast,scancel,scontrol,sdiag,sinfo,sprio,squeue,sreport,srun} \
        /usr/bin/{sshare,sstat,strigger} \
        /usr/sbin/{slurmd,slurmctld,slurmdbd,slurmstepd,slurmd-wlm,slurmctld-wlm,slurmstepd-wlm,munged} \
        /etc/{slurm,munge}
}

# add PATH=SOURCE CP_OPTION...
add() {
    local path=${1%%=*} source=${1#*=}
    mkdir -p "$new/rootfs$(dirname "$path")"
    cp -a "${@:2}" "$source" "$new/rootfs$path"
}

if [[ ${1:-} == --mask ]]; then
    make_mask
    exit 0
fi
image=${1:-}
[[ $image && $image != -* ]] || usage
shift
name=$(tr -c 'A-Za-z0-9._+\n-' _ <<<"${image#docker://}")
new=$(mktemp -d "$STATE/images/.image.XXXXXX")
trap 'rm -rf "$new"' ERR
mkdir "$new/rootfs"
touch "$new"/{env,hide,mounts}
echo "$image" >"$new/name"
while getopts e:w:m:f:l:x: option; do
    case $option in
    e) echo "$OPTARG" >>"$new/env" ;;
    w)
        echo "$OPTARG" >"$new/workdir"
        mkdir -p "$new/rootfs$OPTARG"
        ;;
    m) echo "$OPTARG" >>"$new/mounts" ;;
    f) add "$OPTARG" ;;
    # A hard link cannot cross file systems.
    l) add "$OPTARG" --link 2>/dev/null || add "$OPTARG" ;;
    x) echo "$OPTARG" >>"$new/hide" ;;
    *) usage ;;
    esac
done
chmod -R a+rX "$new"
# The name is a link, replaced in one go: no step finds half an image, and one that runs keeps the image it has.
ln -s "${new##*/}" "$new.link"
mv -T "$new.link" "$STATE/images/$name"
echo "$STATE/images/$name"
