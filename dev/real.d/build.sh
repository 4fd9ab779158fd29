# shellcheck shell=bash
# `build`: Kubernetes from its Go modules, once, into the cache.
#
# `go install k8s.io/kubernetes/cmd/...@version` is refused because that module
# replaces its staging modules by folders. A module of our own that replaces
# them by their published versions builds the same source. etcd comes out of the
# same module, at the version that this release is written against: a
# distribution's may be too old for what kube-apiserver does with a newer one
# (lists as watches, consistent lists from its cache).

# Order matters: the API server compiles most of what the others share, and
# kubectl is the next thing a developer wants.
readonly KUBERNETES_BINARIES=(kube-apiserver kubectl etcd kube-controller-manager kube-scheduler kubelet)

command_build() {
  [[ $# -eq 0 ]] || fail "build takes no options"
  ensure_built
  # A test of metrics uses it where it is; nothing of Kubernetes needs it.
  if command -v apt-get >/dev/null; then provide promtool prometheus; fi
  say "Kubernetes $KUBERNETES_VERSION is built: $BINARIES"
}

ensure_built() {
  [[ -n $(missing_binaries) ]] || return 0
  need go golang
  take_lock "$BINARIES/.lock"
  local lock=$LOCK_DESCRIPTOR
  build_missing
  release_lock "$lock"
}

build_missing() {
  local binary position=0 total=${#KUBERNETES_BINARIES[@]} log="$BINARIES/build.log"
  : >"$log"
  say "building Kubernetes $KUBERNETES_VERSION into $BINARIES (once; ten minutes or more on two cores)"
  write_module "$log"
  for binary in "${KUBERNETES_BINARIES[@]}"; do
    position=$((position + 1))
    if has_version "$binary"; then
      say "$position/$total $binary … present"
      continue
    fi
    run_step "$position/$total $binary" "$log" build_binary "$binary"
  done
  # Another version's folder stays: a branch may pin another one.
  rm -rf "$BINARIES/partial"
}

missing_binaries() {
  local binary
  for binary in "${KUBERNETES_BINARIES[@]}"; do
    has_version "$binary" || printf '%s ' "$binary"
  done
}

# has_version BINARY: it is there and says it is the version we want.
has_version() { [[ -x $BINARIES/$1 ]] && says_version "$BINARIES/$1"; }

says_version() {
  local wanted=$KUBERNETES_VERSION ask=--version said
  case $1 in
    */kubectl) ask="version --client" ;;
    */etcd) wanted=$ETCD_VERSION ;;
  esac
  # shellcheck disable=SC2086 # two words for kubectl
  said=$("$1" $ask 2>/dev/null) && grep -qwF -e "$wanted" <<<"$said"
}

# write_module LOG: the module that requires Kubernetes. The list of staging
# modules is read from the release's own go.mod, so it never goes stale.
write_module() {
  local log=$1 module="$BINARIES/module" release
  mkdir -p "$module"
  run_step "0/${#KUBERNETES_BINARIES[@]} module k8s.io/kubernetes" "$log" \
    download_release "$module"
  release=$(<"$module/release.path")
  {
    printf 'module maar.io/real\n\n'
    grep -E '^(go|godebug) ' "$release"
    printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$KUBERNETES_VERSION"
    sed -nE "s#^\s*(k8s\.io/[a-z0-9./-]+) => \./staging/src/.*#\t\1 => \1 $STAGING_VERSION#p" "$release"
    printf ')\n'
  } >"$module/go.mod.new"
  grep -q "=>" "$module/go.mod.new" || fail "no staging modules in $release"
  mv "$module/go.mod.new" "$module/go.mod"
}

# download_release FOLDER: notes where Go keeps the release's go.mod.
download_release() {
  cd "$1" || return 1
  go mod download -json "k8s.io/kubernetes@$KUBERNETES_VERSION" >release.json || {
    cat release.json
    return 1
  }
  sed -nE 's#^\s*"GoMod": "(.*)",?$#\1#p' release.json >release.path
  [[ -s release.path ]]
}

# build_binary NAME: built and asked for its version aside, then renamed, so
# that what stands in the cache is always whole.
build_binary() {
  local name=$1 version=k8s.io/component-base/version partial="$BINARIES/partial" minor package
  minor=${KUBERNETES_VERSION#v1.}
  minor=${minor%%.*}
  case $name in
    etcd) package=go.etcd.io/etcd/server/v3 ;;
    *) package=k8s.io/kubernetes/cmd/$name ;;
  esac
  mkdir -p "$partial"
  (
    cd "$BINARIES/module" || exit
    CGO_ENABLED=0 nice -n 10 go build -mod=mod -trimpath -o "$partial/$name" \
      -ldflags "-s -w -X $version.gitVersion=$KUBERNETES_VERSION -X $version.gitMajor=1 -X $version.gitMinor=$minor" \
      "$package"
  )
  says_version "$partial/$name"
  mv "$partial/$name" "$BINARIES/$name"
}
