"""The document: MIME as cloud-init reads it, files as they were meant, never over the limit of EC2."""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
from itertools import product
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bootstrap import (
    HOME,
    LUSTRE,
    LUSTRE_EFA,
    PROGRAM,
    SLOTS,
    SUBJECT,
    cloud_config,
    files_of,
    part_text,
    parts_of,
    planned,
    request,
    written_files,
)
from ultracluster.facts.instances import catalog
from ultracluster.findings import FindingsError
from ultracluster.node import bootstrap
from ultracluster.plan.bare_source import bare_source
from ultracluster.plan.node_program import INSTALLED_AT
from ultracluster.plan.user_data import LIMIT_BYTES, MARKER, Shared, Slot, Text, check_user_data, plan_user_data

# The part of cloud-init's own rules that the document uses.
CLOUD_CONFIG = {
    "type": "object",
    "additionalProperties": False,
    "required": ["write_files"],
    "properties": {
        "write_files": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["path", "content"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "pattern": "^/[A-Za-z0-9_./-]+$"},
                    "content": {"type": "string", "minLength": 1},
                    "encoding": {"const": "b64"},
                    "permissions": {"const": "0755"},
                },
            },
        }
    },
}
MOUNTS = ((), (LUSTRE,), (LUSTRE_EFA, HOME), (HOME, LUSTRE))
SHEBANGS = st.sampled_from(["#!/bin/bash", "#!/usr/bin/env python3", "#! /bin/sh -eu"])


@pytest.mark.parametrize("name", sorted(catalog()))
@pytest.mark.parametrize("mounts", MOUNTS, ids=["none", "lustre", "lustre-efa+home", "home+lustre"])
def test_every_type_gets_a_valid_document_below_the_limit(name, mounts):
    for spot in (False, True):
        plan = planned(name, mounts=mounts, spot=spot)
        document = plan.text(SLOTS)
        assert document.splitlines()[0] == f'Content-Type: multipart/mixed; boundary="{MARKER}"'
        assert document.endswith(f"\n\n--{MARKER}--\n")
        assert len(document.encode()) <= plan.size_upper_bound_bytes <= LIMIT_BYTES
        assert [part.get_content_type() for part in parts_of(document)] == ["text/cloud-config", "text/x-shellscript"]
        assert part_text(parts_of(document)[1]).startswith("#!/bin/bash\n")
        jsonschema.validate(cloud_config(document), CLOUD_CONFIG)


def test_the_first_line_stands_in_the_own_text_of_every_launch_template():
    first = planned(mounts=(LUSTRE,)).parts[0]
    assert isinstance(first, Text)
    assert MARKER in first.text.splitlines()[0]


def test_slots_are_those_of_the_mounts_in_their_order():
    plan = planned(mounts=(LUSTRE, HOME))
    assert plan.slot_names == (
        "lustre_0_dns_name",
        "lustre_0_mount_name",
        "efs_1_file_system_id",
        "efs_1_access_point_id",
        "program",
    )


def test_a_document_without_a_value_for_a_slot_is_refused():
    with pytest.raises(KeyError, match="lustre_0_dns_name"):
        planned(mounts=(LUSTRE,)).text({})


def test_one_key_means_one_text_over_all_kinds_of_fleets():
    texts: dict[str, str] = {}
    for name, mounts, spot in product(
        ("p5.48xlarge", "p4d.24xlarge", "trn1.32xlarge", "inf2.xlarge"), MOUNTS, (False, True)
    ):
        for namespace in ("UltraCluster", "Other"):
            changes = {"auto_scaling_group_name": f"g-{name}", "metrics_namespace": namespace}
            for part in planned(name, mounts=mounts, spot=spot, **changes).parts:
                if isinstance(part, Shared):
                    assert re.fullmatch(r"[A-Za-z0-9]+", part.key)
                    assert texts.setdefault(part.key, part.text) == part.text


