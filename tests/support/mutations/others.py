"""Changes that break rules on networks, permissions, alarms, nodes, cost and templates."""

from __future__ import annotations

from typing import Any

from support.mutations.tools import Change, Mutation, Place, attribute, drop, needs, put

_LT, _ASG, _ALARM = "EC2::LaunchTemplate", "AutoScaling::AutoScalingGroup", "CloudWatch::Alarm"
_GROUP, _ENDPOINT, _ROLE = "EC2::SecurityGroup", "EC2::VPCEndpoint", "IAM::Role"
_DATA = "LaunchTemplateData"


def _open_port(*ports: int) -> Change:
    def change(place: Place) -> None:
        needs(
            "Lustre" not in place.logical_id and "Home" not in place.logical_id and "Endpoints" not in place.logical_id
        )  # file systems run no services
        port = place.pick.choice(ports)
        rule = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "CidrIp": place.pick.choice(["0.0.0.0/0"])}
        place.properties.setdefault("SecurityGroupIngress", []).append(rule)

    return change


def _node_role(place: Place) -> None:
    trust = str(place.properties.get("AssumeRolePolicyDocument"))
    needs("ec2.amazonaws.com" in trust)


def _managed(name: str) -> Change:
    def change(place: Place) -> None:
        _node_role(place)
        place.properties.setdefault("ManagedPolicyArns", []).append(f"arn:aws:iam::aws:policy/{name}")

    return change


def _statement(**statement: Any) -> Change:
    def change(place: Place) -> None:
        _node_role(place)
        policy = place.pick.choice(place.at("Policies"))
        policy["PolicyDocument"]["Statement"].append({"Effect": "Allow", **statement})

    return change


def _metric_alarm(place: Place) -> None:
    needs("MetricName" in place.properties)


def _agent_alarm(place: Place) -> None:
    needs(str(place.properties.get("MetricName")).startswith("nvidia_smi"))


def _unknown_metric(place: Place) -> None:
    _agent_alarm(place)
    place.properties["MetricName"] = "nvidia_smi_gpu_utilization"


def _more_dimensions(place: Place) -> None:
    _agent_alarm(place)
    place.at("Dimensions").append({"Name": "InstanceId", "Value": "i-0123456789abcdef0"})


def _odd_period(place: Place) -> None:
    _metric_alarm(place)
    place.properties["Period"] = 45


def _silent(place: Place) -> None:
    for key in ("AlarmActions", "OKActions"):
        needs(place.properties.pop(key, None))


def _many_actions(place: Place) -> None:
    place.properties["AlarmActions"] = [f"arn:aws:sns:us-east-1:111122223333:t{at}" for at in range(6)]


def _more_user_data(text: str) -> Change:
    """Put a line in front of the fleet's own settings, into a file that user data writes."""

    def change(place: Place) -> None:
        parts = place.at(_DATA, "UserData", "Fn::Base64", "Fn::Join", 1)
        at = next((at for at, part in enumerate(parts) if str(part).startswith('   {"schema"')), None)
        needs(at is not None)
        parts[at] = f"   {text}\n{parts[at]}"

    return change


def _larger_than_ec2_takes(place: Place) -> None:
    place.at(_DATA, "UserData", "Fn::Base64", "Fn::Join", 1).append("# " + "x" * 17_000)


def _bare_user_data(place: Place) -> None:
    needs("UserData" in place.data)
    place.data["UserData"] = "#!/bin/bash\necho hello\n"


def _object_for_a_list(place: Place) -> None:
    entries = place.data.pop("NetworkInterfaces", None)
    needs(entries)
    place.data["BlockDeviceMappings"] = {"0": place.data["BlockDeviceMappings"][0]}
    place.data["NetworkInterfaces"] = entries


def _without_names(place: Place) -> None:
    needs("Network" in place.logical_id)  # that of the reference clusters, which holds file systems
    place.properties["EnableDnsHostnames"] = False


def _made_up_zone(place: Place) -> None:
    place.properties["AvailabilityZone"] = place.pick.choice(["dummy1a", "dummy1b"])


