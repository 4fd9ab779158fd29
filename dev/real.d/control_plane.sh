# shellcheck shell=bash
# etcd, kube-apiserver, kube-controller-manager, kube-scheduler: how each is
# started and when it counts as ready. All listen on 127.0.0.1 only.

# In the order of starting; stopping goes the other way.
readonly CONTROL_PLANE=(etcd kube-apiserver kube-controller-manager kube-scheduler)
readonly READY_SECONDS=${MAAR_REAL_READY_SECONDS:-120}

kubectl() { "$BINARIES/kubectl" --kubeconfig "$STATE/kubeconfig" "$@"; }

# What upstream's PodGroups need: an API that is off and two features that are alpha in this version. All components
# have to agree on features.
readonly POD_GROUP_API=scheduling.k8s.io/v1alpha2=true
readonly POD_GROUP_FEATURES=GenericWorkload=true,GangScheduling=true

# feature_flags: of every component of the selected instance.
feature_flags() {
  if [[ -e $STATE/pod-groups ]]; then printf '%s\n' "--feature-gates=$POD_GROUP_FEATURES"; fi
}

api_flags() {
  if [[ -e $STATE/pod-groups ]]; then printf '%s\n' "--runtime-config=$POD_GROUP_API"; fi
  if [[ -e $STATE/authentication.yaml ]]; then printf '%s\n' "--authentication-config=$STATE/authentication.yaml"; fi
}

start_control_plane() {
  local token
  choose_ports etcd etcd-peer kube-apiserver kube-controller-manager kube-scheduler kubelet-health
  make_pki
  token=$(openssl rand -hex 24)
  printf '%s,admin,admin,system:masters\n' "$token" >"$STATE/pki/tokens.csv"
  write_kubeconfig "$STATE/pki/admin.kubeconfig" "token: $token"
  cp "$STATE/pki/admin.kubeconfig" "$STATE/kubeconfig"
  certificate_kubeconfig controller-manager
  certificate_kubeconfig scheduler

  start_etcd
  # The API server retries its store, so it need not wait for it.
  start_apiserver
  await_ready etcd
  await_ready kube-apiserver
  start_controller_manager
  start_scheduler
  await_ready kube-controller-manager
  await_ready kube-scheduler
  await "default service account" kube-controller-manager has_default_account
}

start_etcd() {
  local pki="$STATE/pki" client peer
  client="https://127.0.0.1:$(port_of etcd)"
  peer="https://127.0.0.1:$(port_of etcd-peer)"
  start_daemon etcd "$BINARIES/etcd" --name=real --data-dir="$STATE/etcd" --logger=zap --log-level=warn \
    --listen-client-urls="$client" --advertise-client-urls="$client" \
    --listen-peer-urls="$peer" --initial-advertise-peer-urls="$peer" --initial-cluster="real=$peer" \
    --cert-file="$pki/etcd.crt" --key-file="$pki/etcd.key" --trusted-ca-file="$pki/etcd-ca.crt" --client-cert-auth \
    --peer-cert-file="$pki/etcd.crt" --peer-key-file="$pki/etcd.key" --peer-trusted-ca-file="$pki/etcd-ca.crt" --peer-client-cert-auth
}

# No --kubelet-certificate-authority: simulated kubelets that join this server
# bring certificates of their own making.
start_apiserver() {
  local pki="$STATE/pki" chosen
  mapfile -t chosen < <(feature_flags && api_flags)
  start_daemon kube-apiserver "$BINARIES/kube-apiserver" "${chosen[@]}" \
    --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$(port_of kube-apiserver)" \
    --etcd-servers="https://127.0.0.1:$(port_of etcd)" --etcd-cafile="$pki/etcd-ca.crt" \
    --etcd-certfile="$pki/etcd-client.crt" --etcd-keyfile="$pki/etcd-client.key" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --client-ca-file="$pki/ca.crt" --token-auth-file="$pki/tokens.csv" --anonymous-auth=false \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$pki/service-account.pub" --service-account-signing-key-file="$pki/service-account.key" \
    --requestheader-client-ca-file="$pki/proxy-ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$pki/proxy-client.crt" --proxy-client-key-file="$pki/proxy-client.key" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
    --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP,Hostname \
    --service-cluster-ip-range="${CLUSTER_ADDRESS%.*}.0/24" --endpoint-reconciler-type=none
}

