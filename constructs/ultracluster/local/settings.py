"""Where the embedded AWS listens, keeps its state, and which account it plays."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["DEFAULT_PORT", "DEFAULT_STATE_DIR", "IDENTITY_PATH", "LOOPBACK", "RESOURCES_PATH", "LocalSettings"]

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 24566
"""Below the ports that Linux hands out by itself (32768 and up) and not registered to any service."""
DEFAULT_STATE_DIR = Path(".ultracluster") / "local"
IDENTITY_PATH = "/_ultracluster/identity"
"""Answers the process id and the state folder of the server behind a port."""
RESOURCES_PATH = "/_ultracluster/resources"
"""Answers every resource that a stack has made and that still stands, with the stack that made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """The embedded AWS of one state folder.

    Attributes:
        port: the port on 127.0.0.1.
        state_dir: keeps what stands, the server's process id, its log and the synthesized app; relative to the
            working directory.
        account: the account id that ARNs show; twelve digits, never a real account.
        region: the Region that the app is deployed to.
    """

    port: int = DEFAULT_PORT
    state_dir: Path = field(default=DEFAULT_STATE_DIR)
    account: str = "111122223333"
    region: str = "us-east-1"

    @property
    def endpoint(self) -> str:
        """The address of every service."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def pid_file(self) -> Path:
        """Holds the process id and the port of the server."""
        return self.state_dir / "server.json"

    @property
    def log_file(self) -> Path:
        """What the server writes."""
        return self.state_dir / "server.log"

    def credentials(self) -> dict[str, str]:
        """The environment that points any AWS client at the embedded AWS, and away from the user's own account.

        The access key id is the account id, which is how the server learns it. The files of the user's own profiles
        are masked, and the metadata service is off, so that nothing can reach a real account by accident.
        """
        nowhere = str(self.state_dir.resolve() / "no-such-file")
        return {
            "AWS_ACCESS_KEY_ID": self.account,
            "AWS_SECRET_ACCESS_KEY": "embedded",
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": nowhere,
            "AWS_SHARED_CREDENTIALS_FILE": nowhere,
        }
