"""A pretended P5 for health checks: what the driver, NVLink, the fabric manager, the journal and chrony print.

The shapes are those that the tools print; numbers and names are made up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from support import efa
from support.machine import Machine

DRIVER = "570.172.08"
BOOT = "0c1d5f2a-8d0e-4f6c-9b1a-000000000001"
TRACKING = (
    "A9FEA97B,169.254.169.123,4,1764540000.123456789,{offset},"
    "-0.000000567,0.000002,-10.1,0.0,0.01,0.0002,0.0001,16.2,{leap}\n"
)


def uuid(index: int) -> str:
    """By which a GPU is known."""
    return f"GPU-5269b708-678a-b1a8-60f0-c904065374{index:02x}"


def place(index: int) -> str:
    """PCI address of a GPU in the kernel log."""
    return f"0000:{0x53 + index:02x}:00"


def gpu_xml(index: int, **changes: str) -> str:
    """One GPU in `nvidia-smi -q -x`; changes are by tag, the last part of the path."""
    values = {
        "gpu_recovery_action": "None",
        "max_link_gen": "5",
        "current_link_gen": "5",
        "max_link_width": "16x",
        "current_link_width": "16x",
        "gpu_idle": "Active",
        "hw_slowdown": "Not Active",
        "hw_thermal_slowdown": "Not Active",
        "sw_power_cap": "Not Active",
        "current_ecc": "Enabled",
        "sram_uncorrectable_parity": "0",
        "sram_uncorrectable_secded": "0",
        "dram_uncorrectable": "0",
        "retired_count": "N/A",
        "remapped_row_pending": "No",
        "remapped_row_failure": "No",
        "graphics_clock": "1980 MHz",
        "mem_clock": "2619 MHz",
        "state": "Completed",
        **changes,
    }
    return """
    <gpu id="0000{place}.0">
        <product_name>NVIDIA H100 80GB HBM3</product_name>
        <mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
        <serial>16500234{index:05d}</serial>
        <uuid>{uuid}</uuid>
        <minor_number>{index}</minor_number>
        <gpu_reset_status>
            <reset_required>Requested functionality has been deprecated</reset_required>
        </gpu_reset_status>
        <gpu_recovery_action>{gpu_recovery_action}</gpu_recovery_action>
        <pci>
            <pci_bus_id>0000{place}.0</pci_bus_id>
            <pci_gpu_link_info>
                <pcie_gen>
                    <max_link_gen>{max_link_gen}</max_link_gen>
                    <current_link_gen>{current_link_gen}</current_link_gen>
                </pcie_gen>
                <link_widths>
                    <max_link_width>{max_link_width}</max_link_width>
                    <current_link_width>{current_link_width}</current_link_width>
                </link_widths>
            </pci_gpu_link_info>
            <replay_counter>0</replay_counter>
        </pci>
        <clocks_event_reasons>
            <clocks_event_reason_gpu_idle>{gpu_idle}</clocks_event_reason_gpu_idle>
            <clocks_event_reason_sw_power_cap>{sw_power_cap}</clocks_event_reason_sw_power_cap>
            <clocks_event_reason_hw_slowdown>{hw_slowdown}</clocks_event_reason_hw_slowdown>
            <clocks_event_reason_hw_thermal_slowdown>{hw_thermal_slowdown}</clocks_event_reason_hw_thermal_slowdown>
        </clocks_event_reasons>
        <ecc_mode><current_ecc>{current_ecc}</current_ecc><pending_ecc>Enabled</pending_ecc></ecc_mode>
        <ecc_errors>
            <volatile>
                <sram_correctable>0</sram_correctable>
                <sram_uncorrectable_parity>{sram_uncorrectable_parity}</sram_uncorrectable_parity>
                <sram_uncorrectable_secded>{sram_uncorrectable_secded}</sram_uncorrectable_secded>
                <dram_correctable>12</dram_correctable>
                <dram_uncorrectable>{dram_uncorrectable}</dram_uncorrectable>
            </volatile>
            <aggregate>
                <sram_uncorrectable_parity>3</sram_uncorrectable_parity>
                <dram_uncorrectable>1</dram_uncorrectable>
                <sram_threshold_exceeded>No</sram_threshold_exceeded>
            </aggregate>
        </ecc_errors>
        <retired_pages>
            <multiple_single_bit_retirement><retired_count>{retired_count}</retired_count></multiple_single_bit_retirement>
            <pending_retirement>N/A</pending_retirement>
        </retired_pages>
        <remapped_rows>
            <remapped_row_corr>0</remapped_row_corr>
            <remapped_row_unc>0</remapped_row_unc>
            <remapped_row_pending>{remapped_row_pending}</remapped_row_pending>
            <remapped_row_failure>{remapped_row_failure}</remapped_row_failure>
        </remapped_rows>
        <clocks><graphics_clock>345 MHz</graphics_clock><mem_clock>2619 MHz</mem_clock></clocks>
        <applications_clocks>
            <graphics_clock>{graphics_clock}</graphics_clock>
            <mem_clock>{mem_clock}</mem_clock>
        </applications_clocks>
        <fabric><state>{state}</state><status>Success</status></fabric>
    </gpu>""".format(index=index, place=place(index).upper(), uuid=uuid(index), **values)


def smi_xml(gpus: int = 8, changed: Mapping[int, Mapping[str, str]] | None = None) -> str:
    """`nvidia-smi -q -x`, with changes by the index of the GPU."""
    listed = "".join(gpu_xml(index, **(changed or {}).get(index, {})) for index in range(gpus))
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
        f"    <timestamp>Mon Nov 30 22:00:00 2026</timestamp>\n    <driver_version>{DRIVER}</driver_version>\n"
        f"    <cuda_version>12.8</cuda_version>\n    <attached_gpus>{gpus}</attached_gpus>{listed}\n</nvidia_smi_log>\n"
    )


def nvlink_status(gpus: int = 8, links: int = 18, inactive: Mapping[int, Sequence[int]] | None = None) -> str:
    """`nvidia-smi nvlink -s`."""
    lines = []
    for index in range(gpus):
        lines.append(f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: {uuid(index)})")
        down = (inactive or {}).get(index, ())
        lines += [f"\t Link {link}: {'<inactive>' if link in down else '26.562 GB/s'}" for link in range(links)]
    return "\n".join(lines) + "\n"


def xid_line(index: int, text: str) -> str:
    """A line of `journalctl -k -o short-iso`."""
    return f"2026-11-30T21:58:01+0000 ip-10-0-1-5 kernel: NVRM: Xid (PCI:{place(index)}): {text}"


def ethtool(**changes: int) -> str:
    """`ethtool -S` of an ENA interface."""
    counters = {
        "tx_timeout": 0,
        "suspend": 0,
        "wd_expired": 0,
        "interface_up": 1,
        "bw_in_allowance_exceeded": 4,
        "bw_out_allowance_exceeded": 0,
        "pps_allowance_exceeded": 0,
        "conntrack_allowance_exceeded": 0,
        "conntrack_allowance_available": 2_000_000,
        "linklocal_allowance_exceeded": 0,
        "queue_0_tx_cnt": 80131,
        "queue_0_rx_bad_csum": 0,
        **changes,
    }
    return "NIC statistics:\n" + "".join(f"     {name}: {count}\n" for name, count in counters.items())


def shell(text: str) -> str:
    """Shell text that prints another text."""
    return f"cat <<'END_OF_OUTPUT'\n{text.rstrip(chr(10))}\nEND_OF_OUTPUT\n"


def install(
    machine: Machine,
    *,
    xml: str | None = None,
    nvlink: str | None = None,
    journal: Sequence[str] = (),
    fabric_manager: str = DRIVER,
    tracking: Mapping[str, Any] | None = None,
) -> None:
    """Put the tools of a GPU node on it."""
    machine.command(
        "nvidia-smi",
        f"if [[ $1 == nvlink ]]; then\n{shell(nvlink_status() if nvlink is None else nvlink)}else\n"
        f"{shell(smi_xml() if xml is None else xml)}fi\n",
    )
    machine.command("nv-fabricmanager", f'echo "Fabric Manager version is : {fabric_manager}"')
    machine.command(
        "systemctl",
        "case $1 in is-active) echo active ;; show) echo DefaultLimitMEMLOCK=infinity ;; esac",
    )
    lines = ["2026-11-30T21:57:00+0000 ip-10-0-1-5 kernel: Linux version 6.8.0-1036-aws", *journal]
    machine.command("journalctl", shell("\n".join(lines)))
    interfaces = machine.root / "sys/class/net"
    if not interfaces.exists():
        (interfaces / "ens32/device").mkdir(parents=True)
        (interfaces / "ens32/device/driver").symlink_to("../../../bus/pci/drivers/ena")
        (interfaces / "lo").mkdir()
    machine.command("ethtool", shell(ethtool()))
    machine.command(
        "chronyc", shell(TRACKING.format(**{"offset": "0.000001234", "leap": "Normal", **(tracking or {})}))
    )


def healthy(machine: Machine) -> Machine:
    """A P5 on which every check passes; it has no local disks and no mounts of its fleet."""
    efa.healthy(machine)
    machine.metadata["instance-id"] = "i-0123456789abcdef0"
    machine.settings["scratch"] = False
    machine.write("/proc/sys/kernel/random/boot_id", BOOT + "\n")
    install(machine)
    return machine
