# shellcheck shell=bash
# A real node: containerd and kubelet as root, Pods on a bridge of their own.
# What it makes on the machine is named after the instance: a mount namespace,
# a bridge, a cgroup in each hierarchy; node_cleanup.sh removes exactly these.

readonly NODE=(containerd kubelet)
readonly NODE_NAME=real-node
# Fixed, because each node has an address of its own.
readonly KUBELET_PORT=10250

# node_id: unlike the name alone, different for instances in different caches.
node_id() { printf '%s-%08x\n' "$NAME" "$(printf '%s' "$STATE" | cksum | cut -d ' ' -f 1)"; }

cgroup_name() { printf 'maar-real-%s\n' "$(node_id)"; }

start_node() {
  need ip iproute2
  need nsenter util-linux
  provide containerd containerd
  provide runc runc
  [[ -n $(cni_folder) ]] || unpack containernetworking-plugins
  provide_image
  mkdir -p "$STATE/node"
  make_mount_namespace
  make_network
  make_cgroups
  start_containerd
  await containerd containerd is_ready containerd
  run_step "importing $IMAGE" "$STATE/logs/import.log" containerd_client --namespace k8s.io images import "$IMAGE_ARCHIVE"
  start_kubelet
  await "node $NODE_NAME" kubelet is_ready kubelet
}

containerd_client() { "$(tool ctr containerd /usr/bin/ctr)" --address "$(run_folder)/containerd.sock" "$@"; }

node_is_ready() {
  case $1 in
    containerd) containerd_client version ;;
    kubelet) [[ $(kubectl get --request-timeout=5s node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == True ]] ;;
    *) return 1 ;;
  esac
}

# make_network: a bridge that carries the node's address; kubelet refuses a
# loopback one. Its number also numbers the Pods' network.
make_network() {
  local lock number=0
  take_lock "$INSTANCES/.network.lock"
  lock=$LOCK_DESCRIPTOR
  until network_is_free "$number"; do
    number=$((number + 1))
    ((number < 256)) || fail "no free network in 10.213.0.0/16"
  done
  printf '%s\n' "$number" >"$STATE/node/network"
  ip link add "maar$number" type bridge
  ip link set "maar$number" alias "maar-real $(node_id)"
  ip address add "10.213.$number.1/24" dev "maar$number"
  ip link set "maar$number" up
  release_lock "$lock"
}

network_is_free() {
  local network="10.213.$1.0/24"
  [[ ! -e /sys/class/net/maar$1 ]] &&
    [[ -z $(ip -4 route show root "$network") ]] &&
    [[ -z $(ip -4 route show match "$network" | grep -v '^default') ]]
}

network_number() { cat "$STATE/node/network"; }

# cgroup_hierarchies: where they are mounted; on a machine that has version 1
# hierarchies the unified one is only an extra that nothing here uses.
cgroup_hierarchies() {
  local old
  old=$(awk '$3 == "cgroup" { print $2 }' /proc/mounts)
  if [[ -n $old ]]; then
    printf '%s\n' "$old"
  else
    awk '$3 == "cgroup2" { print $2 }' /proc/mounts
  fi
}

# make_cgroups: the root under which kubelet puts all Pods.
make_cgroups() {
  local hierarchy file controller
  for hierarchy in $(cgroup_hierarchies); do
    for controller in cpu cpuset memory pids hugetlb; do
      # Version 2 only; a controller that is not there is not offered.
      { printf '+%s' "$controller" >"$hierarchy/cgroup.subtree_control"; } 2>/dev/null || true
    done
    mkdir -p "$hierarchy/$(cgroup_name)"
    for file in cpuset.cpus cpuset.mems; do
      if [[ -e $hierarchy/tasks && -e $hierarchy/$file ]]; then
        cat "$hierarchy/$file" >"$hierarchy/$(cgroup_name)/$file"
      fi
    done
  done
}

start_containerd() {
  local run containerd runc
  run=$(run_folder)
  containerd=$(tool containerd containerd /usr/bin/containerd)
  runc=$(tool runc runc /usr/sbin/runc)
  write_containerd_config "$run" "$runc"
  write_cni_config
  # The shim is found by PATH.
  start_daemon containerd nsenter --mount="$run/mounts" -- env PATH="$(dirname "$containerd"):$(dirname "$runc"):$PATH" \
    "$containerd" --config "$STATE/node/containerd.toml" --log-level warn
}

# write_containerd_config RUN RUNC. Lowering a score is not permitted in many
# sandboxes, hence restrict_oom_score_adj.
write_containerd_config() {
  local snapshotter=overlayfs
  # An overlay cannot be stacked on an overlay.
  [[ $(stat --file-system --format %T "$STATE") != overlayfs ]] || snapshotter=native
  cat >"$STATE/node/containerd.toml" <<TOML
version = 2
root = "$STATE/node/containerd"
state = "$1/containerd"
[grpc]
address = "$1/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "$SANDBOX_IMAGE"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
enable_unprivileged_ports = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$(cni_folder)"
conf_dir = "$STATE/node/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "$snapshotter"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "$2"
Root = "$1/runc"
TOML
}

# cni_folder: where the network plugins are, if they are anywhere.
cni_folder() {
  local folder
  for folder in /usr/lib/cni /opt/cni/bin "$PACKAGES/containernetworking-plugins/usr/lib/cni"; do
    if [[ -x $folder/bridge && -x $folder/host-local ]]; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
}

# Pods reach each other and the node; nothing is routed or masqueraded further.
write_cni_config() {
  local number
  number=$(network_number)
  mkdir -p "$STATE/node/cni"
  cat >"$STATE/node/cni/10-maar.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "maar", "plugins": [
  {"type": "bridge", "bridge": "maar$number", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$STATE/node/addresses",
            "ranges": [[{"subnet": "10.213.$number.0/24", "gateway": "10.213.$number.1"}]]}}]}
JSON
}

start_kubelet() {
  local address
  address="10.213.$(network_number).1"
  make_certificate kubelet ca "/O=system:nodes/CN=system:node:$NODE_NAME" "IP:$address,DNS:$NODE_NAME"
  certificate_kubeconfig kubelet
  write_kubelet_config "$address"
  printf 'kubelet=%s\n' "$KUBELET_PORT" >>"$STATE/ports"
  start_daemon kubelet nsenter --mount="$(run_folder)/mounts" -- "$BINARIES/kubelet" --config="$STATE/node/kubelet.yaml" --kubeconfig="$STATE/pki/kubelet.kubeconfig" \
    --hostname-override="$NODE_NAME" --node-ip="$address"
}

# write_kubelet_config ADDRESS. Images are never collected: no registry could
# give them back. A full development disk is no reason to evict.
write_kubelet_config() {
  local pki="$STATE/pki"
  cat >"$STATE/node/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $1
port: $KUBELET_PORT
healthzBindAddress: 127.0.0.1
healthzPort: $(port_of kubelet-health)
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$pki/ca.crt"}}
authorization: {mode: Webhook}
tlsCertFile: "$pki/kubelet.crt"
tlsPrivateKeyFile: "$pki/kubelet.key"
containerRuntimeEndpoint: "unix://$(run_folder)/containerd.sock"
cgroupDriver: cgroupfs
cgroupRoot: /$(cgroup_name)
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
volumePluginDir: /var/lib/kubelet/volume-plugins
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
YAML
}
