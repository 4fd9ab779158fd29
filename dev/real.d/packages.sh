# shellcheck shell=bash
# Debian's containerd, runc, … without installing them: a package is downloaded
# and unpacked into the cache, so nothing needs root, no unit starts a daemon
# and `rm -r` of the cache undoes it. A tool that is on PATH is used as it is.

readonly PACKAGES="$CACHE/debian"

# provide NAME PACKAGE: unpacks PACKAGE unless NAME is on PATH.
provide() {
  type -P "$1" >/dev/null || unpack "$2"
}

# tool NAME PACKAGE PATH: prints where NAME is; PATH is its place in PACKAGE.
tool() { type -P "$1" || printf '%s\n' "$PACKAGES/$2$3"; }

unpack() {
  local package=$1 lock
  [[ ! -d $PACKAGES/$package ]] || return 0
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    fail "$package is needed; install it by your system's means so that it is on PATH"
  fi
  take_lock "$PACKAGES/.lock"
  lock=$LOCK_DESCRIPTOR
  if [[ ! -d $PACKAGES/$package ]]; then
    run_step "unpacking $package" "$PACKAGES/download.log" unpack_package "$package"
  fi
  release_lock "$lock"
}

# unpack_package PACKAGE: whole or not at all, by rename.
unpack_package() {
  local package=$1 work
  work=$(mktemp -d "$PACKAGES/.$package.XXXXXX")
  # shellcheck disable=SC2064 # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  cd "$work" || exit
  apt_private download "$package"
  dpkg-deb --extract "$package"_*.deb root
  mv root "$PACKAGES/$package"
}

# apt_private ARGUMENTS...: apt-get with the system's sources. Where the system
# has no package lists (fresh images), lists of our own are fetched, which
# needs no root either.
apt_private() {
  local options=(-q -y -o "APT::Sandbox::User=root" -o "Debug::NoLocking=1")
  if ! apt-cache show "${@: -1}" >/dev/null 2>&1; then
    mkdir -p "$PACKAGES/apt/lists/partial" "$PACKAGES/apt/cache/archives/partial"
    options+=(-o "Dir::State::lists=$PACKAGES/apt/lists" -o "Dir::Cache=$PACKAGES/apt/cache")
    apt-get "${options[@]}" update
  fi
  apt-get "${options[@]}" "$@"
}
