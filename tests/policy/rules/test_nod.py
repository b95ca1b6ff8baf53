"""UC-NOD-001 to 003, 006, 007 and 020: what scripts of nodes set, and the form of their document."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import batch, group, launch_template, node_group, pcs, template
from support.nodes import area_ids, booted, component, with_script
from support.policy import assert_finds, assert_not_judged, assert_passes

UBUNTU = "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
AL2023 = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
AL2 = "resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2"
OWN = {"Own": {"Type": "String"}}


def ids(*templates: Any) -> set[str]:
    return area_ids("NOD", *templates) - {"UC-NOD-004"}


# UC-NOD-001, 002


@pytest.mark.parametrize(
    ("line", "rule_id"),
    [
        ("export NCCL_NET_GDR_LEVEL=LOC", "UC-NOD-001"),
        ("echo 'RDMAV_FORK_SAFE=1' >> /etc/environment", "UC-NOD-001"),
        ("export RDMAV_HUGEPAGES_SAFE=1", "UC-NOD-001"),
        ("mpirun -x NCCL_BUFFERSIZE=8388608 all_reduce_perf", "UC-NOD-001"),
        ('export NCCL_BUFFSIZE="8388608"', "UC-NOD-002"),
        ("NCCL_P2P_NET_CHUNKSIZE=524288", "UC-NOD-002"),
        ("export NCCL_TUNER_PLUGIN=/opt/aws-ofi-nccl/lib/libnccl-ofi-tuner.so", "UC-NOD-002"),
        ("export LD_PRELOAD=/opt/nccl/libnccl-net.so", "UC-NOD-002"),
    ],
)
def test_a_variable_that_does_harm(line, rule_id):
    assert_finds(rule_id, booted(line), place="LaunchTemplateData.UserData: ")
    assert ids(booted(line)) == {rule_id}
    assert ids(component(f"phases:\n  - commands:\n    - {line}\n")) == {rule_id}


@pytest.mark.parametrize(
    "line",
    [
        "export NCCL_NET_GDR_LEVEL=PHB",
        "# export NCCL_BUFFSIZE=8388608",
        "unset NCCL_BUFFSIZE",
        "sed -i '/NCCL_BUFFSIZE=/d' /etc/environment",
        'if [ "$NCCL_BUFFSIZE" = "8388608" ]; then echo yes; fi',
        "[[ $NCCL_NET_GDR_LEVEL == LOC ]] && exit 1",
        "export NCCL_TUNER_PLUGIN=none",
        "export LD_PRELOAD=/usr/lib/libjemalloc.so.2",
        "export FI_EFA_USE_HUGE_PAGE=0",
    ],
)
def test_lines_that_do_none(line):
    for rule_id in ("UC-NOD-001", "UC-NOD-002"):
        assert_passes(rule_id, booted(line))


def test_fork_safety_where_the_kernel_needs_it():
    line = "export FI_EFA_FORK_SAFE=1"
    assert_finds("UC-NOD-002", booted(line, ImageId=AL2023), place="FI_EFA_FORK_SAFE=1 is set: no effect")
    assert_passes("UC-NOD-002", booted(line, ImageId=AL2))
    assert_not_judged("UC-NOD-002", booted(line, ImageId="ami-0123456789abcdef0"))


def test_a_value_that_only_the_deployment_knows():
    script = {"Fn::Sub": "#!/bin/bash\nexport NCCL_NET_GDR_LEVEL=${Own}\n"}
    assert_not_judged("UC-NOD-001", template(OWN, Lt=with_script(script)))
    assert_not_judged("UC-NOD-001", template(OWN, Lt=launch_template(None, UserData={"Ref": "Own"})))


def job(container: Any) -> dict[str, Any]:
    ranges = [{"TargetNodes": "0:", "Container": container}]
    properties = {"Type": "multinode", "NodeProperties": {"MainNode": 0, "NumNodes": 2, "NodeRangeProperties": ranges}}
    return template(OWN, Job={"Type": "AWS::Batch::JobDefinition", "Properties": properties})


def named(name: Any, value: Any) -> list[dict[str, Any]]:
    return [{"Name": name, "Value": value}]


@pytest.mark.parametrize(
    ("definition", "place"),
    [
        (job({"Environment": named("NCCL_BUFFSIZE", "8388608")}), "[0].Container.Environment[0].Value: NCCL_BUFFSIZE"),
        (job({"Environment": named("NCCL_BUFFSIZE", {"Ref": "Own"})}), "NCCL_BUFFSIZE=... is set"),
        (job({"Command": ["mpirun", "-x", "NCCL_BUFFSIZE=1", "-x", "NCCL_P2P_NET_CHUNKSIZE=2"]}), "CHUNKSIZE=2 is set"),
        (
            template(
                X={
                    "Type": "AWS::Batch::JobDefinition",
                    "Properties": {"ContainerProperties": {"Environment": named("NCCL_BUFFSIZE", "1")}},
                }
            ),
            "ContainerProperties.Environment[0].Value",
        ),
        (
            template(
                X={
                    "Type": "AWS::Batch::JobDefinition",
                    "Properties": {
                        "EksProperties": {"PodProperties": {"Containers": [{"Env": named("NCCL_BUFFSIZE", "1")}]}}
                    },
                }
            ),
            "EksProperties.PodProperties.Containers[0].Env[0].Value",
        ),
        (
            template(
                X={
                    "Type": "AWS::ECS::TaskDefinition",
                    "Properties": {"ContainerDefinitions": [{"Environment": named("NCCL_BUFFSIZE", "1")}]},
                }
            ),
            "ContainerDefinitions[0].Environment[0].Value",
        ),
    ],
)
def test_a_container_that_gets_one(definition, place):
    assert_finds("UC-NOD-002", definition, place=place)
    assert ids(definition) == {"UC-NOD-002"}


def test_containers_that_get_none_or_may():
    assert_passes("UC-NOD-002", job({"Environment": named("NCCL_DEBUG", "WARN"), "Command": ["python", "train.py"]}))
    assert_not_judged("UC-NOD-001", job({"Environment": named("NCCL_NET_GDR_LEVEL", {"Ref": "Own"})}))
    assert_not_judged("UC-NOD-001", job({"Environment": named({"Ref": "Own"}, "LOC")}))
    assert_not_judged("UC-NOD-002", job({"Environment": named("FI_EFA_FORK_SAFE", "1")}))


# UC-NOD-003


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("echo '* soft memlock 65536' >> /etc/security/limits.d/efa.conf", "locks 64 MiB, EFA needs 16 GiB at least"),
        ("*  -  memlock  65536", "'- memlock 65536' locks 64 MiB"),
        ("LimitMEMLOCK=67108864", "locks 64 MiB"),
        ("DefaultLimitMEMLOCK=8G", "locks 8 GiB"),
        ("ulimit -l 65536", "'ulimit -l 65536' locks 64 MiB"),
        ("docker run --ulimit memlock=67108864:67108864 train", "locks 64 MiB"),
        ('{"default-ulimits": {"memlock": {"Name": "memlock", "Soft": 67108864, "Hard": -1}}}', "locks 64 MiB"),
    ],
)
def test_a_limit_of_locked_memory(line, place):
    assert_finds("UC-NOD-003", booted(line), place=place)
    assert ids(booted(line)) == {"UC-NOD-003"}


@pytest.mark.parametrize(
    "line",
    [
        "* soft memlock unlimited",
        "* - memlock -1",
        "LimitMEMLOCK=infinity",
        "LimitMEMLOCK=16G",
        "* hard memlock 16777216",
        "ulimit -l unlimited",
        "ulimit -n 65536; ulimit -l",
        "docker run --ulimit memlock=-1 train",
        "* soft nofile 65536",
        "# * soft memlock 64",
        "dnf install -y efa",
    ],
)
def test_limits_with_room(line):
    assert_passes("UC-NOD-003", booted(line))


@pytest.mark.parametrize("instance_type", ["t3.micro", "m7i.large"])
def test_other_instances_may_have_any_limit(instance_type):
    assert_passes("UC-NOD-003", booted("* soft memlock 65536", instance_type))
    assert_finds("UC-NOD-003", template(Lt=with_script("* soft memlock 64", None)))


def test_limits_and_types_that_are_not_known():
    assert_not_judged("UC-NOD-003", booted("ulimit -l $LIMIT"))
    found = template(OWN, Lt=with_script("* soft memlock 64", {"Ref": "Own"}))
    assert_not_judged("UC-NOD-003", found)


def test_limit_and_type_under_one_condition():
    conditions = {"Big": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}}

    def made(first: str, second: str) -> dict[str, Any]:
        data = {"Fn::If": ["Big", first, second]}
        kind = {"Fn::If": ["Big", "p5.48xlarge", "t3.micro"]}
        return template({"Own": {"Type": "String", "Default": "yes"}}, conditions, Lt=with_script(data, kind))

    low, high = "#!/bin/sh\nulimit -l 64\n", "#!/bin/sh\nulimit -l unlimited\n"
    assert_passes("UC-NOD-003", made(high, low))
    assert ids(made(low, high)) == {"UC-NOD-003"}


# UC-NOD-006


def with_parameters(script: Any, **resources: Any) -> dict[str, Any]:
    parameters = {"ClusterId": {"Type": "String"}, "Count": {"Type": "String"}}
    return template(parameters, Lt=with_script(script), Home={"Type": "AWS::EFS::FileSystem"}, **resources)


@pytest.mark.parametrize("name", ["ClusterId", "Home", "Home.Arn", "AWS::Region"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_placeholder_that_nothing_fills_in(name, joined):
    line = f"register --cluster ${{{name}}}"
    script = {"Fn::Join": ["\n", ["#!/bin/bash", line]]} if joined else line
    found = with_parameters(script)
    assert_finds("UC-NOD-006", found, place=f"UserData: ${{{name}}} is left as it stands")
    assert ids(found) == {"UC-NOD-006"}


@pytest.mark.parametrize(
    "script",
    [
        {"Fn::Sub": "#!/bin/bash\nregister --cluster ${ClusterId} --in ${AWS::Region}\n"},
        {"Fn::Sub": "#!/bin/bash\nClusterId=x\necho ${!ClusterId}\n"},
        {"Fn::Sub": ["#!/bin/bash\necho ${Id} ${!Count}\n", {"Id": {"Ref": "ClusterId"}}]},
        "ClusterId=$(cat /etc/cluster)\necho ${ClusterId}",
        "export ClusterId=x; echo ${ClusterId}",
        "read -r ClusterId < /etc/cluster\necho ${ClusterId}",
        "for ClusterId in a b; do echo ${ClusterId}; done",
        "echo ${HOME} ${aws:InstanceId} ${Other}",
        "# register ${ClusterId}",
        "sed -i 's/\\${ClusterId}/x/' /etc/own",
        "echo $ClusterId",
    ],
)
def test_placeholders_that_are_filled_in(script):
    assert_passes("UC-NOD-006", with_parameters(script))


def test_a_variable_that_a_file_may_set():
    assert_not_judged("UC-NOD-006", with_parameters("source /etc/cluster\necho ${ClusterId}"))
    assert_finds("UC-NOD-006", with_parameters("source /etc/cluster\necho ${AWS::Region}"))


# UC-NOD-007

EXTRAS = "amazon-linux-extras install -y lustre"


@pytest.mark.parametrize("line", [EXTRAS, "yum install -y --enablerepo=amzn2-extras lustre-client"])
def test_extras_on_amazon_linux_2023(line):
    assert_finds("UC-NOD-007", booted(line, ImageId=AL2023), place="installs from amazon-linux-extras")
    assert ids(booted(line, ImageId=AL2023)) == {"UC-NOD-007"}


def test_the_image_by_parameter_or_by_service():
    image = {"Ref": "Image"}
    kind = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    parameters = {"Image": {"Type": kind, "Default": AL2023.removeprefix("resolve:ssm:")}}
    assert_finds("UC-NOD-007", template(parameters, Lt=with_script(EXTRAS, ImageId=image)))
    dynamic = f"{{{{{AL2023}}}}}"
    assert_finds("UC-NOD-007", booted(EXTRAS, ImageId=dynamic))
    nodes = node_group(AmiType="AL2023_x86_64_NVIDIA")
    assert_finds("UC-NOD-007", template(Lt=with_script(EXTRAS), Nodes=nodes))
    environment = batch(Ec2Configuration=[{"ImageType": "ECS_AL2023_NVIDIA"}])
    assert_finds("UC-NOD-007", template(Lt=with_script(EXTRAS), Nodes=environment))


@pytest.mark.parametrize(
    ("line", "image"),
    [
        (EXTRAS, AL2),
        (EXTRAS, UBUNTU),
        ("dnf install -y lustre-client", AL2023),
        ("command -v amazon-linux-extras && echo old", AL2023),
        (f"# {EXTRAS}", AL2023),
    ],
)
def test_tools_that_the_image_has(line, image):
    assert_passes("UC-NOD-007", booted(line, ImageId=image))


def test_extras_on_an_image_that_is_not_known():
    assert_not_judged("UC-NOD-007", booted(EXTRAS, ImageId="ami-0123456789abcdef0"))
    assert_not_judged("UC-NOD-007", booted(EXTRAS))
    guarded = f". /etc/os-release\nif [ $VERSION_ID = 2 ]; then {EXTRAS}; fi"
    assert_not_judged("UC-NOD-007", booted(guarded, ImageId=AL2023))


# UC-NOD-020

HEAD = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="==B=="\n\n'
PART = "--==B==\nContent-Type: text/x-shellscript\n\n#!/bin/sh\nls\n"


def merged(text: Any, consumer: Any) -> dict[str, Any]:
    lt = launch_template(None, UserData={"Fn::Base64": text})
    return template(OWN, Lt=lt, Nodes=consumer() if consumer else {"Type": "AWS::SNS::Topic"})


@pytest.mark.parametrize("consumer", [batch, node_group, pcs])
@pytest.mark.parametrize("end", ["", "\n--==B==\n", "\n--==B==-\n"])
def test_a_document_that_is_left_open(consumer, end):
    found = merged(HEAD + PART + end, consumer)
    assert_finds("UC-NOD-020", found, place="not with --==B==--")
    assert "UC-NOD-020" in ids(found)


@pytest.mark.parametrize(
    ("text", "consumer"),
    [
        (f"{HEAD}{PART}\n--==B==--\n", batch),
        (f"{HEAD}{PART}--==B==--", node_group),
        (f"{HEAD}{PART}\n--==B==--\n".replace("\n", "\r\n"), pcs),
        ("#!/bin/sh\nls\n", pcs),
        (HEAD + PART, group),
        (HEAD + PART, None),
    ],
)
def test_documents_that_are_closed_or_not_merged(text, consumer):
    assert_passes("UC-NOD-020", merged(text, consumer))


def test_a_document_whose_end_is_not_known():
    assert_not_judged("UC-NOD-020", merged({"Fn::Sub": HEAD + PART + "${Own}"}, batch))
    assert_finds("UC-NOD-020", merged({"Fn::Sub": HEAD + PART + "${Own}\n"}, batch))
