# shellcheck shell=bash
# The newest kernel of the base; the step behind this one reboots into it before anything is built.
if has dnf; then
  dnf -q -y upgrade
else
  apt update
  apt dist-upgrade
fi
