# shellcheck shell=bash
# Helpers of every step of an image; the settings of a step stand before them.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive HOME=/root
KERNEL=$(uname -r)
export KERNEL

say() { printf 'ultracluster: %s\n' "$*"; }

fail() {
  printf 'ultracluster: %s\n' "$*" >&2
  exit 1
}

has() { command -v "$1" >/dev/null; }

# release NAME: a value of /etc/os-release.
release() { sed -n "s/^$1=//p" /etc/os-release | tr -d '"'; }

# apt-get waits for whoever holds the package lock; dnf does so by itself.
apt() { apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"; }

packages() {
  if has dnf; then
    dnf -q -y install "$@"
  else
    apt update
    apt install "$@"
  fi
}

# hold PATTERN...: installed packages with these names keep their version.
hold() {
  local found names
  if has dnf; then
    packages 'dnf-command(versionlock)'
    found=$(rpm -qa --qf '%{NAME}\n' "$@" | sort -u)
  else
    # A pattern that fits nothing is no fault.
    found=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | sed -n 's/^.i *//p') || true
  fi
  [[ -n $found ]] || return 0
  mapfile -t names <<<"$found"
  if has dnf; then
    dnf -q -y versionlock add "${names[@]}"
  else
    apt-mark hold "${names[@]}"
  fi
}

# fetch ADDRESS FILE
fetch() { curl -fsSL --proto '=https' --tlsv1.2 --retry 5 -o "$2" "$1"; }

# checked FILE SHA256
checked() {
  echo "$2  $1" | sha256sum --check --status || fail "${1##*/} does not have the checksum $2"
}

gnupg() { has gpg || packages gnupg; }

# trusted KEYFILE FINGERPRINT: the key is the one that its owner publishes.
trusted() {
  local found
  gnupg
  found=$(gpg --show-keys --with-colons "$1" | awk -F: '$1 == "fpr" {print $10}')
  grep -qx "$2" <<<"$found" || fail "${1##*/} is not the key $2"
}

# signed SIGNATURE FILE KEYFILE FINGERPRINT
signed() {
  local home verdict
  trusted "$3" "$4"
  home=$(mktemp -d)
  gpg -q --homedir "$home" --import "$3"
  verdict=$(gpg --homedir "$home" --status-fd 1 --verify "$1" "$2" 2>/dev/null) || true
  grep -q "VALIDSIG.*$4" <<<"$verdict" || fail "${2##*/} is not signed by $4"
}

# repository NAME ADDRESS KEYADDRESS FINGERPRINT SUITE: packages of another vendor, with its key alone.
repository() {
  local key
  key=$(mktemp -d)/${3##*/}
  fetch "$3" "$key"
  trusted "$key" "$4"
  if has dnf; then
    install -D -m 0644 "$key" "/etc/pki/rpm-gpg/$1.key"
    printf '[%s]\nname=%s\nbaseurl=%s\nenabled=1\ngpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/%s.key\n' "$1" "$1" "$2" "$1" \
      >"/etc/yum.repos.d/$1.repo"
  else
    gpg --dearmor --yes -o "/usr/share/keyrings/$1.gpg" <"$key"
    echo "deb [signed-by=/usr/share/keyrings/$1.gpg] $2 $5" >"/etc/apt/sources.list.d/$1.list"
  fi
}

# module NAME: it was built for the kernel that runs.
module() { modinfo -k "$KERNEL" "$1" >/dev/null 2>&1 || fail "kernel $KERNEL has no module $1"; }

# nvidia_repository: packages of NVIDIA, behind none of the system's own.
nvidia_repository() {
  local name
  if has dnf; then
    repository nvidia "$ADDRESS/amzn2023/$ARCHITECTURE" "$ADDRESS/amzn2023/$ARCHITECTURE/$RPM_KEY" "$RPM_FINGERPRINT" ""
  else
    name=$ADDRESS/$(release ID)$(release VERSION_ID | tr -d .)/$ARCHITECTURE
    repository nvidia "$name" "$name/$DEB_KEY" "$DEB_FINGERPRINT" /
    printf 'Package: *\nPin: origin %s\nPin-Priority: 600\n' "$(cut -d/ -f3 <<<"$ADDRESS")" >/etc/apt/preferences.d/nvidia
  fi
}
