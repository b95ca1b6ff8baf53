"""User data of the node that boots, and what is looked at afterwards."""

from __future__ import annotations

from support.aws_endpoint import AwsEndpoint
from support.bootstrap import SUBJECT, request
from ultracluster.facts.instances import instance_type
from ultracluster.plan.image_build import TunedImageRequest, Ubuntu, plan_tuned_image
from ultracluster.plan.node_program import node_program
from ultracluster.plan.user_data import node_type, plan_user_data

BUCKET = "cdk-hnb659fds-assets-111122223333-us-west-2"
PROGRAM = "/opt/ultracluster/ultracluster-node"

LOOKS = {
    "cloud": "cat /run/cloud-init/cloud-id",
    "cloud-init": "cat /run/cloud-init/result.json",
    "boot": "cat /var/lib/ultracluster/boot.json",
    "mounts": "cat /proc/self/mounts",
    "mode": "stat -c %a /scratch",
    "array": "mdadm --detail /dev/md/ultracluster",
    "xfs": "xfs_info /scratch",
    "uuid": "findmnt -n -o UUID /scratch",
    "scratch": "ls /scratch; sha256sum --check /root/data.sha256",
    "root": "findmnt -n -o SOURCE /",
    "command-line": "cat /proc/cmdline",
    "limits": "systemctl show --property=DefaultLimitMEMLOCK --property=DefaultLimitNOFILE",
    "tune": f"{PROGRAM} tune --stage boot --check; echo status $?",
    "timers": "systemctl is-active apt-daily.timer apt-daily-upgrade.timer",
    "failed": "systemctl --failed --plain --no-legend",
    "state": "systemctl is-system-running",
    "units": "systemctl is-active ultracluster-node ultracluster-watch ultracluster-metrics ultracluster-health.timer",
    "took": "systemd-analyze",
}
"""What is looked at after every boot: command by name."""

ONCE = {
    "log": "cat /var/log/ultracluster/bootstrap.log",
    "digest": f"sha256sum {PROGRAM}",
    "models": "cat /sys/class/nvme/*/model",
    "login": "runuser -l nobody -s /bin/bash -c 'ulimit -l; ulimit -n' 2>/dev/null",
    "masked": "systemctl is-enabled apt-daily.timer apt-daily-upgrade.timer",
    "health": f"{PROGRAM} health --light --format json --textfile ''",
    "clock": "chronyc -n sources",
    "verify": "systemd-analyze verify /etc/systemd/system/ultracluster-*.{service,timer}",
    "agent": "cat /var/log/agent-ctl.log",
}
"""What is looked at after the first boot only."""


def image_documents() -> dict[str, str]:
    """Components of an image on plain Ubuntu by name; parts that only the vendors' archives have are left out."""
    request = TunedImageRequest(base=Ubuntu(), without=("efa", "lustre", "gdrcopy"), opt_ins=("low-latency-c-states",))
    return {each.name: each.text for each in plan_tuned_image(request, subject="image").components}


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
