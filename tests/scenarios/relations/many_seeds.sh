#!/usr/bin/env bash
# The relations over many random scenarios, on all cores: those that are broken, and how many were tried.
#
#   tests/scenarios/relations/many_seeds.sh [SEEDS [FIRST [RELATION [BUILD]]]]
#
# 2000 from 1 on, of all relations and build/release. Every night: 10000 1 folded_equals_flow;
# 4000 1 KeepToThem, of what cannot be beaten (3,300 are possible); 4000 1 RowsHold, of known rows (every tenth seed).
# PACELINE_RELATION_ALL=1 tries those, too, that DECISIONS say are broken now and then;
# PACELINE_RELATION_SHIPPED=1 all shipped scenarios, whose number is a seed's, too: for every night.
set -euo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")")
seeds=${1:-2000} first=${2:-1} relation=${3:-} build=${4:-$root/build/release}
parts=$(nproc) each=$(((seeds + $(nproc) - 1) / $(nproc)))
each=$(((each + 3) / 4 * 4))  # relations that are tried of every fourth seed only are tried of the same ones
found=$(mktemp -d)
trap 'rm -rf "$found"; [[ -z $(jobs -p) ]] || kill $(jobs -p) 2> /dev/null || true' EXIT
for ((part = 0; part < parts; ++part)); do
  PACELINE_RELATION_SEEDS=$each PACELINE_RELATION_FIRST_SEED=$((first + part * each)) \
    "$build/bin/scenarios_test" --gtest_filter="*Relations*$relation*" --gtest_output="json:$found/$part.json" \
    > "$found/$part.txt" 2>&1 &
done
wait || true
grep -h -A1000 'seed ' "$found"/*.txt | grep -v '^\[' || true
for ((part = 0; part < parts; ++part)); do
  [[ -s $found/$part.json ]] || { echo "part $part did not end:" >&2; tail -3 "$found/$part.txt" >&2; exit 1; }
done
python3 - "$found"/*.json << 'END'
import json, sys
counts = {}
for name in sys.argv[1:]:
    for suite in json.load(open(name))["testsuites"]:
        for test in suite["testsuite"]:
            count = counts.setdefault(test["name"].split("/")[-1], [0, 0, 0])
            for i, what in enumerate(("tried", "violated", "anomalies")):
                count[i] += int(test[what])
print(f"{'tried':>7} {'broken':>7} {'anomalies':>9}  relation")
for name, (tried, broken, anomalies) in counts.items():
    print(f"{tried:7} {broken:7} {anomalies:9}  {name}")
sys.exit(any(broken for _, broken, _ in counts.values()))
END
