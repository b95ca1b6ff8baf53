# shellcheck shell=bash
# Open kernel modules, driver, fabric manager and persistence daemon of one version; NVLink management for B200 and later.
nvidia_repository
if has dnf; then
  dnf -q -y module enable "nvidia-driver:${DRIVER%%.*}-open" || say "no module stream for ${DRIVER%%.*}; versions are exact anyway"
  packages "kmod-nvidia-open-dkms-$DRIVER*" "nvidia-driver-cuda-$DRIVER*" "nvidia-persistenced-$DRIVER*" \
    "nvidia-fabricmanager-$DRIVER*" "cuda-toolkit-$CUDA" nvlsm infiniband-diags
  hold '*nvidia*' 'cuda-*' nvlsm
else
  packages "nvidia-driver-pinning-$DRIVER"
  packages nvidia-open "nvidia-fabricmanager=$DRIVER*" "cuda-toolkit-$CUDA" nvlsm infiniband-diags
  hold 'nvidia-*' 'libnvidia-*' 'cuda-*' nvlsm
fi
