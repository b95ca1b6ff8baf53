"""`tune` against folders that look like nodes: what it writes, that it does so once, and what its check says."""

from __future__ import annotations

import argparse
import json
import re

import pytest

from ultracluster.node import NodeError, tune
from ultracluster.node.tune_scope import Scope, rows_for

LIMITS = "/etc/security/limits.d/ultracluster.conf"
MANAGER = "/etc/systemd/system.conf.d/ultracluster.conf"
SYSCTL = "/etc/sysctl.d/90-ultracluster.conf"
APT = "/etc/apt/apt.conf.d/99ultracluster"


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    tune.arguments(parser)
    return parser.parse_args(words)


def bare(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("#", "//"))]


def test_limits_of_logins_and_of_services_are_the_same(amazon):
    tune.apply(amazon.node(), "image", vendor="nvidia")
    assert "* - memlock unlimited" in bare(amazon.read(LIMITS))
    assert "root - nofile 131072" in bare(amazon.read(LIMITS))
    assert bare(amazon.read(MANAGER)) == ["[Manager]", "DefaultLimitMEMLOCK=infinity", "DefaultLimitNOFILE=131072"]


def test_every_file_names_the_rows_that_it_is_made_of(amazon, ubuntu, running):
    tune.apply(ubuntu.node(), "boot", ["large-memory-writeback"])
    known = {row["id"] for row in ubuntu.node().facts["tuning"]}
    written = [path for path in (ubuntu.root / "etc").rglob("*") if path.is_file() and "ultracluster" in path.name]
    for path in written:
        if path.suffix in {".conf", ".sh", ".cfg"}:
            named = re.search(r"ultracluster tune: (.*)", path.read_text())
            assert named, path
            assert set(named.group(1).split()) <= known


@pytest.mark.parametrize("stage", ["image", "boot"])
def test_a_second_run_changes_nothing(amazon, running, stage):
    node = amazon.node()
    assert tune.apply(node, stage, ["low-latency-c-states", "lustre-tcp-buffers"], vendor="nvidia")
    assert tune.drift(node, stage, ["low-latency-c-states", "lustre-tcp-buffers"], vendor="nvidia") == []
    assert tune.apply(node, stage, ["low-latency-c-states", "lustre-tcp-buffers"], vendor="nvidia") == []


def test_ubuntu_too(ubuntu, running):
    node = ubuntu.node()
    tune.apply(node, "image", ["low-latency-c-states"], vendor="nvidia")
    assert tune.drift(node, "image", vendor="nvidia") == []
    assert ubuntu.called("apt-mark hold") == ["apt-mark hold linux-image-6.8.0-1029-aws"]
    assert ubuntu.called("update-initramfs") == ["update-initramfs -u"]
    assert ubuntu.called("update-grub") == ["update-grub "]


def test_the_check_changes_nothing_and_tells_line_by_line(amazon, running, capsys):
    assert tune.run(arguments("--stage", "image", "--vendor", "nvidia", "--check"), amazon.node()) == 1
    said = capsys.readouterr().err.splitlines()
    assert any(f"{LIMITS}: is missing [limit-memlock, limit-nofile]" in line for line in said)
    assert any("dnf-makecache.timer: is not masked" in line for line in said)
    assert not (amazon.root / LIMITS[1:]).exists()
    assert not amazon.called("grubby --update-kernel")
    assert tune.run(arguments("--stage", "image", "--vendor", "nvidia"), amazon.node()) == 0
    assert tune.run(arguments("--stage", "image", "--vendor", "nvidia", "--check"), amazon.node()) == 0


def test_what_somebody_changes_is_told_and_put_right(amazon, running):
    node = amazon.node()
    tune.apply(node, "image", vendor="nvidia")
    amazon.write(LIMITS, "* - memlock 64\n")
    (amazon.root / "etc/systemd/system/man-db.timer").unlink()
    lines = tune.drift(node, "image", vendor="nvidia")
    assert [line.split(":")[0] for line in lines] == [LIMITS, "man-db.timer"]
    assert len(tune.apply(node, "image", vendor="nvidia")) == 2
    assert tune.drift(node, "image", vendor="nvidia") == []


