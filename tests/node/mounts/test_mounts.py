"""Shared file systems: clients by distribution, fstab, retries, what is said when a server is away."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.lustre import HOME, LUSTRE, LUSTRE_EFA, MOUNTINFO, SOURCE, LustreHost
from ultracluster.node import mounts
from ultracluster.node.host import NodeError

AFTER = "x-systemd.requires=ultracluster-node.service,nofail"


def ensured(machine):
    mounts.ensure(machine.node())
    return machine.read("/etc/fstab").splitlines()


def test_lustre_is_mounted_and_stands_in_fstab_for_the_next_boot(machine):
    LustreHost(machine, LUSTRE)
    assert ensured(machine) == [
        "UUID=1234 / xfs defaults 0 1",
        f"{SOURCE} /fsx lustre noatime,flock,_netdev,{AFTER} 0 0",
    ]
    wanted = ("modprobe lustre", "systemctl", "mount ")
    assert [call for call in machine.calls if call.startswith(wanted)] == [
        "modprobe lustre",
        "systemctl daemon-reload",
        "mount /fsx",
    ]
    assert (machine.root / "fsx").is_dir()


def test_home_is_mounted_with_tls_iam_and_its_access_point(machine):
    LustreHost(machine, LUSTRE, HOME)
    assert ensured(machine)[-1] == (
        "fs-0123456789abcdef1:/ /home/shared efs "
        f"_netdev,noresvport,tls,iam,accesspoint=fsap-0123456789abcdef0,{AFTER} 0 0"
    )
    assert machine.called("mount ") == ["mount /fsx", "mount /home/shared"]


def test_running_it_again_leaves_one_line_and_mounts_nothing_twice(machine):
    LustreHost(machine, LUSTRE, HOME)
    before = ensured(machine)
    calls = len(machine.called("mount ")) + len(machine.called("systemctl"))
    assert ensured(machine) == before
    assert len(machine.called("mount ")) + len(machine.called("systemctl")) == calls


def test_no_mounts_need_no_client(machine):
    mounts.ensure(machine.node())
    assert not machine.calls


def test_a_server_that_is_late_is_waited_for(machine):
    host = LustreHost(machine, LUSTRE)
    standing = (machine.root / "stubs/mount").read_text()
    machine.command("mount", f'echo x >>"$STATE/tries"; (($(wc -l <"$STATE/tries") > 3)) || exit 32\n{standing}')
    (machine.root / "stubs/wc").symlink_to("/usr/bin/wc")
    ensured(machine)
    assert machine.slept == [2, 4, 8]
    assert host.machine.read(MOUNTINFO).count(" /fsx ") == 1


@pytest.mark.parametrize(
    ("mount", "hint"), [(LUSTRE, "TCP 988 and 1018-1023 have to be open"), (HOME, "TCP 2049 has to be open")]
)
def test_a_server_that_is_away_is_given_up_with_one_line(machine, mount, hint):
    LustreHost(machine, mount)
    machine.command("mount", "echo 'mount.x: mount server at /x failed: Connection timed out' >&2; exit 110")
    with pytest.raises(NodeError) as caught:
        ensured(machine)
    message = str(caught.value)
    assert message.startswith(
        f"{mount['path']} cannot be mounted from {mount['source']} (mount ended with status 110: "
    )
    assert "Connection timed out" in message
    assert hint in message
    assert "\n" not in message
    assert len(machine.called("mount ")) == 10
    # About as long as a file server takes to be replaced, well within the time that a launch hook gives.
    assert 120 < sum(machine.slept) < 300
    # The line stands: when the server is back, a reboot mounts it.
    assert any(mount["path"] in line for line in machine.read("/etc/fstab").splitlines())


def test_a_mount_that_systemd_made_meanwhile_is_a_mount(machine):
    LustreHost(machine, LUSTRE)
    line = f"1 2 0:3 / /fsx rw - lustre {SOURCE} rw"
    machine.command("mount", f'echo "{line}" >>"$ROOT{MOUNTINFO}"; echo "already mounted" >&2; exit 32')
    ensured(machine)
    assert machine.slept == []


@pytest.mark.parametrize(
    ("mount", "source", "kind"),
    [
        (LUSTRE, "/dev/nvme9n1", "ext4"),
        (LUSTRE, "127.0.0.1:/", "nfs4"),
        (LUSTRE, "10.0.0.7@tcp:/another", "lustre"),
        (HOME, "10.0.0.7@tcp:/abcdefgh", "lustre"),
    ],
)
def test_what_somebody_else_mounted_there_is_left_alone(machine, mount, source, kind):
    LustreHost(machine, mount)
    machine.write(MOUNTINFO, f"1 2 0:3 / {mount['path']} rw - {kind} {source} rw\n")
    with pytest.raises(NodeError, match=r"is mounted at \S+; unmount it, or mount elsewhere$") as caught:
        ensured(machine)
    assert str(caught.value).startswith(f"{source} ({kind}) ")
    assert not machine.called("mount ")


@pytest.mark.parametrize(
    ("mount", "source", "kind"),
    [(LUSTRE, "10.0.0.7@tcp:/abcdefgh", "lustre"), (HOME, "127.0.0.1:/", "nfs4")],
)
def test_the_same_file_system_under_an_address_is_not_mounted_again(machine, mount, source, kind):
    LustreHost(machine, mount)
    machine.write(MOUNTINFO, f"1 2 0:3 / {mount['path']} rw - {kind} {source} rw\n")
    ensured(machine)
    assert not machine.called("mount ")


def test_amazon_linux_installs_its_own_client(machine):
    LustreHost(machine, LUSTRE)
    machine.command("modinfo", "[[ -f $STATE/installed ]]")
    machine.command("uname", "echo 6.12.5-101.amzn2023.x86_64")
    machine.command("dnf", 'touch "$STATE/installed"')
    ensured(machine)
    assert machine.called("dnf") == ["dnf -qy install lustre-client"]
    assert not machine.called("curl")


def test_ubuntu_takes_the_modules_of_its_kernel_from_the_signed_repository(machine):
    LustreHost(machine, LUSTRE)
    machine.command("modinfo", "[[ -f $STATE/installed ]]")
    machine.command("apt-get", '[[ $* != *install* ]] || touch "$STATE/installed"')
    machine.command("uname", "echo 6.8.0-1050-aws")
    machine.command("curl", "echo '-----BEGIN PGP PUBLIC KEY BLOCK-----'")
    ensured(machine)
    assert machine.read("/etc/apt/sources.list.d/fsx-lustre.list") == (
        "deb [signed-by=/usr/share/keyrings/fsx-lustre.asc] "
        "https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu noble main\n"
    )
    assert machine.read("/usr/share/keyrings/fsx-lustre.asc").startswith("-----BEGIN PGP")
    install = machine.called("apt-get")[-1]
    assert install.endswith("install lustre-client-modules-6.8.0-1050-aws")
    assert "-o DPkg::Lock::Timeout=120" in install


def test_a_kernel_without_a_client_is_named(machine):
    LustreHost(machine, LUSTRE)
    machine.command("modinfo", "exit 1")
    machine.command("dnf")
    machine.command("uname", "echo 6.99.0")
    with pytest.raises(NodeError, match=r"^no Lustre client for kernel 6\.99\.0; use an image whose kernel is pinned"):
        ensured(machine)


def test_without_the_efs_helper_nothing_is_mounted_in_the_clear(machine):
    LustreHost(machine, HOME)
    (machine.root / "sbin/mount.efs").unlink()
    machine.command("apt-get", "exit 100")
    with pytest.raises(NodeError, match=r"^amazon-efs-utils cannot be installed .*; put it into the image$"):
        ensured(machine)
    assert not machine.called("mount ")
    assert len(machine.called("apt-get")) == 5


def test_only_lustre_when_only_lustre_is_asked_for(machine):
    LustreHost(machine, LUSTRE, HOME)
    mounts.ensure(machine.node(), kinds=("lustre",))
    assert machine.called("mount ") == ["mount /fsx"]


def test_over_efa_the_mount_comes_after_lnet_and_is_proved(machine, capsys):
    host = LustreHost(machine, LUSTRE_EFA)
    host.efa(*(f"rdmap{n:02}s0" for n in range(32)))
    ensured(machine)
    order = [
        machine.calls.index(call)
        for call in ("modprobe lnet", "lnetctl lnet configure", "modprobe lustre", "mount /fsx", "lnetctl net show -v")
    ]
    assert order == sorted(order)
    assert "/fsx is reached over EFA: 160 messages sent, 160 received" in capsys.readouterr().err


def test_a_mount_that_fell_back_to_tcp_is_a_failure(machine):
    host = LustreHost(machine, LUSTRE_EFA)
    host.efa("rdmap00s0", "rdmap01s0")
    host.lnet({"efa": [0, 0], "tcp": [50, 50]})
    with pytest.raises(NodeError, match=r"^/fsx is not reached over EFA \(messages sent 0, received 0; over TCP 100\)"):
        ensured(machine)


def test_the_program_mounts_all_of_the_settings(machine):
    LustreHost(machine, LUSTRE, HOME)
    assert mounts.run(argparse.Namespace(), machine.node()) == 0
    assert len(machine.called("mount ")) == 2


def test_a_path_with_a_space_stays_one_field(machine):
    LustreHost(machine, LUSTRE | {"path": "/fsx data"})
    machine.command("mount", f'echo "1 2 0:3 / /fsx\\\\\\\\040data rw - lustre x rw" >>"$ROOT{MOUNTINFO}"')
    assert ensured(machine)[-1].split()[1] == "/fsx\\040data"
    assert len(ensured(machine)) == 2


_WORDS = st.from_regex(r"[a-z0-9/:@.=-]{1,12}", fullmatch=True)
_LINES = st.one_of(
    st.just(""),
    st.from_regex(r"# [a-z /]{0,20}", fullmatch=True),
    st.tuples(_WORDS, _WORDS, _WORDS, _WORDS).map(" ".join),
    st.just("server:/x\t/fsx\tnfs\tdefaults\t0\t0"),
)


@given(st.lists(_LINES, max_size=8))
def test_every_other_line_of_fstab_stays_and_a_second_time_changes_nothing(lines):
    text = "".join(f"{line}\n" for line in lines)
    line = "a@tcp:/b /fsx lustre noatime 0 0"
    after = mounts.fstab(text, line)
    others = [entry for entry in lines if entry.split()[1:2] != ["/fsx"] or entry.startswith("#")]
    kept = [entry for entry in after.splitlines() if entry.split()[1:2] != ["/fsx"] or entry.startswith("#")]
    assert kept == others
    assert after.splitlines().count(line) == 1
    assert sum(entry.split()[1:2] == ["/fsx"] and not entry.startswith("#") for entry in after.splitlines()) == 1
    assert mounts.fstab(after, line) == after
