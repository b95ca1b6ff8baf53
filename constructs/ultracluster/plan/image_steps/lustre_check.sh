# shellcheck shell=bash
module lustre
has lfs || fail "lfs is missing"
lfs --version
