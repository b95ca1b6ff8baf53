"""The program of the server process, which `server.py` starts.

Everything MiniStack would listen on besides the one port is switched off, and that port is bound to 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ultracluster.local.settings import IDENTITY_PATH, LOOPBACK, RESOURCES_PATH

__all__ = ["environment", "main"]


def environment(*, port: int, state_dir: Path, account: str, region: str) -> dict[str, str]:
    """The settings that MiniStack reads from its environment when it is imported.

    Args:
        port: the one port to listen on.
        state_dir: the folder that keeps what stands.
        account: the account of a request whose access key is no account id.
        region: the Region of a request that names none.
    """
    state = state_dir.resolve()
    return {
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "MINISTACK_ACCOUNT_ID": account,
        "MINISTACK_REGION": region,
        "PERSIST_STATE": "1",
        "STATE_DIR": str(state / "services"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(state / "buckets"),
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(state),
        "DOCKER_HOST": f"unix://{state / 'no-docker.sock'}",
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ultracluster local server", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--account", required=True)
    parser.add_argument("--region", required=True)
    return parser.parse_args()


def main() -> None:
    """Serve until a signal ends the process; what stands is written then, and after each stack operation."""
    given = _arguments()
    os.environ.update(
        environment(port=given.port, state_dir=given.state_dir, account=given.account, region=given.region)
    )
    # MiniStack reads its environment when it is imported, so nothing of it may be imported above.
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    from ultracluster.local.emulator.extension import install
    from ultracluster.local.emulator.internals import part

    install(given.region)
    config = Config()
    config.bind = [f"{LOOPBACK}:{given.port}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    identity = {
        "pid": os.getpid(),
        "state_dir": str(given.state_dir.resolve()),
        "account": given.account,
        "region": given.region,
    }
    asyncio.run(serve(_with_identity(part("app").app, identity), config))


def _with_identity(application: Any, identity: Mapping[str, Any]) -> Any:
    """Answer who this server is, so that a command never mistakes another program for it, and what stands."""
    from ultracluster.local.emulator.records import everything

    answers: Mapping[str, Callable[[], object]] = {IDENTITY_PATH: lambda: dict(identity), RESOURCES_PATH: everything}

    async def answered(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] in answers:
            content = json.dumps(answers[scope["path"]]()).encode()
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}
            )
            await send({"type": "http.response.body", "body": content})
            return
        await application(scope, receive, send)

    return answered


if __name__ == "__main__":
    main()
