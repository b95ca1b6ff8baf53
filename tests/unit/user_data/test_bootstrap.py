"""The first boot, run from start to end: the order of the steps, and what the life-cycle hook is told."""

from __future__ import annotations

import pytest

from support.bootstrap import HOME, LUSTRE, Node, files_of, part_text, parts_of, planned
from ultracluster.facts.agent_metrics import agent_facts

AGENT = "/opt/aws/amazon-cloudwatch-agent/bin"
HOOK = (
    "aws autoscaling complete-lifecycle-action --region us-west-2 --auto-scaling-group-name demo-train "
    "--lifecycle-hook-name ultracluster-launch --instance-id i-0123456789abcdef0 --lifecycle-action-result"
)


def ready(node: Node, **changes) -> Node:
    """A healthy p5 node with an agent, whatever the user data is."""
    changes.setdefault("mounts", (LUSTRE, HOME))
    node.install(files_of("p5.48xlarge", **changes))
    node.write(f"{AGENT}/CWAGENT_VERSION", f"{agent_facts().minimum_version}b1234\n")
    node.write(
        f"{AGENT}/amazon-cloudwatch-agent-ctl", '#!/bin/bash\necho "agent-ctl $*" >>"$STATE/calls"\n', mode=0o755
    )
    node.write("/sbin/mount.efs", mode=0o755)
    node.disks(nvme1n1="Amazon EC2 NVMe Instance Storage")
    node.efa(*(f"rdmap{n}s0" for n in range(32)))
    node.imds(instance_type="p5.48xlarge", instance_id="i-0123456789abcdef0", placement__region="us-west-2")
    node.behaviour |= {
        "nvidia-smi": 'for i in 0 1 2 3 4 5 6 7; do echo "GPU $i: x"; done',
        "systemctl": "[[ $1 != is-enabled ]]",
        "df": "echo Size; echo 28T",
        "logger": "cat >/dev/null",
        "chmod": '/bin/chmod "$@"',
    }
    return node


def first(node: Node):
    done = node.program("first")
    return done, node.read("/var/log/ultracluster/bootstrap.log").splitlines()


def test_a_healthy_node_runs_every_step_and_continues(node):
    script = '#!/bin/bash\necho "hello from the user, scratch is $(tail -n1 "$STATE/mounted")"\n'
    done, log = first(ready(node, user_script=script))
    assert done.returncode == 0, "\n".join(log)
    steps = [line.split("ultracluster: ")[1] for line in log if line.split("ultracluster: ")[-1].isidentifier()]
    assert steps == ["environment", "start_agent", "boot", "mount_all", "check_devices", "user_script", "ready"]
    assert node.called("aws") == [f"{HOOK} CONTINUE"]
    assert any("hello from the user" in line and "/home/shared" in line for line in log)
    assert node.calls.index(
        "agent-ctl -a fetch-config -m ec2 -s -c file:/opt/ultracluster/agent.json"
    ) < node.calls.index("mount /fsx"), "the agent first: it carries away why a later step failed"
    assert "systemctl enable --now ultracluster-metrics.service" in node.calls
    assert "systemctl enable --now ultracluster-node.service" in node.calls
    assert [call for call in node.calls if "fetch" not in call and "dnf" in call] == [
        call for call in node.calls if call.startswith("systemctl mask")
    ]


BROKEN = {
    "start_agent": ({"systemctl": "[[ $* != *ultracluster-metrics* && $1 != is-enabled ]]"}, "status 1"),
    "boot": ({"mkfs.xfs": "exit 1"}, "status 1"),
    "mount_all": ({"mount": '[[ ${@: -1} != */fsx ]] && echo "${@: -1}" >>"$STATE/mounted"'}, "/fsx cannot be mounted"),
    "check_devices": ({"nvidia-smi": 'echo "GPU 0: x"'}, "p5.48xlarge shows 1 of 8 accelerators"),
}


@pytest.mark.parametrize("step", BROKEN)
def test_a_step_that_fails_abandons_the_launch_with_one_line(node, step):
    behaviour, why = BROKEN[step]
    ready(node).behaviour.update(behaviour)
    done, log = first(node)
    assert done.returncode == 1
    (line,) = [line for line in log if "FAILED" in line]
    assert f"FAILED at {step}: {why}" in line
    assert node.called("aws") == [f"{HOOK} ABANDON"]
    assert "ready" not in "".join(log)