def test_kernel_arguments_only_when_asked_for_and_never_at_boot(amazon, running):
    tune.apply(amazon.node(), "image", vendor="nvidia")
    assert not amazon.called("grubby")
    tune.apply(amazon.node(), "boot", ["low-latency-c-states"])
    assert not amazon.called("grubby")
    tune.apply(amazon.node(), "image", ["low-latency-c-states"], vendor="nvidia")
    assert amazon.called("grubby --update") == [
        "grubby --update-kernel=ALL --args=processor.max_cstate=1 intel_idle.max_cstate=1"
    ]


def test_the_check_asks_the_kernel_that_runs(amazon, running):
    """After the reboot of an image build, and not before: the check is what tells whether it did its work."""
    amazon.write("/proc/cmdline", "root=/dev/nvme0n1p1 ro quiet\n")
    tune.apply(amazon.node(), "image", ["low-latency-c-states"], vendor="nvidia")
    (line,) = tune.drift(amazon.node(), "image")
    assert line.startswith("running kernel: was booted without processor.max_cstate=1; reboot")
    amazon.write("/proc/cmdline", "root=/dev/nvme0n1p1 ro processor.max_cstate=1 intel_idle.max_cstate=1\n")
    assert tune.drift(amazon.node(), "image") == []


def test_arguments_of_the_kernel_on_ubuntu_keep_those_of_others(ubuntu):
    tune.apply(ubuntu.node(), "image", ["low-latency-c-states"], vendor="aws")
    assert bare(ubuntu.read("/etc/default/grub.d/99-ultracluster.cfg")) == [
        'GRUB_CMDLINE_LINUX="${GRUB_CMDLINE_LINUX:-} processor.max_cstate=1 intel_idle.max_cstate=1"'
    ]


@pytest.mark.parametrize(
    ("tool", "file"),
    [
        ("update-grub", "etc/default/grub.d/99-ultracluster.cfg"),
        ("update-initramfs", "etc/modprobe.d/ultracluster.conf"),
    ],
)
def test_what_could_not_be_made_to_count_is_tried_again(ubuntu, tool, file):
    ubuntu.command(tool, "echo no space left >&2; exit 1")
    for _ in range(2):
        with pytest.raises(NodeError, match=f"{tool} ended with status 1: no space left"):
            tune.apply(ubuntu.node(), "image", ["low-latency-c-states"], vendor="nvidia")
        assert not (ubuntu.root / file).exists()
    ubuntu.command(tool)
    tune.apply(ubuntu.node(), "image", ["low-latency-c-states"], vendor="nvidia")
    assert (ubuntu.root / file).exists()


def test_sleep_states_stay_on_arm(amazon):
    scope = Scope("nvidia", "amzn", "2023", "dnf", "arm64", {}, 0)
    assert not [
        row["id"]
        for row in rows_for(amazon.node().facts["tuning"], "image", scope, ["low-latency-c-states"])
        if row["kind"] == "kernel-argument"
    ]


def test_an_image_remembers_what_it_was_built_with(amazon, running):
    tune.apply(amazon.node(), "image", ["lustre-tcp-buffers"], vendor="nvidia")
    assert json.loads(amazon.read("/etc/ultracluster/tuning.json")) == {
        "vendor": "nvidia",
        "with": ["lustre-tcp-buffers"],
    }
    tune.apply(amazon.node(), "boot")
    assert "net.core.rmem_max = 16777216" in amazon.read(SYSCTL)


def test_settings_of_the_fleet_ask_too(amazon, running):
    amazon.settings = {"tuning": ["large-memory-writeback"], "vendor": "nvidia"}
    tune.apply(amazon.node(), "boot")
    assert "vm.dirty_ratio = 5" in amazon.read(SYSCTL)
    assert amazon.read("/proc/sys/vm/dirty_ratio") == "5"


