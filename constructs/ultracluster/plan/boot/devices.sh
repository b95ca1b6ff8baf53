# shellcheck shell=bash
# What the node has, against what the catalogue says of its type.

accelerators() {
  if [[ $VENDOR == nvidia ]]; then
    nvidia-smi -L 2>/dev/null | grep -c '^GPU '
  else
    find "$ROOT/dev" -maxdepth 1 -name 'neuron[0-9]*' | wc -l
  fi
}

efa_devices() {
  local device
  for device in "$ROOT"/sys/class/infiniband/*; do
    [[ $(readlink "$device/device/driver") != */efa ]] || echo "${device##*/}"
  done
}

# Domains of libfabric; names of ibv devices would count other RDMA devices as well.
efa_count() {
  local info=$ROOT/opt/amazon/efa/bin/fi_info
  if [[ -x $info ]]; then
    "$info" -p efa -t FI_EP_RDM 2>/dev/null | grep 'domain: .*-rdm$' | sort -u | wc -l
  else
    efa_devices | wc -l
  fi
}

# enough COUNTER WANTED NAME: leaves a sentence in LACK when there are fewer.
enough() {
  local have
  have=$("$1") || have=${have:-0}
  LACK=
  ((have >= $2)) || LACK="$have of $2 $3"
  [[ -z $LACK ]]
}

check_devices() {
  local type row name gpus efa
  type=$(imds instance-type)
  [[ $VENDOR != nvidia ]] || has nvidia-smi || fail "the image has no NVIDIA driver"
  for row in "${TYPES[@]}"; do
    read -r name gpus efa <<<"$row"
    [[ $name != "$type" ]] || break
    name=
  done
  [[ -n $name ]] || fail "$type is none of the types of this fleet"
  # EFA devices of a healthy node can be a few seconds late.
  retry 3 5 enough accelerators "$gpus" accelerators || fail "$type shows $LACK"
  retry 3 5 enough efa_count "$efa" "EFA devices" || fail "$type shows $LACK"
  say "$type: $gpus accelerators, $efa EFA devices"
}
