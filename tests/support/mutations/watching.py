"""More changes that break rules on alarms, events, permissions, networks and cost."""

from __future__ import annotations

import base64
from typing import Any

from support.mutations.tools import Change, Mutation, Place, drop, each, needs, put

_LT, _ASG, _ALARM, _RULE = "EC2::LaunchTemplate", "AutoScaling::AutoScalingGroup", "CloudWatch::Alarm", "Events::Rule"
_ALERTS, _SCRAPER = "APS::RuleGroupsNamespace", "APS::Scraper"
_ENDPOINT, _GROUP, _PODS = "EC2::VPCEndpoint", "EC2::SecurityGroup", "SageMaker::Cluster"
_ROLE, _JOB, _DATA = "IAM::Role", "Batch::JobDefinition", "LaunchTemplateData"
_XID = "changes(DCGM_FI_DEV_XID_ERRORS[5m]) > 0"
_LUSTRE_ALARMS = (("Space",), ("Metadata",), ("ImportAge", "ExportAge"), ("Watch0",), ("Watch1",))


def _expression(text: str) -> Change:
    def change(place: Place) -> None:
        place.properties["Data"] = place.at("Data").replace(_XID, text)

    return change


def _scrapes(old: str, new: str) -> Change:
    def change(place: Place) -> None:
        blob = place.at("ScrapeConfiguration")
        text = base64.b64decode(blob["ConfigurationBlob"]).decode()
        blob["ConfigurationBlob"] = base64.b64encode(text.replace(old, new).encode()).decode()

    return change


def _retransmissions(place: Place) -> None:
    needs(str(place.properties.get("MetricName")).startswith("nvidia_smi"))
    place.properties["MetricName"] = place.pick.choice(["efa_retrans_bytes", "efa_impaired_remote_conn_events"])
    place.properties["Dimensions"] = [{"Name": "InstanceType", "Value": "p4d.24xlarge"}]


def _unwatched(place: Place) -> None:
    """Take all alarms away that watch one side of a file system."""
    kinds = next((names for names in _LUSTRE_ALARMS if any(f"{name}" in place.logical_id for name in names)), None)
    needs(kinds and ("Lustre" in place.logical_id or place.logical_id.startswith("Watch")))
    settings = [
        body["Properties"].get("LustreConfiguration", {}) for t in place.templates for body in t["Resources"].values()
    ]
    needs(kinds != ("Metadata",) or any("MetadataConfiguration" in each for each in settings))
    for name, _ in place.others(_ALARM):
        if any(kind in name for kind in kinds or ()):
            del place.template["Resources"][name]


def _no_idle_alarm(place: Place) -> None:
    needs("Idle" in place.logical_id)
    del place.template["Resources"][place.logical_id]


def _unheard(place: Place) -> None:
    needs(place.others(_PODS))
    if place.pick.choice([True, False]):
        del place.template["Resources"][place.logical_id]
    else:
        place.properties["State"] = "DISABLED"


def _gone(place: Place) -> None:
    del place.template["Resources"][place.logical_id]


def _is_s3_gateway(place: Place) -> None:
    needs("RouteTableIds" in place.properties)


def _for_everybody(place: Place) -> None:
    _is_s3_gateway(place)
    statement = {"Effect": "Allow", "Principal": place.pick.choice(["*", {"AWS": "*"}, {"AWS": ["*"]}])}
    place.at("PolicyDocument", "Statement").append({**statement, "Action": ["s3:*"], "Resource": ["*"]})


def _table_left_out(place: Place) -> None:
    _is_s3_gateway(place)
    tables = [table for table in place.at("RouteTableIds") if "Fleet" in str(table)]
    needs(tables)
    place.at("RouteTableIds").remove(place.pick.choice(tables))


def _writes_its_scripts(place: Place) -> None:
    needs(place.others(_PODS))
    what = place.pick.choice(["arn:aws:s3:::sagemaker-train/*", "*", "arn:aws:s3:::sagemaker-*"])
    statement = {"Effect": "Allow", "Action": "s3:Put*", "Resource": what}
    place.at("Policies", 0, "PolicyDocument", "Statement").append(statement)


def _closed_key(place: Place) -> None:
    """Encrypt the volumes of a fleet with a key that only its account's policies open."""
    launch_templates = [body["Properties"][_DATA] for _, body in place.others(_LT)]
    needs(launch_templates)
    account = {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}}
    statement = {"Effect": "Allow", "Principal": account, "Action": "kms:*", "Resource": "*"}
    place.add("VolumeKey", "KMS::Key", EnableKeyRotation=True, KeyPolicy={"Statement": [statement]})
    for data in launch_templates:
        data["BlockDeviceMappings"][0]["Ebs"]["KmsKeyId"] = {"Fn::GetAtt": ["VolumeKey", "Arn"]}


