"""The programs come onto a node whole and with the pinned digest, or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.aws_endpoint import CLOSE, TRUNCATE
from support.imds_server import Faults
from ultracluster.node import NodeError
from ultracluster.node import fetch as program
from ultracluster.node.imds import Imds

DATA = os.urandom(300_000)
DIGEST = hashlib.sha256(DATA).hexdigest()
KEY = "/assets/0123abcd.zip"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    return tmp_path / "opt" / "ultracluster" / "ultracluster-node"


def fetch(service, cloud, place, *, digest=DIGEST, **options) -> bool:
    return program.fetch(f"{cloud.url}{KEY}", digest, place, imds=Imds(service.url), **options)


def folder(place: Path) -> list[str]:
    return sorted(file.name for file in place.parent.glob("*"))


def test_a_node_gets_the_programs_and_takes_them_once(service, cloud, place):
    cloud.objects[KEY] = DATA
    assert fetch(service, cloud, place)
    assert place.read_bytes() == DATA
    assert stat.S_IMODE(place.stat().st_mode) == 0o755
    assert folder(place) == ["ultracluster-node"]
    assert not fetch(service, cloud, place), "already there"
    assert len(cloud.calls) == 1


def test_an_older_version_of_the_image_is_replaced(service, cloud, place):
    place.parent.mkdir(parents=True)
    place.write_bytes(b"old")
    cloud.objects[KEY] = DATA
    assert fetch(service, cloud, place)
    assert place.read_bytes() == DATA


@pytest.mark.parametrize("fault", [403, 500, 503, CLOSE, TRUNCATE])
def test_what_passes_is_waited_for(service, cloud, place, fault):
    cloud.objects[KEY] = DATA
    cloud.faults["GetObject"] = [fault, fault]
    assert fetch(service, cloud, place)
    assert place.read_bytes() == DATA


@pytest.mark.parametrize(
    ("fault", "why"),
    [(403, "status 403: .*of the test"), (CLOSE, "closed|reset"), (TRUNCATE, "IncompleteRead")],
)
def test_what_stays_wrong_is_one_line_and_leaves_nothing(service, cloud, place, fault, why):
    cloud.objects[KEY] = DATA
    cloud.faults["GetObject"] = [fault] * 10
    with pytest.raises(NodeError, match=rf"gives no file with SHA-256 {DIGEST}: .*({why}).*; check the role") as caught:
        fetch(service, cloud, place, attempts=3)
    assert "\n" not in str(caught.value)
    assert folder(place) == []


def test_another_content_is_never_installed(service, cloud, place):
    cloud.objects[KEY] = DATA + b"x"
    with pytest.raises(NodeError, match="its digest is "):
        fetch(service, cloud, place, attempts=2)
    assert folder(place) == []


def test_a_missing_object_and_a_server_that_is_down(service, cloud, place):
    with pytest.raises(NodeError, match=r"status 404: .*NoSuchKey"):
        fetch(service, cloud, place, attempts=1)
    with pytest.raises(NodeError, match="refused"):
        program.fetch("http://127.0.0.1:9/x", DIGEST, place, imds=Imds(service.url), attempts=2)
    assert folder(place) == []


def test_a_node_without_a_role_or_without_metadata(service, cloud, place):
    del service.values["meta-data/iam/security-credentials/node-role"]
    with pytest.raises(NodeError, match="the instance has no role; attach an instance profile"):
        fetch(service, cloud, place, attempts=1)
    service.faults = Faults(status=500)
    with pytest.raises(NodeError, match="the metadata service gives no answer"):
        program.fetch("http://x/y", DIGEST, place, imds=Imds(service.url, attempts=1), attempts=1)


def command(service, cloud, place, modules: Path) -> subprocess.Popen[str]:
    """As user data starts it: four modules in a folder, the oldest rights that a boot has."""
    return subprocess.Popen(
        [sys.executable, "-m", "node.fetch", f"{cloud.url}{KEY}", DIGEST, str(place)],
        cwd=modules,
        env={"ULTRACLUSTER_IMDS": service.url},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def modules(tmp_path) -> Path:
    source = Path(program.__file__).parent
    target = tmp_path / "boot" / "node"
    target.mkdir(parents=True)
    for name in ("__init__", "imds", "sigv4", "fetch"):
        (target / f"{name}.py").write_bytes((source / f"{name}.py").read_bytes())
    return target.parent


def test_the_four_modules_that_user_data_carries_are_enough(service, cloud, place, modules):
    cloud.objects[KEY] = DATA
    with command(service, cloud, place, modules) as process:
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, f"ultracluster fetch: {place} installed\n")
    assert place.read_bytes() == DATA


def test_killed_at_any_moment_the_file_is_whole_or_absent_and_the_next_run_completes_it(service, cloud, place, modules):
    cloud.objects[KEY] = DATA * 40
    digest = hashlib.sha256(DATA * 40).hexdigest()
    for moment in range(12):
        with subprocess.Popen(
            [sys.executable, "-m", "node.fetch", f"{cloud.url}{KEY}", digest, str(place)],
            cwd=modules,
            env={"ULTRACLUSTER_IMDS": service.url},
            stderr=subprocess.DEVNULL,
        ) as process:
            until = time.monotonic() + 5
            while process.poll() is None and len(cloud.calls) <= moment and time.monotonic() < until:
                time.sleep(0.002)
            time.sleep(moment * 0.012)
            process.send_signal(signal.SIGKILL)
        assert not place.exists() or hashlib.sha256(place.read_bytes()).hexdigest() == digest
        place.unlink(missing_ok=True)
    assert program.fetch(f"{cloud.url}{KEY}", digest, place, imds=Imds(service.url))
    assert folder(place) == ["ultracluster-node"]
