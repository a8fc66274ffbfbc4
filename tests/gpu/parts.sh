#!/usr/bin/env bash
# The parts of check.sh: parts.sh NAME ARGUMENTS... runs one and exits with 0 (passed), 77 (skipped,
# the last line says why) or what failed. check.sh sets:
#
#   programs, nccl        folders: our programs, libnccl.so.2 (empty: not found)
#   library_path          LD_LIBRARY_PATH of the programs
#   tool                  the library that records NVTX ranges
#   gpus, root, work_out  how many; the checkout; where JSON goes
#   launcher, ranks       the caller's way to start so many ranks, as words; may be empty
#   steps                 how many of a measured run; empty: the scenario's
#   sweep_max             bytes of the largest collective of a sweep
#   TMPDIR                a folder that it removes at its end
#   backend_of_gpus       nccl
#   backend_of_threads    cuda-local
set -euo pipefail
: "${programs:?}" "${tool:?}" "${gpus:?}" "${root:?}" "${work_out:?}"
: "${backend_of_gpus:?}" "${backend_of_threads:?}" "${launcher=}" "${ranks=}" "${sweep_max=}" "${steps=}"

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
scenario=$root/scenarios/library/quickstart-measured.yaml
with_libraries=(env LD_LIBRARY_PATH="${library_path:-}")

skip() {
  echo "$*"
  exit 77
}

fail() {
  echo "FAIL: $*"
  exit 1
}

run() { "${with_libraries[@]}" "$programs/$1" "${@:2}"; }

# Ranks in processes: so many of them, each with a GPU or all on GPU 0.
launch() { bash "$here/start_ranks.sh" "$1" "${with_libraries[@]}" "${@:2}"; }
launch_on_one_gpu() { bash "$here/start_ranks.sh" --one-gpu "$1" "${with_libraries[@]}" "${@:2}"; }

# Ranks as the caller starts them: srun, mpirun, torchrun; on several nodes, too.
launch_by_launcher() {
  local words
  read -ra words <<<"$launcher"
  "${words[@]}" "${with_libraries[@]}" "$@"
}

programs() {
  if [[ ! ${nccl:-} ]]; then fail "libnccl.so.2 was not found; set NCCL_HOME to where NCCL is"; fi
  run paceline --version
  run paceline-worker --doctor >/dev/null
  # Each starts another, from its own folder.
  run paceline doctor >/dev/null
  run paceline run "$scenario" --quiet
}

