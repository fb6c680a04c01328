#!/bin/bash
# PATTERNS RUN_DIR BENCHMARK...: queues each benchmark's job. The answer is `begin`, then four fields for each of them,
# all ended by a NUL: its name, the exit status of sbatch, its standard output, its standard error.
clean_environment "$1"
run_dir=$2
shift 2

printf '%s\0' begin
for benchmark; do
    printf '%s\0' "$benchmark"
    # Each stream by itself, so that a warning is never in an id; the id first, in case this shell dies.
    words=$({
        id=$(sbatch --parsable "$run_dir/$benchmark/job.sh" 2>&4)
        printf '%s\0' "$?" "$id" >&3
    } 4>&1)
    printf '%s\0' "$words"
done 3>&1
