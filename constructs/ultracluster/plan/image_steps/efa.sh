# shellcheck shell=bash
# The EFA installer: its archive by signature and checksum, and every package in it by its own signature.
work=$(mktemp -d)
cd "$work" || exit
archive=aws-efa-installer-$VERSION.tar.gz
fetch "$KEY" efa.key
fetch "$ADDRESS/$archive" "$archive"
fetch "$ADDRESS/$archive.sig" "$archive.sig"
signed "$archive.sig" "$archive" efa.key "$FINGERPRINT"
[[ -z $SHA256 ]] || checked "$archive" "$SHA256"
tar -xzf "$archive"
cd aws-efa-installer || exit
EFA_INSTALLER_KEY=$work/efa.key ./efa_installer.sh -y --check-signatures
rm -rf "$work"
