#!/bin/bash
#SBATCH --job-name=gym-a-b
#SBATCH --account="a # b"
#SBATCH --time=1-0
#SBATCH --chdir="/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b"
#SBATCH --output=logs/job-%j.log
#SBATCH --partition=gpu,batch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --qos="it's"
#SBATCH --comment="say \"hi\" \\ # not a comment, it's text"
#SBATCH --mail-user
#SBATCH --constraint="[rack1|rack2]&gpu"

# --- parts/setup.sh.j2
set -euo pipefail

export GYM_BENCH_DIR='/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b'
cd "$GYM_BENCH_DIR"

fail() {
    echo "ERROR: $*" >&2
    exit 1
}

# --- parts/values.sh.j2
. "$GYM_BENCH_DIR/secrets.env"

# take_runtime VARIABLE FIELD: kept under a name of ours, before this script sets variables of its own
take_runtime() {
    [[ -v $1 ]] || fail "$2: the variable $1 is not set where the job runs; set it there, or name it in the compute's pass_env"
    printf -v "GYM_RUNTIME_$1" %s "${!1}"
}
take_runtime USER services.1st.env.FROM_THE_JOB

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
export GYM_SERVICE_1ST_URL="$GYM_NODE_URL_0:8000"
export GYM_SERVICE_JUDGE_V1_5_URL="$GYM_NODE_URL_0:8001"
export GYM_SERVICE_SANDBOX_URL="$GYM_NODE_URL_0:8002"

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

# --- steps/server.sh.j2
{ IFS= read -r -d '' pre_command_1st || true; } <<'END_OF_SCRIPT_2'
# A brace }, an open quote ' in a comment, and a here-document of its own:
cat <<'END_OF_SCRIPT'
} ' " ` $( EOF
END_OF_SCRIPT
export FROM_PRE_COMMAND="${HOME:-nowhere} ${#array[@]} $((1 + 1))"
gym_test() { echo "}"; }
END_OF_SCRIPT_2

run_1st() {
    require_free_ports 8000
    exec vllm serve 'it'\''s $(touch /tmp/a) `touch /tmp/b` \ "model" # 50%' \
        --port 8000 \
        --served-model-name '${not_a_variable-} * ? [a-z] ~ {a,b} !! Grüße 漢字' \
        --tensor-parallel-size 1 \
        $'--chat-template={{ \'\\n\' }}\r\n\t{# comment #} <<EOF' \
        '--json={"key": "it'\''s", "list": [1, 2, {"$x": null}]}' '' \
        --empty= '; touch /tmp/c' '&& touch /tmp/d #' \
        $'-\t'
}

start_1st() {
    carry PATH /opt/app/bin:/usr/bin:/bin
    carry EMPTY ''
    carry BLANKS '  leading, trailing  '
    carry LINES $'one\ntwo\nLD_PRELOAD=/tmp/evil.so\n'
    carry QUOTES ''\''"'\''"$'\''\'\'''\'''
    carry CONTROL $'bell \007 tab \t escape \033 carriage return \r'
    carry IFS ,
    carry LANG C.UTF-8
    carry NVIDIA_VISIBLE_DEVICES all
    carry LOOKS_LIKE_RUNTIME 'runtime:$(touch /tmp/e)'
    carry FROM_THE_JOB "$GYM_RUNTIME_USER"
    carry FROM_HERE "$GYM_SECRET_GYMSUBMIT_EXAMPLE_TOKEN"
    text=$pre_command_1st
    carry GYM_PRE_COMMAND "$text"
    export NVIDIA_VISIBLE_DEVICES=all
    exec srun \
        --overlap \
        --kill-on-bad-exit=1 \
        --wait=1 \
        --job-name=1st \
        --nodes=1 \
        --ntasks=1 \
        --ntasks-per-node=1 \
        --nodelist="${gym_nodes[0]}" \
        --cpu-bind=none \
        --export=ALL \
        '--comment=step'\''s "comment" # $(touch /tmp/g)' \
        --label \
        --container-image='/shared/images/it'\''s $(touch /tmp/i) v1.sqsh' \
        --container-mounts='/shared/a b:/data/a b:ro,/shared/c' \
        --container-env=NVIDIA_VISIBLE_DEVICES \
        --container-workdir=/tmp \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script "$pre_command" run_1st)"
}
start_service 1st start_1st

# --- steps/server.sh.j2
run_judge_v1_5() {
    require_free_ports 8001
    exec judge \
        $'--prompt=Rate this:\n\t\'{answer}\'\n' '$HOME' '' \
        --
}

start_judge_v1_5() {
    exec srun \
        --overlap \
        --kill-on-bad-exit=1 \
        --wait=1 \
        --job-name=judge.v1-5 \
        --nodes=1 \
        --ntasks=1 \
        --ntasks-per-node=1 \
        --nodelist="${gym_nodes[0]}" \
        --cpu-bind=none \
        --export=ALL \
        --container-image='/shared/images/judge v1.5.sqsh' \
        --container-workdir=/tmp \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script run_judge_v1_5)"
}
start_service judge.v1-5 start_judge_v1_5

# --- steps/server.sh.j2
run_sandbox() {
    require_free_ports 8002
    exec /usr/bin/env \
        '-S python3 -u' '/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b/sandbox.command'
}

start_sandbox() {
    exec srun \
        --overlap \
        --kill-on-bad-exit=1 \
        --wait=1 \
        --job-name=sandbox \
        --nodes=1 \
        --ntasks=1 \
        --ntasks-per-node=1 \
        --nodelist="${gym_nodes[0]}" \
        --cpu-bind=none \
        --export=ALL \
        --container-image=python:3.12 \
        --container-mounts='/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b/sandbox.command:/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b/sandbox.command' \
        --container-workdir=/tmp \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script run_sandbox)"
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
await_service 1st 8000 '/health?q=$(touch%20/tmp/f)&'\''"x"=#' 60 5 localhost

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
prepare_driver() {
    gym eval prepare \
        '+dataset="it'\''s, a {set}: [x] = $y % \\"'
}

run_driver() {
    exec gym eval run \
        --model-type 'openai model'\''s' \
        '+policy_base_url="http://[::1]:8000/v1"' \
        '+policy_model_name="\${not_a_variable-} * ? [a-z] ~ {a,b} !! Grüße 漢字"' \
        +policy_api_key=dummy \
        '+output_jsonl_fpath="/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b/artifacts/rollouts.jsonl"' \
        +require_complete=true \
        +observability_enabled=true \
        '+model_call_capture_dir="/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b/model-calls"' \
        '+null="null"' \
        '+number_like="1e3"' \
        +real=1000.0 \
        +nothing=null \
        '+empty=""' \
        '+blanks="  x  "' \
        '+nested.a=[1,"2",{b:"c,d",e\ f:"}"}]' \
        '+nested.empty={}' \
        '+nested.none=[]' \
        $'+lines="one\ntwo\r\n"' \
        '+unicode="Grüße 漢字 🙂"' \
        '+resolved_by_the_driver="${oc.env:HOME}/x"' \
        '+quotes="'\''\"\'\''\\\""' \
        ++override=true
}

start_driver() {
    carry QUOTES ''\''"`\$'
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
        --container-image=python:3.12 \
        --container-mounts='/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b:/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b' \
        --container-workdir='/shared/évaluations/a b/gym-job-00000000T000000Z-000000/a-b' \
        --no-container-mount-home \
        --no-container-entrypoint \
        --no-container-remap-root \
        bash -c "$(step_script 'set -euo pipefail' prepare_driver run_driver)"
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
