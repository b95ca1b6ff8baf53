# shellcheck shell=bash
# The node exporter, with the folder where the programs of the node leave their own metrics.
work=$(mktemp -d)
name=node_exporter-$VERSION.linux-$DEB_ARCHITECTURE
fetch "$ADDRESS/v$VERSION/$name.tar.gz" "$work/$name.tar.gz"
checked "$work/$name.tar.gz" "$SHA256"
tar -xzf "$work/$name.tar.gz" -C "$work"
install -m 0755 "$work/$name/node_exporter" /usr/local/bin/node_exporter
rm -rf "$work"
id node_exporter >/dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin node_exporter
install -d -m 0755 /var/lib/node_exporter/textfile
cat >/etc/systemd/system/node_exporter.service <<'UNIT'
[Unit]
Description=Prometheus node exporter
After=network-online.target

[Service]
User=node_exporter
ExecStart=/usr/local/bin/node_exporter --collector.textfile.directory=/var/lib/node_exporter/textfile
Restart=on-failure
ProtectSystem=strict
ProtectHome=true
NoNewPrivileges=true

[Install]
WantedBy=multi-user.target
UNIT
systemctl enable node_exporter.service
