# shellcheck shell=bash
[[ -s /opt/aws/amazon-cloudwatch-agent/bin/CWAGENT_VERSION ]] || fail "the CloudWatch agent is missing"
