"""The `ultracluster` command."""
