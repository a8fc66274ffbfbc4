#!/usr/bin/env bash
# Installs a build into a folder of its own, moves that elsewhere, and uses it there: its programs
# outside any checkout, its completion, and its libraries by a program that adds to them.
# Usage: consumer_test.sh BUILD CONSUMER [CMAKE ARGUMENTS]
set -euo pipefail

build=$1 consumer=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/moved

fail() { printf 'FAILED: %s\n' "$1" >&2; exit 1; }

cmake --install "$build" --prefix "$folder/first" >"$folder/log" || { cat "$folder/log"; exit 1; }
mv "$folder/first" "$prefix"
paceline=$prefix/bin/paceline
mkdir "$folder/elsewhere"
cd "$folder/elsewhere"

# Through a link, as in a folder of PATH; without the build's folder.
ln -s "$paceline" "$folder/paceline"
by_path=$("$folder/paceline" run scenarios/library/dlperf-bert-base-v100-batch32.yaml --quiet)
by_name=$("$folder/paceline" run dlperf-bert-base-v100-batch32 --quiet)
[[ $by_path && $by_path == "$by_name" ]] || fail "a shipped scenario by path and by name differ"
"$paceline" capacity resnet50-90-epochs --quiet >/dev/null || fail "a shipped job"
"$paceline" check abci-resnet50-a100-amp >/dev/null || fail "a scenario that reads other shipped files"
if "$paceline" run no-such-scenario 2>"$folder/err"; then fail "a scenario that is not there"; fi
[[ $(wc -l <"$folder/err") == 1 ]] || fail "an error is one line"

for file in bash-completion/completions/paceline zsh/vendor-completions/_paceline \
  fish/vendor_completions.d/paceline.fish doc/paceline/copyright doc/paceline/SCHEMA.md \
  paceline/python/paceline_recorder.py paceline/python/paceline_describe.py; do
  [[ -s $prefix/share/$file ]] || fail "share/$file is missing"
done
if grep -rlF "$build" "$prefix/lib" "$prefix/share" --include=*.cmake --include=*.py; then
  fail "an installed file names the build's folder"
fi

cmake -G Ninja -S "$consumer" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" "$@" >"$folder/log" ||
  { cat "$folder/log"; exit 1; }
cmake --build "$folder/build" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$folder/build/consumer"

# What it added stands in every list that the commands make, and its strategy is predicted and searched:
# beside the programs that commands start.
cp "$folder/build/consumer" "$prefix/bin/consumer"
with() {  # WORD COMMAND...
  local word=$1
  shift
  "$prefix/bin/consumer" "$@" >"$folder/out" 2>"$folder/err" || { cat "$folder/err"; fail "consumer $*"; }
  grep -qF "$word" "$folder/out" || fail "consumer $* does not say $word"
}
scenario=$prefix/share/paceline/scenarios/library/hkbu-bert-large-10gbe.yaml
with layer_by_layer list strategies
with star list algorithms
with layer_by_layer schema
with layers_together schema
with layer_by_layer strategies "$scenario" --set gpus=8
with layers_together advise "$scenario" --gpus 8 --set training.strategy=layer_by_layer
with 'never compared with a measured step' run "$scenario" --set gpus=8 --set training.strategy=layer_by_layer --assumptions
printf 'lab-log all_reduce 8\n1024 17\n2048 19\n' >"$folder/lab.log"
with 'all_reduce, 8 GPUs' import "$folder/lab.log"
