# shellcheck shell=bash
# The programs of a node, as they were built at synthesis.
has python3 || packages python3
checked "$SOURCE" "$SHA256"
install -D -m 0755 "$SOURCE" "$TARGET"
rm -f "$SOURCE"
