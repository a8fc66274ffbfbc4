#!/bin/bash
# Every shipped measured point, predicted with what all other sources choose: the figures of
# scenarios/library/README.md, some ten minutes. With arguments these
# go to validate in place of the choices, as in
#   tests/bench/left_out.sh --choose contention=off,assumed,1.2,2,4
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t scenarios < <(grep -l '^measured:' scenarios/library/*.yaml | grep -v quickstart)
if (($# == 0)); then
  set -- --choose contention=off,assumed --choose call_contention=1,1.2,1.4 \
    --choose ranks.spread=0,1.6%,3.2%,4.8%
fi
exec ./paceline validate "${scenarios[@]}" --leave-out source "$@"
