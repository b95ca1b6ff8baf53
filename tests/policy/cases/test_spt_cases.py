"""Fault cases C18 to C21 as templates of others: Spot and mixed fleets."""

from __future__ import annotations

from support.fabric import own_ids
from support.policy import assert_finds

GROUP = """
Resources:
  Base: {{Type: AWS::EC2::LaunchTemplate, Properties: {{LaunchTemplateData: {{{base}}}}}}}
  Other: {{Type: AWS::EC2::LaunchTemplate, Properties: {{LaunchTemplateData: {{{other}}}}}}}
  Nodes:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: 0
      MaxSize: 8
      CapacityRebalance: true
      VPCZoneIdentifier: [subnet-0123456789abcdef0]
      MixedInstancesPolicy:
        InstancesDistribution: {{OnDemandPercentageAboveBaseCapacity: 0, SpotAllocationStrategy: {strategy}}}
        LaunchTemplate:
          LaunchTemplateSpecification: {{LaunchTemplateId: !Ref Base, Version: "1"}}
          Overrides:
            - InstanceType: p5.48xlarge
            - InstanceType: p5en.48xlarge
              LaunchTemplateSpecification: {{LaunchTemplateId: !Ref Other, Version: "1"}}
"""


def group(base: str = "", other: str = "", strategy: str = "price-capacity-optimized") -> str:
    return GROUP.format(base=base, other=other, strategy=strategy)


def test_c18_spot_in_the_template_and_in_the_policy():
    spot = "InstanceMarketOptions: {MarketType: spot}"
    assert_finds("UC-SPT-001", group(base=spot), place="Base LaunchTemplateData.InstanceMarketOptions.MarketType")
    assert_finds("UC-SPT-001", group(other=spot), place="Other LaunchTemplateData.InstanceMarketOptions.MarketType")
    assert own_ids(group(base=spot, other=spot)) == {"UC-SPT-001"}
    assert not own_ids(group())


def test_c19_a_number_of_pools_with_the_wrong_strategy():
    pools = group(strategy="price-capacity-optimized, SpotInstancePools: 4")
    assert_finds("UC-SPT-002", pools, place="SpotInstancePools: 4 pools with price-capacity-optimized")
    assert own_ids(pools) == {"UC-SPT-002"}


QUEUE = """
Resources:
  Queue: {{Type: AWS::SQS::Queue, Properties: {{{encryption}}}}}
  Key:
    Type: AWS::KMS::Key
    Properties:
      KeyPolicy:
        Statement:
          - {{Effect: Allow, Principal: {{AWS: 111122223333}}, Action: "kms:*", Resource: "*"}}
          - Effect: Allow
            Principal: {{Service: {service}}}
            Action: ["kms:Decrypt", "kms:GenerateDataKey*"]
            Resource: "*"
  Rule:
    Type: AWS::Events::Rule
    Properties:
      EventPattern: {{source: [aws.ec2], detail-type: [EC2 Spot Instance Interruption Warning]}}
      Targets: [{{Id: queue, Arn: !GetAtt Queue.Arn}}]
"""


def queue(encryption: str, service: str = "events.amazonaws.com") -> str:
    return QUEUE.format(encryption=encryption, service=service)


def test_c20_an_interruption_queue_that_never_receives():
    managed = queue("KmsMasterKeyId: alias/aws/sqs")
    assert_finds("UC-SPT-003", managed, place="Queue KmsMasterKeyId: alias/aws/sqs")
    assert own_ids(managed) == {"UC-SPT-003"}
    assert own_ids(queue("KmsMasterKeyId: !Ref Key", "sns.amazonaws.com")) == {"UC-SPT-003"}
    for right in ("", "SqsManagedSseEnabled: true", "KmsMasterKeyId: !Ref Key"):
        assert not own_ids(queue(right))


def test_c20_an_app_that_hears_one_of_the_two_notices():
    app = (group(), queue("SqsManagedSseEnabled: true"))
    assert_finds("UC-SPT-004", *app, place="nothing in the app hears EC2 Instance Rebalance", is_app=True)
    assert own_ids(*app, is_app=True) == {"UC-SPT-004"}


def test_c21_an_override_without_the_bootstrap():
    script = 'UserData: !Base64 "#!/bin/bash"'
    missing = group(base=script)
    assert_finds("UC-SPT-006", missing, place="Overrides[1].LaunchTemplateSpecification: launch template Other")
    assert own_ids(missing) == {"UC-SPT-006"}
    assert not own_ids(group(base=script, other=script))
