"""Container runtimes on scratch: only installed ones, settings of others kept, restarts only when something changed."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ultracluster.node.host import NodeError
from ultracluster.node.scratch import runtimes

DOCKER, CONTAINERD, ENROOT = "/etc/docker/daemon.json", "/etc/containerd/config.toml", "/etc/enroot/enroot.conf"


@pytest.fixture
def host(machine):
    machine.command("systemctl", "[[ $1 != is-active ]] || echo active")
    return machine


def moved(machine):
    return runtimes.hand_over(machine.node(), "/scratch")


def test_nothing_is_written_for_runtimes_that_are_not_installed(host):
    assert moved(host) == {}
    assert not (host.root / "etc").exists()
    assert not host.calls


def test_all_three_under_one_path_and_services_restarted_once(host):
    for tool in ("dockerd", "containerd", "enroot"):
        host.command(tool)
    assert moved(host) == {
        "containerd": "/scratch/containerd",
        "docker": "/scratch/docker",
        "enroot": "/scratch/enroot",
    }
    assert json.loads(host.read(DOCKER)) == {"data-root": "/scratch/docker"}
    assert host.read(CONTAINERD) == 'version = 2\nroot = "/scratch/containerd"\n'
    assert "ENROOT_DATA_PATH /scratch/enroot/data/user-$(id -u)\n" in host.read(ENROOT)
    assert (host.root / "scratch/enroot/data").stat().st_mode & 0o7777 == 0o1777
    assert host.called("systemctl restart") == ["systemctl restart containerd", "systemctl restart docker"]
    drop_in = host.read("/etc/systemd/system/docker.service.d/ultracluster-scratch.conf")
    assert "ConditionPathIsMountPoint=/scratch" in drop_in.splitlines()
    assert "After=ultracluster-node.service" in drop_in.splitlines()

    before = len(host.calls)
    moved(host)
    assert host.calls[before:] == []


def test_a_service_that_does_not_run_yet_is_not_started(host):
    host.command("dockerd")
    host.command("systemctl", "[[ $1 != is-active ]] || { echo inactive; exit 3; }")
    moved(host)
    assert not host.called("systemctl restart")


def test_settings_of_docker_are_kept(host):
    host.command("dockerd")
    host.write(DOCKER, '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}, "default-runtime": "nvidia"}')
    moved(host)
    assert json.loads(host.read(DOCKER)) == {
        "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}},
        "default-runtime": "nvidia",
        "data-root": "/scratch/docker",
    }


def test_a_data_root_that_somebody_chose_is_kept(host, capsys):
    for tool in ("dockerd", "containerd"):
        host.command(tool)
    host.write(DOCKER, '{"data-root": "/opt/dlami/nvme/docker"}')
    host.write(CONTAINERD, 'root = "/data/containerd"\n')
    assert moved(host) == {"docker": "/opt/dlami/nvme/docker", "containerd": "/data/containerd"}
    assert not host.called("systemctl")
    assert "docker keeps its data at /opt/dlami/nvme/docker, as its configuration says" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "{'a': 1}"])
def test_a_broken_docker_file_is_named_and_not_touched(host, text):
    host.command("dockerd")
    host.write(DOCKER, text)
    with pytest.raises(NodeError, match=r"^/etc/docker/daemon\.json is no JSON object"):
        moved(host)
    assert host.read(DOCKER) == text


def test_a_service_that_does_not_come_up_is_a_failure(host):
    host.command("dockerd")
    host.command("systemctl", "case $1 in is-active) echo active;; restart) echo 'Job failed' >&2; exit 1;; esac")
    with pytest.raises(NodeError, match=r"^docker does not start with its data on scratch: .*Job failed"):
        moved(host)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("version = 2\n", 'version = 2\nroot = "/scratch/containerd"\n'),
        (
            'version = 2\n\n[plugins]\n  root = "/elsewhere"\n',
            'version = 2\n\nroot = "/scratch/containerd"\n[plugins]\n  root = "/elsewhere"\n',
        ),
        (
            'version = 2\nroot = "/var/lib/containerd" # default\nstate = "/run/containerd"\n',
            'version = 2\nroot = "/scratch/containerd" # default\nstate = "/run/containerd"\n',
        ),
        (
            "root = '/var/lib/containerd'\n[debug]\n  level = \"info\"\n",
            'root = "/scratch/containerd"\n[debug]\n  level = "info"\n',
        ),
        ('# root = "/data"\nversion = 3\n', '# root = "/data"\nversion = 3\nroot = "/scratch/containerd"\n'),
    ],
)
def test_the_rest_of_containerds_file_is_kept(host, before, after):
    host.command("containerd")
    host.write(CONTAINERD, before)
    moved(host)
    assert host.read(CONTAINERD) == after
    moved(host)
    assert host.read(CONTAINERD) == after


def test_paths_of_enroot_that_somebody_chose_are_kept(host):
    host.command("enroot")
    host.write(ENROOT, "#ENROOT_TEMP_PATH /x\nENROOT_DATA_PATH=/fsx/enroot\nENROOT_ROOTFS_WRITABLE yes\n")
    moved(host)
    lines = host.read(ENROOT).splitlines()
    assert lines[:3] == ["#ENROOT_TEMP_PATH /x", "ENROOT_DATA_PATH=/fsx/enroot", "ENROOT_ROOTFS_WRITABLE yes"]
    assert [line.split()[0] for line in lines[3:]] == ["ENROOT_CACHE_PATH", "ENROOT_TEMP_PATH"]
    moved(host)
    assert host.read(ENROOT).splitlines() == lines


_KEYS = st.sampled_from(["state", "oom_score", "version", "imports", "temp", "rooted"])
_VALUES = st.sampled_from(['"/run/x"', "2", '["/etc/containerd/conf.d/*.toml"]', "true", "''"])
_TABLES = st.sampled_from(["[plugins]", '[plugins."io.containerd.grpc.v1.cri"]', "  [debug]", "[[proxy]]"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    top=st.dictionaries(_KEYS, _VALUES),
    tables=st.lists(st.tuples(_TABLES, st.dictionaries(_KEYS, _VALUES)), max_size=3),
)
def test_whatever_stands_in_containerds_file_stays_and_the_root_is_found_at_the_top(host, top, tables):
    lines = [f"{key} = {value}" for key, value in top.items()]
    for index, (table, keys) in enumerate(tables):
        lines += [
            table.replace("]", f"{index}]", 1).replace('"', ""),
            *(f"  {key} = {value}" for key, value in keys.items()),
        ]
    text = "\n".join(lines)
    host.command("containerd")
    host.write(CONTAINERD, text)
    moved(host)
    assert tomllib.loads(host.read(CONTAINERD)) == {
        **(tomllib.loads(text) if text else {"version": 2}),
        "root": "/scratch/containerd",
    }
