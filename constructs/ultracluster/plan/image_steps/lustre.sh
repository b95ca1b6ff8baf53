# shellcheck shell=bash
# The Lustre client that was built for the kernel that runs.
if has dnf; then
  packages lustre-client
else
  repository fsx-lustre "$LUSTRE_ADDRESS" "$LUSTRE_KEY" "$LUSTRE_FINGERPRINT" "$(release VERSION_CODENAME) main"
  apt update
  apt install "lustre-client-modules-$KERNEL" lustre-client-utils ||
    fail "no Lustre client for kernel $KERNEL: build on a plain base, or leave lustre out"
fi
hold 'lustre-client*'
