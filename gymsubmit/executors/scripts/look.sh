#!/bin/bash
# PATTERNS PATH...: prints `sbatch` if there is none in the environment that it would be called in, and the number
# (from 0) of each PATH that does not exist. `begin` and `end` tell the answer from what else a login shell prints.
clean_environment "$1"
shift

echo begin
command -v sbatch >/dev/null || echo sbatch
number=0
for path; do
    [[ -e $path ]] || echo "$number"
    number=$((number + 1))
done
echo end
