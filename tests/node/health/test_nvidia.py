"""GPUs of a pretended P5: each fault leads to the action that the facts name, and a missing tool is never a pass."""

from __future__ import annotations

import pytest

from support import gpus
from ultracluster.node import health
from ultracluster.node.health import nvidia


def test_a_healthy_node_passes_everything(p5):
    report = health.light(p5.node())
    assert [result for result in report.results if result.status not in ("pass", "skipped")] == []
    assert (report.action, report.healthy, report.status, report.because()) == ("none", True, 0, "")
    assert {result.check for result in report.results if result.status == "pass"} >= {
        *("driver", "accelerators", "gpu_memory", "recovery_action", "xid", "nvlink", "fabric_manager", "throttle"),
        *("clocks", "pcie", "efa", "fabric_software", "environment", "locked_memory", "clock", "disk"),
    }


@pytest.mark.parametrize(
    ("changes", "check", "action_and_text"),
    [
        (
            {"dram_uncorrectable": "2", "sram_uncorrectable_secded": "1"},
            "gpu_memory",
            ("reboot", "3 uncorrected memory errors"),
        ),
        ({"remapped_row_pending": "Yes"}, "gpu_memory", ("reboot", "a memory row is replaced at the next reset")),
        ({"remapped_row_failure": "Yes"}, "gpu_memory", ("replace", "no spare memory row is left")),
        ({"gpu_recovery_action": "Reset"}, "recovery_action", ("reset", "the driver asks for: Reset")),
        ({"gpu_recovery_action": "Reboot"}, "recovery_action", ("reboot", "the driver asks for: Reboot")),
        ({"gpu_recovery_action": "Drain and Reset"}, "recovery_action", ("reset", "Drain and Reset")),
        ({"gpu_recovery_action": "Something new"}, "recovery_action", ("reboot", "Something new")),
        ({"hw_thermal_slowdown": "Active"}, "throttle", ("monitor", "is slowed: hw_thermal_slowdown")),
        ({"graphics_clock": "1410 MHz"}, "clocks", ("monitor", "application clocks below 2619,1980 MHz")),
        ({"current_link_width": "8x"}, "pcie", ("reboot", "8 PCIe lanes, and others of the node have 16")),
        (
            {"current_link_gen": "3", "gpu_idle": "Not Active"},
            "pcie",
            ("monitor", "busy on PCIe 3, and the link can do 5"),
        ),
        ({"state": "In Progress"}, "fabric_manager", ("reset", "1 GPUs are not registered: 0000:55:00")),
    ],
)
def test_a_fault_of_one_gpu(p5, found, changes, check, action_and_text):
    action, text = action_and_text
    gpus.install(p5, xml=gpus.smi_xml(changed={2: changes}))
    result = found()[check]
    assert (result.status, result.action) == ("fail", action)
    assert text in result.message
    assert "0000:55:00" in result.message


@pytest.mark.parametrize(
    "changes",
    [
        {"sw_power_cap": "Active"},
        {"current_link_gen": "1"},
        {"retired_count": "63"},
        {"current_ecc": "Disabled", "dram_uncorrectable": "N/A"},
        {"graphics_clock": "N/A"},
        {"gpu_recovery_action": "N/A"},
    ],
)
def test_what_is_no_fault(p5, changes):
    gpus.install(p5, xml=gpus.smi_xml(changed=dict.fromkeys(range(8), changes)))
    report = health.light(p5.node())
    assert (report.healthy, report.status) == (True, 0)


def test_all_gpus_on_fewer_lanes_is_how_the_type_is_wired(p5, found):
    gpus.install(p5, xml=gpus.smi_xml(changed={n: {"current_link_width": "8x"} for n in range(8)}))
    assert found()["pcie"].status == "pass"


