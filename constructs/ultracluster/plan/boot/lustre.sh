# shellcheck shell=bash
# The Lustre client that fits this kernel.

lustre_client() {
  modinfo lustre >/dev/null 2>&1 && return
  if has dnf; then
    packages lustre-client
  else
    has gpg || packages gnupg
    curl -fsS --retry 5 "$LUSTRE_KEY" | gpg --dearmor --yes -o "$ROOT/usr/share/keyrings/fsx-lustre.gpg"
    # shellcheck source=/dev/null
    echo "deb [signed-by=$ROOT/usr/share/keyrings/fsx-lustre.gpg] $LUSTRE_REPOSITORY $(
      . "$ROOT/etc/os-release"
      echo "$VERSION_CODENAME"
    ) main" >"$ROOT/etc/apt/sources.list.d/fsx-lustre.list"
    packages "lustre-client-modules-$(uname -r)"
  fi
  modinfo lustre >/dev/null 2>&1 || fail "no Lustre client for kernel $(uname -r)"
}
