#!/bin/bash
#SBATCH --job-name=gym-swe_bench
#SBATCH --account=evaluation
#SBATCH --time=1-00:00:00
#SBATCH --chdir=/shared/evaluations/gym-job-00000000T000000Z-000000/swe_bench
#SBATCH --output=logs/job-%j.log
#SBATCH --partition=batch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --exclusive

# --- parts/setup.sh.j2
set -euo pipefail

export GYM_BENCH_DIR=/shared/evaluations/gym-job-00000000T000000Z-000000/swe_bench
cd "$GYM_BENCH_DIR"

fail() {
    echo "ERROR: $*" >&2
    exit 1
}

# --- parts/values.sh.j2
. "$GYM_BENCH_DIR/secrets.env"

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
gym_all_nodes=$(join_hosts "${gym_nodes[@]}")

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
export_address 1

# --- parts/exports.sh.j2
export HEAD_NODE_IP="$GYM_NODE_ADDRESS_0"
export RAY_HEAD_NODE_IP="$GYM_NODE_ADDRESS_0"
export GYM_SERVICE_POLICY_URL="$GYM_NODE_URL_0:8000"

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

# install_ray: in the step's shell, for images that come without it; into /tmp, as a container's root is read-only
install_ray() {
    local directory
    if ! command -v ray >/dev/null; then
        directory=$(mktemp -d /tmp/ray-install.XXXXXX)
        python3 -m pip install --quiet --no-cache-dir --target "$directory" 'ray[cgraph]' || exit
        export PATH=$directory/bin:$PATH PYTHONPATH=$directory${PYTHONPATH:+:$PYTHONPATH}
    fi
}

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

# --- steps/ray_instance.sh.j2
run_policy() {
    local first_node=0 head="$GYM_NODE_ADDRESS_0" ray_port=6379 address

    # Ray and vLLM must mean the same node by the same address.
    address=GYM_NODE_ADDRESS_$((first_node + SLURM_NODEID))
    GYM_OWN_ADDRESS=${!address}
    export VLLM_HOST_IP=$GYM_OWN_ADDRESS

    if ((SLURM_NODEID > 0)); then
        until (exec 3<>"/dev/tcp/$head/$ray_port") 2>/dev/null; do
            sleep 1
        done
        exec ray start \
            --address "${GYM_NODE_URL_0#http://}:6379" \
            --node-ip-address "$GYM_OWN_ADDRESS" \
            --min-worker-port 20000 \
            --max-worker-port 28999 \
            --block
    fi

    require_free_ports 8000 6379 6380
    ray start \
        --head \
        --port 6379 \
        --ray-client-server-port 6380 \
        --include-dashboard=false \
        --disable-usage-stats \
        --node-ip-address "$GYM_OWN_ADDRESS" \
        --min-worker-port 20000 \
        --max-worker-port 28999 \
        --block &
    ray_head=$!
    export RAY_ADDRESS="${GYM_NODE_URL_0#http://}:6379"
    until python3 -c '
import ray, sys, time
ray.init(log_to_driver=False, logging_level="ERROR")
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[1]):
    time.sleep(1)
' 2; do
        kill -0 "$ray_head" || exit 1
        sleep 1
    done
    exec vllm serve deepseek-ai/DeepSeek-V3.1 \
        --port 8000 \
        --served-model-name deepseek \
        --tensor-parallel-size 16 \
        --trust-remote-code \
        --distributed-executor-backend ray
}

start_policy() {
    carry HF_TOKEN "$GYM_SECRET_HF_TOKEN"
    exec srun \
        --overlap \
        --kill-on-bad-exit=1 \
        --wait=1 \
        --job-name=policy \
        --nodes=2 \
        --ntasks=2 \
        --ntasks-per-node=1 \
        --nodelist="$gym_all_nodes" \
        --cpu-bind=none \
        --export=ALL \
        --container-image='nvcr.io#nvidia/vllm:25.09' \
        --container-workdir=/tmp \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script install_ray run_policy)"
}
start_service policy start_policy

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
await_service policy 8000 /health 3600 5 localhost

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
run_driver() {
    exec gym eval run \
        --model-type openai_model \
        '+policy_base_url="http://localhost:8000/v1"' \
        +policy_model_name=deepseek \
        +policy_api_key=dummy \
        +output_jsonl_fpath=/shared/evaluations/gym-job-00000000T000000Z-000000/swe_bench/artifacts/rollouts.jsonl \
        +require_complete=true \
        +observability_enabled=true \
        +model_call_capture_dir=/shared/evaluations/gym-job-00000000T000000Z-000000/swe_bench/model-calls \
        '+config_paths=[benchmarks/swe_bench.yaml]'
}

start_driver() {
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
        --container-image='nvcr.io#nvidia/nemo-gym:0.2' \
        --container-mounts=/shared/evaluations/gym-job-00000000T000000Z-000000/swe_bench:/shared/evaluations/gym-job-00000000T000000Z-000000/swe_bench \
        --container-workdir=/shared/evaluations/gym-job-00000000T000000Z-000000/swe_bench \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script 'set -euo pipefail' run_driver)"
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
