#!/usr/bin/env bash
# Tries everything that needs a GPU on this machine and writes one report (README.md).
#
#   check.sh [-o REPORT] [--time-limit SECONDS] [--prebuilt DIR] [--quick]
#            [--launcher COMMAND --ranks N]
#   check.sh --pack DIR
#
# Exit codes: 0 all passed, 1 something failed or found no time, 2 wrong arguments, 3 no GPU.
set -euo pipefail

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=${here%/tests/gpu}
report=gpu-check.txt
time_limit=540
launcher="" ranks=0
quick=0  # few steps, sweeps to 1 MiB, one rank killed instead of two
prebuilt=""
if [[ -x $root/bin/paceline ]]; then prebuilt=$root; fi  # this is a pack

usage() {
  sed -n '4,6s/^# *//p' "$here/check.sh" >&2
  exit 2
}

read_options() {
  while (($#)); do
    if [[ $1 == --quick ]]; then
      quick=1
      shift
      continue
    fi
    if [[ ! ${2:-} ]]; then usage; fi
    case $1 in
      -o) report=$2 ;;
      --time-limit) time_limit=$2 ;;
      --prebuilt) prebuilt=$(readlink -f -- "$2") ;;
      --launcher) launcher=$2 ;;
      --ranks) ranks=$2 ;;
      --pack) exec bash "$here/pack.sh" "$2" ;;
      *) usage ;;
    esac
    shift 2
  done
  if [[ $launcher && ! $ranks =~ ^[1-9][0-9]*$ ]]; then usage; fi
}

require_gpu() {
  local said
  if ! type -P nvidia-smi >/dev/null; then
    echo "no GPU here: there is no nvidia-smi" >&2
    exit 3
  fi
  said=$(nvidia-smi -L 2>&1) || true
  gpus=$(grep -c '^GPU ' <<<"$said") || true
  if ((gpus == 0)); then
    echo "no GPU here: nvidia-smi -L says: ${said//$'\n'/; }" >&2
    exit 3
  fi
  # CUDA counts those alone that are named here.
  if [[ ${CUDA_VISIBLE_DEVICES+given} ]]; then
    if [[ ! $CUDA_VISIBLE_DEVICES ]]; then
      echo "no GPU here: CUDA_VISIBLE_DEVICES is empty" >&2
      exit 3
    fi
    said=${CUDA_VISIBLE_DEVICES//[^,]/}
    gpus=$((${#said} + 1))
  fi
}

# The folder of libnccl.so.2; nothing where it is not found.
find_nccl() {
  local folder known
  known=$({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | sed -n 's/.*libnccl\.so\.2 .*=> //p')
  for folder in ${NCCL_HOME:+"$NCCL_HOME/lib" "$NCCL_HOME"} ${known:+"$(dirname "${known%%$'\n'*}")"} $(python_nccl); do
    if [[ -e $folder/libnccl.so.2 ]]; then
      echo "$folder"
      return
    fi
  done
}

# Where the Python package of NCCL may be, for each python3 that may have it.
python_nccl() {
  local python
  for python in "$(type -P python3 || true)" /opt/*/.venv/bin/python3 /opt/*/bin/python3; do
    if [[ ! -x $python ]]; then continue; fi
    "$python" -c 'import glob, sys
print("\n".join(p for d in sys.path for p in glob.glob(d + "/nvidia/nccl/lib")))' 2>/dev/null || true
  done
}

# Sets programs, tool, nccl and library_path. The caller's own path may be where the driver is.
find_programs() {
  local libraries=""
  if [[ $prebuilt ]]; then
    programs=$prebuilt/bin libraries=$prebuilt/lib
    tool=$prebuilt/bin/libnvtx_recording_tool.so
    if [[ -e $prebuilt/lib.tar.gz && ! -d $prebuilt/lib ]]; then
      libraries=$work/lib
      mkdir "$libraries"
      tar -xzf "$prebuilt/lib.tar.gz" -C "$libraries"
    fi
  else
    bash "$here/pack.sh" --build-only
    programs=$root/build/release/bin
    tool=$root/build/release/tests/libnvtx_recording_tool.so
  fi
  nccl=$(find_nccl)
  library_path=$(printf '%s\n' "$libraries" "$nccl" "${LD_LIBRARY_PATH:-}" | grep . | paste -sd:) || true
}

note() { printf '%s\n' "$*" >>"$report"; }
say() { printf '%s\n' "$*" | tee -a "$report"; }

# COMMAND...: with its output, or why there is none.
describe() {
  note "\$ $*"
  "$@" >>"$report" 2>&1 || note "($1 failed)"
  note ""
}

describe_machine() {
  : >"$report"
  say "Paceline on GPUs, $(date -u '+%Y-%m-%d %H:%M UTC')"
  note ""
  describe nvidia-smi --query-gpu=name,driver_version,memory.total,compute_mode --format=csv
  describe nvidia-smi topo -m
  describe uname -srm
  describe bash -c "lscpu | grep -E '^(Model name|CPU\(s\)|Socket)'"
  say "NCCL: ${nccl:-libnccl.so.2 was not found: set NCCL_HOME; without it most programs do not start}"
  describe env LD_LIBRARY_PATH="$library_path" "$programs/paceline" doctor
}

# The first lines and the last.
shortened() {  # FILE
  if (($(wc -l <"$1") <= 120)); then
    cat -- "$1"
  else
    head -n 80 -- "$1"
    echo "... ($(wc -l <"$1") lines in all, in $1)"
    tail -n 40 -- "$1"
  fi
}

running=0
end_running() {
  if ((running)); then kill -KILL -- "-$running" 2>/dev/null || true; fi
  running=0
}

# Runs a part of parts.sh within so many seconds, in a process group of its own.
part() {  # SECONDS TITLE NAME ARGUMENTS...
  local limit=$1 title=$2 code=0 start=$SECONDS left=$((time_limit - SECONDS)) verdict output
  parts=$((parts + 1))
  output=$work_out/$(printf '%02d' "$parts")-$3.txt
  shift 2
  if ((left < 20)); then
    echo "the time limit of $time_limit s is used up" >"$output"
    code=78
  else
    timeout --kill-after=5 $((limit < left ? limit : left)) bash "$here/parts.sh" "$@" >"$output" 2>&1 &
    running=$!
    wait "$running" || code=$?
    end_running
  fi
  case $code in
    0) verdict=PASS ;;
    77) verdict="SKIPPED ($(tail -n 1 "$output"))" ;;
    78) verdict="UNTRIED ($(tail -n 1 "$output"))" ;;
    124 | 137) verdict="FAIL (not done within $((limit < left ? limit : left)) s)" ;;
    *) verdict="FAIL (exit code $code)" ;;
  esac
  verdicts[${verdict%% *}]=$((verdicts[${verdict%% *}] + 1))
  summary+=$(printf '%-52s %4d s  %s' "$title" $((SECONDS - start)) "$verdict")$'\n'
  say "== $title: $verdict, $((SECONDS - start)) s"
  shortened "$output" >>"$report"
  note ""
}

