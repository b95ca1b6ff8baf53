"""Fleets of training nodes: launch template, role, user data, Auto Scaling group."""
