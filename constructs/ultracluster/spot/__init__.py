"""Spot fleets: several types and zones, and what happens when EC2 wants its capacity back."""
