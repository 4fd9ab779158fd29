# shellcheck shell=bash
# The commands a person types. Each takes --name NAME (default: default).

command_up() {
  local option node=no pod_groups=no authentication=
  parse_names "$@"
  for option in "${OPTIONS[@]}"; do
    case $option in
      --node) node=yes ;;
      --pod-groups) pod_groups=yes ;;
      --authentication=?*) authentication=${option#*=} ;;
      *) fail "up: unknown option $option" ;;
    esac
  done
  only_one_name up
  select_instance "${NAMES[0]}"
  if [[ $node == yes ]] && ! is_root; then
    fail "up --node: a real node needs root (containers, network devices, mounts); the control plane alone does not"
  fi
  [[ -z $authentication || -r $authentication ]] || fail "up: cannot read $authentication"
  ensure_built
  lock_instance
  if is_complete; then
    [[ $node == no || -d $STATE/node ]] || fail "'$NAME' is already running, without a node; end it first: dev/real down --name $NAME"
    [[ $pod_groups == no || -e $STATE/pod-groups ]] || fail "'$NAME' is already running, without PodGroups; end it first: dev/real down --name $NAME"
    [[ -z $authentication || -e $STATE/authentication.yaml ]] || fail "'$NAME' is already running, without it; end it first: dev/real down --name $NAME"
    say "'$NAME' is already running"
  else
    clear_leftovers
    bring_up "$node" "$pod_groups" "$authentication"
  fi
  unlock_instance
  printf '%s\n' "$STATE/kubeconfig"
}

is_complete() { [[ -e $STATE/complete && -z $(missing_components) ]]; }

# clear_leftovers: what a reboot or a crash left behind, with no process alive.
clear_leftovers() {
  [[ -d $STATE ]] || return 0
  if [[ -n $(running_components) ]]; then
    fail "'$NAME' is not whole: $(missing_components)not running; end the rest with: dev/real down --name $NAME"
  fi
  say "clearing what an earlier '$NAME' left"
  stop_instance
}

# bring_up NODE POD_GROUPS AUTHENTICATION: whole or not at all.
bring_up() {
  local started=$SECONDS
  umask 077
  mkdir -p "$STATE"
  UNFINISHED=yes
  if [[ $2 == yes ]]; then
    touch "$STATE/pod-groups"
  fi
  if [[ -n $3 ]]; then
    cp "$3" "$STATE/authentication.yaml"
  fi
  start_control_plane
  if [[ $1 == yes ]]; then
    start_node
  fi
  touch "$STATE/complete"
  UNFINISHED=no
  say "'$NAME' is up after $((SECONDS - started)) s; kubeconfig:"
}

# abandon: the end of an `up` that did not get through. Logs are kept aside.
abandon() {
  clear_progress
  say "stopping what was started"
  rm -rf "$INSTANCES/.failed-$NAME"
  cp -r "$STATE/logs" "$INSTANCES/.failed-$NAME" 2>/dev/null && say "logs: $INSTANCES/.failed-$NAME"
  stop_instance
}

command_down() {
  local option all=no name
  parse_names "$@"
  for option in "${OPTIONS[@]}"; do
    case $option in
      --all) all=yes ;;
      *) fail "down: unknown option $option" ;;
    esac
  done
  if [[ $all == yes ]]; then
    mapfile -t NAMES < <(instance_names)
  fi
  for name in "${NAMES[@]}"; do
    select_instance "$name"
    bring_down
  done
}

bring_down() {
  local started=$SECONDS
  if [[ ! -d $STATE ]]; then
    say "'$NAME' is not there"
    return 0
  fi
  lock_instance
  stop_instance
  unlock_instance
  say "'$NAME' is down after $((SECONDS - started)) s"
}

# status: one table of all instances, or of those named; fails when one of
# those named is not up and ready, so that scripts can ask.
command_status() {
  local name whole=yes
  parse_names "$@"
  [[ ${#OPTIONS[@]} -eq 0 ]] || fail "status: unknown option ${OPTIONS[0]}"
  if [[ $NAMED == no ]]; then
    mapfile -t NAMES < <(instance_names)
  fi
  if [[ ${#NAMES[@]} -eq 0 ]]; then
    say "nothing is running"
    return 0
  fi
  printf '%-12s %-24s %8s %7s %-6s %8s\n' INSTANCE COMPONENT PID PORT READY MEMORY
  for name in "${NAMES[@]}"; do
    select_instance "$name"
    status_rows || whole=no
  done
  [[ $whole == yes ]]
}

status_rows() {
  local component pid ready whole=yes
  if [[ ! -d $STATE ]]; then
    printf '%-12s %-24s %8s %7s %-6s %8s\n' "$NAME" - - - no -
    return 1
  fi
  for component in $(components); do
    pid=$(pid_of "$component") || pid=-
    ready=no
    if [[ $pid != - ]] && is_ready "$component"; then ready=yes; fi
    [[ $ready == yes ]] || whole=no
    printf '%-12s %-24s %8s %7s %-6s %8s\n' "$NAME" "$component" "$pid" \
      "$(port_of "$component" | grep . || echo -)" "$ready" "$(memory_of "$pid" | grep . || echo -)"
  done
  [[ $whole == yes ]]
}

command_kubeconfig() {
  parse_names "$@"
  only_one_name kubeconfig
  select_instance "${NAMES[0]}"
  require_up
  printf '%s\n' "$STATE/kubeconfig"
}

# env: for `eval`. Several --name give a list of kubeconfigs, in that order,
# for tests that ask for more than one cluster.
command_env() {
  local name list=
  parse_names "$@"
  for name in "${NAMES[@]}"; do
    select_instance "$name"
    require_up
    list+="${list:+:}$STATE/kubeconfig"
  done
  printf 'export KUBECONFIG=%q\n' "${list%%:*}"
  printf 'export MAAR_REAL_KUBECONFIG=%q\n' "$list"
  printf 'export MAAR_REAL_KUBECTL=%q\n' "$BINARIES/kubectl"
}

require_up() {
  [[ -e $STATE/complete ]] || fail "'$NAME' is not up; start it with: dev/real up --name $NAME"
}

# parse_names ARGUMENTS...: NAMES from --name, everything else in OPTIONS.
parse_names() {
  NAMES=() OPTIONS=() NAMED=yes
  while [[ $# -gt 0 ]]; do
    case $1 in
      --name)
        [[ $# -ge 2 ]] || fail "--name needs a name"
        NAMES+=("$2")
        shift
        ;;
      --name=*) NAMES+=("${1#--name=}") ;;
      *) OPTIONS+=("$1") ;;
    esac
    shift
  done
  if [[ ${#NAMES[@]} -eq 0 ]]; then
    NAMES=(default) NAMED=no
  fi
}

only_one_name() {
  [[ ${#NAMES[@]} -eq 1 ]] || fail "$1 takes one --name"
  [[ $1 == up || ${#OPTIONS[@]} -eq 0 ]] || fail "$1: unknown option ${OPTIONS[0]}"
}
