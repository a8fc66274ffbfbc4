#!/usr/bin/env bash
# The launcher, and the commands of CMake that the guide to installation shows, in a small tree with the presets of this one. Its
# programs are scripts, joined from what lies in models/, so that a build takes tenths of a second.
# shellcheck disable=SC2013,SC2016  # words are meant; what is written here expands elsewhere
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
tree=$work/tree
system=$work/system  # stands before the machine's own in PATH

# A system that has the package bash, and cannot install others: nothing here asks the real one.
make_system() {
  mkdir "$system"
  printf '#!/bin/sh\necho "installed bash"\n' >"$system/dpkg-query"
  printf '#!/bin/sh\necho "$@" >>"%s/asked"; test "$1" = update\n' "$work" >"$system/apt-get"
  printf '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done; exec "$@"\n' >"$system/sudo"
  chmod +x "$system"/*
}

make_tree() {
  mkdir -p "$tree"/{cmake,models,sim,real,traces,scenarios,tests}
  cp "$repo"/{paceline,CMakePresets.json,scenarios/guides/INSTALL.md} "$tree"
  printf '# a comment\nbash\n' >"$tree/packages.txt"
  printf '#!/bin/sh\n' >"$tree/models/1"
  printf 'echo "first $*"\n' >"$tree/models/2"
  cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
file(GLOB parts CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/models/*")
foreach(name IN ITEMS paceline paceline-sim paceline-worker)
  set(program "${CMAKE_BINARY_DIR}/bin/${name}")
  add_custom_command(OUTPUT "${program}" DEPENDS ${parts} VERBATIM COMMAND sh -c
    "cat \"$@\" >'${program}' && sh -n '${program}' && chmod +x '${program}'" join ${parts})
  add_custom_target(${name} ALL DEPENDS "${program}")
endforeach()
add_custom_target(paceline_programs)
add_dependencies(paceline_programs paceline paceline-sim paceline-worker)
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
enable_testing()
add_test(NAME Small.Runs COMMAND "${CMAKE_BINARY_DIR}/bin/paceline")
END
}

# run CODE COMMAND...: it must exit with CODE; what it says is in $out and $err.
run() {
  local code=0 expected=$1
  shift
  "$@" >"$work/out" 2>"$work/err" || code=$?
  out=$(<"$work/out") err=$(<"$work/err")
  expect "exit code $expected of $*" "$code" "$expected"
}

expect() {  # WHAT SEEN PATTERN
  # shellcheck disable=SC2053  # the right side is a pattern
  if [[ $2 == $3 ]]; then return; fi
  printf '%s: %s\n  expected: %s\n  stdout: %s\n  stderr: %s\n' "${FUNCNAME[*]:1}" "$1: $2" "$3" "$out" "$err"
  exit 1
}

builds_once_and_hands_over() {
  run 0 ./paceline a 'b c'
  expect output "$out" 'first a b c'
  expect message "$err" 'paceline: building (first run takes a few minutes) ...'
  run 0 ./paceline
  expect message "$err" ''
}

# Commands that measure build the worker, at the first of them.
builds_what_a_command_needs() {
  expect "programs of a prediction" "$(cd build/release/bin && echo *)" 'paceline paceline-sim'
  local words
  for words in 'measure x' 'run x --measure' 'doctor' 'validate --loop x' 'sweep x --mpi=4'; do
    rm -f build/release/bin/paceline-worker build/release/.stamp-measurement
    # shellcheck disable=SC2086
    run 0 ./paceline $words
    expect "programs of $words" "$(cd build/release/bin && echo *)" '*paceline-worker'
    # shellcheck disable=SC2086
    run 0 ./paceline $words
    expect "message of $words" "$err" ''
  done
  run 0 ./paceline run x
  expect "message of a prediction" "$err" ''
}

# With nothing but bash and find on the way: find is started once, by the launcher itself, nothing
# else is even looked for, and bash has no more processes, traced by their numbers, than these two.
starts_one_process_when_up_to_date() {
  local only=$work/only
  mkdir "$only"
  ln -s "$(type -P bash)" "$only/bash"
  printf '#!%s\necho "find of $PPID" >>"%s/started"\nPATH=/usr/bin:/bin\nexec find "$@"\n' \
    "$only/bash" "$work" >"$only/find"
  chmod +x "$only/find"
  printf 'command_not_found_handle() { echo "$1" >>"%s/started"; }\nPS4="+ \$BASHPID "\n' \
    "$work" >"$work/watch"
  BASH_ENV=$work/watch PATH=$only run 0 bash -c 'echo $$; exec ./paceline x'
  expect output "$out" $'+([0-9])\nfirst x'
  expect message "$err" ''
  expect processes "$(<"$work/started")" "find of ${out%%$'\n'*}"
  BASH_ENV=$work/watch run 0 bash -x ./paceline x
  expect "processes of bash" "$(awk '/^\++ [0-9]+ / { print $2 }' "$work/err" | sort -u | wc -l)" 2
}

notices_what_changed() {
  echo 'echo edited' >>models/2
  run 0 ./paceline
  expect output "$out" $'first \nedited'
  echo 'echo new' >models/3
  run 0 ./paceline
  expect output "$out" $'first \nedited\nnew'
  rm models/2
  run 0 ./paceline
  expect output "$out" new
  mkdir -p sim/folder && touch sim/folder/file
  run 0 ./paceline
  expect "message of a new folder" "$err" 'paceline: building ...'
  rm sim/folder/file
  run 0 ./paceline
  expect "message of a deleted file" "$err" 'paceline: building ...'
  rmdir sim/folder
  run 0 ./paceline
  expect "message of a deleted folder" "$err" 'paceline: building ...'
  run 0 ./paceline test
  touch tests/one
  run 0 ./paceline
  expect "message of a test that tools do not need" "$err" ''
  run 0 ./paceline test
  expect "message of tests" "$err" 'paceline: building ...'
  rm build/release/bin/paceline-sim
  run 0 ./paceline
  expect "message of a missing program" "$err" 'paceline: building ...'
}

starts_from_anywhere() {
  mkdir -p "$work/else where"
  ln -s "$tree/paceline" "$work/else where/link"
  cd "$work/else where"
  run 0 ./link linked
  expect output "$out" new
  run 0 ../tree/paceline
  expect output "$out" new
  PATH=$tree:$PATH run 0 paceline
  expect output "$out" new
  expect message "$err" ''
  cd "$tree"
}

installs_what_is_missing() {
  printf 'wanted  # by this test\n' >>packages.txt
  run 3 ./paceline
  expect asked "$(<"$work/asked")" $'update\ninstall -y --no-install-recommends wanted *'
  expect message "$err" '*installing wanted ...*package installation failed; the end of build/apt.log:*'
  printf '#!/bin/sh\nexit 0\n' >"$system/apt-get"
  run 0 ./paceline
  expect message "$err" $'paceline: installing wanted ...\npaceline: building ...'
  expect log "$(<build/release/build.log)" '*Configuring done*'
  run 0 ./paceline
  expect "message of packages that were looked at" "$err" ''
  echo bash >packages.txt
}

says_why_it_failed() {
  echo 'if' >models/4
  run 4 ./paceline
  expect message "$err" $'paceline: building ...\npaceline: build failed; the end of build/release/build.log:*'
  run 4 ./paceline
  rm models/4
  echo 'exit 7' >>models/3
  run 7 ./paceline
  run 1 ./paceline test
  expect output "$out" '*Small.Runs*Failed*'
  run 1 ./paceline test -R NoSuchTest
  sed -i '/exit 7/d' models/3
  run 0 ./paceline test -R Small
  expect output "$out" '*100% tests passed*'
  PACELINE_PRESET=fast run 2 ./paceline
  expect message "$err" "paceline: PACELINE_PRESET is 'fast'; it can be *"
}

# A file that cannot be opened stands for a checkout that is read-only, which is none for root.
says_that_nothing_can_be_written() {
  touch models/3
  rm build/release/.lock
  mkdir build/release/.lock
  run 3 ./paceline
  expect message "$err" 'paceline: cannot build: */build/release cannot be written: Is a directory'
  rmdir build/release/.lock
  ln -s /dev/full build/release/.lock
  run 3 ./paceline
  expect message "$err" 'paceline: cannot build: */build/release cannot be written: No space left on device'
  rm build/release/.lock
  cp CMakeLists.txt "$work/CMakeLists.txt"
  echo 'message(FATAL_ERROR "x.o: No space left on device")' >>CMakeLists.txt  # and has room again
  run 3 ./paceline
  expect message "$err" $'paceline: building ...\npaceline: the disk is full; the end of build/release/build.log:*'
  cp "$work/CMakeLists.txt" CMakeLists.txt
  run 0 ./paceline
}

