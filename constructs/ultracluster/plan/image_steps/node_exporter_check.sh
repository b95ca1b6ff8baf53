# shellcheck shell=bash
/usr/local/bin/node_exporter --version 2>&1 | grep -F "$VERSION" >/dev/null || fail "node exporter $VERSION is missing"
systemctl is-enabled node_exporter.service
