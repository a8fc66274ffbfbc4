#!/usr/bin/env bash
# The thirty slowest tests of the last run of ctest, in seconds, and what all took together:
#
#   tests/slowest.sh [BUILD]    build/release unless it is given
set -euo pipefail
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
log=${1:-$root/build/release}/Testing/Temporary/LastTest.log
if [[ ! -e $log ]]; then
  echo "there is no $log: run ./paceline test before" >&2
  exit 2
fi
# A test is "N/ALL Test: NAME", and further down "Test time =   0.01 sec".
awk '/^[0-9]+\/[0-9]+ Test: / { name = $3 }
  /^Test time = / { printf "%8.2f  %s\n", $4, name; all += $4; ++count }
  END { printf "%8.0f  all of %d\n", all, count }' "$log" | sort -rn | awk "NR <= 31"
