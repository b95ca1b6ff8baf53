"""Shared file systems, run: clients by distribution, LNet over EFA, fstab, retries."""

from __future__ import annotations

import pytest

from support.bootstrap import HOME, LUSTRE, LUSTRE_EFA, files_of

SOURCE = "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com@tcp:/abcdefgh"
AFTER = "x-systemd.requires=ultracluster-node.service,nofail"


def ready(node, *mounts, name="p5.48xlarge"):
    node.install(files_of(name, mounts=mounts))
    node.write("/sbin/mount.efs", mode=0o755)
    return node


def ran(node, command="mount_all"):
    done = node.program(command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_lustre_is_mounted_and_stands_in_fstab_for_the_next_boot(node):
    ran(ready(node, LUSTRE))
    assert node.read("/etc/fstab").splitlines() == [
        "UUID=1234 / xfs defaults 0 1",
        f"{SOURCE} /fsx lustre noatime,flock,_netdev,{AFTER} 0 0",
    ]
    assert [call for call in node.calls if call.startswith(("modprobe", "mount ", "systemctl"))] == [
        "modprobe lustre",
        "systemctl daemon-reload",
        "mount /fsx",
    ]
    assert (node.root / "fsx").is_dir()


def test_home_is_mounted_with_tls_iam_and_its_access_point(node):
    ran(ready(node, LUSTRE, HOME))
    line = node.read("/etc/fstab").splitlines()[-1]
    assert line == (
        "fs-0123456789abcdef1:/ /home/shared efs "
        f"_netdev,noresvport,tls,iam,accesspoint=fsap-0123456789abcdef0,{AFTER} 0 0"
    )
    assert node.called("mount ") == ["mount /fsx", "mount /home/shared"]


def test_running_it_again_leaves_one_line_and_mounts_nothing_twice(node):
    ran(ready(node, LUSTRE, HOME))
    before = node.read("/etc/fstab")
    mounted = node.called("mount ")
    ran(node)
    assert sorted(node.read("/etc/fstab").splitlines()) == sorted(before.splitlines())
    assert node.called("mount ") == mounted


def test_a_mount_is_tried_again_and_then_given_up_with_the_likely_cause(node):
    ready(node, LUSTRE)
    node.behaviour["mount"] = (
        'echo x >>"$STATE/tries"; (($(wc -l <"$STATE/tries") > 2)) && echo "${@: -1}" >>"$STATE/mounted"'
    )
    ran(node)
    assert node.called("sleep") == ["sleep 15", "sleep 15"]

    (node.state / "mounted").unlink()
    node.behaviour["mount"] = "exit 32"
    done = node.reason("mount_all")
    assert done.returncode == 1
    assert f"why: /fsx cannot be mounted from {SOURCE}: security groups, zone?" in done.stdout
    assert len(node.called("sleep")) == 2 + 9


def test_amazon_linux_installs_its_own_client(node):
    ready(node, LUSTRE)
    node.behaviour |= {"dnf": "", "modinfo": "[[ -f $STATE/installed ]]", "modprobe": ""}
    node.behaviour["dnf"] = 'touch "$STATE/installed"'
    ran(node)
    assert node.called("dnf") == ["dnf -qy install lustre-client"]
    assert not node.called("curl")


def test_ubuntu_takes_the_modules_of_its_kernel_from_the_signed_repository(node):
    ready(node, LUSTRE)
    node.write("/usr/share/keyrings/.keep")
    node.write("/etc/apt/sources.list.d/.keep")
    node.behaviour |= {
        "modinfo": "[[ -f $STATE/installed ]]",
        "apt-get": '[[ $* != *install* ]] || touch "$STATE/installed"',
        "uname": "echo 6.8.0-1050-aws",
    }
    ran(node)
    (source,) = node.read("/etc/apt/sources.list.d/fsx-lustre.list").replace(str(node.root), "").splitlines()
    assert source == (
        "deb [signed-by=/usr/share/keyrings/fsx-lustre.gpg] "
        "https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu noble main"
    )
    assert node.called("apt-get")[-1].endswith("install lustre-client-modules-6.8.0-1050-aws")
    assert "-o DPkg::Lock::Timeout=120" in node.called("apt-get")[-1]


def test_a_kernel_without_a_client_is_named(node):
    ready(node, LUSTRE)
    node.behaviour |= {"modinfo": "exit 1", "dnf": "", "uname": "echo 6.99.0"}
    done = node.reason("mount_all")
    assert "why: no Lustre client for kernel 6.99.0" in done.stdout


def test_without_the_efs_helper_nothing_is_mounted_in_the_clear(node):
    ready(node, HOME)
    (node.root / "sbin/mount.efs").unlink()
    node.behaviour["apt-get"] = "exit 100"
    done = node.reason("mount_all")
    assert done.returncode == 1
    assert "why: amazon-efs-utils is missing" in done.stdout
    assert not node.called("mount ")
    assert len(node.called("apt-get")) == 5


@pytest.mark.parametrize(
    ("name", "present", "used"), [("p5.48xlarge", 32, 8), ("p5en.48xlarge", 16, 8), ("p6-b300.48xlarge", 16, 16)]
)
def test_lnet_gets_evenly_spread_efa_devices_before_the_mount(node, name, present, used):
    ready(node, LUSTRE_EFA, name=name)
    devices = [f"rdmap{n:02}s0" for n in range(present)]
    node.efa(*devices)
    node.efa("ibp9s0", driver="mlx5_core")
    node.behaviour |= {
        "lnetctl": "[[ $2 != show ]]",
        "ip": "echo '169.254.169.254 via 10.0.0.1 dev ens32 src 10.0.0.9'",
    }
    ran(node)
    added = [call.split()[6] for call in node.called("lnetctl net add --net efa")]
    assert added == devices[:: present // used]
    assert node.called("modprobe kefalnd") == ["modprobe kefalnd ipif_name=ens32"]
    assert "lnetctl net add --net tcp --if ens32" in node.calls
    order = [
        node.calls.index(call) for call in ("modprobe lnet", "lnetctl lnet configure", "modprobe lustre", "mount /fsx")
    ]
    assert order == sorted(order)


def test_lnet_comes_back_at_boot_and_is_left_alone_when_it_stands(node):
    ready(node, LUSTRE_EFA)
    node.efa(*(f"rdmap{n:02}s0" for n in range(32)))
    node.behaviour |= {
        "lnetctl": "",
        "ip": "echo '1.2.3.4 dev ens32 src 10.0.0.9'",
        "systemctl": "[[ $1 != is-enabled ]]",
    }
    ran(node, "boot")
    assert len(node.called("lnetctl net add --net efa")) == 8
    before = len(node.called("lnetctl"))
    node.behaviour["lnetctl"] = '[[ $2 != show ]] || echo "    - nid: 10.0.0.9@efa"'
    ran(node, "boot")
    assert len(node.called("lnetctl")) == before + 1


def test_an_image_without_the_efa_driver_of_lustre_says_so(node):
    ready(node, LUSTRE_EFA)
    node.behaviour |= {"lnetctl": "[[ $2 != show ]]", "ip": "echo 'x dev ens32 y'", "modprobe": "[[ $1 != kefalnd ]]"}
    done = node.reason("mount_all")
    assert "why: the Lustre client of this image has no EFA driver (kefalnd)" in done.stdout