def test_writeback_needs_the_memory(amazon, running):
    amazon.metadata["instance-type"] = "g5.48xlarge"
    tune.apply(amazon.node(), "boot", ["large-memory-writeback"])
    assert amazon.read("/proc/sys/vm/dirty_ratio") == "1\n"


@pytest.mark.parametrize(("nodes", "set_"), [(999, False), (1000, True)])
def test_neighbours_of_a_thousand_nodes(amazon, running, nodes, set_):
    amazon.settings = {"nodes": nodes}
    tune.apply(amazon.node(), "boot")
    assert (amazon.read("/proc/sys/net/ipv4/neigh/default/gc_thresh3") == "16384") is set_


def test_shared_memory_of_ubuntu_with_efa(ubuntu, running):
    tune.apply(ubuntu.node(), "boot")
    assert bare(ubuntu.read(SYSCTL)) == ["kernel.yama.ptrace_scope = 0"]
    assert ubuntu.read("/proc/sys/kernel/yama/ptrace_scope") == "0"


def test_amazon_linux_and_nodes_without_efa_keep_their_ptrace_scope(amazon, running):
    tune.apply(amazon.node(), "boot")
    assert not (amazon.root / SYSCTL[1:]).exists()


def test_masks_fit_the_package_manager(amazon, ubuntu):
    ubuntu.command("dnf", 'case "$*" in *list*) ;; esac')
    tune.apply(ubuntu.node(), "image", vendor="none")
    units = {path.name for path in (ubuntu.root / "etc/systemd/system").iterdir() if path.is_symlink()}
    assert "dnf-makecache.timer" in units
    assert "apt-daily.timer" not in units
    assert {"man-db.timer", "fwupd-refresh.timer"} <= units


def test_a_unit_file_of_somebody_is_not_overwritten(amazon):
    amazon.write("/etc/systemd/system/man-db.timer", "[Timer]\n")
    with pytest.raises(NodeError, match="file of somebody"):
        tune.apply(amazon.node(), "image", vendor="nvidia")
    # The fault of one setting keeps none of the others out.
    assert (amazon.root / LIMITS[1:]).exists()
    assert amazon.read("/etc/systemd/system/man-db.timer") == "[Timer]\n"


def test_clock_of_amazon_beside_what_the_file_has(ubuntu, running):
    tune.apply(ubuntu.node(), "boot")
    lines = ubuntu.read("/etc/chrony/chrony.conf").splitlines()
    assert lines[0] == "pool ntp.ubuntu.com iburst maxsources 4"
    assert "server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4" in lines
    assert ubuntu.called("systemctl try-restart") == ["systemctl try-restart chronyd chrony"]


def test_a_clock_that_is_right_already_is_left(amazon):
    amazon.write("/etc/chrony.d/amazon.sources", "server 169.254.169.123  prefer iburst minpoll 4 maxpoll 4\n")
    tune.apply(amazon.node(), "image", vendor="nvidia")
    assert amazon.read("/etc/chrony.conf") == "pool 2.amazon.pool.ntp.org iburst\n"


def test_updates_spare_drivers_and_the_scheduler(ubuntu):
    tune.apply(ubuntu.node(), "image", vendor="nvidia")
    text = ubuntu.read(APT)
    assert 'DPkg::Lock::Timeout "120";' in text
    assert '  "nvidia-";' in text
    assert text.startswith("// ultracluster tune:")
    assert "$nrconf{override_rc}{qr(^slurmd)} = 0;" in ubuntu.read("/etc/needrestart/conf.d/ultracluster.conf")


def test_environment_keeps_the_lines_of_others(amazon, running):
    amazon.write("/etc/ultracluster/environment", "NCCL_SOCKET_IFNAME=eth0\nNCCL_NVLS_ENABLE=0\n")
    tune.apply(amazon.node(), "boot")
    lines = bare(amazon.read("/etc/ultracluster/environment"))
    assert "FI_EFA_USE_HUGE_PAGE=0" in lines
    assert "NCCL_SOCKET_IFNAME=^lo,docker,veth,eni" in lines
    assert "NCCL_SOCKET_IFNAME=eth0" not in lines
    assert "NCCL_NVLS_ENABLE=0" in lines
    assert not any(line.startswith("FI_PROVIDER=") for line in lines)


