"""What was asked: the models of `cluster.yaml` and the loader that reports every fault of a file at once."""
