#!/usr/bin/env bash
# check.sh says in one line, at once, that there is no GPU; skipped where there is one.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
if nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then echo "skipped: there is a GPU"; exit 77; fi
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
code=0
timeout 60 bash "$here/check.sh" --prebuilt "$1" -o "$folder/report.txt" >"$folder/said" 2>&1 || code=$?
cat "$folder/said"
((code == 3))
(($(wc -l <"$folder/said") == 1))
grep -q '^no GPU here: ' "$folder/said"
[[ ! -e $folder/report.txt ]]
