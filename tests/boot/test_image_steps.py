"""Every step of every image in a copy of the guest's root, with archives and package managers that only pretend.

What is left is the shell itself: settings that are read, branches for both package managers, order, and what is asked
of whom.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from support.awstoe import Runner, in_chroot
from ultracluster.facts.image_versions import image_versions
from ultracluster.facts.node_packages import node_packages
from ultracluster.plan.image_build import TunedImageRequest, plan_tuned_image
from ultracluster.plan.image_options import Al2023, Dlami, Ubuntu
from ultracluster.plan.node_program import node_program

OBJECT = "s3://bucket/program.pyz"
PINNED = image_versions()
FINGERPRINTS = " ".join(
    (
        PINNED.efa_fingerprint,
        PINNED.nvidia_rpm_fingerprint,
        PINNED.nvidia_deb_fingerprint,
        PINNED.neuron_fingerprint,
        PINNED.lustre_fingerprint,
        node_packages().agent_key,
    )
)
INSTALLER = f"""#!/bin/bash
echo "# EFA installer version: {PINNED.efa}" >/opt/amazon/efa_installed_packages
printf '#!/bin/bash\\n' >/opt/amazon/efa/bin/fi_info
chmod +x /opt/amazon/efa/bin/fi_info
[[ -s $EFA_INSTALLER_KEY && "$*" == "-y --check-signatures" ]]
"""
GDRCOPY = f"gdrcopy-{PINNED.gdrcopy}/packages"
COMMON = {
    "curl": 'while (($#)); do [[ $1 == -o ]] && echo x >"$2"; last=$1; shift; done; echo "curl $last" >>/tmp/calls',
    "gpg": f"""case "$*" in
      *--show-keys*) for key in {FINGERPRINTS}; do echo "fpr:::::::::$key:"; done ;;
      *--verify*) for key in {FINGERPRINTS}; do echo "[GNUPG:] VALIDSIG $key 2026"; done ;;
      *--dearmor*) cat >/dev/null; while (($#)); do [[ $1 == -o ]] && : >"$2"; shift; done ;;
    esac; exit 0""",
    "sha256sum": 'case "$*" in *--check*) cat >/dev/null ;; *) exec /usr/bin/sha256sum "$@" ;; esac',
    "tar": f"""all="$*" into=.; while (($#)); do [[ $1 == -C ]] && into=$2; shift; done
    case "$all" in
      *efa*) mkdir -p aws-efa-installer /opt/amazon/efa/bin; cp /tmp/installer aws-efa-installer/efa_installer.sh ;;
      *gdrcopy*) mkdir -p "$into/{GDRCOPY}"; cp /tmp/build-*-packages.sh "$into/{GDRCOPY}" ;;
      *node_exporter*) name=$into/node_exporter-{PINNED.node_exporter}.linux-amd64; mkdir -p "$name"
        printf '#!/bin/bash\\necho {PINNED.node_exporter}\\n' >"$name/node_exporter" ;;
    esac""",
    "modinfo": f'case "$*" in *"-F version"*) echo {PINNED.nvidia_driver} ;; *gdrdrv*) [[ -e /tmp/built ]] ;; esac',
    "apt-mark": 'case $1 in showhold) cat /tmp/held ;; hold) printf "%s\\n" "${@:2}" >>/tmp/held ;; esac 2>&-; :',
    "systemctl": "echo enabled",
    **dict.fromkeys(("dcgmi", "lfs", "update-grub", "update-initramfs", "modprobe", "useradd", "chronyd"), ":"),
}
APT = {
    "apt-get": 'echo "apt-get $*" >>/tmp/calls',
    "apt-cache": 'printf "lustre-client-modules-%s - x\\n" 6.8.0-1029-aws 6.8.0-1031-aws 6.8.0-999-aws',
    "dpkg-query": f"""case "$*" in *Version*) echo {PINNED.nvidia_driver}-1 ;;
      *) printf 'ii linux-image-6.8\\nii nvidia-open\\nrc linux-image-5.15\\n' ;; esac""",
}
DNF = {
    "dnf": """echo "dnf $*" >>/tmp/calls
    case "$*" in *"versionlock list"*) cat /tmp/locked 2>/dev/null ;;
      *"versionlock add"*) printf '%s-0:1.0-1.*\\n' "${@:5}" >>/tmp/locked ;; esac; :""",
    "rpm": f"""case "$*" in *VERSION*) echo {PINNED.nvidia_driver} ;; *-qf*) echo kernel ;;
      *) printf 'kernel\\nkernel-devel\\n' ;; esac""",
}
IMAGES = {
    "ubuntu": (TunedImageRequest(base=Ubuntu()), APT),
    "ubuntu-neuron": (TunedImageRequest(base=Ubuntu(), vendor="aws"), APT),
    "ubuntu-dlami": (TunedImageRequest(base=Dlami(os="ubuntu-24.04")), APT),
    "al2023": (TunedImageRequest(base=Al2023(), opt_ins=("lustre-tcp-buffers",)), DNF),
    "al2023-neuron": (TunedImageRequest(base=Al2023(), vendor="aws"), DNF),
    "al2023-dlami": (TunedImageRequest(base=Dlami()), DNF),
}
RELEASES = {
    "ubuntu": 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n',
    "al2023": 'ID="amzn"\nVERSION_ID="2023"\n',
}


@pytest.fixture(scope="module")
def root(guest_root, tmp_path_factory):
    """A copy without what may be mounted in it."""
    folder = tmp_path_factory.mktemp("steps") / "root"
    subprocess.run(["cp", "-a", "--one-file-system", guest_root / "root", folder], check=True)
    yield folder
    shutil.rmtree(folder)


def write(root, path, text, mode=0o644):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_text(text)
    file.chmod(mode)


def prepare(root, stubs, release):
    """The root as the base of an image would be, with stubs before everything else on the path."""
    for left in ("calls", "held", "locked", "built"):
        (root / "tmp" / left).unlink(missing_ok=True)
    for name in {**APT, **DNF}:
        (root / "usr/local/sbin" / name).unlink(missing_ok=True)
    for name, body in {**COMMON, **stubs}.items():
        write(root, f"usr/local/sbin/{name}", f"#!/bin/bash\n{body}\n", 0o755)
    write(root, "etc/os-release", release)
    write(root, "tmp/installer", INSTALLER, 0o755)
    for kind, made in (("rpm", "gdrcopy-kmod-1.noarch.rpm gdrcopy-devel-1.rpm"), ("deb", "gdrdrv-dkms_1.deb")):
        text = (
            f"#!/bin/bash\n[[ -n $CUDA ]] && touch {made} /tmp/built gdrcopy-{PINNED.gdrcopy}-1.rpm libgdrapi_1.deb\n"
        )
        write(root, f"tmp/build-{kind}-packages.sh", text, 0o755)
    write(root, "opt/aws/neuron/bin/neuron-ls", "", 0o755)
    write(root, "opt/aws/amazon-cloudwatch-agent/bin/CWAGENT_VERSION", "1\n")
    (root / f"lib/modules/{os.uname().release}/build").mkdir(parents=True, exist_ok=True)
    (root / "etc/yum.repos.d").mkdir(exist_ok=True)
    shutil.rmtree(root / "etc/ultracluster", ignore_errors=True)


@pytest.fixture(scope="module", params=IMAGES)
def built(request, root, tmp_path_factory):
    """An image by name, with the steps that ran and the calls that left the instance."""
    asked, stubs = IMAGES[request.param]
    prepare(root, stubs, RELEASES[request.param.partition("-")[0]])
    program = tmp_path_factory.mktemp("objects") / "program.pyz"
    program.write_bytes(node_program().data)
    reboots: list[str] = []
    runner = Runner(execute=in_chroot(root), root=root, objects={OBJECT: program}, reboot=lambda: reboots.append(""))
    documents = plan_tuned_image(asked, subject="image").components
    for phase in ("build", "validate", "test"):
        for document in documents:
            runner.run(document.text, phases=(phase,), parameters={"NodeProgram": OBJECT})
    calls = (root / "tmp/calls").read_text().splitlines()
    return request.param, runner, reboots, calls


def test_every_step_ends_well(built):
    name, runner, reboots, _ = built
    assert {step.status for step in runner.done} == {0}
    assert {step.phase for step in runner.done} == {"build", "validate", "test"}
    # After the settings; a plain base boots its newest kernel before anything is built for it.
    assert len(reboots) == (1 if name.endswith("dlami") else 2)


def test_drivers_are_installed_by_their_exact_versions_or_not_at_all(built):
    name, _, _, calls = built
    installs = " ".join(call for call in calls if " install " in call)
    if name.endswith("dlami"):
        assert "nvidia-open" not in installs
        assert "kmod-nvidia" not in installs
    elif name.endswith("neuron"):
        for version in (PINNED.neuron_driver, PINNED.neuron_runtime, PINNED.neuron_tools):
            assert version in installs
    else:
        assert PINNED.nvidia_driver in installs


def test_the_kernel_of_ubuntu_is_the_newest_that_has_a_lustre_client(built):
    name, _, _, calls = built
    kernels = [call for call in calls if "linux-image-" in call]
    # By version, not by letters: 6.8.0-999 is older than 6.8.0-1031.
    assert [call.split()[-3] for call in kernels] == (
        ["linux-image-6.8.0-1031-aws"] if name in {"ubuntu", "ubuntu-neuron"} else []
    )


def test_nothing_is_fetched_but_from_the_vendors(built):
    _, _, _, calls = built
    hosts = {call.split("/")[2] for call in calls if call.startswith("curl https://")}
    assert hosts <= {
        "amazoncloudwatch-agent.s3.amazonaws.com",
        "apt.repos.neuron.amazonaws.com",
        "developer.download.nvidia.com",
        "efa-installer.amazonaws.com",
        "fsx-lustre-client-repo-public-keys.s3.amazonaws.com",
        "github.com",
        "yum.repos.neuron.amazonaws.com",
    }
    assert [call for call in calls if call.startswith("curl http:")] == []
