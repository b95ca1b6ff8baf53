# shellcheck shell=bash
read -ra arguments <<<"$TUNE_ARGUMENTS"
"$TARGET" tune "${arguments[@]}" --check || fail "settings are not in force"
