# shellcheck shell=bash
# Shared file systems: a line in fstab and a mount with retries.

# fstab_line SOURCE PATH TYPE OPTIONS: one line per path, however often it is written.
fstab_line() {
  sed -i "\\#^[^ ]* $2 #d" "$ROOT/etc/fstab"
  echo "$1 $2 $3 $4 0 0" >>"$ROOT/etc/fstab"
}

mount_one() { mountpoint -q "$ROOT$1" || timeout -k 5 60 mount "$ROOT$1"; }

# MOUNTS: "type path source options lnet-over-efa". Ordered after our boot unit, which brings up LNet.
mount_all() {
  local row type path source options efa
  for row in "${MOUNTS[@]}"; do
    read -r type path source options efa <<<"$row"
    "${type}_client"
    [[ $efa != efa ]] || lnet_over_efa
    [[ $type != lustre ]] || modprobe lustre
    mkdir -p "$ROOT$path"
    fstab_line "$source" "$path" "$type" "$options,x-systemd.requires=ultracluster-node.service,nofail"
    systemctl daemon-reload
    retry 10 15 mount_one "$path" || fail "$path cannot be mounted from $source: security groups, zone?"
    say "mounted $path"
  done
}
