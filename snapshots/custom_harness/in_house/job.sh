#!/bin/bash
#SBATCH --job-name=gym-in_house
#SBATCH --account=evaluation
#SBATCH --time=12:00:00
#SBATCH --chdir=/shared/evaluations/gym-job-00000000T000000Z-000000/in_house
#SBATCH --output=logs/job-%j.log
#SBATCH --partition=batch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive

# --- parts/setup.sh.j2
set -euo pipefail

export GYM_BENCH_DIR=/shared/evaluations/gym-job-00000000T000000Z-000000/in_house
cd "$GYM_BENCH_DIR"

fail() {
    echo "ERROR: $*" >&2
    exit 1
}

# --- parts/slurm.sh.j2
export GYM_JOB_ID=$SLURM_JOB_ID

# Left-over defaults would put a bare srun into a container, or bind its tasks to a part of the CPUs.
unset "${!PYXIS_@}" SLURM_CPUS_PER_TASK SLURM_TRES_PER_TASK

slurm_jobs=$SLURM_JOB_ID

# signal_step NAME SIGNAL: reaches the processes of a step. A TERM to srun itself would be a KILL to them.
signal_step() {
    local step
    step=$(squeue --steps --noheader --jobs="$slurm_jobs" --format='%i %j' | awk -v name="$1" '$2 == name { print $1 }')
    if [[ -n $step ]]; then
        # A step that ends meanwhile is none that scancel could find, and it would say so.
        scancel --signal="$2" "$step" 2>/dev/null || true
    fi
}

# --- parts/nodes.sh.j2
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
mapfile -t gym_nodes <<<"$hosts"

# join_hosts HOST...: as one word, comma-separated
join_hosts() {
    local IFS=,
    echo "$*"
}

# export_pool VARIABLE FIRST COUNT: the hosts of a node pool, a range of the allocation's
export_pool() {
    local hosts
    hosts=$(join_hosts "${gym_nodes[@]:$2:$3}")
    export "$1=$hosts"
}
export_pool GYM_POOL_GPU_NODES 0 2

# on_node NODE COMMAND...: runs a command on the node with this number
on_node() {
    srun \
        --overlap \
        --nodes=1 \
        --ntasks=1 \
        --nodelist="${gym_nodes[$1]}" \
        --export=ALL \
        --input=none \
        "${@:2}"
}

# first_address: of the addresses on stdin, the first that another node can reach, IPv4 before IPv6
first_address() {
    awk '
        $1 ~ /^127\./ || $1 == "::1" || $1 ~ /^fe80:/ { next }
        $1 ~ /:/ { if (six == "") six = $1; next }
        four == "" { four = $1 }
        END { print four == "" ? six : four }
    '
}

# address_of NODE: a host's own name may mean 127.0.1.1 on that host, so another node is asked then.
address_of() {
    local host=${gym_nodes[$1]} address node
    address=$({ getent ahosts "$host" || true; } | first_address)
    for node in "${!gym_nodes[@]}"; do
        if [[ -z $address && $node != "$1" ]]; then
            address=$(on_node "$node" getent ahosts "$host" | first_address)
        fi
    done
    echo "$address"
}

# export_address NODE: what other nodes dial to reach the node with this number
export_address() {
    local address host=${gym_nodes[$1]}
    address=$(address_of "$1")
    [[ -n $address ]] || fail "$host: has no address that other nodes could dial (getent ahosts $host); set network_interface"
    export "GYM_NODE_ADDRESS_$1=$address"
    if [[ $address == *:* ]]; then
        address="[$address]"
    fi
    export "GYM_NODE_URL_$1=http://$address"
}
export_address 0

# --- parts/exports.sh.j2
export GYM_SERVICE_POLICY_URL="$GYM_NODE_URL_0:30000"
export GYM_SERVICE_SANDBOX_URL="$GYM_NODE_URL_0:6000"

# --- parts/steps.sh.j2
declare -A pid=() started=()
services=()

# start_step NAME FUNCTION: in the background, its output in a log of its own
start_step() {
    "$2" >"logs/$1-$GYM_JOB_ID.log" 2>&1 &
    pid[$1]=$!
    started[$1]=$SECONDS
}

# start_service NAME FUNCTION: a step that must outlive the driver
start_service() {
    services+=("$1")
    start_step "$@"
}

# carry NAME VALUE: to the step's shell, under a name that means nothing to srun or the container runtime, as one
# line of shell without an empty value or a newline
carry() {
    export "GYM_ENV_$1=${2@Q}"
}

# take_env: in the step's shell, what carry packed
take_env() {
    local GYM_NAME
    for GYM_NAME in "${!GYM_ENV_@}"; do
        eval "declare -gx ${GYM_NAME#GYM_ENV_}=${!GYM_NAME}"
        unset "$GYM_NAME"
    done
}

