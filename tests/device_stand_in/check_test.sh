#!/usr/bin/env bash
# tests/gpu/check.sh on two devices that are not there: every part runs, and the report has all of them.
#
#   check_test.sh STAND_IN
set -euo pipefail
stand_in=$1
gpu=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../gpu
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
# Open MPI refuses root and more ranks than cores unless told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launcher=(--launcher "mpirun --oversubscribe -n 2" --ranks 2)
if ! type -P mpirun >/dev/null; then launcher=(); fi
# Of its own: check.sh looks for programs of this path that are left behind.
cp -rl -- "$stand_in" "$folder/stand_in"
stand_in=$folder/stand_in
PATH=$stand_in/bin:$PATH NCCL_HOME=$stand_in/lib PACELINE_STAND_IN_DEVICES=2 \
  bash "$gpu/check.sh" --quick --prebuilt "$stand_in" -o "$folder/report.txt" "${launcher[@]}"
grep -q 'device 1: device stand-in' "$folder/report.txt"
grep -q ' passed, 0 skipped, 0 failed, 0 not tried$' "$folder/report.txt"
(($(grep -c ' s  PASS$' "$folder/report.txt") >= 20))
