# shellcheck shell=bash
# Ubuntu: the newest kernel that the vendor of the Lustre client has built modules for; a newer one would have none.
repository fsx-lustre "$LUSTRE_ADDRESS" "$LUSTRE_KEY" "$LUSTRE_FINGERPRINT" "$(release VERSION_CODENAME) main"
apt update
version=$(apt-cache search --names-only '^lustre-client-modules-[0-9].*-aws$' |
  sed 's/^lustre-client-modules-\([^ ]*\).*/\1/' | sort -V | tail -n1)
[[ -n $version ]] || fail "no Lustre client for any kernel of this release"
apt install "linux-image-$version" "linux-headers-$version" "linux-modules-extra-$version"
echo "GRUB_DEFAULT=\"Advanced options for Ubuntu>Ubuntu, with Linux $version\"" >/etc/default/grub.d/90-ultracluster-kernel.cfg
update-grub
say "kernel $version"