# require_free_ports PORT...: in the step's shell; a health check must not be answered by somebody else's server
require_free_ports() {
    local port hex table local_address state
    for port; do
        printf -v hex ':%04X' "$port"
        for table in /proc/net/tcp /proc/net/tcp6; do
            [[ -r $table ]] || continue
            while IFS=' ' read -r _ local_address _ state _; do
                if [[ $state == 0A && $local_address == *"$hex" ]]; then
                    echo "ERROR: port $port on $(uname -n) is in use by another process; choose another port, or ask for the whole node" >&2
                    exit 98
                fi
            done <"$table"
        done
    done
}

# Runs in the step's own shell, outside of any function, as the lines of a script would.
pre_command='set -e; eval "unset GYM_PRE_COMMAND; $GYM_PRE_COMMAND"'

# The shell in front of a server waits for it to end: if it died of TERM at once, the server would be killed unflushed.
run_script='trap "wait; exit 143" TERM; eval "unset GYM_SCRIPT; $GYM_SCRIPT"'

# step_script STATEMENT...: what the bash of a step runs. A function goes along by value, defined right before its
# call, so that nothing which the user's own shell text defines can take its place.
step_script() {
    local statement
    declare -f take_env
    echo take_env
    for statement; do
        if declare -F "$statement" >/dev/null; then
            declare -f require_free_ports "$statement"
        fi
        echo "$statement"
    done
}

# blame SERVICE WHAT: ends the job; what a person needs to know is in its log, and here
blame() {
    local log=logs/$1-$GYM_JOB_ID.log
    {
        echo "ERROR: service $1 $2"
        echo "The end of its log, $GYM_BENCH_DIR/$log:"
        tail -n 20 "$log"
    } >&2
    exit 1
}

# check_services WHEN: ends the job if a service has ended, whatever its status
check_services() {
    local name status
    for name in "${services[@]}"; do
        if ! kill -0 "${pid[$name]}" 2>/dev/null; then
            status=0
            wait "${pid[$name]}" || status=$?
            blame "$name" "ended with status $status $1"
        fi
    done
}

# --- steps/script.sh.j2
{ IFS= read -r -d '' script_policy || true; } <<'END_OF_SCRIPT'
exec python3 -m sglang.launch_server \
    --model-path moonshotai/Kimi-K2-Instruct --served-model-name kimi \
    --host 0.0.0.0 --port 30000 --tp 16 \
    --dist-init-addr "$GYM_STEP_HEAD_IP:20000" --nnodes 2 --node-rank "$SLURM_NODEID"
END_OF_SCRIPT

check_policy() {
    require_free_ports 30000
}

start_policy() {
    carry GYM_STEP_NODES "$GYM_POOL_GPU_NODES"
    carry GYM_STEP_HEAD_IP "$GYM_NODE_ADDRESS_0"
    text=$script_policy
    carry GYM_SCRIPT "$text"
    exec srun \
        --overlap \
        --kill-on-bad-exit=1 \
        --wait=1 \
        --job-name=policy \
        --nodes=2 \
        --ntasks=2 \
        --ntasks-per-node=1 \
        --nodelist="$GYM_POOL_GPU_NODES" \
        --cpu-bind=none \
        --export=ALL \
        --container-image=lmsysorg/sglang:v0.5.3 \
        --container-workdir=/tmp \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script check_policy "$run_script")"
}
start_service policy start_policy

# --- steps/server.sh.j2
{ IFS= read -r -d '' pre_command_sandbox || true; } <<'END_OF_SCRIPT'
mkdir -p /tmp/sandbox
cd /tmp/sandbox
END_OF_SCRIPT

run_sandbox() {
    require_free_ports 6000
    exec sandbox-server \
        --bind 0.0.0.0:6000 \
        --workers 32
}

start_sandbox() {
    carry GYM_STEP_NODES "$GYM_POOL_GPU_NODES"
    carry GYM_STEP_HEAD_IP "$GYM_NODE_ADDRESS_0"
    text=$pre_command_sandbox
    carry GYM_PRE_COMMAND "$text"
    exec srun \
        --overlap \
        --kill-on-bad-exit=1 \
        --wait=1 \
        --job-name=sandbox \
        --nodes=2 \
        --ntasks=2 \
        --ntasks-per-node=1 \
        --nodelist="$GYM_POOL_GPU_NODES" \
        --cpu-bind=none \
        --export=ALL \
        --container-image=/shared/images/sandbox.sqsh \
        --container-workdir=/tmp \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script "$pre_command" run_sandbox)"
}
start_service sandbox start_sandbox

# --- parts/health.sh.j2
declare -A waiting=()

