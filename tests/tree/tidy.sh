#!/bin/bash
# clang-tidy with the checks of .clang-tidy over the sources of the product, as a build compiles them: with
# preset release a folder at a time. Exit 77 (skipped) where clang-tidy is not installed.
#
#   tests/tree/tidy.sh [BUILD [PATTERN]]    default: build/release, and all of it
cd "$(dirname "$0")/../.." || exit 1
command -v clang-tidy > /dev/null || { echo "skipped: no clang-tidy"; exit 77; }
build=$(realpath "${1:-build/release}") || exit 1
commands=$(mktemp -d) || exit 1
trap 'rm -rf "$commands"' EXIT
# clang does not read GCC's precompiled headers, and does not know all of its warnings.
sed 's/-Winvalid-pch -include [^ ]*cmake_pch.hxx//; s/ -Werror / /g' "$build/compile_commands.json" \
  > "$commands/compile_commands.json" || exit 1
# Sources, and what includes those of a folder; neither generated data nor tests.
product='(models|traces|sim|real|scenarios)'
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$commands/compile_commands.json" |
  grep -E "^$PWD/$product/.*\.cpp$|^$build/$product/.*/Unity/" | grep -E "${2:-.}" | sort -u > "$commands/files"
[[ -s $commands/files ]] || { echo "nothing to look at in $build"; exit 1; }
xargs -a "$commands/files" -P "$(nproc)" -n 1 clang-tidy --quiet --config-file=.clang-tidy -p "$commands"
