# shellcheck shell=bash
has dcgmi || fail "DCGM is missing"
dcgmi --version
