"""Templates without a fault, and small changes that break one rule each."""
