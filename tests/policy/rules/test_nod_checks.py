"""UC-NOD-013 to 019: jitter, health checks, and scripts that nodes fetch."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import launch_template, pcs, template
from support.nodes import area_ids, booted, component, with_script
from support.policy import assert_finds, assert_not_judged, assert_passes

OWN = {"Own": {"Type": "String"}}


def ids(*templates: Any) -> set[str]:
    return area_ids("NOD", *templates) - {"UC-NOD-004"}


CASES = [
    # UC-NOD-013
    ("UC-NOD-013", "systemctl enable --now dnf-automatic.timer", "dnf-automatic.timer is switched on"),
    ("UC-NOD-013", "systemctl unmask dnf-makecache.timer", "dnf-makecache.timer is switched on"),
    ("UC-NOD-013", "sudo systemctl --now enable fwupd-refresh.timer man-db.timer", "fwupd-refresh.timer is"),
    # UC-NOD-014
    ("UC-NOD-014", "echo \"\\$nrconf{restart} = 'a';\" > /etc/needrestart/conf.d/a.conf", "needrestart restarts every"),
    # UC-NOD-015
    ("UC-NOD-015", "echo 'pool 2.pool.ntp.org iburst' > /etc/chrony.conf", "the clock follows 2.pool.ntp.org"),
    ("UC-NOD-015", "sed -i 's/^server.*/server time.own.example prefer/' /etc/chrony/chrony.conf", "time.own.example"),
    # UC-NOD-016
    (
        "UC-NOD-016",
        "export NCCL_MIN_BUS_BW=800",
        "NCCL_MIN_BUS_BW asks for 800 GB/s, the fabric of p5.48xlarge carries 400",
    ),
    ("UC-NOD-016", "BUSBW_THRESHOLD=300\nall_reduce_perf -b 8 -e 128M -f 2", "messages of 128 MiB at most"),
    # UC-NOD-017
    (
        "UC-NOD-017",
        "# prolog\ncommand -v dcgmi >/dev/null 2>&1 || exit 0\ndcgmi diag -r 2",
        "exit 0 when dcgmi is missing",
    ),
    (
        "UC-NOD-017",
        "# x\nif ! command -v dcgmi &> /dev/null; then\n  echo none\n  exit 0\nfi\ndcgmi health -c",
        "exit 0 when",
    ),
    (
        "UC-NOD-017",
        "cat > /opt/check_efa.sh <<EOF\nwhich fi_info || { echo none; exit 0; }\nEOF",
        "exit 0 when fi_info is",
    ),
    # UC-NOD-018
    (
        "UC-NOD-018",
        "curl -fsSL https://raw.githubusercontent.com/own/x/main/setup.sh | bash",
        "x/main/setup.sh is fetched",
    ),
    (
        "UC-NOD-018",
        "wget -qO- https://own.example/get.sh | sudo -E sh",
        "https://own.example/get.sh is fetched and run",
    ),
    ("UC-NOD-018", 'bash -c "$(curl -fsSL https://own.example/get.sh)"', "https://own.example/get.sh is fetched"),
    ("UC-NOD-018", "aws s3 cp s3://own/boot.sh /tmp/boot.sh\nbash /tmp/boot.sh", "s3://own/boot.sh is fetched and run"),
    ("UC-NOD-018", "aws s3 cp s3://own/setup.sh . && bash setup.sh", "s3://own/setup.sh is fetched and run"),
    ("UC-NOD-018", "aws s3 cp s3://own/setup.sh /opt/\nsource /opt/setup.sh", "s3://own/setup.sh is fetched and run"),
    ("UC-NOD-018", "wget https://own.example/get.sh && sh get.sh", "https://own.example/get.sh is fetched and run"),
    ("UC-NOD-018", "curl -LO https://own.example/get.sh\nsudo bash ./get.sh", "https://own.example/get.sh is fetched"),
    (
        "UC-NOD-018",
        "curl -o /tmp/get.sh https://own.example/get.sh\nchmod +x /tmp/get.sh",
        "https://own.example/get.sh is",
    ),
    # UC-NOD-019
    ("UC-NOD-019", "N=$(ibv_devices | tail -n +3 | wc -l)", "ibv_devices lists devices that are no EFA"),
    ("UC-NOD-019", "ibv_devinfo -l | grep -c '^ '", "ibv_devinfo lists devices"),
]


@pytest.mark.parametrize(("rule_id", "script", "place"), CASES)
def test_a_script_at_fault(rule_id, script, place):
    assert_finds(rule_id, booted(script), place=place)
    assert ids(booted(script)) == {rule_id}


def test_unattended_upgrades_are_a_timer_and_restart_services():
    script = "echo 'APT::Periodic::Unattended-Upgrade \"1\";' > /etc/apt/apt.conf.d/20auto"
    assert ids(booted(script)) == {"UC-NOD-013", "UC-NOD-014"}
    listed = f"{script}\necho 'Unattended-Upgrade::Package-Blacklist {{ \"slurm\"; }};' >> /etc/apt/apt.conf.d/20auto"
    assert ids(booted(listed)) == {"UC-NOD-013"}


@pytest.mark.parametrize(
    ("rule_id", "script"),
    [
        ("UC-NOD-013", "systemctl disable --now dnf-makecache.timer\nsystemctl mask fwupd-refresh.timer"),
        ("UC-NOD-013", "systemctl enable --now amazon-cloudwatch-agent.service"),
        ("UC-NOD-013", "# systemctl enable dnf-automatic.timer"),
        (
            "UC-NOD-014",
            "printf \"\\$nrconf{restart} = 'a';\\n\\$nrconf{override_rc}{qr(^slurmd)} = 0;\" > /etc/needrestart/x.conf",
        ),
        ("UC-NOD-014", "echo '\\$nrconf{override_rc}{qr(^slurmd)} = 0;' > /etc/needrestart/conf.d/s.conf"),
        ("UC-NOD-014", "NEEDRESTART_MODE=a apt-get install -y nvme-cli"),
        ("UC-NOD-015", "echo 'server 169.254.169.123 prefer iburst' >> /etc/chrony.conf"),
        ("UC-NOD-015", "echo 'pool 2.pool.ntp.org iburst\nserver 169.254.169.123 prefer iburst' > /etc/chrony.conf"),
        ("UC-NOD-015", "echo 'refclock PHC /dev/ptp0 poll 0' >> /etc/chrony.conf; echo 'pool a.ntp.org iburst' >> x"),
        ("UC-NOD-015", "systemctl enable chronyd\nupstream { server 10.0.0.1; }"),
        ("UC-NOD-016", "export NCCL_MIN_BUS_BW=340"),
        ("UC-NOD-016", "MIN_BUSBW=340\nall_reduce_perf -b 8 -e 16G -f 2"),
        ("UC-NOD-016", "NVLINK_MIN_BW=600"),
        ("UC-NOD-016", "all_reduce_perf -b 8 -e 128M"),
        ("UC-NOD-016", "BANDWIDTH_TEST=900"),
        ("UC-NOD-017", "# health check\ncommand -v dcgmi || exit 1\ndcgmi diag -r 1\nexit 0"),
        ("UC-NOD-017", "command -v nvidia-smi || exit 0\nnvidia-smi -pm 1"),
        ("UC-NOD-017", "if ! command -v dcgmi; then\n  exit 2\nfi\ndcgmi diag -r 1\nexit 0"),
        ("UC-NOD-018", "curl -o a.sh https://own.example/a.sh\necho 'abc a.sh' | sha256sum -c\nbash a.sh"),
        ("UC-NOD-018", "curl -L https://github.com/own/x/releases/download/v1.2.3/setup.sh | bash"),
        ("UC-NOD-018", "aws s3 cp s3://own/config.json /etc/own.json\nbash /opt/own.sh"),
        ("UC-NOD-018", "aws s3api get-object --bucket own --key a.sh --version-id x a.sh\nbash a.sh"),
        ("UC-NOD-018", "curl -s https://own.example/data.json | jq .name"),
        ("UC-NOD-018", "wget https://own.example/data.tar\nbash /opt/own.sh"),
        ("UC-NOD-018", "wget https://own.example/v1.2.3/get.sh && sh get.sh"),
        ("UC-NOD-018", "aws s3 cp s3://own/setup.sh ."),
        ("UC-NOD-018", "aws s3 cp s3://own/boot.sh /tmp/boot.sh"),
        ("UC-NOD-019", "fi_info -p efa -t FI_EP_RDM | grep -c domain"),
        ("UC-NOD-019", "ibv_devices | grep -c rdmap"),
        ("UC-NOD-019", "ibv_devices"),
    ],
)
def test_scripts_without_fault(rule_id, script):
    assert_passes(rule_id, booted(script))


@pytest.mark.parametrize(("rule_id", "script", "place"), CASES)
def test_scripts_of_components_count_and_those_of_other_instances_do_not(rule_id, script, place):
    if rule_id not in {"UC-NOD-016", "UC-NOD-018"}:
        assert_finds(rule_id, component(script), place=place)
        assert_passes(rule_id, booted(script, "t3.micro"))


def test_floors_of_types():
    assert_finds("UC-NOD-016", booted("MIN_BUS_BW=60", "p4d.24xlarge"), place="the fabric of p4d.24xlarge carries 50")
    assert_passes("UC-NOD-016", booted("MIN_BUS_BW=800", "t3.micro"))
    assert_not_judged("UC-NOD-016", template(Lt=with_script("MIN_BUS_BW=800", None)))
    assert_not_judged("UC-NOD-016", template(OWN, Lt=with_script("MIN_BUS_BW=800", {"Ref": "Own"})))


def test_a_floor_and_its_type_under_one_condition():
    conditions = {"Big": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}}

    def made(first: str, second: str) -> dict[str, Any]:
        data = {"Fn::If": ["Big", f"#!/bin/sh\nMIN_BUS_BW={first}\n", f"#!/bin/sh\nMIN_BUS_BW={second}\n"]}
        kind = {"Fn::If": ["Big", "p5.48xlarge", "p4d.24xlarge"]}
        return template({"Own": {"Type": "String", "Default": "yes"}}, conditions, Lt=with_script(data, kind))

    assert_passes("UC-NOD-016", made("340", "40"))
    assert ids(made("40", "340")) == {"UC-NOD-016"}


# UC-NOD-018 on PCS


def lifecycle(count: int = 1, **source: Any) -> dict[str, Any]:
    script = {"Name": "tune", "ScriptSource": {"ScriptLocation": "s3://own/tune.sh", **source}}
    nodes = pcs(NodeLifecycleActions={"Stages": {"NodeReady": [script] * count}})
    return template(OWN, Nodes=nodes, Lt=launch_template(None, MetadataOptions={"HttpTokens": "required"}))


def test_lifecycle_scripts_of_pcs():
    place = (
        "NodeLifecycleActions.Stages.NodeReady[0].ScriptSource: s3://own/tune.sh has neither Checksum nor S3VersionId"
    )
    assert_finds("UC-NOD-018", lifecycle(), place=place)
    assert ids(lifecycle()) == {"UC-NOD-018"}
    assert_finds("UC-NOD-018", lifecycle(3), place="runs as root (2 more like it)")
    of_the_service = {"Fn::Sub": "s3://aws-pcs-repo-${AWS::Region}/scripts/mount-v1-latest.sh"}
    assert_passes("UC-NOD-018", lifecycle(ScriptLocation=of_the_service))
    assert_not_judged("UC-NOD-018", template(OWN, Nodes=pcs(NodeLifecycleActions={"Ref": "Own"})))
    assert_passes("UC-NOD-018", lifecycle(Checksum="0" * 64))
    assert_passes("UC-NOD-018", lifecycle(S3VersionId={"Ref": "Own"}))
    assert_passes("UC-NOD-018", template(Nodes=pcs(), Lt=launch_template(None)))


def test_addresses_that_only_the_deployment_knows():
    script = {"Fn::Sub": "#!/bin/bash\naws s3 cp ${Own} /tmp/boot.sh\nbash /tmp/boot.sh\n"}
    assert_passes("UC-NOD-018", template(OWN, Lt=with_script(script)))
    script = {"Fn::Sub": "#!/bin/bash\naws s3 cp s3://${Own}/boot.sh /tmp/boot.sh\nbash /tmp/boot.sh\n"}
    assert_not_judged("UC-NOD-018", template(OWN, Lt=with_script(script)))


def test_a_script_that_is_not_known():
    for rule_id in ("UC-NOD-013", "UC-NOD-017", "UC-NOD-018", "UC-NOD-019"):
        assert_not_judged(rule_id, template(OWN, Lt=launch_template(None, UserData={"Ref": "Own"})))
