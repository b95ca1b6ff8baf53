"""The key of a cluster and who may use it."""

from __future__ import annotations

from support.templates import only, resources
from ultracluster.storage.cluster_key import ClusterKey


def statements(template) -> dict[str, dict]:
    return {each["Sid"]: each for each in only(template, "AWS::KMS::Key")["KeyPolicy"]["Statement"] if "Sid" in each}


def test_the_key_rotates_and_stays(stack, synth) -> None:
    ClusterKey(stack, "Key")
    template = synth(stack)
    assert only(template, "AWS::KMS::Key")["EnableKeyRotation"] is True
    (key,) = resources(template, "AWS::KMS::Key").values()
    assert (key["DeletionPolicy"], key["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_nobody_outside_of_the_account_can_use_it(stack, synth) -> None:
    ClusterKey(stack, "Key")
    for sid, statement in statements(synth(stack)).items():
        if statement["Principal"] == {"AWS": "*"}:
            assert statement["Condition"]["StringEquals"]["kms:CallerAccount"] == "111122223333", sid


def test_services_use_it_through_their_own_door_only(stack, synth) -> None:
    ClusterKey(stack, "Key")
    made = statements(synth(stack))
    doors = {
        sid: str(made[sid]["Condition"]["StringEquals"]["kms:ViaService"])
        for sid in made
        if sid != "EncryptedLogGroups"
    }
    assert "ec2.us-east-1." in doors["EncryptedVolumes"]
    assert "ec2.us-east-1." in doors["GrantsForEncryptedVolumes"]
    assert "s3.us-east-1." in doors["LustreLinks"]
    assert made["GrantsForEncryptedVolumes"]["Action"] == "kms:CreateGrant"
    assert made["GrantsForEncryptedVolumes"]["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}


def test_log_groups_of_the_account_may_use_it(stack, synth) -> None:
    ClusterKey(stack, "Key")
    logs = statements(synth(stack))["EncryptedLogGroups"]
    assert logs["Principal"]["Service"].startswith("logs.")
    assert "log-group:*" in str(logs["Condition"]["ArnLike"])
