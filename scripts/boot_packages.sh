#!/usr/bin/env bash
# Install what `make test-boot` needs of Debian (tests/boot/packages.txt). No service of these packages is started, now or
# at the next boot of this machine; one that was there before is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(sed -E 's/[[:space:]]*#.*//; /^$/d' tests/boot/packages.txt)
installed() { dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p' | sort; }

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "make test-boot needs Debian 12 or 13 (apt-get); install what tests/boot/packages.txt lists in another way" >&2
  exit 2
fi
if ((EUID != 0)); then
  echo "make test-boot needs root: it makes a network and a root file system for its guest; run it with sudo" >&2
  exit 2
fi
before=$(installed)
missing=$(comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(echo "$before"))
[[ -n "$missing" ]] || exit 0

# The one way to tell maintainer scripts that nothing is to be started; the machine's own file comes back afterwards.
policy=/usr/sbin/policy-rc.d
saved=$(mktemp -d)
[[ ! -e $policy ]] || mv "$policy" "$saved/"
restore() {
  rm -f "$policy"
  [[ ! -e $saved/policy-rc.d ]] || mv "$saved/policy-rc.d" "$policy"
  rmdir "$saved"
}
trap restore EXIT
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
apt="apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
$apt update || echo "apt-get update failed; going on with the lists that are there" >&2
# shellcheck disable=SC2086 # words on purpose
$apt install -y --no-install-recommends $missing >/dev/null

comm -13 <(echo "$before") <(installed) | while read -r package; do
  dpkg-query --listfiles "$package" | { grep -oP '^(/usr)?/lib/systemd/system/\K[^/@]+\.(service|timer|socket)$' || true; } |
    while read -r unit; do systemctl --quiet disable "$unit" 2>/dev/null || true; done
done
