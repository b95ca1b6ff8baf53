"""Scratch: which disks, one array over all of them, reboots, stop and start, kills, what is left alone."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import replace

import pytest

from support.disks import STORE, Disks
from ultracluster.node import scratch
from ultracluster.node.host import NodeError
from ultracluster.node.imds import ImdsError


@pytest.fixture
def disks(machine):
    return Disks(machine, 3)


def made(machine, **changes):
    return scratch.ensure(machine.node(**changes))


def changes(machine):
    """Commands that change something."""
    reading = ("lsblk", "blkid", "xfs_info", "mdadm --detail")
    return [call for call in machine.calls if not call.startswith(reading)]


def test_one_array_over_all_instance_store_disks_and_no_volume(machine):
    disks = Disks(machine, 8)
    del machine.settings["types"]
    found = made(machine)
    assert (found.source, found.chunk_kib) == ("raid0", 256)
    assert found.disks == tuple(disks.names)
    (create,) = machine.called("mdadm --create")
    assert create.split()[-8:] == [f"/dev/{name}" for name in disks.names]
    assert {"--level=0", "--chunk=256", "--raid-devices=8", "--homehost=any", "--run"} <= set(create.split())
    (mkfs,) = machine.called("mkfs.xfs")
    assert re.fullmatch(
        r"mkfs\.xfs -q -f -K -L ultracluster -m uuid=[0-9a-f-]{36} -d su=256k,sw=8 /dev/md/ultracluster", mkfs
    )
    assert machine.called("mount ") == ["mount -t xfs -o noatime /dev/md/ultracluster /scratch"]
    assert (machine.root / "scratch").stat().st_mode & 0o7777 == 0o1777
    # Stripes as the superblock has them, in blocks of 4 KiB.
    assert struct.unpack(">II", disks.superblock()[184:192]) == (64, 512)


def test_one_disk_gets_no_array(machine):
    machine.metadata["instance-type"] = "p5.4xlarge"
    disks = Disks(machine, 1)
    found = made(machine)
    assert (found.source, found.disks, found.chunk_kib) == ("disk", (disks.names[0],), 0)
    assert not machine.called("mdadm")
    assert machine.called("mkfs.xfs") == ["mkfs.xfs -q -f -K -L ultracluster /dev/nvme1n1"]
    disks.reboot()
    assert made(machine).source == "disk"
    assert len(machine.called("mkfs.xfs")) == 1


def test_no_disk_leaves_a_folder_on_the_root_volume(machine, capsys):
    machine.metadata["instance-type"] = "inf2.48xlarge"
    Disks(machine, 0)
    assert made(machine).source == "root"
    assert "no instance store: /scratch is a folder on the root volume" in capsys.readouterr().err
    assert not changes(machine)
    assert (machine.root / "scratch").stat().st_mode & 0o7777 == 0o1777


def test_a_second_run_changes_nothing(machine, disks):
    first = made(machine)
    before = changes(machine)
    assert replace(made(machine), free_bytes=0) == replace(first, free_bytes=0)
    assert changes(machine) == before


@pytest.mark.parametrize("udev", [True, False])
def test_after_a_reboot_the_array_and_its_files_are_kept(machine, disks, udev):
    made(machine)
    before = disks.superblock()
    disks.reboot(udev=udev)
    found = made(machine)
    assert (found.source, found.disks) == ("raid0", tuple(disks.names))
    assert disks.superblock() == before
    assert len(machine.called("mdadm --create")) == len(machine.called("mkfs.xfs")) == 1
    assert len(machine.called("mdadm --assemble")) == (0 if udev else 1)


def test_after_stop_and_start_empty_disks_are_striped_again(machine, disks):
    made(machine)
    before = disks.superblock()
    disks.stop_and_start()
    assert made(machine).source == "raid0"
    assert disks.superblock() != before
    assert not machine.called("mdadm --assemble")


def test_an_array_that_lost_a_disk_is_made_anew_and_its_remains_are_not_taken_for_the_new_file_system(
    machine, disks, capsys
):
    made(machine)
    before = disks.superblock()
    disks.reboot(udev=False)
    disks.add(disks.names[1])
    # The old file system still stands where the data of the first disk begins: killed before mkfs, it must not count.
    disks.kill_at("mkfs.xfs", "before")
    assert disks.boot().returncode < 0
    assert made(machine).source == "raid0"
    assert disks.superblock()[32:48] != before[32:48]
    assert len(machine.called("mdadm --zero-superblock")) == 1


def test_what_udev_began_of_an_incomplete_array_is_stopped_first(machine, disks):
    made(machine)
    disks.reboot(udev=False)
    disks.add(disks.names[1])
    disks.children("nvme1n1", {"name": "md127", "path": "/dev/md127", "type": "md", "mountpoint": None})
    assert made(machine).source == "raid0"
    assert machine.called("mdadm --stop") == ["mdadm --stop /dev/md127"]


def test_a_complete_array_that_udev_did_not_start_is_stopped_and_assembled(machine, disks):
    made(machine)
    before = disks.superblock()
    disks.reboot(udev=False)
    disks.children("nvme1n1", {"name": "md127", "path": "/dev/md127", "type": "md", "mountpoint": None})
    assert made(machine).source == "raid0"
    assert disks.superblock() == before
    assert machine.called("mdadm --stop") == ["mdadm --stop /dev/md127"]


@pytest.mark.parametrize(
    ("tool", "moment"),
    [
        ("lsblk", "before"),
        ("mdadm --create", "before"),
        ("mdadm --create", "middle"),
        ("mdadm --create", "after"),
        ("mdadm --detail", "after"),
        ("mkfs.xfs", "before"),
        ("mkfs.xfs", "middle"),
        ("mkfs.xfs", "after"),
        ("mount", "before"),
        ("mount", "after"),
        ("xfs_info", "before"),
    ],
)
@pytest.mark.parametrize("reboot", [True, False])
def test_a_run_that_was_killed_at_any_step_is_carried_on(machine, disks, tool, moment, reboot):
    disks.kill_at(tool, moment)
    killed = disks.boot()
    assert killed.returncode < 0, killed.stderr
    if reboot:
        disks.reboot(udev=moment != "after")
    done = disks.boot()
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["source"], found["disks"]) == ("raid0", disks.names)
    assert disks.superblock()[126] == 0
    assert struct.unpack(">II", disks.superblock()[184:192]) == (64, 192)
    assert machine.read("/proc/self/mountinfo").count(" /scratch ") == 1
    if reboot is False and (tool, moment) in [("mkfs.xfs", "after"), ("mount", "before"), ("mount", "after")]:
        assert len(machine.called("mkfs.xfs")) == 1


def test_a_killed_mkfs_on_one_disk_is_done_again(machine):
    disks = Disks(machine, 1)
    disks.kill_at("mkfs.xfs", "middle")
    assert disks.boot().returncode < 0
    assert disks.boot().returncode == 0
    assert len(machine.called("mkfs.xfs")) == 2
    assert disks.superblock()[126] == 0


class TestRefusals:
    def test_a_missing_disk_is_a_failure_and_no_smaller_array(self, machine, disks):
        disks.remove(disks.names[2])
        with pytest.raises(NodeError, match=r"^p5\.48xlarge shows 2 of 3 instance store disks; .*no smaller array"):
            made(machine)
        assert not changes(machine)

    def test_a_disk_that_fails_writes_is_named(self, machine, disks):
        disks.bad(disks.names[1])
        with pytest.raises(NodeError, match=rf"Failed to write metadata to \S*/dev/{disks.names[1]}"):
            made(machine)
        assert not machine.called("mount ")
        assert not machine.called("mkfs.xfs")
        # The next try does not take what the failed one left for a smaller array.
        with pytest.raises(NodeError, match="Failed to write metadata"):
            made(machine)
        assert all("--raid-devices=3" in call for call in machine.called("mdadm --create"))

    def test_a_disk_that_cannot_be_read_is_named(self, machine, disks):
        disks.file(disks.names[1]).unlink()
        disks.file(disks.names[1]).mkdir()
        machine.command("lsblk", f"echo '{self._listed(machine, disks)}'")
        with pytest.raises(NodeError, match=rf"^{disks.names[1]} cannot be read: .*; replace the instance"):
            made(machine)
        assert not changes(machine)

    def _listed(self, machine, disks):
        paths = [
            {"name": name, "path": str(disks.file(name)), "type": "disk", "mountpoint": None} for name in disks.names
        ]
        return json.dumps({"blockdevices": paths})

    @pytest.mark.parametrize(
        ("offset", "data", "what"),
        [
            (0, b"XFSB".ljust(512, b"\0"), "carries xfs"),
            (0, b"XFSB".ljust(108, b"\0") + b"data".ljust(404, b"\0"), "carries xfs data"),
            (1080, b"\x53\xef", "carries ext4"),
            (510, b"\x55\xaa", "carries a dos partition table"),
            (
                4096,
                b'MD{"uuid": "%s", "name": "host7:data", "devices": 2}' % (b"12" * 16),
                "carries linux_raid_member host7:data",
            ),
        ],
    )
    def test_a_foreign_signature_is_left_alone(self, machine, disks, offset, data, what):
        disks.sign(disks.names[2], offset, data)
        before = {name: disks.file(name).read_bytes() for name in disks.names}
        with pytest.raises(
            NodeError, match=rf"^{disks.names[2]} {what}; it is left alone and no smaller array is made"
        ):
            made(machine)
        assert not changes(machine)
        assert {name: disks.file(name).read_bytes() for name in disks.names} == before

    @pytest.mark.parametrize(
        ("kind", "point", "what"),
        [
            ("part", None, "carries part nvme1n1x"),
            ("lvm", None, "carries lvm nvme1n1x"),
            ("crypt", None, "carries crypt nvme1n1x"),
            ("part", "/data", "is in use at /data"),
            ("raid0", "/data", "is in use at /data"),
            ("part", "[SWAP]", r"is in use at \[SWAP\]"),
            ("raid0", None, "is part of an array without a signature"),
        ],
    )
    def test_what_is_built_on_a_disk_is_left_alone(self, machine, disks, kind, point, what):
        disks.children("nvme1n1", {"name": "x", "path": "/dev/nvme1n1x", "type": kind, "mountpoint": point})
        with pytest.raises(NodeError, match=rf"^nvme1n1 {what};"):
            made(machine)
        assert not changes(machine)

    def test_disks_with_the_same_fault_stand_together_in_one_line(self, machine, disks):
        for name in disks.names:
            disks.sign(name, 1080, b"\x53\xef")
        with pytest.raises(NodeError) as caught:
            made(machine)
        assert str(caught.value).startswith(" ".join(disks.names) + " carries ext4; ")
        assert "\n" not in str(caught.value)

    def test_a_file_system_of_others_on_our_array_is_left_alone(self, machine, disks):
        made(machine)
        disks.reboot()
        (machine.root / "dev/md/md127").write_bytes(bytes(1080) + b"\x53\xef" + bytes(4096))
        with pytest.raises(NodeError, match="carries ext4 that is not ours"):
            made(machine)
        assert len(machine.called("mkfs.xfs")) == 1

    def test_other_stripes_than_the_array_has_are_a_failure(self, machine, disks):
        made(machine)
        disks.reboot()
        file = machine.root / "dev/md/md127"
        data = bytearray(file.read_bytes())
        data[184:192] = struct.pack(">II", 64, 64)
        file.write_bytes(data)
        with pytest.raises(NodeError, match="stripes of 256 KiB over 256 KiB; the array has 256 KiB over 768 KiB"):
            made(machine)


class TestStanding:
    def test_somebody_elses_mount_is_left_alone(self, machine, disks, capsys):
        (machine.root / "scratch").mkdir(mode=0o755)
        machine.write("/proc/self/mountinfo", "36 35 259:0 / /scratch rw - nfs4 10.0.0.7:/export rw\n")
        assert made(machine).source == "standing"
        assert not changes(machine)
        assert (machine.root / "scratch").stat().st_mode & 0o7777 == 0o755
        assert "10.0.0.7:/export is mounted at /scratch already; it is left alone" in capsys.readouterr().err

    def test_scratch_can_be_switched_off(self, machine, disks):
        machine.settings["scratch"] = False
        assert made(machine).source == "off"
        assert not machine.calls

    def test_status_changes_nothing(self, machine, disks):
        assert scratch.status(machine.node()).source == "off"
        assert not changes(machine)
        made(machine)
        before = changes(machine)
        assert scratch.status(machine.node()).source == "raid0"
        assert changes(machine) == before

    def test_the_metadata_service_is_not_needed_after_a_reboot(self, machine, disks):
        made(machine)
        disks.reboot()

        class Silent:
            def require(self, path):
                raise ImdsError("no answer")

        assert made(machine, imds=Silent()).source == "raid0"
        disks.stop_and_start()
        with pytest.raises(ImdsError):
            made(machine, imds=Silent())


class TestImageService:
    """The Deep Learning AMI stripes and mounts the disks itself."""

    MOUNT = "36 35 253:0 / /opt/dlami/nvme rw - ext4 /dev/mapper/vg.01-lv_ephemeral rw\n"

    def test_it_is_waited_for_and_its_mount_is_used(self, machine, disks):
        machine.command("systemctl", "exit 0")

        def later(seconds):
            machine.slept.append(seconds)
            if len(machine.slept) == 3:
                machine.write("/proc/self/mountinfo", self.MOUNT)

        assert made(machine, sleep=later).source == "dlami"
        assert machine.slept == [5, 5, 5]
        assert machine.called("mount ") == ["mount --bind /opt/dlami/nvme /scratch"]
        assert not machine.called("mdadm")
        assert made(machine).source == "dlami"

    def test_it_is_given_up_after_two_minutes_with_one_line(self, machine, disks, capsys):
        machine.command("systemctl", "[[ $1 == is-enabled ]] || { echo failed; exit 3; }")
        assert made(machine).source == "raid0"
        assert sum(machine.slept) == 120
        lines = [line for line in capsys.readouterr().err.splitlines() if "dlami-nvme.service" in line]
        (line,) = lines
        assert "mounted nothing at /opt/dlami/nvme within 120 s; using the disks ourselves" in line

    def test_it_is_not_raced_while_it_is_at_work(self, machine, disks):
        machine.command("systemctl", "[[ $1 == is-enabled ]] || echo activating")
        with pytest.raises(NodeError, match=r"dlami-nvme\.service is still at work after 120 s"):
            made(machine)
        assert not machine.called("mdadm")

    def test_an_image_without_it_is_not_waited_for(self, machine, disks):
        machine.command("systemctl", "exit 1")
        assert made(machine).source == "raid0"
        assert not machine.slept


def test_missing_tools_are_installed(machine, disks):
    stubs = machine.root / "stubs"
    for tool in ("mdadm", "mkfs.xfs"):
        (stubs / tool).rename(stubs / f"{tool}.away")
    machine.command(
        "dnf", 'name=$3; [[ $name == xfsprogs ]] && name=mkfs.xfs; cp "$ROOT/stubs/$name.away" "$ROOT/stubs/$name"'
    )
    (machine.root / "basics").mkdir(exist_ok=True)
    (machine.root / "stubs/cp").symlink_to("/bin/cp")
    assert made(machine).source == "raid0"
    assert machine.called("dnf") == ["dnf -qy install mdadm", "dnf -qy install xfsprogs"]


def test_a_package_that_cannot_be_installed_is_one_line(machine, disks):
    (machine.root / "stubs/mdadm").unlink()
    machine.command("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")
    with pytest.raises(
        NodeError, match=r"^mdadm cannot be installed \(apt-get ended with status 100.*put it into the image"
    ):
        made(machine)
    assert "-o DPkg::Lock::Timeout=120" in machine.called("apt-get")[0]
    assert machine.slept == [15] * 4


def test_the_program_prints_json(machine, disks, capsys):
    import argparse

    assert scratch.run(argparse.Namespace(status=False), machine.node()) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["source"] == "raid0"
    assert printed["disks"] == disks.names
    assert printed["size_bytes"] >= printed["free_bytes"] > 0


def test_other_nvme_models_do_not_count(machine, disks):
    disks.add("nvme30n1", "Amazon EC2 NVMe Instance Storage v9")
    disks.add("nvme31n1", STORE.lower())
    assert made(machine).disks == tuple(disks.names)