def _many_resources(place: Place) -> None:
    for at in range(501):
        place.add(f"Made{at}", "CloudFormation::WaitConditionHandle")


def _many_outputs(place: Place) -> None:
    place.template.setdefault("Outputs", {}).update({f"Made{at}": {"Value": "x"} for at in range(201)})


def _huge(place: Place) -> None:
    for at in range(150):
        place.add(f"Made{at}", "SSM::Parameter", Type="String", Value="x" * 7000)


def _latest(place: Place) -> None:
    place.at("LaunchTemplate")["Version"] = place.pick.choice(["$Latest", "$Default", "3"])


def _reserved_tag(place: Place) -> None:
    place.at("Tags").append({"Key": "aws:owner", "Value": "x", "PropagateAtLaunch": True})


def _no_aggregate_budget(place: Place) -> None:
    del place.template["Resources"][place.logical_id]


def _acknowledged(**entry: str) -> Change:
    return attribute("Metadata", {"ultracluster": {"acknowledge": [entry]}})


OTHERS = (
    Mutation("NET-002", _GROUP, _open_port(22)),
    Mutation("NET-003", "EC2::VPC", _without_names),
    Mutation(
        "NET-005", "EC2::Subnet", _made_up_zone, frozenset({"EFA-007", "EFS-001", "EFS-002", "LUS-011", "PLC-001"})
    ),
    Mutation("NET-015", _GROUP, _open_port(8265, 6379, 8888, 6006, 2379)),
    Mutation("IAM-001", _ROLE, _managed("AdministratorAccess"), frozenset({"IAM-006"})),
    Mutation("IAM-002", _ROLE, _statement(Action="s3:*", Resource="*"), frozenset({"IAM-006"})),
    Mutation("IAM-004", _ROLE, _statement(Action=["iam:PassRole"], Resource="*")),
    Mutation("IAM-005", _ROLE, _statement(Action="ec2:RunInstances", Resource="*")),
    Mutation("IAM-009", _ROLE, _managed("AmazonS3ReadOnlyAccess")),
    Mutation("ALM-001", _ALARM, _silent),
    Mutation("ALM-001", _ALARM, _many_actions),
    Mutation("ALM-002", _ALARM, drop("TreatMissingData")),
    Mutation("ALM-003", _ALARM, _more_dimensions),
    Mutation("ALM-004", _ALARM, _unknown_metric, frozenset({"ALM-011"})),
    Mutation("ALM-010", _ALARM, _odd_period),
    Mutation("ALM-014", "Logs::LogGroup", drop("RetentionInDays")),
    Mutation("ALM-017", "SNS::Topic", put("KmsMasterKeyId", "alias/aws/sns"), at="*"),
    Mutation("NOD-001", _LT, _more_user_data("export NCCL_NET_GDR_LEVEL=LOC")),
    Mutation("NOD-002", _LT, _more_user_data("export NCCL_TUNER_PLUGIN=/opt/x.so")),
    Mutation("NOD-003", _LT, _more_user_data("* soft memlock 65536")),
    Mutation("NOD-004", _LT, put(_DATA, "MetadataOptions", "HttpTokens", "optional")),
    Mutation("NOD-005", _LT, put(_DATA, "MetadataOptions", "HttpPutResponseHopLimit", 4)),
    Mutation("NOD-007", _LT, _more_user_data("amazon-linux-extras install lustre")),
    Mutation("CST-003", _LT, drop(_DATA, "TagSpecifications")),
    Mutation("CST-006", "Budgets::Budget", _no_aggregate_budget, at="*"),
    Mutation("TPL-001", "SNS::Topic", _huge, at="*"),
    Mutation("TPL-002", "SNS::Topic", _many_resources, at="*"),
    Mutation("TPL-003", _LT, _larger_than_ec2_takes),
    Mutation("TPL-004", "SNS::Topic", _many_outputs, at="*"),
    Mutation("TPL-005", _LT, _object_for_a_list),
    Mutation("TPL-008", _ASG, _latest),
    Mutation("TPL-011", _ASG, _reserved_tag),
    Mutation("TPL-014", _LT, _bare_user_data, frozenset({"SPT-006"})),
)
