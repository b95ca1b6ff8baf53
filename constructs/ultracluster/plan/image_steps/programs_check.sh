# shellcheck shell=bash
# The same bytes, and they run.
checked "$TARGET" "$SHA256"
"$TARGET" tune --help >/dev/null
