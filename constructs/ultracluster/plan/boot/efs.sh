# shellcheck shell=bash
# The EFS mount helper, which brings TLS, IAM and access points.

efs_client() {
  [[ -x $ROOT/sbin/mount.efs ]] && return
  packages amazon-efs-utils || fail "amazon-efs-utils is missing: put it into the image"
}
