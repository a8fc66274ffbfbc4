#!/usr/bin/env bash
# Proves that a checkout works on a Debian 12 with nothing installed: makes a
# minimal one in a chroot, clones the repository into it (what is committed),
# and runs there `./paceline run FILE` and `./paceline test`, timing both.
#
#   tests/launcher/clean_debian.sh [FILE]    default: the first scenarios/library/dlperf*.yaml
#
# By hand only: needs root, debootstrap, git and a Debian 12 host, whose package
# sources it uses. PACELINE_BASE_TARBALL=FILE keeps the bare system there and
# starts from it the next time.
set -euo pipefail

repo=$(cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
chroot=""
timings=()

say() { printf 'clean_debian: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

# shellcheck disable=SC2317  # called by the trap
cleanup() {
  if [[ ! $chroot ]]; then return; fi
  # Lazily, so that a process left inside cannot keep a mount in rm's way.
  umount -l "$debian/proc" "$debian/dev/shm" 2>/dev/null || true
  rm -rf --one-file-system -- "$chroot"
}

make_base() {  # FOLDER
  local tarball=${PACELINE_BASE_TARBALL:-} mirror
  if [[ $tarball && -e $tarball ]]; then
    say "unpacking $tarball"
    mkdir "$1"
    tar -xpf "$tarball" --numeric-owner -C "$1"
    return
  fi
  # shellcheck disable=SC2016  # the fields are apt's, not the shell's
  mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "bookworm" && $2 == "main" && !found { print $3; found = 1 }')
  [[ $mirror ]] || die "apt knows no bookworm main archive; run apt-get update"
  say "debootstrap ..."
  if ! debootstrap --variant=minbase bookworm "$1" "$mirror" >"$chroot/debootstrap.log" 2>&1; then
    tail -n 20 "$chroot/debootstrap.log" >&2
    die "debootstrap failed"
  fi
  # Renamed once complete: a broken tarball must not be taken for a base.
  if [[ $tarball ]]; then
    tar -cpf "$tarball.new" --numeric-owner -C "$1" .
    mv "$tarball.new" "$tarball"
  fi
}

# Lets apt inside fetch packages the way it does outside: sources, keys,
# credentials, proxies, name resolution. Not the host's other apt settings,
# whose hooks call programs that are not there.
copy_apt_setup() {  # FOLDER
  local path
  rm -f "$1/etc/apt/sources.list"
  for path in /etc/apt/{sources.list,sources.list.d,auth.conf,auth.conf.d,trusted.gpg,trusted.gpg.d,keyrings} \
    /usr/share/keyrings /etc/ssl/certs/ca-certificates.crt /etc/resolv.conf /etc/hosts; do
    if [[ -e $path ]]; then
      mkdir -p "$1${path%/*}"
      cp -rL -- "$path" "$1${path%/*}/"
    fi
  done
  apt-config dump | grep -E '^Acquire::' | grep -v '::IndexTargets' >"$1/etc/apt/apt.conf.d/99host" || true
}

inside() {  # COMMAND...: in the clone in the chroot, with a fresh user's environment
  local name keep=()
  for name in http_proxy https_proxy no_proxy; do
    if [[ ${!name:-} ]]; then keep+=("$name=${!name}"); fi
  done
  # shellcheck disable=SC2016  # expanded by the inner shell
  chroot "$debian" /usr/bin/env -i HOME=/root LANG=C.UTF-8 "${keep[@]}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /bin/bash -c 'cd /paceline && exec "$@"' inside "$@" </dev/null
}

timed() {  # COMMAND...
  local start code=0
  say "inside: $*"
  start=$(date +%s)
  inside "$@" || code=$?
  timings+=("$(($(date +%s) - start)) s, exit $code: $*")
  if ((code)); then failed=1; fi
}

((EUID == 0)) || die "needs root"
for tool in debootstrap git apt-get; do
  type -P "$tool" >/dev/null || die "needs $tool"
done
grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release || die "needs a Debian 12 host, for its package sources"

scenario=${1:-}
if [[ ! $scenario ]]; then
  scenario=$(git -C "$repo" ls-files 'scenarios/library/dlperf*.yaml' | sort | sed -n 1p)
  [[ $scenario ]] || die "no scenarios/library/dlperf*.yaml is committed"
fi

trap cleanup EXIT
trap 'exit 130' INT TERM HUP
chroot=$(mktemp -d)
debian=$chroot/debian
chmod 755 "$chroot"
make_base "$debian"
copy_apt_setup "$debian"
mount -t proc proc "$debian/proc"
mkdir -p "$debian/dev/shm"  # the base brings the device nodes; tests may want shared memory
mount -t tmpfs -o mode=1777 tmpfs "$debian/dev/shm"
git clone --quiet --no-hardlinks -- "$repo" "$debian/paceline"

failed=0
timed ./paceline run "$scenario"
timed ./paceline test
printf '%s\n' "${timings[@]}"
exit "$failed"
