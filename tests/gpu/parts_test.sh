#!/usr/bin/env bash
# The quick parts of check.sh with Gloo in NCCL's place, and that they fail when what they run does:
#
#   parts_test.sh BUILD
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
work_out=$(mktemp -d)
trap 'rm -rf -- "$work_out"' EXIT
export programs=$1/bin tool=$1/tests/libnvtx_recording_tool.so root=${here%/tests/gpu}
export gpus=1 work_out TMPDIR=$work_out library_path=${LD_LIBRARY_PATH:-}
export backend_of_gpus=gloo backend_of_threads=memory

part() { bash "$here/parts.sh" "$@" || { echo "$* failed"; exit 1; }; }
# EXPECTED NAME ARGUMENTS...: fails, and for the reason that is expected.
part_that_fails() {
  local expected=$1 said
  shift
  if said=$(bash "$here/parts.sh" "$@" 2>&1); then
    echo "$* passed with ${backend_of_gpus}"
    exit 1
  fi
  if ! grep -q -- "$expected" <<<"$said"; then
    echo "$* failed, and does not say \"$expected\": $said"
    exit 1
  fi
}

if [[ -e $tool ]]; then part nvtx_payloads; fi
part conformance_on_one_gpu 2
part killed_rank 1
part missing_rank
# Ranks that end before, also with an exit code of 3: the backend has no collectives of its own.
backend_of_gpus=memory part_that_fails '^FAIL: ' killed_rank 1
backend_of_gpus=none part_that_fails none conformance_on_one_gpu 2
backend_of_gpus=none part_that_fails '^FAIL: ' missing_rank
part_that_fails '^FAIL: NcclBackend.None did not run' tests 'NcclBackend.None' NcclBackend.None
