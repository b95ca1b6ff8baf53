# shellcheck shell=bash
# GDRCopy from its sources, with the CUDA of the image; the DLAMI may bring it already.
if modinfo -k "$KERNEL" gdrdrv >/dev/null 2>&1; then
  say "GDRCopy is there already"
  exit 0
fi
work=$(mktemp -d)
fetch "$ADDRESS/v$VERSION.tar.gz" "$work/gdrcopy.tar.gz"
checked "$work/gdrcopy.tar.gz" "$SHA256"
tar -xzf "$work/gdrcopy.tar.gz" -C "$work"
cd "$work/gdrcopy-$VERSION/packages" || exit
if has dnf; then
  packages dkms rpm-build make check check-devel gcc-c++
  CUDA=/usr/local/cuda ./build-rpm-packages.sh
  dnf -q -y install ./gdrcopy-kmod-*.noarch.rpm ./gdrcopy-"$VERSION"-*.rpm ./gdrcopy-devel-*.rpm
else
  packages build-essential devscripts debhelper check libsubunit-dev fakeroot pkg-config dkms
  CUDA=/usr/local/cuda ./build-deb-packages.sh
  apt install ./gdrdrv-dkms_*.deb ./libgdrapi_*.deb
fi
rm -rf "$work"