def test_retired_pages_count_on_a100_only(p5, found):
    p5.metadata["instance-type"] = "p4d.24xlarge"
    p5.settings["types"] = {"p4d.24xlarge": {"efa": 4}}
    gpus.install(p5, xml=gpus.smi_xml(changed={1: {"retired_count": "61"}}), nvlink=gpus.nvlink_status(links=12))
    result = found()["gpu_memory"]
    assert (result.action, result.message) == ("monitor", "GPU 0000:54:00: 61 memory pages are retired")


def test_a_gpu_fewer(p5, found):
    gpus.install(p5, xml=gpus.smi_xml(gpus=7))
    result = found()["accelerators"]
    assert (result.status, result.action, result.message) == ("fail", "reboot", "p5.48xlarge shows 7 of 8 GPUs")


class TestDriver:
    def test_no_driver_in_the_image_is_nothing_that_a_reboot_heals(self, p5, found):
        (p5.root / "stubs/nvidia-smi").unlink()
        result = found()["driver"]
        assert (result.status, result.action) == ("fail", "isolate")
        assert "nvidia-smi is not on this node" in result.message

    def test_a_driver_that_does_not_answer(self, p5, found):
        text = (
            "Unable to determine the device handle for GPU0000:53:00.0: GPU is lost.  Reboot the system to recover it"
        )
        p5.command("nvidia-smi", f'echo "{text}"; exit 15')
        gpus_seen = found()
        assert (gpus_seen["driver"].status, gpus_seen["driver"].action) == ("fail", "reboot")
        assert text.replace("  ", " ") in " ".join(gpus_seen["driver"].message.split())
        assert "accelerators" not in gpus_seen
        assert gpus_seen["xid"].status == "pass"

    def test_a_driver_that_hangs_is_given_up(self, p5, found, monkeypatch):
        monkeypatch.setattr(nvidia, "_TIMEOUT_S", 0.3)
        p5.command("nvidia-smi", "sleep 60")
        result = found()["driver"]
        assert (result.status, result.action) == ("fail", "reboot")
        assert "nvidia-smi did not end within 0.3 s and was killed" in result.message

    @pytest.mark.parametrize("xml", ["", "<nvidia_smi_log>", gpus.smi_xml()[:2000], "<html/>", "No devices were found"])
    def test_output_that_is_cut_off_is_unknown(self, p5, found, xml):
        gpus.install(p5, xml=xml)
        assert found()["driver"].status == "unknown"
        assert not health.light(p5.node()).healthy

    def test_a_driver_of_before_535_says_throttle(self, p5, found):
        xml = gpus.smi_xml(changed={0: {"hw_slowdown": "Active"}}).replace(
            "clocks_event_reason", "clocks_throttle_reason"
        )
        gpus.install(p5, xml=xml)
        assert found()["throttle"].value == ["hw_slowdown"]


class TestNvlink:
    def test_a_link_that_is_down(self, p5, found):
        gpus.install(p5, nvlink=gpus.nvlink_status(inactive={3: [4, 5]}))
        result = found()["nvlink"]
        assert (result.status, result.action, result.message) == ("fail", "reset", "GPU 3: 16 of 18 NVLinks are up")

    @pytest.mark.parametrize(
        ("text", "status"),
        [
            ("Unable to retrieve NVLink information as all links are inActive", "fail"),
            (gpus.nvlink_status(gpus=7), "unknown"),
            ("\n".join(gpus.nvlink_status().splitlines()[:-3]), "unknown"),
            ("", "unknown"),
        ],
    )
    def test_other_output(self, p5, found, text, status):
        gpus.install(p5, nvlink=text)
        assert found()["nvlink"].status == status

    def test_types_without_nvlink_have_nothing_to_check(self, p5, found):
        p5.metadata["instance-type"] = "g6e.48xlarge"
        p5.settings["types"] = {"g6e.48xlarge": {"efa": 4}}
        assert found()["nvlink"].status == "skipped"
        assert found()["fabric_manager"].status == "skipped"
        assert not p5.called("nvidia-smi nvlink")


