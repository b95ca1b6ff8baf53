# shellcheck shell=bash
# What the base brought belongs together, and stays together.
hold 'aws-neuronx-*'