def test_fleets_of_one_kind_share_all_but_half_a_kilobyte():
    plans = [
        planned(
            mounts=(LUSTRE, HOME), auto_scaling_group_name=f"demo-{name}", log_group_name=f"/ultracluster/demo-{name}"
        )
        for name in ("alpha", "beta")
    ]
    keys = [[part.key for part in plan.parts if isinstance(part, Shared)] for plan in plans]
    own = [sum(len(part.text) for part in plan.parts if isinstance(part, Text)) for plan in plans]
    assert keys[0] == keys[1]
    assert max(own) <= 512


@given(
    lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\x85\u2028\u2029")), max_size=30),
    first=SHEBANGS,
)
def test_the_user_script_arrives_as_it_was_written(lines, first):
    script = "\n".join([first, *lines])
    found = files_of(user_script=script)["/opt/ultracluster/user-script"]
    assert found == script.rstrip("\n") + "\n"


def test_a_script_that_holds_the_boundary_moves_the_boundary():
    script = f"#!/bin/bash\ncat <<END\n--{MARKER}\n--{MARKER}--\nEND\n"
    document = planned(user_script=script).text(SLOTS)
    assert written_files(document)["/opt/ultracluster/user-script"] == script
    assert MARKER in document.splitlines()[0]


def test_everything_is_plain_text_but_scripts_that_would_not_survive():
    def encoded(script):
        document = planned(mounts=(LUSTRE,), user_script=script).text(SLOTS)
        return [entry["path"] for entry in cloud_config(document)["write_files"] if "encoding" in entry]

    assert encoded("#!/bin/bash\ntrue\n") == []
    assert encoded("#!/bin/bash\necho ü\n") == ["/opt/ultracluster/user-script"]


def test_scripts_of_six_kilobytes_fit_beside_two_mounts():
    script = "#!/bin/bash\n" + "echo 0123456789\n" * 384
    assert len(script) > 6000
    assert files_of(mounts=(LUSTRE_EFA, HOME), user_script=script)["/opt/ultracluster/user-script"] == script


def test_the_user_script_may_be_run():
    document = planned(user_script="#!/bin/bash\n").text(SLOTS)
    rights = {entry["path"]: entry.get("permissions") for entry in cloud_config(document)["write_files"]}
    assert rights.pop("/opt/ultracluster/user-script") == "0755"
    assert set(rights.values()) == {None}


def test_the_shell_part_fetches_the_programs_and_starts_them():
    part = part_text(parts_of(planned().text(SLOTS))[1])
    assert part.split() == [
        *("#!/bin/bash", "python3", "/opt/ultracluster/bootstrap.py", *PROGRAM.split(), INSTALLED_AT),
        *("&&", "exec", INSTALLED_AT, "boot", "--first"),
    ]
    done = subprocess.run(["shellcheck", "-"], input=part, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_what_fetches_the_programs_is_the_tested_module_without_comments():
    written = files_of()["/opt/ultracluster/bootstrap.py"]
    assert written == bare_source(Path(bootstrap.__file__).read_text(encoding="utf-8"))
    assert ast.parse(written, feature_version=(3, 9))
    assert "#" not in written.replace("#!", "")


def test_the_document_is_the_same_every_time():
    script = "#!/bin/bash\n" + "echo 0123456789\n" * 300
    assert planned(user_script=script).parts == planned(user_script=script).parts


def test_a_document_over_the_limit_names_its_largest_parts():
    noise = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=40_000))
    with pytest.raises(FindingsError) as caught:
        planned(user_script=f"#!/bin/bash\n: '{noise}'\n")
    (found,) = caught.value.findings
    assert found.rule_id == "UC-TPL-003"
    assert found.subject == f"{SUBJECT}.user_data"
    assert "EC2 takes 16384" in found.message
    assert "/opt/ultracluster/user-script 40" in found.message
    assert "/opt/ultracluster/bootstrap.py" in found.message


