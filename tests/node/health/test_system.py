"""What surrounds the accelerators: mounts, scratch, locked memory, clock, root volume."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from support import gpus
from ultracluster.node import NodeError, scratch
from ultracluster.node import health as program
from ultracluster.node.health.system import parse_tracking
from ultracluster.node.results import UnreadableError

FSX = {"kind": "lustre", "path": "/fsx", "source": "fs-1.fsx@tcp:/abc", "options": "noatime", "efa": True}
HOME = {"kind": "efs", "path": "/home", "source": "fs-2:/", "options": "_netdev"}
MOUNTINFO = (
    "36 35 0:50 / /fsx rw,noatime shared:1 - lustre 10.0.0.9@tcp:/abc rw,flock\n"
    "37 35 0:51 / /home rw shared:2 - nfs4 127.0.0.1:/ rw,vers=4.1\n"
)
LNET = """\
net:
    - net type: tcp
      local NI(s):
        - nid: 10.0.1.5@tcp
          status: up
          statistics:
              send_count: 20
              recv_count: 20
    - net type: efa
      local NI(s):
        - nid: 10.0.1.5@efa
          status: {status}
          interfaces:
              0: rdmap79s0
          statistics:
              send_count: {count}
              recv_count: {count}
"""


class TestMounts:
    @pytest.fixture
    def storage(self, p5):
        p5.settings["mounts"] = [FSX, HOME]
        p5.write("/proc/self/mountinfo", MOUNTINFO)
        p5.command("lnetctl", gpus.shell(LNET.format(status="up", count=70)))
        return p5

    def test_everything_is_mounted_and_lustre_is_over_efa(self, storage, found):
        assert found()["mounts"].message == "2 mounted"
        assert found()["lustre_efa"].message == "140 messages over 1 EFA interfaces"

    def test_a_mount_that_is_missing(self, storage, found):
        storage.write("/proc/self/mountinfo", MOUNTINFO.replace("lustre", "ext4"))
        result = found()["mounts"]
        assert (result.action, result.value) == ("reboot", ["/fsx has ext4 instead of lustre from fs-1.fsx@tcp:/abc"])
        storage.write("/proc/self/mountinfo", "")
        assert "/home has nothing instead of efs from fs-2:/" in found()["mounts"].message

    @pytest.mark.parametrize(
        ("net", "said"),
        [
            (LNET.partition("    - net type: efa")[0], "LNet has no EFA network"),
            (LNET.format(status="down", count=7), "10.0.1.5@efa of LNet are down"),
            (LNET.format(status="up", count=0), "no message of LNet went over EFA"),
        ],
    )
    def test_lustre_that_fell_back_to_tcp(self, storage, found, net, said):
        storage.command("lnetctl", gpus.shell(net))
        result = found()["lustre_efa"]
        assert (result.status, result.action) == ("fail", "reboot")
        assert said in result.message

    def test_a_missing_tool_is_unknown(self, storage, found):
        (storage.root / "stubs/lnetctl").unlink()
        assert found()["lustre_efa"].status == "unknown"

    def test_a_fleet_without_mounts_has_nothing_to_check(self, p5, found):
        assert found()["mounts"].status == "skipped"
        assert "lustre_efa" not in found()


class TestScratch:
    @pytest.fixture
    def status(self, p5, monkeypatch):
        p5.settings["scratch"] = True

        def give(**changes):
            values = {"path": "/scratch", "source": "raid0", "device": "/dev/md0", "size_bytes": 30.2e12, **changes}
            monkeypatch.setattr(scratch, "status", lambda node: SimpleNamespace(**values))

        return give

    def test_all_disks(self, status, found):
        status()
        assert found()["scratch"].message == "30200 GB at /scratch"

    @pytest.mark.parametrize(
        "changes", [{"size_bytes": 26.6e12}, {"source": "root"}, {"source": "off", "size_bytes": 0}]
    )
    def test_less_than_the_disks_have(self, status, found, changes):
        status(**changes)
        result = found()["scratch"]
        assert (result.status, result.action) == ("fail", "reboot")
        assert "the local disks have 30400 GB" in result.message

    def test_what_somebody_else_mounted_is_theirs(self, status, found):
        status(source="standing", size_bytes=1e12)
        assert found()["scratch"].status == "pass"

    def test_what_cannot_be_told_is_unknown(self, p5, found, monkeypatch):
        p5.settings["scratch"] = True

        def broken(node):
            raise NodeError("mdadm is not on this node")

        monkeypatch.setattr(scratch, "status", broken)
        assert found()["scratch"].status == "unknown"


class TestLockedMemory:
    def test_what_systemd_gives_to_new_services(self, p5, found):
        assert found()["locked_memory"].value == {"new services": "infinity"}
        p5.command("systemctl", "case $1 in is-active) echo active ;; show) echo DefaultLimitMEMLOCK=8388608 ;; esac")
        result = found()["locked_memory"]
        assert (result.action, result.message) == (
            "reboot",
            "new services may lock 8388608 bytes, and EFA needs 17179869184 or more",
        )

    def test_slurmd_that_runs_counts(self, p5, found):
        p5.write("/proc/812/comm", "slurmd\n")
        p5.write(
            "/proc/812/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n"
            "Max locked memory         8388608              unlimited            bytes\n",
        )
        p5.write("/proc/813/comm", "dockerd\n")
        assert found()["locked_memory"].message.startswith("slurmd may lock 8388608 bytes")

    def test_no_answer_is_unknown(self, p5, found):
        p5.command("systemctl", "[[ $1 != is-active ]] || echo active")
        assert found()["locked_memory"].status == "unknown"


class TestClock:
    @pytest.mark.parametrize("tracking", [{"offset": "-0.25"}, {"leap": "Not synchronised"}])
    def test_a_clock_that_nothing_holds(self, p5, found, tracking):
        gpus.install(p5, tracking=tracking)
        assert (found()["clock"].status, found()["clock"].action) == ("fail", "monitor")

    def test_no_chrony_is_told_and_stops_no_launch(self, p5, found):
        (p5.root / "stubs/chronyc").unlink()
        assert (found()["clock"].status, found()["clock"].action) == ("fail", "monitor")
        assert program.light(p5.node()).healthy

    def test_output_that_is_cut_off_is_unknown(self, p5, found):
        p5.command("chronyc", "echo A9FEA97B,169.254.169.123,4")
        assert found()["clock"].status == "unknown"

    def test_the_form_of_chrony(self):
        assert parse_tracking(gpus.TRACKING.format(offset="-0.5", leap="Normal")) == (-0.5, "Normal")
        with pytest.raises(UnreadableError):
            parse_tracking(gpus.TRACKING.format(offset="much", leap="Normal"))


def test_a_root_volume_that_is_nearly_full(p5, found, monkeypatch):
    usage = os.statvfs_result((4096, 4096, 1000, 100, 50, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: usage)
    result = found()["disk"]
    assert (result.action, result.message) == ("monitor", "the root volume is 94.7 % full, 85 % at most")
