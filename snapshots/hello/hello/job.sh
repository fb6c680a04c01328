#!/bin/bash

# --- parts/setup.sh.j2
set -euo pipefail

export GYM_BENCH_DIR=/tmp/gymsubmit/gym-job-00000000T000000Z-000000/hello
cd "$GYM_BENCH_DIR"

fail() {
    echo "ERROR: $*" >&2
    exit 1
}

# --- parts/local.sh.j2
export GYM_JOB_ID=${GYM_JOB_ID:-$$}

# signal_step NAME SIGNAL: a step is a process group, led by the process that started it
signal_step() {
    kill -s "$2" -- "-${pid[$1]}" 2>/dev/null || true
}

# end_steps SECONDS: no step outlives the job, however the job ends. KILL comes that long after TERM.
end_steps() {
    local name deadline=$((SECONDS + $1))
    trap '' TERM INT HUP
    for name in "${!pid[@]}"; do
        signal_step "$name" TERM
    done
    for name in "${!pid[@]}"; do
        while kill -0 -- "-${pid[$name]}" 2>/dev/null; do
            if ((SECONDS >= deadline)); then
                signal_step "$name" KILL
                break
            fi
            sleep 0.1
        done
    done
}

# --- parts/exports.sh.j2
export GYM_SERVICE_SERVER_URL=http://localhost:8399

# --- parts/steps.sh.j2
declare -A pid=() started=()
services=()

grace_seconds=30
trap 'end_steps "$grace_seconds"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# start_step NAME FUNCTION: in the background, its output in a log of its own
start_step() {
    set -m
    "$2" >"logs/$1-$GYM_JOB_ID.log" 2>&1 &
    set +m
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
run_server() {
    require_free_ports 8399
    exec /usr/bin/env python3 /tmp/gymsubmit/gym-job-00000000T000000Z-000000/hello/server.command
}

start_server() {
    exec bash -c "$(step_script run_server)"
}
start_service server start_server

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
await_service server 8399 /health 60 1 localhost

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
    exec /usr/bin/env python3 /tmp/gymsubmit/gym-job-00000000T000000Z-000000/hello/driver.command
}

start_driver() {
    carry NEMO_GYM_BENCH_DIR /tmp/gymsubmit/gym-job-00000000T000000Z-000000/hello
    carry NEMO_GYM_POLICY_BASE_URL http://localhost:8399/v1
    carry NEMO_GYM_POLICY_MODEL_NAME parrot
    carry NEMO_GYM_POLICY_API_KEY dummy
    exec bash -c "$(step_script 'set -euo pipefail' run_driver)"
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
