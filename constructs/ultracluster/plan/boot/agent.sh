# shellcheck shell=bash
# The CloudWatch agent and the program that feeds it with what it cannot read itself.

agent_fits() {
  local file=$ROOT/opt/aws/amazon-cloudwatch-agent/bin/CWAGENT_VERSION
  [[ -r $file ]] && printf '%s\n' "$AGENT_MINIMUM" "$(<"$file")" | sort -VC
}

# Ubuntu has no package: the vendor's, checked against the fingerprint of its key.
agent_download() {
  local dir arch file part
  dir=$(mktemp -d)
  arch=$(uname -m)
  file=ubuntu/${arch/aarch64/arm64}/latest/amazon-cloudwatch-agent.deb
  file=${file/x86_64/amd64}
  for part in assets/amazon-cloudwatch-agent.gpg "$file.sig" "$file"; do
    curl -fsS --retry 5 -o "$dir/${part##*/}" "$AGENT_URL/$part"
  done
  has gpg || packages gnupg
  gpg -q --homedir "$dir" --import "$dir"/*.gpg
  gpg --homedir "$dir" --status-fd 1 --verify "$dir"/*.sig "$dir"/*.deb 2>/dev/null |
    grep "VALIDSIG.* $AGENT_KEY" >/dev/null || fail "the signature of the CloudWatch agent is not by $AGENT_KEY"
  packages "$dir"/*.deb
}

start_agent() {
  if ! agent_fits; then
    if has dnf; then
      packages --releasever=latest amazon-cloudwatch-agent
    else
      agent_download
    fi
    agent_fits || fail "CloudWatch agent $AGENT_MINIMUM or later is needed"
  fi
  "$ROOT/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl" -a fetch-config -m ec2 -s \
    -c "file:$ROOT/opt/ultracluster/agent.json" >/dev/null
  systemctl daemon-reload
  systemctl enable --now ultracluster-metrics.service
}
