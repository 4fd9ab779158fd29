# shellcheck shell=bash
# `selftest`: starts an instance of its own, uses what tests rely on, stops it
# and looks whether anything stayed behind. Each check says what it saw.

readonly SELFTEST_NAME=selftest

command_selftest() {
  local option node=no
  parse_names "$@"
  for option in "${OPTIONS[@]}"; do
    case $option in
      --node) node=yes ;;
      *) fail "selftest: unknown option $option" ;;
    esac
  done
  command_down --name "$SELFTEST_NAME"
  if [[ $node == yes ]]; then
    command_up --node --name "$SELFTEST_NAME" >/dev/null
  else
    command_up --name "$SELFTEST_NAME" >/dev/null
  fi
  # From here on a failure also stops the instance.
  UNFINISHED=yes
  check_control_plane
  if [[ $node == yes ]]; then
    check_node
  fi
  check_gone_after_down
  UNFINISHED=no
  say "selftest passed"
}

check_control_plane() {
  check_anonymous
  kubectl create namespace selftest >/dev/null
  check "a namespace has its service account" \
    wait_until 20 kubectl_quiet get --namespace selftest serviceaccount/default
  check_deployment
  check_signing
  kubectl delete namespace selftest --timeout=60s >/dev/null
  say "ok: a namespace is deleted with all it holds"
}

# check WHAT COMMAND...: in words, and the end if it does not hold.
check() {
  local what=$1
  shift
  if "$@"; then
    say "ok: $what"
  else
    fail "not so: $what ($*)"
  fi
}

kubectl_quiet() { kubectl "$@" >/dev/null 2>&1; }

# field RESOURCE JSONPATH: in the selftest namespace.
field() { kubectl get --namespace selftest "$1" -o "jsonpath={$2}" 2>/dev/null; }

field_is() { [[ $(field "$1" "$2") == "$3" ]]; }

has_field() { [[ -n $(field "$1" "$2") ]]; }

# The API server answers nobody without a name.
check_anonymous() {
  local answer
  # By hand: kubectl would ask for a name first.
  answer=$(printf 'GET /api HTTP/1.0\r\n\r\n' | openssl s_client -quiet -verify_return_error -CAfile "$STATE/pki/ca.crt" \
    -connect "127.0.0.1:$(port_of kube-apiserver)" 2>/dev/null)
  check "without identity the answer is 401" grep -q '^HTTP/1.0 401 ' <<<"$answer"
}

# A Deployment's Pod reaches a Node: the controllers and the scheduler work.
check_deployment() {
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Node
metadata: {name: selftest-fake, labels: {selftest: fake}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: selftest}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {selftest: fake}
      containers: [{name: web, image: none}]
YAML
  kubectl patch node selftest-fake --subresource=status --type=merge --patch '{"status": {
    "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "Selftest"}]}}' >/dev/null
  check "a Deployment's Pod is bound to a Node" wait_until 40 pod_is_bound
  # No kubelet is there to confirm the Pod's end, so it goes without asking.
  kubectl delete --namespace selftest deployment/web >/dev/null
  kubectl delete --namespace selftest pods -l app=web --force --grace-period=0 >/dev/null 2>&1
  kubectl delete node selftest-fake >/dev/null
}

pod_is_bound() {
  [[ $(kubectl get pods --namespace selftest -l app=web -o 'jsonpath={.items[*].spec.nodeName}') == selftest-fake ]]
}

# A signed certificate is one the API server takes.
check_signing() {
  local pki="$STATE/pki"
  make_key selftest
  kubectl apply -f - >/dev/null <<YAML
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: selftest}
spec:
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
  request: $(openssl req -new -key "$pki/selftest.key" -subj /CN=somebody | base64 -w 0)
YAML
  kubectl certificate approve selftest >/dev/null
  check "a signing request is signed" wait_until 20 has_field csr/selftest .status.certificate
  field csr/selftest .status.certificate | base64 -d >"$pki/selftest.crt"
  check "the signed certificate gives its name" grep -qx somebody <<<"$("$BINARIES/kubectl" --kubeconfig /dev/null \
    --server "https://127.0.0.1:$(port_of kube-apiserver)" --certificate-authority "$pki/ca.crt" \
    --client-certificate "$pki/selftest.crt" --client-key "$pki/selftest.key" \
    auth whoami -o 'jsonpath={.status.userInfo.username}{"\n"}' 2>&1)"
}

# A Pod that runs for real: its address, its words, a command inside.
check_node() {
  kubectl create namespace selftest >/dev/null
  kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: hello, namespace: selftest}
spec:
  containers:
  - name: hello
    image: $IMAGE
    imagePullPolicy: Never
    command: [bash, -c, "echo started as \$(hostname); trap 'exit 0' TERM; sleep infinity & wait"]
YAML
  check "a Pod runs" wait_until 60 field_is pod/hello .status.phase Running
  check "it has an address of its own" has_field pod/hello .status.podIP
  check "its log is read" wait_until 10 log_is "started as hello"
  check "a command runs inside and its exit code comes back" exec_gives 7
  check "it has the node's name" field_is pod/hello .spec.nodeName "$NODE_NAME"
  kubectl delete --namespace selftest pod/hello --timeout=60s >/dev/null
  say "ok: it ends when it is deleted"
  # Left running on purpose: down has to deal with it.
  kubectl run --namespace selftest --image "$IMAGE" --image-pull-policy Never idle >/dev/null
  check "a second Pod runs" wait_until 60 field_is pod/idle .status.phase Running
}

log_is() { [[ $(kubectl logs --namespace selftest hello 2>/dev/null) == "$1" ]]; }

exec_gives() {
  local status=0
  kubectl exec --namespace selftest hello -- bash -c "exit $1" >/dev/null 2>&1 || status=$?
  [[ $status -eq $1 ]]
}

check_gone_after_down() {
  local pids
  pids=$(cut -d ' ' -f 1 "$STATE"/run/*.pid)
  command_down --name "$SELFTEST_NAME"
  check "after down no process is left" no_process_of_ours "$pids"
  check "after down the folder is gone" test ! -e "$STATE"
  if is_root; then
    check "after down no device, mount or cgroup is left" nothing_of_node_left
  fi
}

# no_process_of_ours PIDS: none of them runs with this instance in its command.
no_process_of_ours() {
  local pid
  for pid in $1; do
    if grep -qF -- "$STATE/" "/proc/$pid/cmdline" 2>/dev/null; then
      return 1
    fi
  done
}
