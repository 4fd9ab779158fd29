# shellcheck shell=bash
# The node's own mount namespace. kubelet, containerd and the network plugins
# keep some things at places that cannot be configured; in here those places
# are folders of the instance. So nodes do not disturb each other or a kubelet
# that this machine already has, and every mount goes when the namespace does.

# Place in the namespace, folder in STATE/node.
readonly NODE_PLACES=(
  /var/lib/kubelet:kubelet
  /var/log/pods:pods
  /var/log/containers:containers
  /var/lib/cni:networks
  /run/containerd:shims
)

# Sockets go here and not to STATE: their paths may have 107 characters only.
run_folder() { printf '/run/maar-real/%s\n' "$(node_id)"; }

# in_node COMMAND...: runs it in the namespace.
in_node() { nsenter --mount="$(run_folder)/mounts" -- "$@"; }

make_mount_namespace() {
  local run place
  run=$(run_folder)
  mkdir -p "$run"
  # What holds a namespace must itself be a private mount.
  mount --bind "$run" "$run"
  mount --make-private "$run"
  touch "$run/mounts"
  unshare --mount="$run/mounts" --propagation slave true
  # Pods may ask to see mounts that are made later.
  in_node mount --make-rshared /
  for place in "${NODE_PLACES[@]}"; do
    mkdir -p "${place%%:*}" "$STATE/node/${place##*:}"
    in_node mount --bind "$STATE/node/${place##*:}" "${place%%:*}"
  done
}

# remove_mount_namespace: when its processes are gone. The empty places are
# left alone while another node has its own folders mounted over them.
remove_mount_namespace() {
  local place
  umount "$(run_folder)/mounts" 2>/dev/null || true
  umount "$(run_folder)" 2>/dev/null || true
  rm -rf "$(run_folder)"
  if rmdir /run/maar-real 2>/dev/null; then
    for place in "${NODE_PLACES[@]}"; do
      rmdir "${place%%:*}" 2>/dev/null || true
    done
  fi
}
