# shellcheck shell=bash
# Removes what a real node made on the machine. It asks neither kubelet nor
# containerd, so it also works after they were killed.

stop_node() {
  stop_daemon kubelet 20
  stop_daemon containerd 15
  kill_shims
  kill_cgroups
  remove_mount_namespace
  remove_network
  remove_cgroups
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

# In every hierarchy: runc also uses the unified one where old ones exist.
our_cgroups() {
  local hierarchy
  for hierarchy in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts); do
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

# kill_cgroups: whatever Pods left running.
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

# our_bridges: by the alias, because a number may by now be another's.
our_bridges() {
  local file
  for file in /sys/class/net/maar*/ifalias; do
    if [[ -r $file && $(<"$file") == "maar-real $(node_id)" ]]; then
      basename "$(dirname "$file")"
    fi
  done
}

remove_network() {
  local bridge
  for bridge in $(our_bridges); do
    ip link delete "$bridge"
  done
}

# nothing_of_node_left: for the selftest.
nothing_of_node_left() {
  [[ -z $(our_cgroups) && -z $(shim_pids) && ! -e $(run_folder) ]] &&
    [[ -z $(our_bridges) ]] &&
    ! grep -qF -e "$(run_folder)" -e "$STATE/" /proc/self/mountinfo
}
