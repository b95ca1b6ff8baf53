"""Accelerator health, Spot notices and a heartbeat as StatsD; a service of every node, shipped inside its user data."""
