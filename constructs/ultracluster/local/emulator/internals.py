"""The one place that names MiniStack's inner parts: a new release breaks here, with a clear message, or nowhere.

MiniStack is used as it is installed; nothing of it is edited. Functions are exchanged in the running process
(`replace`), and every name that is used is looked up once at the start (`REQUIRED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from ultracluster.local.errors import LocalUsageError, missing_extra

__all__ = [
    "OURS",
    "account_and_region",
    "action",
    "check_installed",
    "cloudformation_modules",
    "handlers",
    "part",
    "replace",
]

OURS = "ultracluster"
"""The key that marks an entry of the table of resource types as ours."""

_CLOUDFORMATION = ("provisioners", "engine", "stacks", "changesets", "handlers")

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "app": ("app", "_state_map", "_build_persistence_save_dict", "SERVICE_HANDLERS"),
    "core.persistence": ("save_all",),
    "core.responses": ("get_account_id", "get_region"),
    "core.router": ("SERVICE_PATTERNS",),
    "services.cloudformation": ("_stacks", "_stack_events"),
    "services.cloudformation.provisioners": (
        "_RESOURCE_HANDLERS",
        "_provision_resource",
        "_update_resource",
        "_delete_resource",
        "_property_recreation",
        "_replacing_change",
        "_physical_name",
        "_NAME_SEED",
        "_REPLACING_PROPERTIES",
        "_asg_fields",
        "_asg_create",
        "_asg_update",
        "_cw_metric_alarm_record",
        "_iam_ip_create",
        "_iam_ip_update",
        "_iam_ip_delete",
        "_with_stack_tags",
    ),
    "services.cloudformation.custom_resource": ("invoke_custom_resource",),
    "services.cloudformation.stacks": ("_add_event", "_deploy_stack_async", "_delete_stack_async"),
    "services.ec2": ("_ACTION_MAP", "_lt_data_xml"),
    "services.autoscaling": ("_ACTION_MAP", "_asgs", "_hooks", "_hook_record", "_reconcile_instances"),
    "services.cloudwatch": ("_composite_alarms", "_put_composite_alarm", "_delete_alarms"),
    "services.cloudcontrol": ("_resources", "_resource_key"),
    "services.ssm": ("_PUBLIC_AMI_PARAMETERS",),
}
"""Every name that the extension uses; a release without one of them is refused at the start."""


@cache
def part(name: str) -> Any:
    """A module of MiniStack, for example `services.ec2`.

    Raises:
        LocalUsageError: MiniStack is not installed (UC-LOC-001).
    """
    try:
        return import_module(f"ministack.{name}")
    except ModuleNotFoundError as error:
        if error.name == "ministack":
            raise missing_extra("ministack") from error
        raise


def check_installed() -> str:
    """Look every needed name up.

    Returns:
        the release of MiniStack.

    Raises:
        LocalUsageError: MiniStack is missing (UC-LOC-001) or lacks something the extension needs (UC-LOC-002).
    """
    try:
        release = version("ministack")
    except PackageNotFoundError as error:
        raise missing_extra("ministack") from error
    lacking = [
        f"{module}.{name}" for module, names in REQUIRED.items() for name in names if not hasattr(part(module), name)
    ]
    if lacking:
        raise LocalUsageError("UC-LOC-002", f"ministack {release}", f"this release has no {', '.join(lacking)}")
    return release


def cloudformation_modules() -> Iterator[ModuleType]:
    """The modules of the CloudFormation engine, which import names from each other."""
    for name in _CLOUDFORMATION:
        yield part(f"services.cloudformation.{name}")


def replace(name: str, wrap: Callable[[Any], Any]) -> None:
    """Exchange a function of the CloudFormation engine wherever it has been imported.

    Args:
        name: the function's name.
        wrap: gets the function as it was and returns the new one.
    """
    holders = [module for module in cloudformation_modules() if hasattr(module, name)]
    original = getattr(holders[0], name)
    wrapped = wrap(original)
    for module in holders:
        if getattr(module, name) is original:
            setattr(module, name, wrapped)


def handlers() -> dict[str, dict[str, Any]]:
    """MiniStack's table of resource types."""
    table: dict[str, dict[str, Any]] = part("services.cloudformation.provisioners")._RESOURCE_HANDLERS
    return table


def account_and_region() -> tuple[str, str]:
    """The account and Region of the request or stack operation at hand."""
    responses = part("core.responses")
    return str(responses.get_account_id()), str(responses.get_region())


def action(service: str, name: str) -> Callable[[dict[str, Any]], tuple[int, dict[str, str], bytes]]:
    """The handler of one API action, for example `("ec2", "CreateNatGateway")`."""
    found: Callable[[dict[str, Any]], tuple[int, dict[str, str], bytes]] = part(f"services.{service}")._ACTION_MAP[name]
    return found
