#!/usr/bin/env bash
# Brings the cluster up from nothing; one that is up already is left alone.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export CLUSTER_STATE=$STATE CLUSTER_CACHE=$CACHE

say() {
    printf '%3ds  %s\n' "$SECONDS" "$*"
}

# --- hosts: a set of namespaces each, joined by a bridge in the login host

start_host() {
    local pid init
    setsid unshare --mount --uts --ipc --net --pid --fork --kill-child "$HERE/host-init.sh" "$1" \
        >"$STATE/log/$1.log" 2>&1 </dev/null &
    pid=$!
    disown
    record "$1.unshare" "$pid"
    wait_for 10 grep -q . "/proc/$pid/task/$pid/children" || die "$1 did not start, see $STATE/log/$1.log"
    init=$(<"/proc/$pid/task/$pid/children")
    record "$1" "${init// /}"
}

start_hosts() {
    local host
    for host in "${HOSTS[@]}"; do
        start_host "$host"
    done
    for host in "${HOSTS[@]}"; do
        wait_for 20 in_host "$host" test -e /run/ready || {
            cat "$STATE/log/$host.log" >&2
            die "$host did not become ready"
        }
    done
}

# join_host NODE INTERFACE BRIDGE ADDRESS
join_host() {
    local login pid
    login=$(pid_of "$LOGIN")
    pid=$(pid_of "$1")
    nsenter --target "$login" --net ip link add "$3-$1" type veth peer name "$2" netns "/proc/$pid/ns/net"
    nsenter --target "$login" --net ip link set "$3-$1" master "$3" up
    nsenter --target "$pid" --net sh -ec "
        ip addr add $4/24 dev $2
        ip link set $2 up"
}

# The nodes have a second network among themselves, which names do not resolve to.
join_hosts() {
    local address name
    in_host "$LOGIN" sh -ec "
        ip link set lo up
        ip link add br0 type bridge
        ip addr add $SUBNET.10/24 dev br0
        ip link set br0 up
        ip link add br1 type bridge
        ip link set br1 up"
    while read -r address name; do
        [[ $name != "$LOGIN" ]] || continue
        in_host "$name" ip link set lo up
        join_host "$name" eth0 br0 "$address"
        join_host "$name" ib0 br1 "$FAST_SUBNET.${address##*.}"
    done <"$STATE/conf/hosts"
}

# --- daemons

start_munge() {
    local host
    for host in "${HOSTS[@]}"; do
        in_host "$host" setpriv --reuid munge --regid munge --clear-groups -- munged --num-threads=2 &
    done
    wait
}

start_mariadb() {
    in_host "$LOGIN" bash -ec '
        rm -rf /var/lib/mysql/*
        chown mysql: /var/lib/mysql
        install -o mysql -g mysql /dev/null /var/log/mysql-error.log
        mariadb-install-db --defaults-file=/etc/cluster-my.cnf --user=mysql --skip-test-db \
            --auth-root-authentication-method=socket' >"$STATE/log/mariadb-install-db.log" 2>&1 ||
        die "mariadb-install-db failed, see $STATE/log/mariadb-install-db.log"
    in_host "$LOGIN" bash -c 'setsid mariadbd --defaults-file=/etc/cluster-my.cnf </dev/null >/dev/null 2>&1 &'
    wait_for 30 in_host "$LOGIN" mariadb-admin --defaults-file=/etc/cluster-my.cnf ping || die "MariaDB did not start"
    in_host "$LOGIN" mariadb --defaults-file=/etc/cluster-my.cnf -e "
        create database slurm_acct_db;
        create user slurm@localhost identified by 'slurm';
        grant all on slurm_acct_db.* to slurm@localhost"
}

start_slurmdbd() {
    in_host "$LOGIN" bash -ec 'install -d -o slurm -g slurm /run/slurmdbd; slurmdbd'
    wait_for 30 in_host "$LOGIN" sacctmgr -n show cluster || die "slurmdbd did not start"
    in_host "$LOGIN" bash -ec "
        sacctmgr -i -Q add cluster test
        sacctmgr -i -Q add account proj,other,evaluation Cluster=test
        for user in ${USERS[*]%%:*}; do
            sacctmgr -i -Q add user \$user Account=proj,other,evaluation DefaultAccount=proj
        done" >"$STATE/log/sacctmgr.log" 2>&1 || die "sacctmgr failed, see $STATE/log/sacctmgr.log"
}

all_idle() {
    [[ $(in_host "$LOGIN" sinfo -h -N -p batch -t idle -o %n | wc -l) == "${#NODES[@]}" ]]
}

start_slurm() {
    local node
    in_host "$LOGIN" slurmctld
    for node in "${NODES[@]}"; do
        in_host "$node" slurmd &
    done
    wait
    wait_for 60 all_idle || {
        in_host "$LOGIN" sinfo -N >&2
        die "the nodes did not register"
    }
}

# --- the way in: a relay on the machine's loopback address to the login host's sshd

listens() {
    ss --listening --tcp --numeric --no-header "src 127.0.0.1:$1" | grep -q .
}

start_relay() {
    local login port ports pid
    in_host "$LOGIN" /usr/sbin/sshd -f /etc/ssh/cluster_sshd_config
    login=$(pid_of "$LOGIN")
    mapfile -t ports < <(if [[ $SSH_PORT ]]; then echo "$SSH_PORT"; else seq 2222 2321; fi)
    for port in "${ports[@]}"; do
        ! listens "$port" || continue
        setsid socat "TCP-LISTEN:$port,bind=127.0.0.1,reuseaddr,fork" \
            "EXEC:nsenter --target $login --net socat - TCP\:127.0.0.1\:22" >"$STATE/log/relay.log" 2>&1 </dev/null &
        pid=$!
        disown
        record relay "$pid"
        # It ends at once if another process took the port meanwhile.
        if wait_for 5 listens "$port" && pid_of relay >/dev/null; then
            SSH_PORT=$port
            return
        fi
    done
    die "no free port for ssh among ${ports[0]}..${ports[-1]} of 127.0.0.1"
}

make_ssh_config() {
    cat >"$STATE/ssh/config" <<END
Host $LOGIN
  HostName 127.0.0.1
  Port $SSH_PORT
  User ${USERS[0]%:*}
  IdentityFile $STATE/ssh/id_ed25519
  IdentitiesOnly yes
  UserKnownHostsFile $STATE/ssh/known_hosts
  StrictHostKeyChecking yes
  LogLevel ERROR
END
    echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 "$STATE/ssh/host_ed25519.pub")" >"$STATE/ssh/known_hosts"
}

keep_settings() {
    declare -p "${SETTINGS[@]}" >"$STATE/settings"
}

if "$HERE/status.sh" >/dev/null 2>&1; then
    say "already up"
    exit 0
fi
[[ $STATE != *[:,\ ]* ]] || die "no colon, comma or blank may be in the path of the state directory: $STATE"
why=$("$HERE/can.sh" "$STATE") || die "$why"
"$HERE/down.sh" --purge >/dev/null
"$HERE/packages.sh"
mkdir -p "$STATE" "$CACHE"
keep_settings
"$HERE/configure.sh"
say "configured"
start_hosts
join_hosts
say "hosts are up"
start_munge
start_mariadb
say "MariaDB is up"
start_slurmdbd
say "slurmdbd is up"
start_slurm
start_relay
make_ssh_config
keep_settings
say "up: $(in_host "$LOGIN" sinfo -h -p batch -o '%N %T %G'), ssh -F $STATE/ssh/config $LOGIN"
