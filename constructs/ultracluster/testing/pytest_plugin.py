"""The assertion as a fixture: put `pytest_plugins = ["ultracluster.testing.pytest_plugin"]` into conftest.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ultracluster.policy.report import Report
from ultracluster.testing import assertions

__all__ = ["assert_passes_ultracluster"]


@pytest.fixture
def assert_passes_ultracluster() -> Callable[..., Report]:
    """The function `ultracluster.testing.assert_passes_ultracluster`."""
    return assertions.assert_passes_ultracluster
