"""UC-NOD-008 to 011: container roots, scratch disks, Lustre mounts and their tuning."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import template
from support.nodes import area_ids, booted, with_script
from support.policy import assert_finds, assert_not_judged, assert_passes

OWN = {"Own": {"Type": "String"}}
DOCKER = '{"data-root": "%s"}'
CONTAINERD = 'cat > /etc/containerd/config.toml <<EOF\nroot = "%s"\nEOF'
ENROOT = "echo 'ENROOT_DATA_PATH %s/user-$(id -u)' >> /etc/enroot/enroot.conf"


def ids(*templates: Any) -> set[str]:
    return area_ids("NOD", *templates) - {"UC-NOD-004"}


def lines(*parts: str) -> dict[str, Any]:
    return booted("\n".join(parts))


# UC-NOD-008


@pytest.mark.parametrize(
    ("script", "place"),
    [
        (
            (DOCKER % "/opt/dlami/nvme/docker", ENROOT % "/fsx/enroot"),
            "docker keeps its data under /opt/dlami/nvme, enroot under /fsx",
        ),
        (
            (DOCKER % "/mnt/a/docker", CONTAINERD % "/mnt/b/containerd"),
            "docker keeps its data under /mnt/a, containerd",
        ),
        ((DOCKER % "/var/lib/docker",), "docker keeps its data under /var/lib, which lies on the root volume"),
        (("dockerd --data-root /home/docker",), "docker keeps its data under /home, which lies on"),
        ((ENROOT % "/tmp/enroot",), "enroot keeps its data under /tmp, which lies on the root volume"),
    ],
)
def test_container_roots_apart_or_on_the_root_volume(script, place):
    assert_finds("UC-NOD-008", lines(*script), place=place)
    assert ids(lines(*script)) == {"UC-NOD-008"}


@pytest.mark.parametrize(
    "script",
    [
        (DOCKER % "/opt/dlami/nvme/docker", ENROOT % "/opt/dlami/nvme/enroot"),
        (DOCKER % "/scratch/docker", CONTAINERD % "/scratch/containerd", ENROOT % "/scratch/enroot"),
        ("mount /dev/md0 /var/scratch", DOCKER % "/var/scratch/docker"),
        (
            "if [ -d /opt/sagemaker ]; then",
            DOCKER % "/opt/sagemaker/docker",
            "else",
            DOCKER % "/opt/dlami/nvme/docker",
            "fi",
            ENROOT % "/opt/sagemaker/enroot",
        ),
        ("systemctl restart containerd", 'root = "/run/nvidia/driver"'),
        ("docker pull train",),
    ],
)
def test_container_roots_together(script):
    assert_passes("UC-NOD-008", lines(*script))


def test_container_roots_that_are_not_known_or_no_matter():
    assert_not_judged("UC-NOD-008", lines(DOCKER % "$SCRATCH/docker"))
    assert_passes("UC-NOD-008", booted(DOCKER % "/var/lib/docker", "t3.micro"))


# UC-NOD-009


@pytest.mark.parametrize(
    "line",
    [
        "mkfs.xfs /dev/nvme1n1",
        "mkfs -t ext4 /dev/nvme2n1p1",
        "mdadm --create /dev/md0 -l 0 -n 8 /dev/nvme[1-8]n1",
        "mount -o noatime /dev/nvme1n1 /scratch",
        "sudo pvcreate /dev/nvme1n1 /dev/nvme2n1",
    ],
)
def test_a_disk_by_its_number(line):
    assert_finds("UC-NOD-009", booted(line), place="may be another disk at the next start")
    assert ids(booted(line)) == {"UC-NOD-009"}


@pytest.mark.parametrize(
    ("line", "instance_type"),
    [
        ("for d in $(lsblk -dno NAME,MODEL | grep 'Instance Storage'); do mkfs.xfs /dev/nvme1n1; done", "p5.48xlarge"),
        ("mkfs.xfs /dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_1", "p5.48xlarge"),
        ("mkfs.xfs /dev/md0", "p5.48xlarge"),
        ("# mkfs.xfs /dev/nvme1n1", "p5.48xlarge"),
        ("smartctl -a /dev/nvme0n1", "p5.48xlarge"),
        ("mkfs.xfs /dev/nvme1n1", "t3.micro"),
    ],
)
def test_disks_by_model_and_other_disks(line, instance_type):
    assert_passes("UC-NOD-009", booted(line, instance_type))


def test_a_disk_of_a_type_that_is_not_known():
    assert_not_judged("UC-NOD-009", template(OWN, Lt=with_script("mkfs.xfs /dev/nvme1n1", {"Ref": "Own"})))


# UC-NOD-010

MOUNT = "mount -t lustre -o noatime,flock fs-1.fsx.us-east-1.amazonaws.com@tcp:/abc /fsx"
FSTAB = "echo 'fs-1.fsx.us-east-1.amazonaws.com@tcp:/abc /fsx lustre %s 0 0' >> /etc/fstab"


@pytest.mark.parametrize("script", [MOUNT, f"mkdir /fsx\nsudo {MOUNT}", "mount.lustre fs-1@tcp:/abc /fsx"])
def test_a_mount_that_a_reboot_loses(script):
    assert_finds("UC-NOD-010", booted(script), place="mount -t lustre is run once")
    assert ids(booted(script)) == {"UC-NOD-010"}


def test_a_home_in_fstab_does_not_keep_the_mount():
    script = f"echo 'fs-2:/fsx /home nfs defaults 0 0' >> /etc/fstab\n{MOUNT}"
    assert_finds("UC-NOD-010", booted(script))


def test_a_line_that_does_not_wait_for_the_network():
    place = "the fstab line of /fsx has noatime,flock, so it is tried before there is a network"
    assert_finds("UC-NOD-010", booted(FSTAB % "noatime,flock"), place=place)


@pytest.mark.parametrize(
    "script",
    [
        f"{FSTAB % 'noatime,flock,_netdev'}\nmount -a",
        f"{FSTAB % '$OPTIONS'}\n{MOUNT}",
        "cat > /etc/systemd/system/fsx.mount <<EOF\n[Mount]\nWhere=/fsx\nType=lustre\nEOF\n" + MOUNT,
        f'mounts:\n- ["fs-1@tcp:/abc", "/fsx", "lustre", "_netdev"]\n{MOUNT}',
        "mount -t nfs4 fs-1:/ /home",
        "dnf install -y lustre-client",
    ],
)
def test_mounts_that_last(script):
    assert_passes("UC-NOD-010", booted(script))


@pytest.mark.parametrize(
    "how", ["(crontab -l; echo '@reboot /opt/mount.sh') | crontab", "systemctl enable fsx.service"]
)
def test_a_mount_that_something_else_may_repeat(how):
    assert_not_judged("UC-NOD-010", booted(f"{MOUNT}\n{how}"))


# UC-NOD-011

UNIT = "cat > /etc/systemd/system/tune.service <<EOF\n[Service]\nExecStart=/opt/tune.sh\nEOF"
THREADS = "echo 'options ptlrpc ptlrpcd_per_cpt_max=32' >> /etc/modprobe.d/lustre.conf"
CREDITS = "echo 'options ksocklnd credits=2560' >> /etc/modprobe.d/lustre.conf"


@pytest.mark.parametrize(
    ("script", "place"),
    [
        (f"{FSTAB % '_netdev'}\n{MOUNT}\n{THREADS}", "ptlrpcd_per_cpt_max is set after the first mount"),
        ("lctl set_param osc.*.max_rpcs_in_flight=32", "lctl set_param osc.*.max_rpcs_in_flight=32 is gone after a"),
        (
            f"lnetctl net add --net efa --if efa0\n{CREDITS}",
            "credits of ksocklnd are set, and the file system is reached",
        ),
        ("echo 'options kefalnd credits=512' > /etc/modprobe.d/lnet.conf", "credits of kefalnd are set"),
    ],
)
def test_tuning_that_does_not_count(script, place):
    assert_finds("UC-NOD-011", booted(script), place=place)
    assert ids(booted(script)) == {"UC-NOD-011"}


@pytest.mark.parametrize(
    "script",
    [
        f"{THREADS}\n{FSTAB % '_netdev'}\n{MOUNT}",
        f"{FSTAB % '_netdev'}\n{MOUNT}\n{THREADS}\nreboot",
        f"{UNIT}\necho 'lctl set_param osc.*.max_rpcs_in_flight=32' > /opt/tune.sh",
        "lctl set_param -P osc.*.max_rpcs_in_flight=32",
        CREDITS,
        f"lnetctl net add --net efa --if efa0\nlnetctl net add --net tcp --if ens5\n{CREDITS}",
        "lctl get_param version",
    ],
)
def test_tuning_that_counts(script):
    assert_passes("UC-NOD-011", booted(script))
