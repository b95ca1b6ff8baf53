# shellcheck shell=bash
# The CloudWatch agent; nodes start it with the configuration of their fleet.
if has dnf; then
  packages amazon-cloudwatch-agent
else
  work=$(mktemp -d)
  package=ubuntu/$DEB_ARCHITECTURE/latest/amazon-cloudwatch-agent.deb
  for part in assets/amazon-cloudwatch-agent.gpg "$package" "$package.sig"; do
    fetch "$ADDRESS/$part" "$work/${part##*/}"
  done
  signed "$work"/*.sig "$work"/*.deb "$work"/*.gpg "$FINGERPRINT"
  apt update
  apt install "$work"/*.deb
  rm -rf "$work"
fi
