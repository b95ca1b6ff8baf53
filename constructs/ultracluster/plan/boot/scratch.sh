# shellcheck shell=bash
# Local NVMe as one file system at /scratch, at every boot: after a stop and start the disks come back empty.

# By model: EBS volumes are NVMe devices too, and the order of the names changes from boot to boot.
instance_store_disks() {
  local model disk
  for model in "$ROOT"/sys/block/nvme*/device/model; do
    [[ -r $model && $(<"$model") == "Amazon EC2 NVMe Instance Storage"* ]] || continue
    disk=${model%/device/model}
    echo "$ROOT/dev/${disk##*/}"
  done
}

# The striped device over the given disks: the one that stands, the one that can be assembled, or a new one.
# Chunks of 256 KiB are the largest stripe unit that the XFS log takes as well; mkfs.xfs reads the geometry by itself.
stripe() {
  local device
  device=$(lsblk -nrpo NAME,TYPE "$1" | awk '$2 == "raid0" {print $1; exit}')
  if [[ -z $device ]]; then
    device=$ROOT/dev/md/ultracluster
    mdadm --assemble --run "$device" "$@" >&2 ||
      mdadm --create "$device" --run --quiet --level=0 --chunk=256 --homehost=any --name=ultracluster \
        --raid-devices=$# "$@" >&2
  fi
  echo "$device"
}

# Leaves the mode to its caller, which sets it on whatever stands there.
mount_scratch() {
  local device disks
  mountpoint -q "$ROOT/scratch" && return
  mkdir -p "$ROOT/scratch"
  # The Deep Learning AMI stripes and mounts the disks itself: wait for it, never race it.
  if systemctl is-enabled -q dlami-nvme.service 2>/dev/null; then
    if retry 24 5 mountpoint -q "$ROOT/opt/dlami/nvme"; then
      mount --bind "$ROOT/opt/dlami/nvme" "$ROOT/scratch"
      return
    fi
    say "dlami-nvme.service mounted nothing"
  fi
  mapfile -t disks < <(instance_store_disks)
  case ${#disks[@]} in
    0)
      say "no instance store: /scratch is on the root volume"
      return
      ;;
    1) device=${disks[0]} ;;
    *)
      has mdadm || packages mdadm
      device=$(stripe "${disks[@]}")
      ;;
  esac
  has mkfs.xfs || packages xfsprogs
  # No discard at mkfs: it takes minutes on tens of terabytes and the disks are trimmed already.
  [[ $(blkid -o value -s TYPE "$device") == xfs ]] || mkfs.xfs -q -f -K "$device"
  mount -t xfs -o noatime "$device" "$ROOT/scratch"
  say "/scratch: ${#disks[@]} disks, $(df -h --output=size "$ROOT/scratch" | tail -n1)"
}
