"""Networks for training clusters: explicit zones, subnets sized for the nodes, endpoints, flow logs."""
