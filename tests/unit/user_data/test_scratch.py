"""Scratch, run: disks by model, RAID 0 over several, the image's own service, reboots, stop and start."""

from __future__ import annotations

import pytest

from support.bootstrap import files_of

STORE = "Amazon EC2 NVMe Instance Storage         "
VOLUME = "Amazon Elastic Block Store               "
BOOT = "boot"


@pytest.fixture
def node(node):
    node.install(files_of())
    node.behaviour |= {"systemctl": 'case "$1" in is-enabled) exit 1;; esac', "df": "echo Size; echo 28T"}
    return node


def ran(node):
    done = node.program(BOOT)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_all_instance_store_disks_are_striped_and_no_volume(node):
    # The order of the names says nothing: here volumes stand between the disks.
    node.disks(nvme0n1=VOLUME, nvme1n1=STORE, nvme2n1=STORE, nvme3n1=VOLUME, nvme4n1=STORE)
    out = ran(node)
    (create,) = node.called("mdadm --create")
    assert create.split()[-3:] == ["/dev/nvme1n1", "/dev/nvme2n1", "/dev/nvme4n1"]
    assert {"--level=0", "--chunk=256", "--raid-devices=3", "--run"} <= set(create.split())
    assert node.called("mkfs.xfs") == ["mkfs.xfs -q -f -K /dev/md/ultracluster"]
    assert node.called("mount ") == ["mount -t xfs -o noatime /dev/md/ultracluster /scratch"]
    assert node.called("chmod") == ["chmod 1777 /scratch"]
    assert "3 disks" in out


@pytest.fixture(autouse=True)
def _assembly_fails_on_empty_disks(node):
    node.behaviour["mdadm"] = "[[ $1 != --assemble ]] || exit 1"


def test_one_disk_gets_no_array(node):
    node.disks(nvme0n1=VOLUME, nvme1n1=STORE)
    ran(node)
    assert not node.called("mdadm")
    assert node.called("mkfs.xfs") == ["mkfs.xfs -q -f -K /dev/nvme1n1"]
    assert node.called("mount ") == ["mount -t xfs -o noatime /dev/nvme1n1 /scratch"]


def test_no_disk_leaves_a_folder_on_the_root_volume(node):
    node.disks(nvme0n1=VOLUME)
    assert "no instance store" in ran(node)
    assert not node.called("mkfs.xfs")
    assert not node.called("mount ")
    assert node.called("chmod") == ["chmod 1777 /scratch"]


def test_a_second_run_changes_nothing(node):
    node.disks(nvme1n1=STORE, nvme2n1=STORE)
    ran(node)
    before = len(node.calls)
    ran(node)
    assert [call.split()[0] for call in node.calls[before:]] == ["mountpoint", "chmod"]


def test_after_a_reboot_the_array_and_its_files_are_kept(node):
    node.disks(nvme1n1=STORE, nvme2n1=STORE)
    node.behaviour |= {"lsblk": 'echo "$3 disk"; echo "$ROOT/dev/md127 raid0"', "blkid": "echo xfs"}
    node.behaviour["lsblk"] = 'echo "/dev/nvme1n1 disk"; echo "/dev/md127 raid0"'
    ran(node)
    assert not node.called("mdadm")
    assert not node.called("mkfs.xfs")
    assert node.called("mount ") == ["mount -t xfs -o noatime /dev/md127 /scratch"]


def test_an_array_that_udev_did_not_start_is_assembled_not_made_anew(node):
    node.disks(nvme1n1=STORE, nvme2n1=STORE)
    node.behaviour |= {"mdadm": "exit 0", "blkid": "echo xfs"}
    ran(node)
    assert [call.split()[1] for call in node.called("mdadm")] == ["--assemble"]
    assert not node.called("mkfs.xfs")


def test_after_stop_and_start_empty_disks_are_striped_again(node):
    node.disks(nvme1n1=STORE, nvme2n1=STORE)
    ran(node)
    assert [call.split()[1] for call in node.called("mdadm")] == ["--assemble", "--create"]


def test_the_deep_learning_image_stripes_by_itself_and_is_waited_for(node):
    node.disks(nvme1n1=STORE, nvme2n1=STORE)
    node.behaviour["systemctl"] = "exit 0"
    # The service needs three looks until its mount stands.
    node.behaviour["mountpoint"] = (
        'case "$2" in */opt/dlami/nvme) echo x >>"$STATE/looks"; (($(wc -l <"$STATE/looks") >= 3));; '
        '*) grep -qxF "$2" "$STATE/mounted" 2>/dev/null;; esac'
    )
    ran(node)
    assert node.called("mount ") == ["mount --bind /opt/dlami/nvme /scratch"]
    assert node.called("sleep") == ["sleep 5", "sleep 5"]
    assert not node.called("mdadm")


def test_an_image_service_that_mounts_nothing_is_given_up_after_two_minutes(node):
    node.disks(nvme1n1=STORE)
    node.behaviour["systemctl"] = "exit 0"
    out = ran(node)
    assert len(node.called("sleep 5")) == 23
    assert "dlami-nvme.service mounted nothing" in out
    assert node.called("mount ") == ["mount -t xfs -o noatime /dev/nvme1n1 /scratch"]


def test_missing_tools_are_installed(node):
    node.disks(nvme1n1=STORE, nvme2n1=STORE)
    node.behaviour["dnf"] = ""
    # What the shell finds on the path counts: these two are not there.
    script = (
        'rm "$ROOT"/stubs/{mdadm,mkfs.xfs}; PATH="$ROOT/stubs:$ROOT/system"; bash "$ROOT/opt/ultracluster/node.sh" boot'
    )
    node.run("true")
    node.run(
        'mkdir -p "$ROOT/system"; for tool in bash date tail awk mkdir wc rm basename dirname env sh echo grep; do '
        'ln -s "$(command -v $tool)" "$ROOT/system/"; done'
    )
    node.run(script)
    assert node.called("dnf")[0] == "dnf -qy install mdadm"


def test_scratch_can_be_switched_off(node):
    node.install(files_of(scratch=False))
    node.disks(nvme1n1=STORE)
    ran(node)
    assert not node.called("mount ")
    assert not node.called("chmod")
