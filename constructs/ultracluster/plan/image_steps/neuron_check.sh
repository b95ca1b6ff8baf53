# shellcheck shell=bash
module neuron
[[ -x /opt/aws/neuron/bin/neuron-ls ]] || fail "the Neuron tools are missing"