# probe HOST PORT PATH: is a GET answered with 2xx? bash's own TCP needs no curl, and no proxy can answer instead.
# The rest of the answer is read as well, or the server would log a broken connection.
probe() {
    timeout 10 bash -c '
        exec 3<>"/dev/tcp/$1/$2"
        printf "GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n" "$3" "$1" "$2" >&3
        IFS= read -r answer <&3
        timeout 1 cat <&3 >/dev/null
        [[ $answer == HTTP/[0-9]*" 2"[0-9][0-9]* ]]
    ' bash "$@" 2>/dev/null
}

# await_http HOST PORT PATH DEADLINE INTERVAL: at least one probe, the last one at the deadline
await_http() {
    local rest
    until probe "$1" "$2" "$3"; do
        rest=$(($4 - SECONDS))
        if ((rest <= 0)); then
            echo "GET http://$1:$2$3 was not answered with 2xx in time"
            return 1
        fi
        sleep "$((rest < $5 ? rest : $5))"
    done
}

# await_service NAME PORT PATH TIMEOUT INTERVAL HOST...: in the background; seconds, TIMEOUT from the service's start
await_service() {
    local deadline=$((${started[$1]} + $4))
    {
        checks=()
        for host in "${@:6}"; do
            await_http "$host" "$2" "$3" "$deadline" "$5" &
            checks+=("$!")
        done
        for check in "${checks[@]}"; do
            wait "$check"
        done
    } 2>/dev/null & # when a job ends in the middle of a check, bash would tell of every process that is killed
    waiting[$1]=$!
}
await_service policy 30000 /health 3600 10 localhost
await_service sandbox 6000 /ready 60 5 localhost "${gym_nodes[1]}"

while ((${#waiting[@]} > 0)); do
    check_services "before all services were healthy"
    for name in "${!waiting[@]}"; do
        if ! kill -0 "${waiting[$name]}" 2>/dev/null; then
            wait "${waiting[$name]}" || blame "$name" "was not healthy within its timeout"
            echo "service $name is healthy after $((SECONDS - ${started[$name]})) s"
            unset "waiting[$name]"
        fi
    done
    sleep 0.5
done
echo "all services are healthy after $SECONDS s"

# --- steps/driver.sh.j2
{ IFS= read -r -d '' script_driver || true; } <<'END_OF_SCRIPT'
cd /datasets
for set in easy hard; do
  harness run --endpoint "$NEMO_GYM_POLICY_BASE_URL" --model "$NEMO_GYM_POLICY_MODEL_NAME" \
    --sandbox "$GYM_SERVICE_SANDBOX_URL" --data "$set.jsonl" \
    --out "$NEMO_GYM_BENCH_DIR/artifacts/$set.jsonl"
done
END_OF_SCRIPT

start_driver() {
    carry NEMO_GYM_BENCH_DIR /shared/evaluations/gym-job-00000000T000000Z-000000/in_house
    carry NEMO_GYM_POLICY_BASE_URL http://localhost:30000/v1
    carry NEMO_GYM_POLICY_MODEL_NAME kimi
    carry NEMO_GYM_POLICY_API_KEY dummy
    text=$script_driver
    carry GYM_SCRIPT "$text"
    exec srun \
        --overlap \
        --kill-on-bad-exit=1 \
        --wait=1 \
        --job-name=driver \
        --nodes=1 \
        --ntasks=1 \
        --ntasks-per-node=1 \
        --nodelist="${gym_nodes[0]}" \
        --cpu-bind=none \
        --export=ALL \
        --container-image='nvcr.io#evaluation/harness:3' \
        --container-mounts=/shared/evaluations/gym-job-00000000T000000Z-000000/in_house:/shared/evaluations/gym-job-00000000T000000Z-000000/in_house,/shared/datasets:/datasets:ro \
        --container-workdir=/shared/evaluations/gym-job-00000000T000000Z-000000/in_house \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script 'set -euo pipefail' "$run_script")"
}
start_step driver start_driver

# --- parts/watch.sh.j2
# end_step NAME SECONDS: TERM, and KILL that long after it
end_step() {
    local deadline=$((SECONDS + $2))
    signal_step "$1" TERM
    while kill -0 "${pid[$1]}" 2>/dev/null; do
        if ((SECONDS >= deadline)); then
            signal_step "$1" KILL
            return
        fi
        sleep 0.5
    done
}

# all_services_run: is each of them still there?
all_services_run() {
    local name
    for name in "${services[@]}"; do
        kill -0 "${pid[$name]}" 2>/dev/null || return 1
    done
}

while kill -0 "${pid[driver]}" 2>/dev/null; do
    if ! all_services_run; then
        end_step driver 30
        check_services "while the driver ran"
    fi
    sleep 0.5
done

status=0
wait "${pid[driver]}" || status=$?
driver_log=logs/driver-$GYM_JOB_ID.log
echo "The driver ended with status $status; its log is $GYM_BENCH_DIR/$driver_log"
if ((status > 0)); then
    tail -n 20 "$driver_log"
fi
exit "$status"
