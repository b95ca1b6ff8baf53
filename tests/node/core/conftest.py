from collections.abc import Iterator

import pytest

from support.aws_endpoint import AwsEndpoint
from support.imds_server import ImdsServer


@pytest.fixture
def service() -> Iterator[ImdsServer]:
    """A metadata service on this machine."""
    with ImdsServer() as server:
        yield server


@pytest.fixture
def cloud() -> Iterator[AwsEndpoint]:
    """AWS on this machine; nothing with a wrong signature may have reached it."""
    with AwsEndpoint() as endpoint:
        yield endpoint
    assert endpoint.refused == []
