# shellcheck shell=bash
# One instance is one folder: STATE. Its lock lies beside it, because the
# folder goes when the instance does.

# select_instance NAME: sets NAME and STATE for what follows.
select_instance() {
  NAME=$1
  [[ $NAME =~ ^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$ ]] ||
    fail "'$NAME' is no name: use up to 24 lower-case letters, digits and dashes"
  STATE="$INSTANCES/$NAME"
}

lock_instance() {
  take_lock "$INSTANCES/.$NAME.lock"
  INSTANCE_LOCK=$LOCK_DESCRIPTOR
}

unlock_instance() { release_lock "$INSTANCE_LOCK"; }

instance_names() {
  local folder
  for folder in "$INSTANCES"/*/; do
    [[ -d $folder ]] && basename "$folder"
  done
  return 0
}

# components: what this instance consists of, in the order of starting.
components() {
  printf '%s\n' "${CONTROL_PLANE[@]}"
  if [[ -d $STATE/node ]]; then
    printf '%s\n' "${NODE[@]}"
  fi
}

# running_components / missing_components: of the selected instance.
running_components() {
  local component
  for component in $(components); do
    if is_running "$component"; then printf '%s ' "$component"; fi
  done
}

missing_components() {
  local component
  for component in $(components); do
    if is_stopped "$component"; then printf '%s ' "$component"; fi
  done
}

# stop_instance: everything it started, last started first, then its folder.
stop_instance() {
  local component
  [[ -d $STATE ]] || return 0
  if [[ -d $STATE/node ]]; then
    stop_node
  fi
  for component in kube-scheduler kube-controller-manager kube-apiserver etcd; do
    stop_daemon "$component" 15
  done
  rm -rf "$STATE"
}
