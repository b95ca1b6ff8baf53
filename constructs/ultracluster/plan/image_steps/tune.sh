# shellcheck shell=bash
# Settings of the table, on the daemon that keeps the time. Kernel arguments and kept-out modules count from the reboot
# behind this step on.
has chronyd || packages chrony
read -ra arguments <<<"$TUNE_ARGUMENTS"
"$TARGET" tune "${arguments[@]}"
