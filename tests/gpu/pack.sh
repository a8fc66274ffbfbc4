#!/usr/bin/env bash
# Puts what check.sh runs into a folder, for a machine with GPUs that cannot build:
#
#   pack.sh DIR            builds what is out of date first
#   pack.sh --build-only   and only that
#
# DIR/bin gets the programs, DIR/lib.tar.gz the shared libraries that they load, but for glibc's, the
# driver's and NCCL, which the other machine has; DIR/tests and DIR/scenarios what check.sh reads.
set -euo pipefail

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=${here%/tests/gpu}
build=$root/build/release
programs=(paceline paceline-sim paceline-worker gpu_test conformance_rank collective_sweep nvtx_ranges)
size_max=$((64 << 20))

build_programs() {
  PACELINE_PRESET=release "$root/paceline" --version >&2  # configures, and builds the first three
  cmake --build "$build" --target "${programs[@]}" nvtx_recording_tool >&2
}

# The files of all libraries that the programs load.
libraries() {
  if ldd "$@" | grep 'not found' | grep -v -E 'lib(cuda|nccl)\.so' >&2; then return 1; fi
  ldd "$@" | awk '/=> \//{print $3}' | sort -u |
    grep -v -E '/(libc|libm|libpthread|libdl|librt|libresolv|libutil|ld-linux[^/]*|libcuda|libnccl)\.so'
}

strip_all() { find "$1" -type f \( -name '*.so*' -o -perm -u+x \) -exec strip --strip-unneeded {} +; }

pack() {  # DIR
  local dir=$1
  work=$(mktemp -d)
  trap 'rm -rf -- "$work"' EXIT
  mkdir -p -- "$dir/bin" "$work/lib"
  rm -rf -- "${dir:?}/lib" "$dir/lib.tar.gz"
  cp -- "${programs[@]/#/$build/bin/}" "$build/tests/libnvtx_recording_tool.so" "$dir/bin"
  libraries "$dir"/bin/* >"$work/libraries"
  xargs cp -L -t "$work/lib" <"$work/libraries"
  strip_all "$dir/bin"
  strip_all "$work/lib"
  tar -C "$work/lib" -czf "$dir/lib.tar.gz" .
  mkdir -p -- "$dir/tests/gpu" "$dir/scenarios/library"
  cp -- "$here"/{check,parts,start_ranks}.sh "$here/README.md" "$dir/tests/gpu"
  cp -- "$root/scenarios/library/quickstart-measured.yaml" "$dir/scenarios/library"
}

if (($# != 1)); then
  echo "pack.sh DIR | --build-only" >&2
  exit 2
fi
build_programs
if [[ $1 == --build-only ]]; then exit; fi
pack "$1"
size=$(du -sb -- "$1" | cut -f1)
echo "$1: $((size >> 10)) KiB"
if ((size > size_max)); then
  echo "that is more than $((size_max >> 20)) MiB" >&2
  exit 1
fi
