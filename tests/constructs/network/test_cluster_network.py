"""ClusterNetwork: what stands in the template, and what stays when the network grows."""

from __future__ import annotations

from collections import Counter
from ipaddress import ip_network

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from support.linting import lint_errors
from support.templates import all_properties, only, references, resource_types, resources
from ultracluster.facts.endpoints import default_endpoints
from ultracluster.findings import FindingsError
from ultracluster.network.cluster_network import ClusterNetwork

ZONES = ["us-east-1a", "us-east-1b"]


@pytest.fixture
def network(stack):
    return ClusterNetwork(stack, "Network", availability_zones=ZONES)


def test_each_zone_has_a_fleet_a_storage_and_a_public_subnet_without_public_addresses(network, stack, synth):
    subnets = all_properties(synth(stack), "AWS::EC2::Subnet")
    assert Counter(subnet["AvailabilityZone"] for subnet in subnets) == {"us-east-1a": 3, "us-east-1b": 3}
    assert all(subnet["MapPublicIpOnLaunch"] is False for subnet in subnets)


def test_blocks_lie_in_the_vpc_and_do_not_overlap(network, stack, synth):
    template = synth(stack)
    vpc = ip_network(only(template, "AWS::EC2::VPC")["CidrBlock"])
    blocks = [ip_network(subnet["CidrBlock"]) for subnet in all_properties(template, "AWS::EC2::Subnet")]
    assert all(block.subnet_of(vpc) for block in blocks)
    assert not any(one.overlaps(other) for one in blocks for other in blocks if one is not other)


def test_names_resolve_inside_the_vpc(network, stack, synth):
    vpc = only(synth(stack), "AWS::EC2::VPC")
    assert vpc["EnableDnsSupport"] is True
    assert vpc["EnableDnsHostnames"] is True


def test_zones_without_a_nat_gateway_share_that_of_the_first_zone(network, stack, synth):
    template = synth(stack)
    (gateway,) = resources(template, "AWS::EC2::NatGateway")
    routes = [route for route in all_properties(template, "AWS::EC2::Route") if "NatGatewayId" in route]
    assert [references(route["NatGatewayId"]) for route in routes] == [{gateway}, {gateway}]
    assert len({str(route["RouteTableId"]) for route in routes}) == 2


def test_each_zone_may_have_its_own_nat_gateway(stack, synth):
    ClusterNetwork(stack, "Network", availability_zones=ZONES, nat_gateways=2)
    template = synth(stack)
    routes = [route for route in all_properties(template, "AWS::EC2::Route") if "NatGatewayId" in route]
    assert {name for route in routes for name in references(route["NatGatewayId"])} == set(
        resources(template, "AWS::EC2::NatGateway")
    )


def test_the_nat_gateway_waits_for_the_way_to_the_internet(network, stack, synth):
    template = synth(stack)
    (gateway,) = resources(template, "AWS::EC2::NatGateway").values()
    (route,) = gateway["DependsOn"]
    assert template["Resources"][route]["Properties"]["GatewayId"]
    assert template["Resources"][route]["DependsOn"]


