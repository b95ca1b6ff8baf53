# shellcheck shell=bash
module gdrdrv
