"""Checks for the tests of your own app: `assert_passes_ultracluster(stack)`."""

from __future__ import annotations

from ultracluster.testing.assertions import assert_passes_ultracluster

__all__ = ["assert_passes_ultracluster"]
