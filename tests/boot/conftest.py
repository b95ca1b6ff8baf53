"""Fixtures of the tests that boot a machine: the guest's root, what surrounds it, an instance on which all agree."""

from __future__ import annotations

import pytest

from support.boot.cloud import make_cloud
from support.boot.root import root_folder


@pytest.fixture(scope="session")
def guest_root():
    """The root file system of the guest; `root` below it is the folder itself."""
    return root_folder()


@pytest.fixture(scope="session")
def cloud(guest_root, tmp_path_factory):
    """Subnet, metadata service and AWS services."""
    surroundings = make_cloud(tmp_path_factory.mktemp("cloud"), guest_root)
    yield surroundings
    surroundings.close()
