#!/bin/bash
# The error table of README: all shipped measured points, beside the null models.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t scenarios < <(grep -l '^measured:' scenarios/library/*.yaml)
exec ./paceline validate "${scenarios[@]}" "$@"
