"""Case C42 as templates that somebody else wrote."""

from __future__ import annotations

from support.nodes import area_ids, fleet_yaml
from support.policy import assert_finds, assert_passes

AGENT = """
Fn::Base64: !Sub |
  #!/bin/bash
  cat > /opt/agent.json <<'EOF'
  {"metrics": {%s
    "metrics_collected": {"nvidia_gpu": {"measurement": ["utilization_gpu"]%s}}}}
  EOF
"""
FLEET_WIDE = """
  Busy:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: CWAgent
      MetricName: %s
      Dimensions: [{Name: AutoScalingGroupName, Value: train}]
      Statistic: Average
      Period: 300
      EvaluationPeriods: 6
      Threshold: 70
      ComparisonOperator: LessThanThreshold
      AlarmActions: ["arn:aws:sns:us-east-1:111122223333:oncall"]
      %s
"""
APPENDED = '"append_dimensions": {"AutoScalingGroupName": "${!aws:AutoScalingGroupName}"}'
USE, MISSING = "nvidia_smi_utilization_gpu", "TreatMissingData: missing"


def test_c42_a_fleet_wide_alarm_on_a_metric_per_gpu():
    wrong = fleet_yaml(AGENT % ("", f", {APPENDED}"), FLEET_WIDE % (USE, MISSING))
    assert_finds("UC-ALM-003", wrong, place="Busy Dimensions: {AutoScalingGroupName}, and the agent publishes")
    assert area_ids("ALM", wrong) == {"UC-ALM-003"}
    rolled_up = f'{APPENDED}, "aggregation_dimensions": [["AutoScalingGroupName"]],'
    right = fleet_yaml(AGENT % (rolled_up, ""), FLEET_WIDE % (USE, MISSING))
    assert area_ids("ALM", right) == set()
    for rule_id in ("UC-ALM-002", "UC-ALM-003", "UC-ALM-004"):
        assert_passes(rule_id, right)


def test_c42_a_metric_that_nobody_sends_and_data_that_nobody_misses():
    rolled_up = f'{APPENDED}, "aggregation_dimensions": [["AutoScalingGroupName"]],'
    misspelt = fleet_yaml(AGENT % (rolled_up, ""), FLEET_WIDE % ("nvidia_smi_gpu_utilization", MISSING))
    assert area_ids("ALM", misspelt) == {"UC-ALM-004"}
    undecided = fleet_yaml(AGENT % (rolled_up, ""), FLEET_WIDE % (USE, "Unit: Percent"))
    assert area_ids("ALM", undecided) == {"UC-ALM-002"}
