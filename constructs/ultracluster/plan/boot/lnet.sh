# shellcheck shell=bash
# LNet over EFA, at every boot before the first mount; TCP stays for the file servers that answer there first.
# LUSTRE_EFA devices of all, spread evenly so that they sit on different cards; 0 takes all.
lnet_over_efa() {
  local all n step i link
  lnetctl net show --net efa 2>/dev/null | grep 'nid:' >/dev/null && return
  link=$(ip -o route get 169.254.169.254 | sed -n 's/.* dev \([^ ]*\).*/\1/p')
  modprobe lnet
  modprobe kefalnd "ipif_name=$link" || fail "the Lustre client of this image has no EFA driver (kefalnd)"
  modprobe ksocklnd
  lnetctl lnet configure
  lnetctl net del --net tcp 2>/dev/null || true
  lnetctl net add --net tcp --if "$link"
  mapfile -t all < <(efa_devices)
  n=$((LUSTRE_EFA > 0 && LUSTRE_EFA < ${#all[@]} ? LUSTRE_EFA : ${#all[@]}))
  ((n > 0)) || fail "no EFA device for the EFA-enabled Lustre file system"
  step=$((${#all[@]} / n))
  for ((i = 0; i < n; i++)); do
    lnetctl net add --net efa --if "${all[i * step]}" --peer-credits 32
  done
  lnetctl set discovery 1
  lnetctl udsp add --src efa --priority 0
}
