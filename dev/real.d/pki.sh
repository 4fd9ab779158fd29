# shellcheck shell=bash
# Keys and certificates of one instance, by openssl, in STATE/pki.

# Long enough to keep a development cluster for a season.
readonly CERTIFICATE_DAYS=100
readonly CLUSTER_ADDRESS=10.96.0.1

# make_pki: three authorities. etcd and the front proxy have their own, because
# whoever gets a certificate signed by the cluster's must not thereby reach the
# store or speak in another's name.
make_pki() {
  local pki="$STATE/pki"
  need openssl openssl
  mkdir -p "$pki"
  make_authority ca maar-real
  make_authority etcd-ca maar-real-etcd
  make_authority proxy-ca maar-real-proxy
  make_certificate etcd etcd-ca /CN=etcd "IP:127.0.0.1"
  make_certificate etcd-client etcd-ca /CN=kube-apiserver
  make_certificate apiserver ca /CN=kube-apiserver \
    "IP:127.0.0.1,IP:$CLUSTER_ADDRESS,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
  make_certificate kubelet-client ca /O=system:masters/CN=kube-apiserver-kubelet-client
  make_certificate proxy-client proxy-ca /CN=front-proxy
  make_certificate controller-manager ca /CN=system:kube-controller-manager "IP:127.0.0.1"
  make_certificate scheduler ca /CN=system:kube-scheduler "IP:127.0.0.1"
  make_key service-account
  openssl pkey -in "$pki/service-account.key" -pubout -out "$pki/service-account.pub"
}

make_key() {
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$STATE/pki/$1.key" 2>/dev/null
}

make_authority() {
  local pki="$STATE/pki"
  make_key "$1"
  openssl req -x509 -new -key "$pki/$1.key" -subj "/CN=$2" -days "$CERTIFICATE_DAYS" -out "$pki/$1.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,digitalSignature
}

# make_certificate NAME AUTHORITY SUBJECT [NAMES]: for clients and servers.
make_certificate() {
  local pki="$STATE/pki" extensions
  make_key "$1"
  extensions=$'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n'
  extensions+=${4:+subjectAltName=$4}
  openssl req -new -key "$pki/$1.key" -subj "$3" |
    openssl x509 -req -CA "$pki/$2.crt" -CAkey "$pki/$2.key" -set_serial "0x$(openssl rand -hex 8)" \
      -days "$CERTIFICATE_DAYS" -extfile <(printf '%s\n' "$extensions") -out "$pki/$1.crt" 2>/dev/null
}

# write_kubeconfig FILE USER-LINES...: self-contained, for this instance.
write_kubeconfig() {
  local file=$1
  shift
  {
    printf 'apiVersion: v1\nkind: Config\ncurrent-context: real\n'
    printf 'clusters:\n- name: real\n  cluster:\n    server: https://127.0.0.1:%s\n' "$(port_of kube-apiserver)"
    printf '    certificate-authority-data: %s\n' "$(base64 -w 0 <"$STATE/pki/ca.crt")"
    printf 'contexts:\n- name: real\n  context:\n    cluster: real\n    user: real\n'
    printf 'users:\n- name: real\n  user:\n'
    printf '    %s\n' "$@"
  } >"$file"
}

# certificate_kubeconfig NAME: for a component that has a client certificate.
certificate_kubeconfig() {
  write_kubeconfig "$STATE/pki/$1.kubeconfig" \
    "client-certificate-data: $(base64 -w 0 <"$STATE/pki/$1.crt")" \
    "client-key-data: $(base64 -w 0 <"$STATE/pki/$1.key")"
}
