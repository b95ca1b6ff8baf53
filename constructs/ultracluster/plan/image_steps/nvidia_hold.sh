# shellcheck shell=bash
# What the base brought belongs together, and stays together.
hold '*nvidia*' 'cuda-*' nvlsm
