# shellcheck shell=bash
# The headers belong to the kernel that runs, and an update would leave it alone.
[[ -d /lib/modules/$KERNEL/build ]] || fail "no headers of kernel $KERNEL"
if has dnf; then
  held=$(dnf -q versionlock list)
else
  held=$(apt-mark showhold)
fi
grep -Eq '^(Package name: )?(kernel|linux-image)' <<<"$held" || fail "the kernel is not held"