def _secret_parameter(place: Place) -> None:
    default: Any = place.pick.choice([{}, {"Default": "Gk4vQ2mZr8Lw1x"}])
    place.template.setdefault("Parameters", {})["DatabasePassword"] = {"Type": "String", **default}


def _role_for_a_profile(place: Place) -> None:
    roles = [name for name, body in place.others(_ROLE) if "ec2.amazonaws.com" in str(body)]
    needs(roles)
    place.data["IamInstanceProfile"] = {"Arn": {"Fn::GetAtt": [roles[0], "Arn"]}}


def _public_route(place: Place) -> None:
    needs("NatGatewayId" in place.properties)
    gateways = place.others("EC2::InternetGateway")
    needs(gateways)
    del place.properties["NatGatewayId"]
    place.properties["GatewayId"] = {"Ref": gateways[0][0]}


def _open_dashboard(place: Place) -> None:
    needs(not any(word in place.logical_id for word in ("Lustre", "Home", "Endpoints", "Clients")))
    needs(f'"{place.logical_id}"' in str(place.others(_LT)).replace("'", '"'))  # on nodes, which people log in to
    port = place.pick.choice([3000, 9090, 9400])
    rule = {
        "IpProtocol": "tcp",
        "FromPort": port,
        "ToPort": place.pick.choice([port, str(port)]),
        "CidrIp": "0.0.0.0/0",
    }
    place.properties.setdefault("SecurityGroupIngress", []).append(rule)


def _endpoints_closed(place: Place) -> None:
    needs("Endpoints" in place.logical_id)
    place.at("SecurityGroupIngress", 0)["CidrIp"] = "192.168.0.0/24"


def _reservation(**settings: object) -> Change:
    def change(place: Place) -> None:
        kept = {"InstanceType": "m7i.large", "InstancePlatform": "Linux/UNIX", "InstanceCount": 2}
        place.add("Kept", "EC2::CapacityReservation", AvailabilityZone="us-east-1a", **kept, **settings)

    return change


_ENDS = {"EndDateType": "limited", "EndDate": "2030-01-01T00:00:00Z"}
_PLAIN_SECRET = [{"Name": "WANDB_API_KEY", "Value": "5f2b7c9d1e3a4068b7c9d1e3a40685f2b7c9d1e3"}]

WATCHING = (
    Mutation("ALM-005", _ALERTS, _expression("increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[5m]) > 0")),
    Mutation("ALM-006", _ALERTS, _expression("DCGM_FI_DEV_XID_ERRORS > 0")),
    Mutation("ALM-015", _SCRAPER, _scrapes("scrape_timeout: 10s", "scrape_timeout: 1m")),
    Mutation("ALM-015", _SCRAPER, _scrapes("scrape_interval: 30s", "scrape_interval: 5s")),
    Mutation("ALM-007", _ALARM, _retransmissions, frozenset({"ALM-003", "ALM-004", "ALM-011"})),
    Mutation(
        "ALM-008",
        _ALARM,
        each(
            lambda place: needs(place.properties.get("Namespace") == "AWS/FSx"),
            lambda place: place.at("Dimensions").pop(),
        ),
    ),
    Mutation("ALM-009", _ALARM, _unwatched, at="FSx::FileSystem"),
    Mutation("ALM-011", _ALARM, _no_idle_alarm, at="*"),
    Mutation("ALM-013", _RULE, _unheard, at=_PODS),
    Mutation("ALM-018", "SQS::QueuePolicy", _gone, at=_RULE),
    Mutation("IAM-003", _ENDPOINT, each(_is_s3_gateway, drop("PolicyDocument"))),
    Mutation("IAM-003", _ENDPOINT, _for_everybody),
    Mutation("IAM-006", _ROLE, _writes_its_scripts),
    Mutation("IAM-007", _ASG, _closed_key, at="KMS::Key"),
    Mutation("IAM-008", "SNS::Topic", _secret_parameter, at="*"),
    Mutation(
        "IAM-008", _JOB, put("NodeProperties", "NodeRangeProperties", 0, "Container", "Environment", _PLAIN_SECRET)
    ),
    Mutation("IAM-010", _LT, _role_for_a_profile),
    Mutation("NET-001", "EC2::Route", _public_route, at="*"),
    Mutation("NET-004", _ENDPOINT, _table_left_out),
    Mutation("NET-006", _GROUP, _open_dashboard),
    Mutation("NET-014", _GROUP, _endpoints_closed),
    Mutation("CST-011", "Batch::ComputeEnvironment", _reservation(), at="EC2::CapacityReservation"),
    Mutation(
        "CST-011",
        "Batch::ComputeEnvironment",
        _reservation(InstanceMatchCriteria="targeted", **_ENDS),
        at="EC2::CapacityReservation",
    ),
)
