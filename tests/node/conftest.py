from pathlib import Path

import pytest

from support.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An empty node."""
    return Machine(tmp_path / "node")
