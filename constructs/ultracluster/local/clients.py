"""boto3 clients for the embedded AWS; never for a real account."""

from __future__ import annotations

from typing import Any

from ultracluster.local.errors import missing_extra
from ultracluster.local.settings import LocalSettings

__all__ = ["Clients"]


class Clients:
    """Makes one client per service, on first use."""

    def __init__(self, settings: LocalSettings) -> None:
        """Keep the settings.

        Args:
            settings: the endpoint, the account that is played and the Region.

        Raises:
            LocalUsageError: boto3 is not installed (UC-LOC-001).
        """
        try:
            import boto3
            from botocore.config import Config
        except ModuleNotFoundError as error:
            raise missing_extra("boto3") from error
        self.settings = settings
        self._session = boto3.Session(
            aws_access_key_id=settings.account, aws_secret_access_key="embedded", region_name=settings.region
        )
        self._config = Config(retries={"max_attempts": 2}, connect_timeout=5, read_timeout=60, proxies={})
        self._made: dict[str, Any] = {}

    def __call__(self, service: str) -> Any:
        """The client of a service, for example `fsx`."""
        if service not in self._made:
            self._made[service] = self._session.client(
                service, endpoint_url=self.settings.endpoint, config=self._config
            )
        return self._made[service]

    def pages(self, service: str, operation: str, key: str, **arguments: object) -> list[dict[str, Any]]:
        """All items of a list operation, over all pages where the service has pages."""
        client = self(service)
        if client.can_paginate(operation):
            return [
                item for page in client.get_paginator(operation).paginate(**arguments) for item in page.get(key, ())
            ]
        answer: dict[str, Any] = getattr(client, operation)(**arguments)
        return list(answer.get(key, ()))