def test_neuron_nodes_get_their_own_variables(amazon, running):
    amazon.metadata["instance-type"] = "trn1.32xlarge"
    tune.apply(amazon.node(), "boot")
    lines = bare(amazon.read("/etc/ultracluster/environment"))
    assert sorted(lines) == ["FI_EFA_USE_DEVICE_RDMA=1", "FI_PROVIDER=efa"]
    assert not amazon.called("nvidia-smi")


def test_container_limits_beside_what_the_file_has(ubuntu):
    ubuntu.write("/etc/docker/daemon.json", '{"data-root": "/scratch/docker"}')
    tune.apply(ubuntu.node(), "image", vendor="nvidia")
    document = json.loads(ubuntu.read("/etc/docker/daemon.json"))
    assert document["data-root"] == "/scratch/docker"
    assert document["default-ulimits"]["memlock"] == {"Name": "memlock", "Hard": -1, "Soft": -1}


def test_a_broken_document_is_told(ubuntu):
    ubuntu.write("/etc/docker/daemon.json", "{")
    with pytest.raises(NodeError, match=r"daemon\.json is no JSON"):
        tune.apply(ubuntu.node(), "image", vendor="nvidia")


def test_fabric_manager_only_where_the_type_needs_it(amazon, running):
    tune.apply(amazon.node(), "boot")
    assert "systemctl enable nvidia-fabricmanager.service" in amazon.calls
    assert "systemctl start nvidia-fabricmanager.service" in amazon.calls
    amazon.metadata["instance-type"] = "g5.48xlarge"
    (amazon.state / "calls").unlink()
    (amazon.state / "enabled-nvidia-fabricmanager.service").unlink()
    tune.apply(amazon.node(), "boot")
    assert not amazon.called("systemctl enable nvidia-fabricmanager")


def test_a_service_that_somebody_masked_is_left_alone(amazon, running):
    amazon.command("systemctl", "case $1 in is-enabled) echo masked; exit 1 ;; esac")
    tune.apply(amazon.node(), "boot")
    assert not amazon.called("systemctl enable nvidia")


def test_a_service_that_does_not_start_ends_nothing(amazon, running):
    """The health checks tell; the settings behind it count all the same."""
    amazon.command("systemctl", "case $1 in is-enabled) echo disabled; exit 1 ;; start) exit 1 ;; esac")
    tune.apply(amazon.node(), "boot")
    assert amazon.called("nvidia-smi -ac")


def test_what_stops_slowly_is_not_waited_for(ubuntu, running):
    ubuntu.write("/usr/lib/systemd/system/unattended-upgrades.service")
    tune.apply(ubuntu.node(), "boot")
    assert "systemctl stop --no-block unattended-upgrades.service" in ubuntu.calls


def test_clocks_of_the_type(amazon, running):
    tune.apply(amazon.node(), "boot")
    assert amazon.called("nvidia-smi -ac") == ["nvidia-smi -ac 2619,1980"]


def test_drivers_that_do_not_let_clocks_be_set_are_no_fault(amazon, running):
    amazon.command(
        "nvidia-smi", 'if [[ $1 == -ac ]]; then echo "not supported" >&2; exit 1; else echo "[N/A], [N/A]"; fi'
    )
    tune.apply(amazon.node(), "boot")
    assert tune.drift(amazon.node(), "boot") == []


def test_an_opt_in_that_nobody_knows(amazon, capsys):
    assert tune.run(arguments("--stage", "image", "--with", "faster"), amazon.node()) == 2
    assert "no opt-in faster; one of head-node" in capsys.readouterr().err


def test_nothing_is_told_to_systemd_while_an_image_is_built_in_a_folder(amazon):
    tune.apply(amazon.node(), "image", vendor="nvidia")
    assert not [
        call for call in amazon.called("systemctl") if not call.startswith(("systemctl is-", "systemctl enable"))
    ]
    assert amazon.called("systemctl enable") == ["systemctl enable nvidia-persistenced.service"]
