from pathlib import Path

import pytest

from support.bootstrap import Node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """An empty node."""
    made = Node(tmp_path / "node")
    made.write("/etc/fstab", "UUID=1234 / xfs defaults 0 1\n")
    made.write("/etc/os-release", 'ID=ubuntu\nVERSION_CODENAME="noble"\n')
    return made