class TestFabricManager:
    def test_another_version_than_the_driver(self, p5, found):
        gpus.install(p5, fabric_manager="570.133.20")
        result = found()["fabric_manager"]
        assert (result.status, result.action) == ("fail", "isolate")
        assert (
            result.message == "the fabric manager is 570.133.20 and the driver 570.172.08; install one version of both"
        )

    def test_not_running(self, p5, found):
        p5.command("systemctl", "[[ $1 != is-active ]] || { echo failed; exit 3; }")
        result = found()["fabric_manager"]
        assert (result.status, result.action, result.message) == ("fail", "reset", "the fabric manager is failed")

    @pytest.mark.parametrize("tool", ["systemctl", "nv-fabricmanager"])
    def test_a_missing_tool_is_unknown(self, p5, found, tool):
        (p5.root / f"stubs/{tool}").unlink()
        assert found()["fabric_manager"].status == "unknown"


class TestKernelLog:
    @pytest.mark.parametrize(
        ("text", "action"),
        [
            ("79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "replace"),
            (
                "48, pid=1896, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer",
                "reboot",
            ),
            ("54, pid='<unknown>', name=<unknown>, Auxiliary power", "isolate"),
            ("63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.", "monitor"),
            ("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "reset"),
            ("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "reboot"),
            ("154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", "reboot"),
            ("154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", "reset"),
            ("154, something that nobody has seen", "reboot"),
            ("999, of a driver to come", "monitor"),
            ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000)", "monitor"),
        ],
    )
    def test_the_table_says_what_follows(self, p5, found, text, action):
        gpus.install(p5, journal=[gpus.xid_line(1, text), gpus.xid_line(1, text)])
        result = found()["xid"]
        assert (result.status, result.action) == ("fail", action)
        assert f"GPU 0000:54:00: XID {text.split(',')[0]}, 2 times: " in result.message
        assert result.fault == f"xid-{text.split(',')[0]}@{gpus.uuid(1)}"

    def test_faults_of_jobs_are_counted_and_pass(self, p5, found):
        lines = [gpus.xid_line(0, f"{xid}, pid=7, name=python, Graphics Exception") for xid in (13, 31, 43, 13)]
        gpus.install(p5, journal=lines)
        assert (found()["xid"].status, found()["xid"].value) == ("pass", 4)

    def test_a_recovery_action_that_was_taken_back_is_none(self, p5, found):
        lines = [
            gpus.xid_line(0, "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
            gpus.xid_line(0, "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"),
        ]
        gpus.install(p5, journal=lines)
        assert found()["xid"].status == "pass"

    def test_fatal_messages_of_switches(self, p5, found):
        switch = "2026-11-30T21:58:01+0000 ip kernel: nvidia-nvswitch0: SXid (PCI:0000:05:00.0):"
        gpus.install(
            p5,
            journal=[
                f"{switch} 20034, Fatal, Link 63 LTSSM Fault Up",
                f"{switch} 20034, Data {{0x10000000, 0x10000000}}",
                f"{switch} 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
            ],
        )
        result = found()["xid"]
        assert (result.action, result.message) == ("reboot", "NVSwitch 0000:05:00: SXid 20034: Link 63 LTSSM Fault Up")

    def test_the_ring_buffer_is_read_where_there_is_no_journal(self, p5, found):
        p5.command(
            "dmesg",
            gpus.shell(f"[6781741.548779] {gpus.xid_line(0, '79, GPU has fallen off the bus.').split('kernel: ')[1]}"),
        )
        for body in (None, "echo 'No journal files were found.' >&2", "exit 1"):
            if body is None:
                (p5.root / "stubs/journalctl").unlink()
            else:
                p5.command("journalctl", body)
            assert found()["xid"].action == "replace"

    def test_no_log_at_all_is_unknown(self, p5, found):
        (p5.root / "stubs/journalctl").unlink()
        assert found()["xid"].status == "unknown"
        assert "the kernel log cannot be read" in found()["xid"].message
