# shellcheck shell=bash
# Version, module and provider; devices are counted where there are some.
installed=$(sed -n 's/^# EFA installer version: //p' /opt/amazon/efa_installed_packages)
[[ $installed == "$VERSION" ]] || fail "EFA installer $installed is installed, not $VERSION"
module efa
/opt/amazon/efa/bin/fi_info --version
