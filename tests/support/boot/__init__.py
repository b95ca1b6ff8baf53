"""A machine that boots: a Debian guest under qemu with what EC2 gives a node (disks, identity, metadata, endpoints)."""
