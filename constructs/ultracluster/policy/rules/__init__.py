"""The rules, one file per area; every module of this folder is loaded by the registry."""
