"""The CloudWatch agent: the image's own where it is new enough, else the vendor's, and only with its signature."""

from __future__ import annotations

import hashlib
import http.server
import platform
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.node import NodeError, agent
from ultracluster.plan.node_facts import node_facts

FOLDER = "/opt/aws/amazon-cloudwatch-agent/bin"
MINIMUM = agent_facts().minimum_version
START = f"{FOLDER}/amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c file:/opt/ultracluster/agent.json"


@pytest.fixture
def machine(machine):
    machine.write(f"{FOLDER}/CWAGENT_VERSION", f"{MINIMUM}b1234\n")
    body = f'#!/bin/bash\necho "{FOLDER}/amazon-cloudwatch-agent-ctl $*" >>"$STATE/calls"\n'
    machine.write(f"{FOLDER}/amazon-cloudwatch-agent-ctl", body, mode=0o755)
    machine.command("systemctl")
    return machine


@pytest.mark.parametrize("version", ["1.300068.0b9", "1.300071.0b1", "1.1000000.0", "2.0.0"])
def test_the_image_s_own_agent_is_kept(machine, version):
    machine.write(f"{FOLDER}/CWAGENT_VERSION", version)
    agent.start(machine.node())
    assert machine.calls == [START, "systemctl enable --now ultracluster-metrics.service"]


@pytest.mark.parametrize("version", ["1.300067.9b1", "1.247359.0", "", None])
def test_an_older_one_is_replaced_on_amazon_linux(machine, version):
    file = machine.write(f"{FOLDER}/CWAGENT_VERSION", version or "")
    if version is None:
        file.unlink()
    machine.command("dnf", f'echo {MINIMUM} >"$ROOT{FOLDER}/CWAGENT_VERSION"')
    agent.start(machine.node())
    assert machine.called("dnf") == ["dnf -qy install --releasever=latest amazon-cloudwatch-agent"]
    assert START in machine.calls


def test_an_agent_that_stays_too_old_is_one_line(machine):
    machine.write(f"{FOLDER}/CWAGENT_VERSION", "1.300000.0")
    machine.command("dnf")
    with pytest.raises(NodeError, match=rf"^the CloudWatch agent is older than {MINIMUM}; take a newer image"):
        agent.start(machine.node())
    assert START not in machine.calls


def test_an_agent_that_does_not_start_is_one_line(machine):
    body = "#!/bin/bash\necho 'E! Invalid Json input schema.' >&2; exit 1\n"
    machine.write(f"{FOLDER}/amazon-cloudwatch-agent-ctl", body, mode=0o755)
    with pytest.raises(NodeError, match=r"ctl ended with status 1: E! Invalid Json input schema\."):
        agent.start(machine.node())


GPG = shutil.which("gpg")
# Where there is no gpg: what the program asks of it, with a digest for a signature.
IN_PLACE_OF_GPG = """
[[ $* == *--verify* ]] || exit 0
read -r key digest <"${@: -2:1}"
[[ $(%s "${@: -1}") == "$digest "* ]] && echo "[GNUPG:] VALIDSIG $key 2026-11-01"
"""


class Archive:
    """The vendor's archive on this machine, signed by a key that was made for it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
        self.deb = folder / f"ubuntu/{architecture}/latest/amazon-cloudwatch-agent.deb"
        self.deb.parent.mkdir(parents=True)
        (folder / "assets").mkdir()
        self.home.mkdir(mode=0o700)
        self.deb.write_bytes(b"a package")
        self.key = self.new_key("vendor")
        self.sign("vendor")

    def gpg(self, *words: str) -> str:
        command = ["gpg", "--batch", "--quiet", "--homedir", str(self.home), "--pinentry-mode", "loopback"]
        return subprocess.run([*command, "--passphrase", "", *words], capture_output=True, text=True, check=True).stdout

    def new_key(self, name: str) -> str:
        if GPG is None:
            return hashlib.sha1(name.encode()).hexdigest().upper()
        self.gpg("--quick-generate-key", name, "ed25519", "sign", "0")
        listed = self.gpg("--with-colons", "--list-keys", name).splitlines()
        return next(line.split(":")[9] for line in listed if line.startswith("fpr"))

    def sign(self, name: str) -> None:
        if GPG is None:
            digest = hashlib.sha256(self.deb.read_bytes()).hexdigest()
            self.deb.with_name(f"{self.deb.name}.sig").write_text(f"{self.new_key(name)} {digest}\n")
            (self.folder / "assets/amazon-cloudwatch-agent.gpg").write_text(name)
            return
        self.gpg("--yes", "--local-user", name, "--output", f"{self.deb}.sig", "--detach-sign", str(self.deb))
        key = self.folder / "assets/amazon-cloudwatch-agent.gpg"
        self.gpg("--yes", "--armor", "--output", str(key), "--export", name)


@pytest.fixture
def archive(tmp_path_factory, machine) -> Iterator[Archive]:
    """The archive, and a node of Ubuntu that can reach it."""
    made = Archive(tmp_path_factory.mktemp("a"))  # short: the socket of the agent of gpg lies in it
    handler = type(
        "Handler",
        (http.server.SimpleHTTPRequestHandler,),
        {
            "__init__": lambda self, *words: http.server.SimpleHTTPRequestHandler.__init__(
                self, *words, directory=str(made.folder)
            ),
            "log_message": lambda *_: None,
        },
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        machine.command("gpg", f'exec {GPG} "$@"' if GPG else IN_PLACE_OF_GPG % shutil.which("sha256sum"))
        machine.write(f"{FOLDER}/CWAGENT_VERSION", "1.0.0")
        install = f'[[ $* != *install* ]] || {{ echo {MINIMUM} >"$ROOT{FOLDER}/CWAGENT_VERSION"; }}'
        machine.command("apt-get", install)
        yield made
        server.shutdown()
    if GPG:
        subprocess.run(["gpgconf", "--homedir", str(made.home), "--kill", "all"], check=False)


def facts(archive: Archive) -> dict:
    packages = {**node_facts()["packages"], "agent_address": archive.url, "agent_key": archive.key}
    return {**node_facts(), "packages": packages}


def test_on_ubuntu_the_vendor_s_package_is_taken_with_its_signature(machine, archive):
    agent.start(machine.node(facts=facts(archive)))
    assert machine.called("apt-get")[-1].endswith("/amazon-cloudwatch-agent.deb")
    assert START in machine.calls


def test_a_package_signed_by_somebody_else_is_not_installed(machine, archive):
    archive.new_key("stranger")
    archive.sign("stranger")
    with pytest.raises(NodeError, match=rf"amazon-cloudwatch-agent\.deb is not signed by {archive.key}"):
        agent.start(machine.node(facts=facts(archive)))
    assert machine.called("apt-get") == []


def test_a_package_that_was_changed_is_not_installed(machine, archive):
    archive.deb.write_bytes(b"another package")
    with pytest.raises(NodeError, match=rf"is not signed by {archive.key}"):
        agent.start(machine.node(facts=facts(archive)))
    assert machine.called("apt-get") == []


def test_an_archive_that_is_closed_is_tried_again_and_then_one_line(machine, archive):
    archive.deb.unlink()
    with pytest.raises(NodeError, match=r"deb cannot be had \(HTTP Error 404.*\); open the way to it"):
        agent.start(machine.node(facts=facts(archive)))
    assert machine.slept == [5] * 4


def test_the_pinned_key_is_the_one_that_aws_publishes():
    assert node_facts()["packages"]["agent_key"] == "937616F3450B7D806CBD9725D58167303B789C72"
