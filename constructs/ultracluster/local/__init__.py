"""The embedded AWS: `cdk deploy` without an account.

An emulator (MiniStack) on 127.0.0.1 that the real CDK CLI deploys to, extended so that every CloudFormation resource
type exists, every property is checked against the registry schema of its type, and what stands can be read back.
Needs the extra `local`; the library itself never imports this package.

Example:
    >>> from pathlib import Path
    >>> from ultracluster.local import App, LocalCloud, LocalSettings
    >>> cloud = LocalCloud(LocalSettings(region="us-east-1"))                         # doctest: +SKIP
    >>> cloud.deploy(App.of_cluster(Path("apps/p5_pretrain/cluster.yaml")), print)    # doctest: +SKIP
"""

from ultracluster.local.cloud import LocalCloud
from ultracluster.local.deploy import App
from ultracluster.local.errors import LocalError, LocalUsageError
from ultracluster.local.inventory import Inventory, Resource, Stack
from ultracluster.local.settings import LocalSettings

__all__ = ["App", "Inventory", "LocalCloud", "LocalError", "LocalSettings", "LocalUsageError", "Resource", "Stack"]
