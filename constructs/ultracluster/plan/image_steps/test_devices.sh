# shellcheck shell=bash
# Where the driver finds a device on the test instance, the health checks count them; elsewhere there is nothing to count.
found=
for alias in /sys/bus/pci/devices/*/modalias; do
  ! modprobe --resolve-alias "$(<"$alias")" 2>/dev/null | grep -qx "$DRIVER_MODULE" || found=$alias
done
if [[ -n $found ]]; then
  "$TARGET" health --light
else
  say "no accelerator on this instance: its module was looked for, its devices were not"
fi
