"""File systems and buckets of a training cluster, each with what a fleet needs to mount or read it."""