# Those of a gtest filter; the one named must have run and passed.
tests() {  # FILTER NEEDED
  local said
  said=$(run gpu_test --gtest_filter="$1" --gtest_color=no 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  grep -q "^\[       OK \] $2 " <<<"$said" || fail "$2 did not run"
}

# As tests/real/nvtx has it: names, payloads and ends as a tool sees them.
nvtx_payloads() {
  local record
  record=$(mktemp)
  NVTX_INJECTION64_PATH=$tool PACELINE_NVTX_RECORD=$record run nvtx_ranges >/dev/null
  cat -- "$record"
  for line in 'start 0 paceline: bucket 0: bucket=0 bytes=26214400 algorithm=ring' \
    'start 1 paceline: bucket 1: bucket=1 bytes=7000000000 algorithm=native' 'end 2 paceline'; do
    grep -qxF "$line" "$record" || fail "there is no line: $line"
  done
}

conformance() {  # RANKS
  launch "$1" "$programs/conformance_rank" "$backend_of_gpus"
}

conformance_on_all_gpus() {
  if ((gpus < 2)); then skip "there is one GPU"; fi
  conformance "$gpus"
}

conformance_on_one_gpu() {  # RANKS
  if ((gpus >= 4)); then skip "there are $gpus GPUs"; fi
  launch_on_one_gpu "$1" "$programs/conformance_rank" "$backend_of_gpus"
}

# What a measured run is asked, of as many ranks as GPUs, and where its JSON is kept.
measure_command() {  # GPUS BACKEND MODE
  measure=("$programs/paceline" measure "$scenario" --backend "$2" --mode "$3"
    --set "sweep.gpus=[$1]" ${steps:+--steps "$steps"})
  json=$work_out/measured-$2-$3-${1//, /-}.json
}

measure_launched() {  # RANKS MODE
  measure_command "$1" "$backend_of_gpus" "$2"
  launch "$1" "${measure[@]}" --json "$json"
  must_hold_steps "$json"
}

conformance_by_launcher() { launch_by_launcher "$programs/conformance_rank" "$backend_of_gpus"; }

measure_by_launcher() {
  measure_command "$ranks" "$backend_of_gpus" native
  launch_by_launcher "${measure[@]}" --json "$json"
  must_hold_steps "$json"
}

sweep_by_launcher() {
  launch_by_launcher "$programs/collective_sweep" "$backend_of_gpus" 0 "$sweep_max" 4 native ring
}

measure_on_one_gpu() {  # RANKS MODE
  measure_command "$1" "$backend_of_gpus" "$2"
  launch_on_one_gpu "$1" "${measure[@]}" --json "$json"
  must_hold_steps "$json"
}

measure_threads() {
  measure_command "1, 2, 4" "$backend_of_threads" plan
  "${with_libraries[@]}" "${measure[@]}" --json "$json"
  must_hold_steps "$json"
}

must_hold_steps() {  # JSON
  grep -q '"step_s": [0-9]' "$1" || fail "$1 has no measured step"
  if grep -q '"measured": null' "$1"; then fail "$1 has a point without a measurement"; fi
}

# A rank writes what its ranges are into record.RANK.
recording() {  # FOLDER COMMAND...
  # shellcheck disable=SC2016  # the rank's own shell reads these
  recorded=(bash -c 'NVTX_INJECTION64_PATH=$0 PACELINE_NVTX_RECORD=$1/record.${RANK:-0} exec "${@:2}"'
    "$tool" "$@")
}

must_be_ranges_of_buckets() {  # FOLDER
  local started ended
  started=$(cat "$1"/record.* | grep -c '^start [0-9]* paceline: bucket ') || true
  ended=$(cat "$1"/record.* | grep -c '^end [0-9]* paceline$') || true
  echo "$started ranges began, $ended ended"
  grep -h -m 3 '^start [0-9]* paceline: ' "$1"/record.0
  ((started > 0 && started == ended)) || fail "not every range has a beginning and an end"
}

nvtx_threads() {
  local folder
  folder=$(mktemp -d)
  steps=2 measure_command 2 "$backend_of_threads" plan
  recording "$folder" "${measure[@]}" --json /dev/null
  "${with_libraries[@]}" "${recorded[@]}"
  must_be_ranges_of_buckets "$folder"
}

nvtx_on_one_gpu() {
  local folder
  folder=$(mktemp -d)
  steps=2 measure_command 2 "$backend_of_gpus" native
  recording "$folder" "${measure[@]}" --json /dev/null
  launch_on_one_gpu 2 "${recorded[@]}"
  must_be_ranges_of_buckets "$folder"
}

# Rank 1 of two is killed so long after its start; rank 0 must say so and end with 3, within its 30 s
# for every wait and what it takes to end.
killed_rank() {  # SECONDS
  local said code=0 start=$SECONDS
  steps=10000 measure_command 2 "$backend_of_gpus" native
  # shellcheck disable=SC2016  # the rank's own shell reads these
  said=$(launch_on_one_gpu 2 bash -c 'if ((RANK == 0)); then exec "${@:3}"; fi
      "$1/paceline-worker" --backend "$2" & sleep "$0"; kill -KILL $!; wait $!' \
    "$1" "$programs" "$backend_of_gpus" "${measure[@]}" --json /dev/null 2>&1) || code=$?
  echo "$said"
  echo "exit code $code, $((SECONDS - start - $1)) s after rank 1 was killed"
  ((code == 3)) || fail "the exit code is not 3"
  grep -q 'rank 1' <<<"$said" || fail "rank 1 is not named"
  ((SECONDS - start - $1 <= 60)) || fail "it took too long"
}

missing_rank() {
  local said code=0 start=$SECONDS
  # The second rank ends at once, and nobody else comes.
  # shellcheck disable=SC2016
  said=$(launch_on_one_gpu 2 bash -c '((RANK == 0)) || exit 0; exec "$@"' rank \
    "$programs/paceline-worker" --backend "$backend_of_gpus" --connect-timeout 2s 2>&1) || code=$?
  echo "$said"
  echo "exit code $code after $((SECONDS - start)) s"
  ((code == 3)) || fail "the exit code is not 3"
  grep -q 'rank 1 did not come within 2 s' <<<"$said" || fail "it does not say that rank 1 did not come"
  ((SECONDS - start <= 20)) || fail "it took too long"
}

sweep_on_all_gpus() {
  launch "$gpus" "$programs/collective_sweep" "$backend_of_gpus" 0 "$sweep_max" 2 native
  launch "$gpus" "$programs/collective_sweep" "$backend_of_gpus" 0 "$sweep_max" 4 ring
}

sweep_on_one_gpu() {  # RANKS
  if ((gpus >= 4)); then skip "there are $gpus GPUs"; fi
  launch_on_one_gpu "$1" "$programs/collective_sweep" "$backend_of_gpus" 0 $((4 << 20)) 4 native ring
}

sweep_threads() {  # RANKS
  run collective_sweep "$backend_of_threads" "$1" "$sweep_max" 4 ring halving_doubling direct
}

# Processes of our programs, and this user's files of NCCL in shared memory (transport/shm.cc: nccl-*).
list_what_runs() {
  local process program
  for process in /proc/[0-9]*; do
    program=$(readlink "$process/exe") || continue
    if [[ $program == "$programs"/* ]]; then echo "process ${process#/proc/}: $program"; fi
  done
  { find /dev/shm -mindepth 1 -maxdepth 1 -name 'nccl-*' -user "$UID" 2>/dev/null || true; } | sort
}

nothing_left() {  # BEFORE
  sleep 1
  local now
  now=$(list_what_runs)
  if grep -vxFf "$1" <<<"$now" | grep .; then fail "these are new"; fi
  nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv
}

"$@"