# Most telling first; what takes turns on one GPU with four ranks may use up the rest of the time.
run_parts() {
  part 30 "programs start and find each other" programs
  part 90 "NCCL: tests" tests 'NcclBackend.*' NcclBackend.DoesEverythingAloneOnADevice
  part 120 "GPU buffers, plans on one GPU: tests" tests 'CudaLocalBackend.*:Gpu*' \
    CudaLocalBackend.DoesEveryAlgorithmWithEveryType
  part 20 "NVTX: payloads" nvtx_payloads
  part 60 "NCCL: conformance, 1 rank" conformance 1
  part 120 "NCCL: conformance, a rank a GPU" conformance_on_all_gpus
  part 150 "NCCL: conformance, 2 ranks on GPU 0" conformance_on_one_gpu 2
  if [[ $launcher ]]; then
    part 120 "NCCL: conformance, $ranks ranks by the launcher" conformance_by_launcher
    part 60 "NCCL: measured steps, $ranks ranks by the launcher" measure_by_launcher
    part 90 "sweep: NCCL, $ranks ranks by the launcher" sweep_by_launcher
  fi
  part 40 "NCCL: measured steps, 1 rank" measure_launched 1 native
  part 60 "NCCL: measured steps, 2 ranks on GPU 0, native" measure_on_one_gpu 2 native
  part 60 "NCCL: measured steps, 2 ranks on GPU 0, plan" measure_on_one_gpu 2 plan
  part 60 "cuda-local: measured steps, plan, 1 2 4 ranks" measure_threads
  part 40 "NVTX: ranges of a run on cuda-local" nvtx_threads
  part 60 "NVTX: ranges of a run on NCCL" nvtx_on_one_gpu
  part 60 "failure: a rank killed after 1 s" killed_rank 1
  if ((!quick)); then part 60 "failure: a rank killed after 15 s" killed_rank 15; fi
  part 30 "failure: a rank that never comes" missing_rank
  part 90 "sweep: NCCL, a rank a GPU" sweep_on_all_gpus
  part 60 "sweep: NCCL, 2 ranks on GPU 0, to 4 MiB" sweep_on_one_gpu 2
  part 60 "sweep: plans on cuda-local, 2 ranks" sweep_threads 2
  part 60 "sweep: plans on cuda-local, 4 ranks" sweep_threads 4
  part 150 "NCCL: conformance, 4 ranks on GPU 0" conformance_on_one_gpu 4
  time_limit=$((SECONDS + 30))  # this one always
  part 20 "nothing is left behind" nothing_left "$work/before"
}

main() {
  read_options "$@"
  require_gpu
  work=$(mktemp -d)
  trap 'end_running; rm -rf -- "$work"' EXIT
  trap 'exit 143' TERM INT
  mkdir -p -- "${report%.txt}.parts"
  work_out=$(readlink -f -- "${report%.txt}.parts")
  find_programs
  describe_machine
  # Nothing of the caller's changes what is tried.
  unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT NCCL_HOSTID
  steps=$((quick ? 3 : 8))
  sweep_max=$((quick ? 1 << 20 : 256 << 20))
  export programs library_path nccl tool gpus root work_out steps sweep_max launcher ranks TMPDIR="$work"
  export backend_of_gpus=nccl backend_of_threads=cuda-local
  declare -gA verdicts=([PASS]=0 [SKIPPED]=0 [FAIL]=0 [UNTRIED]=0)
  parts=0 summary=""
  bash "$here/parts.sh" list_what_runs >"$work/before"
  run_parts
  note "Summary"
  note "$summary"
  say "${verdicts[PASS]} passed, ${verdicts[SKIPPED]} skipped, ${verdicts[FAIL]} failed, ${verdicts[UNTRIED]} not tried"
  exit $((verdicts[FAIL] + verdicts[UNTRIED] > 0))
}

main "$@"
