# shellcheck shell=bash
# DCGM with the exporter of its release.
nvidia_repository
if has dnf; then
  packages "datacenter-gpu-manager-4-cuda${CUDA%%-*}-$DCGM*" "datacenter-gpu-manager-exporter-$EXPORTER*"
else
  packages "datacenter-gpu-manager-4-cuda${CUDA%%-*}=1:$DCGM*" "datacenter-gpu-manager-exporter=$EXPORTER*"
fi
hold 'datacenter-gpu-manager*'
