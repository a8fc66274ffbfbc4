#!/usr/bin/env bash
# Which lines of the GPU backends the tests on the stand-in run:
#
#   coverage.sh        builds in build/coverage, runs ctest -R StandIn, prints a row a file
#
# By hand, some minutes; needs Debian's package gcovr.
set -euo pipefail
root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../..
cd -- "$root"
build=build/coverage
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS="--coverage -fprofile-update=atomic" \
  -DCMAKE_CUDA_FLAGS="-Xcompiler --coverage,-fprofile-update=atomic" -DCMAKE_EXE_LINKER_FLAGS=--coverage \
  -DCMAKE_SHARED_LINKER_FLAGS=--coverage "$@" >&2
cmake --build "$build" --target stand_in_programs stand_in_test >&2
find "$build" -name '*.gcda' -delete
ctest --test-dir "$build" -R 'StandIn' --output-on-failure >&2
gcovr --root . --object-directory "$build" --gcov-ignore-parse-errors \
  --filter 'real/(cuda|cuda_local|nccl)/' --gcov-exclude-directories '.*/CMakeFiles/3.*'