# Client limits are far above the defaults: tests wait for these controllers.
start_controller_manager() {
  local pki="$STATE/pki" kubeconfig="$STATE/pki/controller-manager.kubeconfig" chosen
  mapfile -t chosen < <(feature_flags)
  start_daemon kube-controller-manager "$BINARIES/kube-controller-manager" "${chosen[@]}" \
    --bind-address=127.0.0.1 --secure-port="$(port_of kube-controller-manager)" \
    --tls-cert-file="$pki/controller-manager.crt" --tls-private-key-file="$pki/controller-manager.key" \
    --kubeconfig="$kubeconfig" --authentication-kubeconfig="$kubeconfig" --authorization-kubeconfig="$kubeconfig" \
    --leader-elect=false --kube-api-qps=500 --kube-api-burst=1000 --pvclaimbinder-sync-period=2s --resource-quota-sync-period=5s \
    --flex-volume-plugin-dir="$STATE/volume-plugins" \
    --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" --root-ca-file="$pki/ca.crt" \
    --service-account-private-key-file="$pki/service-account.key" --use-service-account-credentials
}

start_scheduler() {
  local kubeconfig="$STATE/pki/scheduler.kubeconfig" chosen
  mapfile -t chosen < <(feature_flags)
  cat >"$STATE/scheduler.yaml" <<YAML
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: "$kubeconfig", qps: 500, burst: 1000}
YAML
  start_daemon kube-scheduler "$BINARIES/kube-scheduler" "${chosen[@]}" --config="$STATE/scheduler.yaml" \
    --bind-address=127.0.0.1 --secure-port="$(port_of kube-scheduler)" \
    --tls-cert-file="$STATE/pki/scheduler.crt" --tls-private-key-file="$STATE/pki/scheduler.key" \
    --authentication-kubeconfig="$kubeconfig" --authorization-kubeconfig="$kubeconfig"
}

# is_ready COMPONENT: it answers that it is.
is_ready() {
  case $1 in
    etcd) is_listening "$(port_of etcd)" ;;
    kube-apiserver) kubectl --request-timeout=5s get --raw /readyz ;;
    kube-controller-manager | kube-scheduler)
      kubectl --request-timeout=5s --server "https://127.0.0.1:$(port_of "$1")" get --raw /healthz
      ;;
    *) node_is_ready "$1" ;;
  esac >/dev/null 2>&1
}

is_listening() { (: <"/dev/tcp/127.0.0.1/$1"); }

has_default_account() {
  kubectl get --request-timeout=5s --namespace default serviceaccount/default configmap/kube-root-ca.crt >/dev/null 2>&1
}

await_ready() { await "$1" "$1" is_ready "$1"; }

# await WHAT COMPONENT COMMAND...: until it succeeds; ends at once, with the
# component's last words, when that has died or the deadline passes.
await() {
  local what=$1 component=$2 started=$SECONDS shown=0
  shift 2
  until "$@"; do
    if is_stopped "$component"; then
      give_up "$component" "$component ended while starting"
    fi
    if ((SECONDS - started > READY_SECONDS)); then
      give_up "$component" "$what was not ready within $READY_SECONDS s"
    fi
    shown=$(show_progress "$what" $((SECONDS - started)) "$shown")
    sleep 0.1
  done
  clear_progress
  say "$what … ready after $((SECONDS - started)) s"
}

give_up() {
  clear_progress
  show_tail "$STATE/logs/$1.log"
  fail "$2"
}
