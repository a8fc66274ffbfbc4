#!/bin/bash
# All sources are as .clang-format wants them. Exit 77 (skipped) where clang-format is not installed.
cd "$(dirname "$0")/../.." || exit 1
command -v clang-format > /dev/null || { echo "skipped: no clang-format"; exit 77; }
find models sim traces real scenarios tests \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) -print0 |
  xargs -0 clang-format --dry-run -Werror
