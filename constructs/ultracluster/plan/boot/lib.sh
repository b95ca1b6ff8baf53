#!/bin/bash
# Helpers of the node program. ROOT is empty on a node; tests point it at a folder that looks like one.
set -euo pipefail
ROOT=${ROOT:-}
# shellcheck source=/dev/null
. "$ROOT/etc/ultracluster/node.env"
# shellcheck disable=SC2034 # read where the program ends
STEP=start WHY=

say() { printf '%s ultracluster: %s\n' "$(date -u +%FT%TZ)" "$*"; }

# The trap on EXIT reports WHY, once.
fail() {
  # shellcheck disable=SC2034
  WHY=$*
  exit 1
}

# retry ATTEMPTS PAUSE_SECONDS COMMAND...
retry() {
  local left=$1 pause=$2
  shift 2
  until "$@"; do
    left=$((left - 1))
    ((left > 0)) || return 1
    sleep "$pause"
  done
}

# A session token first: version 1 of the metadata service is switched off.
imds() {
  local url=http://169.254.169.254/latest token
  token=$(curl -sf --retry 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "$url/api/token")
  curl -sf --retry 5 -H "X-aws-ec2-metadata-token: $token" "$url/meta-data/$1"
}

has() { command -v "$1" >/dev/null; }

# apt-get waits for whoever holds the package lock at boot; dnf does so by itself.
packages() {
  if has dnf; then
    retry 5 15 dnf -qy install "$@"
  else
    local apt="apt-get -qqy -o DPkg::Lock::Timeout=120"
    retry 5 15 env DEBIAN_FRONTEND=noninteractive sh -c "$apt update && $apt install $*"
  fi
}
