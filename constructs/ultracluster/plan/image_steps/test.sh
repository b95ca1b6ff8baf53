# shellcheck shell=bash
# On a new instance of the image: the modules fit the kernel that booted, the settings are in force, no unit has failed.
read -ra arguments <<<"$TUNE_ARGUMENTS"
read -ra modules <<<"$KERNEL_MODULES"
for name in "${modules[@]}"; do
  module "$name"
done
checked "$TARGET" "$SHA256"
"$TARGET" tune "${arguments[@]}" --check || fail "settings are not in force"
