#!/bin/bash
# Every shipped measured point, predicted with what all other sources choose: the figures of
# scenarios/library/README.md. More arguments go to validate, as in
#   tests/bench/left_out.sh --choose contention=off,assumed,1.2,2,4
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t scenarios < <(grep -l '^measured:' scenarios/library/*.yaml | grep -v quickstart)
exec ./paceline validate "${scenarios[@]}" --leave-out source "$@"