has_every_preset() {
  local name
  # That of packages has no tests, and is for CMake alone.
  for name in $(sed -n 's/.*{"name": "\([a-z]*\)", "configurePreset".*/\1/p' CMakePresets.json | sort -u); do
    if [[ $name == package ]]; then continue; fi
    PACELINE_PRESET=$name run 0 ./paceline
    expect output "$out" new
  done
}

waits_for_another_that_builds() {
  touch models/3
  flock build/release/.lock sleep 1 &
  until ! flock -n build/release/.lock true; do sleep 0.01; done
  run 0 ./paceline
  expect message "$err" $'paceline: waiting for another launcher that is building ...\npaceline: building ...'
  wait
}

# The lines of ```sh blocks of INSTALL.md that start with cmake or ctest.
runs_what_the_guide_shows_of_cmake() {
  local lines
  lines=$(awk '/^```/ { shell = $0 == "```sh" } shell && /^(cmake|ctest) / { print }' INSTALL.md)
  expect "commands of CMake" "$(wc -l <<<"$lines")" 3
  rm -rf build
  run 0 bash -euc "$lines"
  expect output "$out" '*100% tests passed*'
  run 0 build/release/bin/paceline
  expect output "$out" new
}

make_system
make_tree
cd "$tree"
unset PACELINE_PRESET
PATH=$system:$PATH
builds_once_and_hands_over
builds_what_a_command_needs
starts_one_process_when_up_to_date
notices_what_changed
starts_from_anywhere
installs_what_is_missing
says_why_it_failed
says_that_nothing_can_be_written
has_every_preset
waits_for_another_that_builds
runs_what_the_guide_shows_of_cmake