def test_without_nat_nothing_is_public(stack, synth):
    ClusterNetwork(stack, "Network", availability_zones=ZONES, nat_gateways=0)
    types = resource_types(synth(stack))
    assert types["AWS::EC2::Subnet"] == 4
    assert not {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::Route"} & set(types)


def test_every_private_route_table_leads_to_s3(network, stack, synth):
    template = synth(stack)
    (endpoint,) = [
        found for found in all_properties(template, "AWS::EC2::VPCEndpoint") if found["VpcEndpointType"] == "Gateway"
    ]
    public = {
        name
        for route in all_properties(template, "AWS::EC2::Route")
        if "GatewayId" in route
        for name in references(route["RouteTableId"])
    }
    assert {name for table in endpoint["RouteTableIds"] for name in references(table)} == set(
        resources(template, "AWS::EC2::RouteTable")
    ) - public


def test_writing_through_the_s3_endpoint_needs_a_principal_of_the_account(network, stack, synth):
    (policy,) = [
        found["PolicyDocument"]
        for found in all_properties(synth(stack), "AWS::EC2::VPCEndpoint")
        if found["VpcEndpointType"] == "Gateway"
    ]
    unconditional = [statement for statement in policy["Statement"] if "Condition" not in statement]
    assert [action for statement in unconditional for action in statement["Action"] if "Put" in action] == []
    assert all(action.startswith(("s3:Get", "s3:List")) for found in unconditional for action in found["Action"])
    (own,) = [statement for statement in policy["Statement"] if "Condition" in statement]
    assert own["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "111122223333"}}


def test_nodes_reach_the_services_that_they_call_by_their_usual_names(network, stack, synth):
    template = synth(stack)
    endpoints = [
        found for found in all_properties(template, "AWS::EC2::VPCEndpoint") if found["VpcEndpointType"] == "Interface"
    ]
    names = {endpoint["ServiceName"].rpartition(".")[2] for endpoint in endpoints}
    assert names == set(default_endpoints()) == set(network.endpoints.interfaces)
    assert {"ssm", "ssmmessages", "logs", "monitoring", "ec2", "autoscaling"} <= names
    assert all(endpoint["PrivateDnsEnabled"] is True and len(endpoint["SubnetIds"]) == 2 for endpoint in endpoints)


def test_endpoints_take_https_from_the_vpc_alone(network, stack, synth):
    assert only(synth(stack), "AWS::EC2::SecurityGroup")["SecurityGroupIngress"] == [
        {
            "CidrIp": "10.0.0.0/16",
            "Description": "HTTPS from the VPC",
            "FromPort": 443,
            "IpProtocol": "tcp",
            "ToPort": 443,
        }
    ]


@pytest.mark.parametrize(("asked", "count"), [([], 0), (["ecr.api", "ecr.dkr"], 2)])
def test_interface_endpoints_can_be_chosen(stack, synth, asked, count):
    network = ClusterNetwork(stack, "Network", availability_zones=ZONES, interface_endpoints=asked)
    endpoints = all_properties(synth(stack), "AWS::EC2::VPCEndpoint")
    assert len(endpoints) == 1 + count
    assert (network.endpoint_security_group is None) == (count == 0)


def test_a_local_zone_gets_subnets_and_no_interface_endpoint(stack, synth):
    zones = ["us-east-1a", "us-east-1-dfw-2a"]
    network = ClusterNetwork(stack, "Network", availability_zones=zones)
    template = synth(stack)
    local = network.zones["us-east-1-dfw-2a"]
    assert local.fleet_subnet.availability_zone == "us-east-1-dfw-2a"
    endpoints = [
        found for found in all_properties(template, "AWS::EC2::VPCEndpoint") if found["VpcEndpointType"] == "Interface"
    ]
    assert all(len(endpoint["SubnetIds"]) == 1 for endpoint in endpoints)


def test_the_nat_address_of_a_local_zone_comes_from_its_group(stack, synth):
    ClusterNetwork(stack, "Network", availability_zones=["us-east-1-dfw-2a", "us-east-1a"], nat_gateways=2)
    addresses = all_properties(synth(stack), "AWS::EC2::EIP")
    assert [address.get("NetworkBorderGroup") for address in addresses] == ["us-east-1-dfw-2", None]


def test_flows_are_logged_for_a_while_by_a_role_that_can_do_nothing_else(network, stack, synth):
    template = synth(stack)
    (log_group,) = resources(template, "AWS::Logs::LogGroup")
    assert template["Resources"][log_group]["Properties"]["RetentionInDays"] == 30
    assert only(template, "AWS::EC2::FlowLog")["TrafficType"] == "ALL"
    role = only(template, "AWS::IAM::Role")
    (statement,) = role["Policies"][0]["PolicyDocument"]["Statement"]
    assert references(statement["Resource"]) == {log_group}
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]


def test_flow_logs_can_be_left_out(stack, synth):
    ClusterNetwork(stack, "Network", availability_zones=ZONES, flow_logs=False)
    assert not {"AWS::EC2::FlowLog", "AWS::Logs::LogGroup", "AWS::IAM::Role"} & set(resource_types(synth(stack)))


def _resources_of(make_app, synth, **arguments):
    stack = cdk.Stack(make_app(), "Test", env=cdk.Environment(account="111122223333", region="us-east-1"))
    ClusterNetwork(stack, "Network", **arguments)
    return synth(stack)["Resources"]


@pytest.mark.parametrize(
    "growth",
    [
        {"availability_zones": ["us-east-1a", "us-east-1b"]},
        {"addresses_by_zone": {"us-east-1a": 2000}},
        {"interface_endpoints": [*default_endpoints(), "sts"]},
    ],
    ids=["zone", "fleet", "endpoint"],
)
def test_growing_replaces_nothing(make_app, synth, growth):
    """Subnets and gateways that stand keep their ids and every property that cannot be changed in place."""
    small = {"availability_zones": ["us-east-1a"]}
    before, after = _resources_of(make_app, synth, **small), _resources_of(make_app, synth, **{**small, **growth})
    assert before.keys() <= after.keys()
    changed = {body["Type"] for key, body in before.items() if after[key] != body}
    assert changed <= {"AWS::EC2::VPCEndpoint"}  # route tables and subnets of an endpoint are updated in place
    for key, body in before.items():
        if body["Type"] == "AWS::EC2::VPCEndpoint":
            one, other = body["Properties"], after[key]["Properties"]
            assert (one["ServiceName"], one["VpcEndpointType"]) == (other["ServiceName"], other["VpcEndpointType"])


def test_other_constructs_see_a_vpc(network, stack, synth):
    """Fleet subnets are private, storage subnets isolated, each with its route table: no warning, no placeholder."""
    assert [subnet.availability_zone for subnet in network.vpc.private_subnets] == ZONES
    assert [subnet.availability_zone for subnet in network.vpc.isolated_subnets] == ZONES
    assert len(network.vpc.public_subnets) == 2
    assert network.vpc.private_subnets[0].route_table.route_table_id
    ec2.SecurityGroup(stack, "Group", vpc=network.vpc)
    assert resource_types(synth(stack))["AWS::EC2::SecurityGroup"] == 2


def test_subnets_are_found_by_zone(network):
    assert network.fleet_subnet("us-east-1b").subnet_id != network.storage_subnet("us-east-1b").subnet_id
    assert [subnet.availability_zone for subnet in network.fleet_subnets()] == ZONES
    assert [subnet.availability_zone for subnet in network.fleet_subnets(["us-east-1b"])] == ["us-east-1b"]


@pytest.mark.parametrize("ask", ["fleet_subnet", "storage_subnet"])
def test_a_zone_that_the_network_lacks_is_named_with_those_it_has(network, ask):
    with pytest.raises(FindingsError, match=r"no subnet in zone us-east-1c.*us-east-1a, us-east-1b.*UC-API-001"):
        getattr(network, ask)("us-east-1c")


def test_all_faults_of_a_network_come_at_once(stack):
    with pytest.raises(FindingsError) as error:
        ClusterNetwork(
            stack,
            "Network",
            availability_zones=["eu-west-1a"],
            cidr="10.0.0.0/12",
            nat_gateways=3,
            flow_log_retention_days=91,
        )
    subjects = {found.subject for found in error.value.findings}
    assert len(error.value.findings) >= 4
    assert "nearest are 90 and 120" in str(error.value)
    assert all(subject.startswith("Test/Network") for subject in subjects)


def test_an_existing_vpc_is_used_as_it_is(stack, synth):
    vpc = ec2.Vpc(stack, "Vpc", availability_zones=ZONES, nat_gateways=0)
    before = resource_types(synth(stack))
    network = ClusterNetwork.from_existing(
        stack,
        "Network",
        vpc=vpc,
        fleet_subnets=dict(zip(ZONES, vpc.isolated_subnets or vpc.private_subnets, strict=True)),
    )
    assert network.availability_zones == tuple(ZONES)
    assert network.storage_subnet("us-east-1a").subnet_id == network.fleet_subnet("us-east-1a").subnet_id
    assert network.endpoint_security_group is None
    assert network.outbound_routes(ZONES) == ()
    assert resource_types(synth(stack)) == before


def test_an_existing_vpc_needs_fleet_subnets(stack):
    vpc = ec2.Vpc(stack, "Vpc", availability_zones=ZONES)
    with pytest.raises(FindingsError, match=r"Test/Network\.fleet_subnets: no subnet.*UC-API-001"):
        ClusterNetwork.from_existing(stack, "Network", vpc=vpc, fleet_subnets={})
    with pytest.raises(FindingsError, match=r"without a fleet subnet: us-east-1b"):
        ClusterNetwork.from_existing(
            stack,
            "Other",
            vpc=vpc,
            fleet_subnets={"us-east-1a": vpc.private_subnets[0]},
            storage_subnets={"us-east-1b": vpc.private_subnets[1]},
        )


def test_the_template_passes_the_registry_schemas(network, stack, synth):
    assert lint_errors(synth(stack)) == []


def test_a_network_that_holds_retained_storage_leaves_vpc_and_storage_subnets(stack, synth):
    keep = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
    ClusterNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"], removal_policy=keep)
    kept = {
        body["Properties"]["CidrBlock"]: body["DeletionPolicy"]
        for body in synth(stack)["Resources"].values()
        if "DeletionPolicy" in body and "CidrBlock" in body["Properties"]
    }
    assert kept == {
        "10.0.0.0/16": "RetainExceptOnCreate",
        "10.0.16.0/21": "RetainExceptOnCreate",
        "10.0.48.0/21": "RetainExceptOnCreate",
    }