def test_a_user_script_that_fails_fails_the_launch(node):
    _, log = first(ready(node, user_script="#!/usr/bin/env python3\nimport sys\nsys.exit(7)\n"))
    assert any("FAILED at user_script: the user script ended with status 7" in line for line in log)
    assert node.called("aws") == [f"{HOOK} ABANDON"]


def test_a_user_script_in_another_language_runs(node):
    _, log = first(ready(node, user_script="#!/usr/bin/env python3\nprint(6 * 7)\n"))
    assert "42" in log
    assert node.called("aws") == [f"{HOOK} CONTINUE"]


def test_without_a_hook_nothing_is_reported(node):
    done, _ = first(ready(node, lifecycle_hook_name=""))
    assert done.returncode == 0
    assert not node.called("aws")


def test_a_hook_that_cannot_be_told_is_tried_again_and_then_left_to_its_own_time_out(node):
    ready(node).behaviour["aws"] = "exit 255"
    done, log = first(node)
    assert done.returncode == 0
    assert len(node.called("aws")) == 5
    assert any("hook ultracluster-launch not completed" in line for line in log)


def test_the_shell_part_starts_the_program_and_nothing_else():
    part = part_text(parts_of(planned().text({}))[1])
    assert part.split("\n")[:2] == ["#!/bin/bash", "exec /bin/bash /opt/ultracluster/node.sh first"]


class TestAgent:
    """Which agent is taken."""

    def start(self, node: Node):
        return node.reason("start_agent")

    @pytest.mark.parametrize("version", ["1.300068.0b9", "1.300071.0b1", "1.1000000.0", "2.0.0"])
    def test_the_image_s_own_agent_is_kept(self, node, version):
        ready(node).write(f"{AGENT}/CWAGENT_VERSION", version)
        assert self.start(node).returncode == 0
        assert not node.called("curl")
        assert not node.called("apt-get")

    @pytest.mark.parametrize("version", ["1.300067.9b1", "1.247359.0", ""])
    def test_an_older_one_is_replaced_on_amazon_linux(self, node, version):
        ready(node).write(f"{AGENT}/CWAGENT_VERSION", version)
        new = agent_facts().minimum_version
        node.behaviour["dnf"] = f'echo {new} >"$ROOT{AGENT}/CWAGENT_VERSION"'
        assert self.start(node).returncode == 0
        assert node.called("dnf") == ["dnf -qy install --releasever=latest amazon-cloudwatch-agent"]

    def test_on_ubuntu_the_vendor_s_package_is_taken_with_its_signature(self, node):
        ready(node)
        (node.root / AGENT.lstrip("/") / "CWAGENT_VERSION").unlink()
        key = "937616F3450B7D806CBD9725D58167303B789C72"
        node.behaviour |= {
            "curl": 'touch "${@: -2:1}"',
            "gpg": f'[[ $* != *--verify* ]] || echo "[GNUPG:] VALIDSIG {key} 2026-11-01"',
            "apt-get": f'[[ $* != *install* ]] || echo 1.400000.0 >"$ROOT{AGENT}/CWAGENT_VERSION"',
            "uname": "echo aarch64",
        }
        assert self.start(node).returncode == 0
        assert [call.split("/ubuntu/")[1] for call in node.called("curl") if "/ubuntu/" in call] == [
            "arm64/latest/amazon-cloudwatch-agent.deb.sig",
            "arm64/latest/amazon-cloudwatch-agent.deb",
        ]
        assert node.called("apt-get")[-1].endswith("/amazon-cloudwatch-agent.deb")

    def test_a_package_signed_by_somebody_else_is_not_installed(self, node):
        ready(node)
        (node.root / AGENT.lstrip("/") / "CWAGENT_VERSION").unlink()
        node.behaviour |= {"curl": 'touch "${@: -2:1}"', "gpg": 'echo "[GNUPG:] VALIDSIG 0000 2026-11-01"'}
        done = self.start(node)
        assert done.returncode == 1
        assert "why: the signature of the CloudWatch agent is not by 9376" in done.stdout
        assert not node.called("apt-get")

    def test_an_agent_that_stays_too_old_fails_the_launch(self, node):
        ready(node).write(f"{AGENT}/CWAGENT_VERSION", "1.300000.0")
        node.behaviour["dnf"] = ""
        done = self.start(node)
        assert f"why: CloudWatch agent {agent_facts().minimum_version} or later is needed" in done.stdout
