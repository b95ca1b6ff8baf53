# shellcheck shell=bash
# Driver, module and fabric manager have one version, for the kernel that runs.
module nvidia
built=$(modinfo -k "$KERNEL" -F version nvidia)
[[ -z ${DRIVER:-} || $built == "$DRIVER" ]] || fail "the module has version $built, not $DRIVER"
if has dnf; then
  manager=$(rpm -qa --qf '%{VERSION}\n' 'nvidia-fabric*manager*' | head -n1)
else
  manager=$(dpkg-query -W -f '${Version}\n' 'nvidia-fabricmanager*' 2>/dev/null | sed 's/-.*//' | head -n1)
fi
[[ -z $manager || $manager == "$built" ]] || fail "the fabric manager has version $manager, the driver $built"
say "NVIDIA $built"
