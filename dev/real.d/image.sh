# shellcheck shell=bash
# An image without a registry: a minimal Debian root, packed as what
# `docker save` writes. Made once, kept in the cache.

readonly IMAGE=maar.local/debian:12
# The same image under a second name, so that removing the first one does not
# take the Pods' sandboxes with it.
readonly SANDBOX_IMAGE=maar.local/sandbox:12
readonly IMAGE_SUITE=bookworm
readonly IMAGE_ARCHIVE="$CACHE/images/debian-12.tar"

provide_image() {
  local lock
  [[ ! -e $IMAGE_ARCHIVE ]] || return 0
  need wget wget
  need gpgv gpgv
  provide debootstrap debootstrap
  take_lock "$CACHE/images/.lock"
  lock=$LOCK_DESCRIPTOR
  if [[ ! -e $IMAGE_ARCHIVE ]]; then
    # Mounts that debootstrap makes stay in a mount namespace of their own and
    # are gone with it, whatever happens.
    export -f make_image make_root pack_image debian_mirror debootstrap_folder tool
    export PACKAGES IMAGE SANDBOX_IMAGE IMAGE_SUITE IMAGE_ARCHIVE
    run_step "image $IMAGE (a minimal Debian, once)" "$CACHE/images/build.log" \
      unshare --mount --propagation private bash -euc make_image
  fi
  release_lock "$lock"
}

# make_image: whole or not at all, by rename.
make_image() {
  local work
  rm -rf "$(dirname "$IMAGE_ARCHIVE")"/.work.*
  work=$(mktemp -d "$(dirname "$IMAGE_ARCHIVE")/.work.XXXXXX")
  make_root "$work/root"
  pack_image "$work"
  mv "$work/image.tar" "$IMAGE_ARCHIVE"
  rm -rf "$work"
}

make_root() {
  local root=$1 mirror folder
  mirror=$(debian_mirror)
  folder=$(debootstrap_folder)
  chmod 755 "$(dirname "$root")"
  # shellcheck disable=SC2086 # no mirror is no argument
  DEBOOTSTRAP_DIR=$folder sh "$(tool debootstrap debootstrap /usr/sbin/debootstrap)" \
    --variant=minbase "$IMAGE_SUITE" "$root" $mirror
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/*
}

debootstrap_folder() {
  if type -P debootstrap >/dev/null; then
    printf '/usr/share/debootstrap\n'
  else
    printf '%s\n' "$PACKAGES/debootstrap/usr/share/debootstrap"
  fi
}

# debian_mirror: the one this machine already uses, if it is a Debian; else
# nothing, and debootstrap takes its default.
debian_mirror() {
  # shellcheck disable=SC2016 # apt's own placeholders
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $IMAGE_SUITE" 'Label: Debian' 2>/dev/null | head -n 1
}

# pack_image FOLDER: root/ becomes image.tar. Its command waits and ends at
# once on TERM, which is what a sandbox and an idle Pod need.
pack_image() {
  local work=$1 digest
  tar --create --numeric-owner --file "$work/layer.tar" --directory "$work/root" .
  digest=$(sha256sum "$work/layer.tar" | cut -d ' ' -f 1)
  cat >"$work/config.json" <<JSON
{"architecture": "$(dpkg --print-architecture)", "os": "linux",
 "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Cmd": ["/bin/sh", "-c", "trap 'exit 0' TERM INT; sleep infinity & wait"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]}}
JSON
  printf '[{"Config": "config.json", "RepoTags": ["%s", "%s"], "Layers": ["layer.tar"]}]\n' "$IMAGE" "$SANDBOX_IMAGE" >"$work/manifest.json"
  tar --create --file "$work/image.tar" --directory "$work" manifest.json config.json layer.tar
}
