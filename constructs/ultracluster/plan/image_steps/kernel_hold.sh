# shellcheck shell=bash
# What modules are built with, for the kernel that runs; from here on it stays.
if has dnf; then
  name=$(rpm -qf --qf '%{NAME}\n' "/boot/vmlinuz-$KERNEL" | head -n1)
  packages "$name-devel-$KERNEL" "$name-modules-extra-$KERNEL" "$name-headers" dkms gcc make pciutils tar gzip
  hold 'kernel*'
else
  packages "linux-headers-$KERNEL" "linux-modules-extra-$KERNEL" dkms build-essential pciutils
  hold 'linux-image-*' 'linux-headers-*' 'linux-modules-*' 'linux-aws*'
fi
