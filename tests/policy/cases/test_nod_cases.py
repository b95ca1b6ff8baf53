"""Cases C29, C32, C35 and C49 as templates that somebody else wrote."""

from __future__ import annotations

from support.nodes import area_ids, fleet_yaml
from support.policy import assert_finds, assert_passes


def test_c29_user_data_of_amazon_linux_2023_calls_extras():
    wrong = fleet_yaml("Fn::Base64: |\n  #!/bin/bash\n  amazon-linux-extras install -y lustre\n")
    assert_finds("UC-NOD-007", wrong, place="Lt LaunchTemplateData.UserData")
    assert area_ids("NOD", wrong) == {"UC-NOD-007"}
    assert_passes("UC-NOD-007", fleet_yaml("Fn::Base64: |\n  #!/bin/bash\n  dnf install -y lustre-client\n"))


MIME = """
Fn::Base64: |
  MIME-Version: 1.0
  Content-Type: multipart/mixed; boundary="==X=="

  --==X==
  Content-Type: text/x-shellscript; charset="us-ascii"

  #!/bin/bash
  systemctl start docker

  --==X==%s
"""
ENVIRONMENT = """
  Nodes:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources:
        Type: EC2
        LaunchTemplate: {LaunchTemplateId: !Ref Lt, Version: !GetAtt Lt.LatestVersionNumber}
"""


def test_c32_user_data_for_batch_is_left_open():
    wrong = fleet_yaml(MIME % "", ENVIRONMENT)
    assert_finds("UC-NOD-020", wrong, place="it ends with '--==X==', not with --==X==--")
    assert_passes("UC-NOD-020", fleet_yaml(MIME % "--", ENVIRONMENT))


def test_c35_locked_memory_that_is_too_small():
    wrong = fleet_yaml("Fn::Base64: |\n  #!/bin/bash\n  echo '* hard memlock 65536' >> /etc/security/limits.conf\n")
    assert_finds("UC-NOD-003", wrong, place="'hard memlock 65536' locks 64 MiB, EFA needs 16 GiB at least")
    assert area_ids("NOD", wrong) == {"UC-NOD-003"}
    right = fleet_yaml("Fn::Base64: |\n  #!/bin/bash\n  echo '* hard memlock unlimited' >> /etc/security/limits.conf\n")
    assert_passes("UC-NOD-003", right)


def test_c49_placeholders_that_nothing_replaces():
    script = "#!/bin/bash\n  export HOME_DIR=/home\n  register --cluster ${ClusterId} --in ${AWS::Region} ${HOME_DIR}\n"
    wrong = fleet_yaml(f"Fn::Base64: |\n  {script}")
    assert_finds("UC-NOD-006", wrong, place="${ClusterId} is left as it stands")
    assert area_ids("NOD", wrong) == {"UC-NOD-006"}
    right = fleet_yaml(f"Fn::Base64: !Sub |\n  {script}".replace("${HOME_DIR}", "${!HOME_DIR}"))
    assert_passes("UC-NOD-006", right)
