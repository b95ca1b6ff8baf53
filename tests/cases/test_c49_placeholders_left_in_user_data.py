"""C49: user data is joined, not substituted: values arrive, shell variables survive, nothing is left to be replaced."""

from __future__ import annotations

import re
from typing import Any

import aws_cdk as cdk

from support.bootstrap import written_files
from support.compute import FakeStorage, data_of, lustre, p5
from support.templates import user_data
from ultracluster.storage.contract import Mount

SCRIPT = '#!/bin/bash\nfor file in "${HOME}"/*; do echo "${file}" "$(date)" "${AWS::Region}"; done\n'


def functions(value: Any) -> set[str]:
    """Names of all intrinsic functions in a value."""
    if isinstance(value, dict):
        return {key for key in value if key.startswith("Fn::")} | set().union(*map(functions, value.values()), set())
    return set().union(*map(functions, value), set()) if isinstance(value, list) else set()


def late_storage(stack: cdk.Stack) -> FakeStorage:
    """Storage whose DNS name only the deployment knows."""
    given = lustre(stack)
    name = cdk.CfnParameter(stack, "DnsName").value_as_string
    slots = {**given.mount.slots, "dns_name": name}
    return FakeStorage(Mount(kind="lustre", mount_path="/fsx", slots=slots), given.client_security_group)


def test_base64_over_join_and_nothing_is_substituted(stack, synth) -> None:
    p5(stack, storage=[late_storage(stack)], user_data=SCRIPT)
    data = data_of(synth(stack))["UserData"]
    assert list(data) == ["Fn::Base64"]
    assert functions(data) <= {"Fn::Base64", "Fn::Join", "Fn::FindInMap"}


def test_values_arrive_and_shell_variables_survive(stack, synth) -> None:
    p5(stack, storage=[late_storage(stack)], user_data=SCRIPT)
    template = synth(stack)
    known = {"DnsName": "fs-9.fsx.us-east-1.amazonaws.com"}
    files = written_files(user_data(template, data_of(template), known))
    assert "fs-9.fsx.us-east-1.amazonaws.com@tcp:/abcdef" in files["/etc/ultracluster/node.json"]
    assert files["/opt/ultracluster/user-script"] == SCRIPT


def test_no_placeholder_names_a_value_of_the_template(stack, synth) -> None:
    p5(stack, storage=[late_storage(stack)])
    template = synth(stack)
    text = user_data(template, data_of(template), {"DnsName": "fs-9"})
    named = set(re.findall(r"\$\{([A-Za-z0-9:]+)\}", text))
    values = {*template["Resources"], *template.get("Parameters", {}), "AWS::Region", "AWS::StackName"}
    assert not named & values
    assert "Token[" not in text
