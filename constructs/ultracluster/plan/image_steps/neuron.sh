# shellcheck shell=bash
# Driver, collectives, runtime and tools of one release of Neuron.
if has dnf; then
  repository neuron "$RPM_ADDRESS" "$RPM_ADDRESS/$KEY" "$FINGERPRINT" ""
  between=-
else
  repository neuron "$DEB_ADDRESS" "$DEB_ADDRESS/$KEY" "$FINGERPRINT" "$(release VERSION_CODENAME) main"
  between='='
fi
packages "aws-neuronx-dkms$between$DRIVER*" "aws-neuronx-collectives$between$COLLECTIVES*" \
  "aws-neuronx-runtime-lib$between$RUNTIME*" "aws-neuronx-tools$between$TOOLS*"
hold 'aws-neuronx-*'