@pytest.mark.parametrize(
    ("changes", "rule_id", "where", "said"),
    [
        ({"user_script": "echo hello"}, "UC-NOD-021", "user_data", "'echo hello'"),
        ({"user_script": ""}, "UC-NOD-021", "user_data", "''"),
        ({"user_script": "#!bash\n"}, "UC-NOD-021", "user_data", "#!bash"),
        ({"user_script": "#!/bin/bash\r\necho\r\n"}, "UC-NOD-021", "user_data", "carriage return"),
        ({"user_script": "#!/bin/sh\n\x00"}, "UC-NOD-021", "user_data", "zero byte"),
        ({"user_script": "#!/bin/sh\n# ü ${Token[TOKEN.7]}"}, "UC-NOD-021", "user_data", "ASCII"),
        (
            {"os": "al2023", "user_script": "#!/bin/sh\namazon-linux-extras install lustre"},
            "UC-NOD-007",
            "user_data",
            "dnf",
        ),
        ({"user_script": "#!/bin/sh\nexport NCCL_NET_GDR_LEVEL=LOC"}, "UC-NOD-001", "user_data", "GPUDirect"),
        ({"user_script": "#!/bin/sh\nexport RDMAV_FORK_SAFE=1"}, "UC-NOD-001", "user_data", "kernels"),
        ({"auto_scaling_group_name": "it's"}, "UC-NOD-023", "auto_scaling_group_name", '"it\'s"'),
        ({"log_group_name": "a b"}, "UC-NOD-023", "log_group_name", "'a b'"),
        ({"metrics_namespace": 'a"b'}, "UC-NOD-023", "metrics_namespace", "settings"),
        ({"terminate_hook_name": "a b"}, "UC-NOD-023", "terminate_hook_name", "settings"),
        ({"node_types": ()}, "UC-NOD-023", "node_types", "no instance type"),
    ],
)
def test_what_cannot_work_is_said_before_a_node_boots(changes, rule_id, where, said):
    with pytest.raises(FindingsError) as caught:
        plan_user_data(request(**changes), subject=SUBJECT)
    (found,) = caught.value.findings
    assert (found.rule_id, found.subject) == (rule_id, f"{SUBJECT}.{where}")
    assert said in str(found)


@pytest.mark.parametrize("path", ["fsx", "/", "/a b", "/a/../b", "//x", "/etc", "/fsx/", ""])
def test_a_mount_path_that_fstab_or_the_system_cannot_take(path):
    mount = type(LUSTRE)(kind="lustre", mount_path=path)
    found = check_user_data(request(mounts=(mount,)), subject=SUBJECT)
    assert [(one.rule_id, one.subject) for one in found] == [("UC-NOD-022", f"{SUBJECT}.mounts[0]")]


def test_all_faults_are_reported_together():
    twice = (LUSTRE, LUSTRE)
    found = check_user_data(request(mounts=twice, user_script="x", log_group_name="'"), subject=SUBJECT)
    assert sorted(one.rule_id for one in found) == ["UC-NOD-021", "UC-NOD-022", "UC-NOD-022", "UC-NOD-023"]


def test_superseded_variables_and_efs_on_ubuntu_are_warnings():
    script = "#!/bin/bash\nexport NCCL_TUNER_PLUGIN=/opt/x.so\n"
    plan = plan_user_data(request(mounts=(HOME,), os="ubuntu-24.04", user_script=script), subject=SUBJECT)
    assert sorted(one.rule_id for one in plan.warnings) == ["UC-NOD-002", "UC-NOD-024"]


def test_values_of_the_deployment_survive_in_an_ascii_script():
    script = "#!/bin/bash\naws s3 cp s3://${Token[TOKEN.42]}/x .\n"
    plan = planned(user_script=script)
    assert any(isinstance(part, Text) and "${Token[TOKEN.42]}" in part.text for part in plan.parts)


def test_no_slot_and_no_placeholder_is_left_over():
    for plan in (planned(mounts=(LUSTRE, HOME)), planned("trn1.32xlarge", mounts=(LUSTRE,))):
        assert all(isinstance(part, Text | Shared | Slot) for part in plan.parts)
        files = written_files(plan.text(SLOTS))
        assert "of-the-fleet" not in "".join(files.values())
        assert "{{" not in files["/etc/ultracluster/node.json"]
        for path in ("/opt/ultracluster/agent.json", "/etc/ultracluster/node.json"):
            json.loads(files[path])
