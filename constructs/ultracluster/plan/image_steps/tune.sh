# shellcheck shell=bash
# Settings of the table; kernel arguments and kept-out modules count from the reboot behind this step on.
read -ra arguments <<<"$TUNE_ARGUMENTS"
"$TARGET" tune "${arguments[@]}"
