#!/bin/bash
# Runs once inside the new root: what an image for EC2 has and packages do not bring.
set -euo pipefail

update-ca-certificates
mkdir -p /boot/grub
: >/etc/machine-id
echo localhost >/etc/hostname
# Names come from the resolver that every VPC has under this address.
rm -f /etc/resolv.conf
echo "nameserver 169.254.169.253" >/etc/resolv.conf
systemctl enable systemd-networkd.service
# Nobody logs in here.
systemctl mask getty@tty1.service serial-getty@ttyS0.service
# systemd runs every generator at each reload; these have nothing to find here.
mkdir -p /etc/systemd/system-generators
for name in cryptsetup debug getty gpt-auto hibernate-resume integritysetup rc-local run system-update sysv veritysetup; do
  ln -s /dev/null "/etc/systemd/system-generators/systemd-$name-generator"
done
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
