#!/bin/sh
# Builds bundle/ and LICENSES from the sources beside it; with --check, in a folder of its own, and
# compares: exit 1 where a byte differs. Needs node and npm; nothing else of paceline does.
set -eu
cd "$(dirname "$0")"
npm ci --silent
exec node build.mjs "$@"
