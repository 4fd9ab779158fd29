# shellcheck shell=bash
# Processes that outlive this script, known by pid file.
#
# A pid file holds `PID START BOOT`: the start time in clock ticks and the
# boot's id tell a recycled pid from ours, so nothing else is ever signalled.

# start_daemon NAME COMMAND...: output in logs/NAME.log of the instance.
start_daemon() {
  local name=$1 file="$STATE/run/$1.pid" pid
  shift
  mkdir -p "$STATE/run" "$STATE/logs"
  rm -f "$file"
  (
    pid=$BASHPID
    printf '%s %s %s\n' "$pid" "$(start_time "$pid")" "$(boot_id)" >"$file.new"
    mv "$file.new" "$file"
    exec </dev/null >>"$STATE/logs/$name.log" 2>&1
    close_descriptors
    # Its own session: Ctrl-C in the developer's terminal is not for it.
    exec setsid "$@"
  ) &
  # Known before anybody asks whether it runs or how to stop it.
  wait_until 10 test -e "$file" || fail "$name could not be started"
}

# Locks and pipes of this script must not live on in what it leaves behind.
close_descriptors() {
  local descriptor
  for descriptor in "/proc/$BASHPID/fd"/*; do
    descriptor=${descriptor##*/}
    if ((descriptor > 2)); then
      eval "exec $descriptor>&-"
    fi
  done
}

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# stat_field PID INDEX: a field of /proc/PID/stat, counted after the command's
# name, which may itself hold spaces and brackets.
stat_field() {
  local line fields
  { line=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  read -ra fields <<<"${line##*) }"
  printf '%s\n' "${fields[$2]}"
}

start_time() { stat_field "$1" 19; }

# pid_of NAME: prints the pid if that very process still runs.
pid_of() {
  local pid start boot state
  [[ -r $STATE/run/$1.pid ]] || return 1
  read -r pid start boot <"$STATE/run/$1.pid" || return 1
  [[ $boot == "$(boot_id)" ]] || return 1
  [[ $(start_time "$pid") == "$start" ]] || return 1
  state=$(stat_field "$pid" 0) || return 1
  [[ $state != Z ]] || return 1
  printf '%s\n' "$pid"
}

is_running() { pid_of "$1" >/dev/null; }

is_stopped() { ! is_running "$1"; }

# stop_daemon NAME SECONDS: TERM, then KILL after the grace.
stop_daemon() {
  local name=$1 grace=$2 pid
  if pid=$(pid_of "$name"); then
    kill -TERM "$pid" 2>/dev/null || true
    if ! wait_until "$grace" is_stopped "$name"; then
      say "$name did not stop within $grace s and is killed"
      kill -KILL "$pid" 2>/dev/null || true
      wait_until 10 is_stopped "$name" || fail "$name (pid $pid) cannot be killed"
    fi
  fi
  rm -f "$STATE/run/$name.pid"
}

# memory_of PID: resident, in MB.
memory_of() {
  awk '/^VmRSS:/ { printf "%d MB\n", $2 / 1024 }' "/proc/$1/status" 2>/dev/null
}
