#!/usr/bin/env bash
# Builds the Debian package, installs it with apt into a bare Debian 12 in a folder of its own, and
# runs commands of the README there. By hand, as root, with debootstrap: it downloads 300 MB.
# Packages come from where this machine's apt has its own; PACELINE_COMPILER_LAUNCHER=ccache speeds
# the build. Usage: bare_debian.sh [PACKAGE.deb]
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
bare=$work/debian

clean_up() {
  for folder in proc dev/shm; do
    if mountpoint -q "$bare/$folder"; then umount "$bare/$folder"; fi
  done
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

say() { printf '== %s\n' "$*"; }

# The first source of apt that has bookworm itself, as apt reads its own configuration.
mirror_of_apt() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 == "bookworm" || $2 == "stable" || $2 == "oldstable" {print $1; exit}'
}

build_package() {
  local launcher=${PACELINE_COMPILER_LAUNCHER:-}
  cmake --preset package ${launcher:+"-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher"} >"$work/log" 2>&1 &&
    cmake --build --preset package -j "$(nproc)" >"$work/log" 2>&1 &&
    (cd build/package && rm -rf package && cpack -G DEB >"$work/log" 2>&1) ||
    { tail -n 40 "$work/log"; exit 1; }
}

cd "$root"
if (($# > 0)); then
  package=$(realpath -- "$1")
else
  say "building the package"
  build_package
  package=$(echo "$root"/build/package/package/paceline_*.deb)
fi
say "$(basename "$package"): $(stat -c %s "$package") bytes"
dpkg-deb --field "$package" Version Installed-Size Depends Suggests

mirror=$(mirror_of_apt)
[[ $mirror ]] || { say "apt has no source of bookworm"; exit 1; }
say "debootstrap"
debootstrap --variant=minbase bookworm "$bare" "$mirror" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log"; exit 1; }
# As this machine resolves names and reaches the mirror.
cp -L /etc/resolv.conf "$bare/etc/resolv.conf"
cp -L /etc/hosts "$bare/etc/hosts"
mount -t proc proc "$bare/proc"
mkdir -p "$bare/dev/shm"
mount -t tmpfs tmpfs "$bare/dev/shm"
cp "$package" "$bare/paceline.deb"

inside() { chroot "$bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" "$@"; }

size_of() { du -sxm --exclude=var/cache "$bare" | cut -f1; }
before=$(size_of)
say "apt-get install ./paceline.deb"
start=$SECONDS
{ inside apt-get update && inside apt-get install -y --no-install-recommends /paceline.deb; } >"$work/log" 2>&1 ||
  { tail -n 30 "$work/log"; exit 1; }
say "installed in $((SECONDS - start)) s; $(size_of) MB in place of $before MB"
if inside dpkg -s libsimgrid-dev >/dev/null 2>&1; then say "it brought a -dev package"; exit 1; fi

# Each has to end with 0; what it takes is said.
failed=0
try() {
  local begin end
  begin=$(date +%s%N)
  if inside sh -c "cd /root && $1" >"$work/out" 2>"$work/err"; then
    end=$(date +%s%N)
    printf '  %6d ms  %s\n' $(((end - begin) / 1000000)) "$1"
  else
    failed=1
    printf '  FAILED  %s\n' "$1"
    tail -n 5 "$work/err"
  fi
}
say "commands"
try "paceline --version"
try "paceline run scenarios/library/dlperf-bert-base-v100-batch32.yaml"
try "paceline run dlperf-bert-base-v100-batch32 --json result.json"
try "paceline collective dgx1-v100 --gpus 16 --max 64MiB"
try "paceline capacity scenarios/library/jobs/resnet50-90-epochs.yaml"
try "paceline advise quickstart-measured --gpus 2"
try "paceline buckets resnet50 --bucket-cap 25MiB"
try "paceline nccl dgx1-v100 --max 64MiB"
try "paceline validate dlperf-resnet50-v100-amp"
try "paceline sweep whatif-latency-bert-large-10gbe --store points.db"
try "paceline list devices"
try "paceline doctor"
try "paceline measure quickstart-measured --backend gloo --set gpus=2 --set real.steps=2"
try "paceline measure quickstart-measured --backend memory --mode plan --set gpus=2 --set real.steps=2"
try "test -s /usr/share/bash-completion/completions/paceline"
try "test -s /usr/share/doc/paceline/copyright"
try "apt-get remove -y paceline && ! command -v paceline"
exit $failed
