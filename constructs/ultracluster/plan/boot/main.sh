# shellcheck shell=bash
# Entry of the node program: `boot` at every boot (systemd), `first` once per instance (user data).

environment() {
  # Services started from now on inherit the limits; login shells take theirs from limits.d.
  systemctl daemon-reexec
  # shellcheck disable=SC2086 # a list of unit names
  systemctl mask --now $MASKED 2>/dev/null || true
}

user_script() {
  [[ -f $ROOT/opt/ultracluster/user-script ]] || return 0
  chmod 0755 "$ROOT/opt/ultracluster/user-script"
  "$ROOT/opt/ultracluster/user-script" || fail "the user script ended with status $?"
}

# complete CONTINUE|ABANDON
complete() {
  [[ -n $HOOK ]] || return 0
  has aws || snap install aws-cli --classic || true
  retry 5 5 aws autoscaling complete-lifecycle-action --region "$(imds placement/region)" \
    --auto-scaling-group-name "$GROUP" --lifecycle-hook-name "$HOOK" --instance-id "$(imds instance-id)" \
    --lifecycle-action-result "$1" || say "hook $HOOK not completed"
}

# suspended: the group leaves running nodes where they are; the next node tries again if this one could not say so.
suspended() {
  [[ -z ${SUSPEND:-} ]] || aws autoscaling suspend-processes --region "$(imds placement/region)" \
    --auto-scaling-group-name "$GROUP" --scaling-processes "$SUSPEND" || say "$SUSPEND not suspended"
}

finish() {
  local status=$?
  trap - EXIT
  if ((status == 0)); then
    say "ready"
    complete CONTINUE
    suspended
  else
    say "FAILED at $STEP: ${WHY:-status $status}"
    # The agent needs a moment to carry the line away before the node is replaced.
    sleep "${FLUSH_SECONDS:-20}"
    complete ABANDON
  fi
  exit "$status"
}

boot() {
  if [[ $SCRATCH == 1 ]]; then
    mount_scratch
    chmod 1777 "$ROOT/scratch"
  fi
  [[ $LUSTRE_EFA == none ]] || ! has lnetctl || lnet_over_efa
}

first() {
  local log=$ROOT/var/log/ultracluster/bootstrap.log
  mkdir -p "${log%/*}"
  exec > >(tee -a "$log" >(logger -t ultracluster)) 2>&1
  trap finish EXIT
  for STEP in environment start_agent boot mount_all check_devices user_script; do
    say "$STEP"
    "$STEP"
  done
  systemctl enable --now ultracluster-node.service
}

"$1"
