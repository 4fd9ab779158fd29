# shellcheck shell=bash
# Removes what a real node made on the machine. It asks neither kubelet nor
# containerd, so it also works after they were killed.

stop_node() {
  local sockets
  stop_daemon kubelet 20
  sockets=$(shim_sockets)
  stop_daemon containerd 15
  kill_shims
  kill_cgroups
  unmount_below "$(run_folder)"
  unmount_below "$STATE/node"
  remove_network
  remove_cgroups
  # shellcheck disable=SC2086 # a list of plain paths
  rm -f $sockets
  rm -rf "$(run_folder)"
  remove_log_links
  rmdir /run/maar-real /run/containerd/s /run/containerd 2>/dev/null || true
}

# Shims listen outside of our folders, in a place that is fixed in containerd.
shim_sockets() {
  local file
  for file in "$(run_folder)"/containerd/io.containerd.runtime.v2.task/k8s.io/*/address; do
    if [[ -r $file ]]; then sed 's#^unix://##' "$file"; fi
  done
}

# shim_pids: those that were started with our containerd's address. The pattern
# comes by file, or grep would find itself.
shim_pids() {
  grep -lzxF -f <(printf '%s/containerd.sock' "$(run_folder)") /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3
}

kill_shims() {
  local pid
  for pid in $(shim_pids); do
    kill -KILL "$pid" 2>/dev/null || true
  done
}

our_cgroups() {
  local hierarchy
  for hierarchy in $(cgroup_hierarchies); do
    if [[ -d $hierarchy/$(cgroup_name) ]]; then
      printf '%s\n' "$hierarchy/$(cgroup_name)"
    fi
  done
}

cgroup_pids() {
  local folder
  for folder in $(our_cgroups); do
    find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null
  done | sort -u
}

no_cgroup_pids() { [[ -z $(cgroup_pids) ]]; }

# kill_cgroups: whatever a Pod left running.
kill_cgroups() {
  local pid
  for pid in $(cgroup_pids); do
    kill -KILL "$pid" 2>/dev/null || true
  done
  wait_until 10 no_cgroup_pids || say "processes of Pods did not end: $(cgroup_pids | tr '\n' ' ')"
}

remove_cgroups() {
  local folder
  for folder in $(our_cgroups); do
    find "$folder" -depth -type d -exec rmdir {} \; 2>/dev/null || true
  done
}

# unmount_below FOLDER: deepest first.
unmount_below() {
  local target
  while read -r target; do
    umount "$target" 2>/dev/null || umount --lazy "$target" || true
  done < <(mounts_below "$1")
}

mounts_below() {
  awk -v "folder=$1/" 'index($5, folder) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r target; do
    printf '%b\n' "$target"
  done
}

remove_network() {
  local bridge
  [[ -r $STATE/node/network ]] || return 0
  bridge="maar$(network_number)"
  [[ ! -e /sys/class/net/$bridge ]] || ip link delete "$bridge"
}

# kubelet links container logs in a folder that cannot be configured.
remove_log_links() {
  if [[ -d /var/log/containers ]]; then
    find /var/log/containers -lname "$STATE/node/*" -delete
    rmdir /var/log/containers 2>/dev/null || true
  fi
}

# nothing_of_node_left: for the selftest.
nothing_of_node_left() {
  [[ -z $(our_cgroups) && -z $(shim_pids) && ! -e $(run_folder) ]] &&
    [[ -z $(mounts_below "$(run_folder)") && -z $(mounts_below "$STATE") ]]
}
