"""Placement of a fleet: a cluster placement group and the security group of the fabric."""
