#!/bin/bash
# JOB_IDS SQUEUE_FIELDS SACCT_FIELDS: a line `queue|...` for each of the comma-separated jobs that squeue knows, and a
# line `account|...` for each that sacct does. Times are in UTC.
export TZ=UTC

# squeue forgets a job MinJobAge seconds after its end, and fails when it knows none of them.
squeue --noheader --states=all --jobs="$1" --Format="$2" | sed 's/^ */queue|/'
sacct --allocations --noheader --parsable2 --jobs="$1" --format="$3" | sed 's/^/account|/'
