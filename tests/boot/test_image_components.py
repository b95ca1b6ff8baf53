"""Components of a tuned image, phase by phase, in a copy of the guest's root; what has to be fetched is left out.

The component with the settings runs on the booted node instead (`conftest.py`), because it reboots.
"""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from support.awstoe import Runner, in_chroot
from support.boot.stages import PROGRAM, image_documents
from ultracluster.plan.node_program import node_program

OBJECT = "s3://bucket/program.pyz"


@pytest.fixture(scope="module")
def root(guest_root, tmp_path_factory):
    """A copy. What asks for a machine stands in: modules that only vendors' packages bring, a disk to boot from."""
    folder = tmp_path_factory.mktemp("image") / "root"
    subprocess.run(["cp", "-a", "--one-file-system", "--reflink=auto", guest_root / "root", folder], check=True)
    modinfo = folder / "usr/local/sbin/modinfo"
    modinfo.write_text("#!/bin/bash\n[[ ${*: -1} == nvidia ]] && echo 570.172.08\n")
    modinfo.chmod(0o755)
    (folder / "usr/local/sbin/update-grub").symlink_to("/bin/true")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def ran(root, tmp_path_factory):
    """Every phase of the components that need nothing from outside, as Image Builder orders them."""
    program = tmp_path_factory.mktemp("objects") / "program.pyz"
    program.write_bytes(node_program().data)
    documents, reboots = image_documents(), []
    runner = Runner(
        execute=in_chroot(root), root=root, objects={OBJECT: program}, reboot=lambda: reboots.append(len(runner.done))
    )
    for phase in ("build", "validate"):
        for name in ("programs", "tune"):
            runner.run(documents[name], phases=(phase,), parameters={"NodeProgram": OBJECT})
    runner.run(documents["test"], phases=("test",))
    return runner, reboots


def test_programs_are_the_pinned_ones(ran, root):
    assert (root / PROGRAM.lstrip("/")).read_bytes() == node_program().data
    assert (root / PROGRAM.lstrip("/")).stat().st_mode & 0o777 == 0o755


def test_every_phase_runs(ran):
    runner, reboots = ran
    assert {step.phase for step in runner.done} == {"build", "validate", "test"}
    assert {step.status for step in runner.done} == {0}
    assert reboots


def test_settings_are_remembered_for_nodes_of_the_image(ran, root):
    chosen = json.loads((root / "etc/ultracluster/tuning.json").read_text())
    assert chosen["with"] == ["low-latency-c-states"]
    assert "processor.max_cstate=1" in (root / "etc/default/grub.d/99-ultracluster.cfg").read_text()
