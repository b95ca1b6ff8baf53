"""One embedded AWS for all tests of a worker, and apps to deploy to it."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ultracluster.local import App, LocalCloud, LocalSettings

HERE = Path(__file__).parent
SAMPLE = HERE / "sample_app.py"


def _free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """A running embedded AWS; stopped when the worker ends."""
    running = LocalCloud(LocalSettings(state_dir=tmp_path_factory.mktemp("embedded")), port=_free_port())
    running.start()
    yield running
    running.server.stop()


@pytest.fixture(scope="session")
def sample(cdk_context: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., App]:
    """Synthesize the sample app with some settings, here: a CDK app takes seconds to start in a process of its own."""
    import aws_cdk as cdk

    spec = importlib.util.spec_from_file_location("sample_app", SAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def synthesized(prefix: str, **settings: str) -> App:
        folder = tmp_path_factory.mktemp("sample")
        app = cdk.App(builtin_cloud_formation_validation=False, context=cdk_context, outdir=str(folder))
        module.build(app, prefix=prefix, **settings)
        app.synth()
        return App(name=prefix, command=str(folder), directory=folder)

    return synthesized


@pytest.fixture
def lines() -> list[str]:
    """Collects what the CDK CLI writes."""
    return []


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Ports that nothing listens on."""
    return _free_port
