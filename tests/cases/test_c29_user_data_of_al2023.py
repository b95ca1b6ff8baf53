"""C29 on the node: AL2023 user data uses what AL2023 has, and the mount needs no tool of its predecessor."""

from __future__ import annotations

import pytest

from support.bootstrap import HOME, LUSTRE, SUBJECT, planned, request, written_files
from support.compute import data_of, lustre, p5
from support.templates import user_data
from ultracluster.findings import FindingsError
from ultracluster.plan.images import Al2023, Dlami
from ultracluster.plan.node_program import node_program
from ultracluster.plan.user_data import plan_user_data


@pytest.mark.parametrize("image", [Al2023(), Dlami(os="al2023"), Dlami(os="ubuntu-24.04")], ids=str)
def test_the_launch_template_calls_no_extras(stack, synth, image) -> None:
    p5(stack, image=image, storage=[lustre(stack)])
    template = synth(stack)
    files = written_files(user_data(template, data_of(template)))
    programs = node_program().data.decode(errors="replace")
    assert "lustre-client" in programs
    for text in (*files.values(), programs):
        assert "amazon-linux-extras" not in text
        assert "yum" not in text


def test_the_user_s_own_script_is_read_for_it_too() -> None:
    script = "#!/bin/bash\namazon-linux-extras install -y lustre\n"
    with pytest.raises(FindingsError, match=r"amazon-linux-extras, which Amazon Linux 2023 does not have.*UC-NOD-007"):
        plan_user_data(request(os="al2023", user_script=script, mounts=(LUSTRE, HOME)), subject=SUBJECT)
    assert planned(os="ubuntu-24.04", user_script=script).warnings == ()
