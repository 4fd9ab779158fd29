# shellcheck shell=bash
# What every part uses: where things are kept, how it speaks, how it waits.
#
# All of dev/real runs under `set -e`. Bash ignores that inside a function
# called in `if`, `||` or `&&`; only plain tests are called that way here.

readonly KUBERNETES_VERSION=v1.36.4
# Staging modules are published under v0 with the same minor and patch numbers.
readonly STAGING_VERSION="v0${KUBERNETES_VERSION#v1}"
# The one that this Kubernetes is written against (its go.mod), as `etcd --version` says it.
readonly ETCD_VERSION=3.6.8
readonly CACHE="${MAAR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/maar}"
readonly BINARIES="$CACHE/kubernetes/$KUBERNETES_VERSION"
readonly INSTANCES="$CACHE/real"

# Set while something runs that must not outlive this script.
WORKER=
UNFINISHED=no
exec {CONSOLE}>&2

# on_exit: however this script ends, a half-made thing does not stay.
on_exit() {
  local status=$?
  trap '' INT TERM HUP
  trap - EXIT
  set +e
  # A signal may come while a function has its output turned away.
  exec 2>&"$CONSOLE"
  if [[ -n $WORKER ]]; then kill -TERM -- "-$WORKER" 2>/dev/null; fi
  if [[ $UNFINISHED == yes ]]; then abandon; fi
  exit "$status"
}

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "real: $*"
  exit 1
}

is_root() { [[ $EUID -eq 0 ]]; }

on_terminal() { [[ -t 2 ]]; }

# need COMMAND PACKAGE: a clear word about a missing tool.
need() {
  command -v "$1" >/dev/null || fail "'$1' is needed and was not found (Debian package: $2)"
}

# run_step LABEL LOG COMMAND...: runs a long command, its output in LOG, and
# shows that it is alive: a counter on a terminal, a line per 30 s elsewhere.
run_step() {
  local label=$1 log=$2 started=$SECONDS shown=0 status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  # A process group of its own, so that an interrupt ends all of it (on_exit).
  set -m
  "$@" >>"$log" 2>&1 </dev/null &
  set +m
  WORKER=$!
  while kill -0 "$WORKER" 2>/dev/null; do
    sleep 0.2
    shown=$(show_progress "$label" $((SECONDS - started)) "$shown")
  done
  wait "$WORKER" || status=$?
  WORKER=
  clear_progress
  if [[ $status -ne 0 ]]; then
    show_tail "$log"
    fail "$label failed after $((SECONDS - started)) s"
  fi
  say "$label … $((SECONDS - started)) s"
}

# show_progress LABEL SECONDS SHOWN: prints the second at which it last spoke.
show_progress() {
  local label=$1 elapsed=$2 shown=$3
  if on_terminal; then
    [[ $elapsed -eq $shown ]] || printf '\r\033[K%s … %s s' "$label" "$elapsed" >&2
    shown=$elapsed
  elif ((elapsed - shown >= 30)); then
    say "$label … $elapsed s so far"
    shown=$elapsed
  fi
  printf '%s' "$shown"
}

clear_progress() {
  if on_terminal; then printf '\r\033[K' >&2; fi
}

show_tail() {
  local log=$1
  [[ -s $log ]] || { say "  ($log is empty)"; return 0; }
  say "  the end of $log:"
  tail -n 25 "$log" | cut -c 1-400 | sed 's/^/  | /' >&2
}

# wait_until SECONDS COMMAND...: polls until the command succeeds.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

# take_lock FILE: one at a time across processes. The lock lives in an open
# descriptor, so it is gone with its holder however that one ends; processes
# that stay behind close it (see start_daemon).
take_lock() {
  local file=$1 descriptor
  need flock util-linux
  mkdir -p "$(dirname "$file")"
  exec {descriptor}>"$file"
  if ! flock --nonblock "$descriptor"; then
    say "waiting for another dev/real that holds $file"
    flock "$descriptor"
  fi
  LOCK_DESCRIPTOR=$descriptor
}

# release_lock DESCRIPTOR
release_lock() {
  local descriptor=$1
  exec {descriptor}>&-
}
