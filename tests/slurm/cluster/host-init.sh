#!/usr/bin/env bash
# PID 1 of a host, started in fresh mount, UTS, IPC, PID and network namespaces: builds the host's root (an overlay, the
# machine's files below and a tmpfs above), moves into it and then only reaps orphans. $1 is the host's name.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
host=$1
base=$STATE/mnt
root=$base/root

make_root() {
    mount --make-rprivate /
    mount -t tmpfs -o size=4g,mode=755 "$host" "$base"
    mkdir "$base"/{upper,work,root}
    mount -t overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work,index=off,metacopy=off" overlay "$root"
}

make_devices() {
    local device name major minor number
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
        IFS=: read -r name major minor <<<"$device"
        mknod -m 666 "$root/dev/$name" c "$major" "$minor"
    done
    if [[ $host != "$LOGIN" ]]; then
        # A GPU is a /dev/null by another name.
        for ((number = 0; number < GPUS; number++)); do
            mknod -m 666 "$root/dev/nvidia$number" c 1 3
        done
    fi
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/0 "$root/dev/stdin"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
}

make_own_directories() {
    local directory
    for directory in tmp var/tmp; do
        mount -t tmpfs -o mode=1777 "$directory" "$root/$directory"
    done
    mount -t tmpfs -o mode=755 run "$root/run"
    mkdir -p "$root"/run/{lock,sshd,box,mysqld}
    install -d -o munge -g munge -m 755 "$root/run/munge"
    for directory in mnt srv media opt; do
        mount -t tmpfs -o mode=755 "$directory" "$root/$directory"
    done
    # What else lies at the top of this machine is no part of the host.
    for directory in /*/; do
        directory=${directory//\//}
        case $directory in
        bin | sbin | lib | lib32 | lib64 | libx32 | usr | etc | var | boot) ;;
        proc | sys | dev | run | tmp | opt | mnt | srv | media | root | home) ;;
        *) mount -t tmpfs -o mode=755,size=64k hidden "$root/$directory" ;;
        esac
    done
    mount -t tmpfs -o mode=700 root "$root/root"
}

# share SOURCE TARGET [ro]
share() {
    if [[ -d $1 ]]; then
        mkdir -p "$root$2"
    else
        mkdir -p "$root$(dirname "$2")"
        : >"$root$2"
    fi
    mount --bind "$1" "$root$2"
    [[ ${3:-} != ro ]] || mount -o remount,bind,ro "$root$2"
}

# /home, /shared and /scratch are what a cluster has on NFS.
make_shared_directories() {
    local bind source target flag
    share "$STATE/home" /home
    share "$STATE/shared" /shared
    share "$STATE/scratch" /scratch
    share "$STATE/images" /opt/images ro
    share "$STATE/box" /opt/box ro
    share "$STATE/boxlog" /var/log/box
    share "$CACHE" "$CACHE" ro
    for bind in "${BINDS[@]}"; do
        IFS=: read -r source target flag <<<"$bind"
        share "$source" "$target" "$flag"
    done
}

# In the overlay: the machine's own /etc stays as it is.
configure_host() {
    local etc=$root/etc file
    echo "$host" >"$etc/hostname"
    # Under a container engine, /etc/hosts is a mount of its own.
    ! mountpoint -q "$etc/hosts" || umount "$etc/hosts"
    {
        printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n'
        cat "$STATE/conf/hosts"
    } >"$etc/hosts"
    cat "$STATE/conf/passwd" >>"$etc/passwd"
    cat "$STATE/conf/group" >>"$etc/group"
    sed 's/:.*/:*:19000:0:99999:7:::/' "$STATE/conf/passwd" >>"$etc/shadow"
    mkdir -p "$etc/slurm"
    rm -f "$etc"/slurm/*.conf
    for file in slurm.conf gres.conf cgroup.conf plugstack.conf; do
        install -m 644 "$STATE/conf/$file" "$etc/slurm/$file"
    done
    install -d -o munge -g munge -m 700 "$etc/munge" "$root/var/log/munge" "$root/var/lib/munge"
    install -o munge -g munge -m 400 "$STATE/conf/munge.key" "$etc/munge/munge.key"
    install -d -o slurm -g slurm -m 755 "$root/var/log/slurm" "$root/var/spool/slurmctld"
    install -d -m 755 "$root/var/spool/slurmd"
}

configure_login() {
    local etc=$root/etc
    install -o slurm -g slurm -m 600 "$STATE/conf/slurmdbd.conf" "$etc/slurm/slurmdbd.conf"
    install -m 644 "$STATE/conf/my.cnf" "$etc/cluster-my.cnf"
    install -m 600 "$STATE/conf/sshd_config" "$etc/ssh/cluster_sshd_config"
    install -m 600 "$STATE/ssh/host_ed25519" "$etc/ssh/cluster_host_ed25519"
    chown mysql: "$root/run/mysqld"
}

trap 'exit 0' TERM
hostname "$host"
make_root
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
make_devices
make_own_directories
make_shared_directories
configure_host
[[ $host != "$LOGIN" ]] || configure_login

cd "$root"
mkdir -p mnt/old
pivot_root . mnt/old
umount -l /mnt/old
cd /
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
echo ready >/run/ready
# bash reaps every orphan that becomes its child.
while :; do
    sleep 3600 &
    wait "$!" || true
done
