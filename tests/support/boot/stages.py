"""User data of the node that boots, and what is looked at afterwards."""

from __future__ import annotations

from support.aws_endpoint import AwsEndpoint
from support.bootstrap import SUBJECT, request
from ultracluster.facts.instances import instance_type
from ultracluster.plan.node_program import node_program
from ultracluster.plan.user_data import node_type, plan_user_data

BUCKET = "cdk-hnb659fds-assets-111122223333-us-west-2"
PROGRAM = "/opt/ultracluster/ultracluster-node"

LOOKS = {
    "cloud": "cloud-id",
    "cloud-init": "cloud-init status --long",
    "schema": "cloud-init schema --system",
    "log": "cat /var/log/ultracluster/bootstrap.log",
    "boot": "cat /var/lib/ultracluster/boot.json",
    "digest": f"sha256sum {PROGRAM}",
    "settings": "cat /etc/ultracluster/node.json",
    "models": "cat /sys/class/nvme/*/model",
    "mounts": "cat /proc/self/mounts",
    "mode": "stat -c %a /scratch",
    "array": "mdadm --detail /dev/md/ultracluster",
    "xfs": "xfs_info /scratch",
    "uuid": "blkid -s UUID -o value /dev/md/ultracluster",
    "scratch": "ls /scratch; sha256sum --check /root/data.sha256",
    "root": "findmnt -n -o SOURCE /",
    "command-line": "cat /proc/cmdline",
    "limits": "systemctl show --property=DefaultLimitMEMLOCK --property=DefaultLimitNOFILE",
    "login": "runuser -l nobody -s /bin/bash -c 'ulimit -l; ulimit -n'",
    "masked": "systemctl list-unit-files --no-legend --state=masked",
    "timers": "systemctl list-timers --all --no-legend",
    "tune": f"{PROGRAM} tune --stage boot --check; echo status $?",
    "health": f"{PROGRAM} health --light --format json --textfile ''",
    "clock": "chronyc -n sources",
    "failed": "systemctl --failed --plain --no-legend",
    "state": "systemctl is-system-running",
    "units": "systemctl is-active ultracluster-node ultracluster-watch ultracluster-metrics ultracluster-health.timer",
    "verify": "systemd-analyze verify /etc/systemd/system/ultracluster-*.{service,timer}",
    "journal": "journalctl --boot --output=short --unit='ultracluster-*' --no-pager",
    "agent": "cat /var/log/agent-ctl.log",
    "took": "systemd-analyze",
}


def user_data(aws: AwsEndpoint) -> str:
    """The document of a Spot fleet's launch template, with its programs in S3 and the slots filled."""
    program = node_program()
    path = f"{BUCKET}/{program.sha256}.pyz"
    aws.objects[f"/{path}"] = program.data
    plan = plan_user_data(
        request(
            node_types=(node_type(instance_type("p5.48xlarge"), efa=0),),
            terminate_hook_name="ultracluster-terminate",
            spot=True,
            user_script="#!/bin/bash\necho the user was here | tee /root/user-script\n",
        ),
        subject=SUBJECT,
    )
    return plan.text({"program": f"s3://{path} {program.sha256}"})
