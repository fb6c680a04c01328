#!/usr/bin/env bash
# Fills the state directory: keys, users, Slurm's configuration, the container plugin and the image "base".
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

make_directories() {
    mkdir -p "$STATE"/{pids,conf,home,shared,scratch,images,box,boxlog,ssh,log,mnt}
    chmod 755 "$STATE" "$STATE"/*/
    chmod 1777 "$STATE/shared"
    mount -t tmpfs -o "size=$SCRATCH,mode=1777" scratch "$STATE/scratch"
    chmod 700 "$STATE/ssh"
}

make_keys() {
    (umask 077 && head --bytes=128 /dev/urandom >"$STATE/conf/munge.key")
    ssh-keygen -q -t ed25519 -N '' -C cluster -f "$STATE/ssh/host_ed25519"
    ssh-keygen -q -t ed25519 -N '' -C user -f "$STATE/ssh/id_ed25519"
}

make_users() {
    local user name uid home
    for user in "${USERS[@]}"; do
        IFS=: read -r name uid <<<"$user"
        home=$STATE/home/$name
        echo "$name:x:$uid:$uid:$name:/home/$name:/bin/bash" >>"$STATE/conf/passwd"
        echo "$name:x:$uid:" >>"$STATE/conf/group"
        install -d -o "$uid" -g "$uid" -m 755 "$home"
        install -d -o "$uid" -g "$uid" -m 700 "$home/.ssh"
        install -o "$uid" -g "$uid" -m 600 "$STATE/ssh/id_ed25519.pub" "$home/.ssh/authorized_keys"
    done
}

make_hosts() {
    local number=10 host
    for host in "${HOSTS[@]}"; do
        echo "$SUBNET.$number $host"
        number=$((number + 1))
    done >"$STATE/conf/hosts"
}

make_configuration() {
    local file nodes
    nodes=$(IFS=, && echo "${NODES[*]}")
    for file in slurm.conf slurmdbd.conf my.cnf sshd_config; do
        sed "s|@LOGIN@|$LOGIN|g; s|@NODES@|$nodes|g; s|@CPUS@|$CPUS|g; s|@MEM@|$MEM|g; s|@GPUS@|$GPUS|g" \
            "$HERE/conf/$file.in" >"$STATE/conf/$file"
    done
    echo "$SLURM_CONF_EXTRA" >>"$STATE/conf/slurm.conf"
    if ((GPUS)); then
        echo "NodeName=$nodes Name=gpu File=/dev/nvidia[0-$((GPUS - 1))]" >"$STATE/conf/gres.conf"
    else
        : >"$STATE/conf/gres.conf"
        sed -i 's/ Gres=gpu:0//' "$STATE/conf/slurm.conf"
    fi
    echo "CgroupPlugin=cgroup/v1" >"$STATE/conf/cgroup.conf"
    echo "required /opt/box/box.so images=/opt/images log=/var/log/box/steps.jsonl $BOX_ARGS" \
        >"$STATE/conf/plugstack.conf"
}

make_plugin() {
    gcc -std=gnu11 -O1 -g -Wall -Wextra -Wno-unused-parameter -fPIC -fvisibility=hidden -shared \
        -o "$STATE/box/box.so" "$HERE"/box/*.c
    : >"$STATE/boxlog/steps.jsonl"
    chmod 644 "$STATE/boxlog/steps.jsonl"
}

make_directories
make_keys
make_users
make_hosts
make_configuration
make_plugin
"$HERE/mkimage.sh" --mask
"$HERE/mkimage.sh" base >/dev/null
