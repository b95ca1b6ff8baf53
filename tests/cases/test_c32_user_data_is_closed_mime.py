"""C32: what merges user data needs MIME multipart with a closing boundary; every launch template has it."""

from __future__ import annotations

import email

import pytest

from support.compute import data_of, home, lustre, p5
from support.templates import user_data

SCRIPT = "#!/bin/bash\necho mine\n"


@pytest.mark.parametrize("script", [None, SCRIPT], ids=["bare", "with-script"])
def test_header_boundary_and_closing_boundary(stack, synth, script) -> None:
    p5(stack, storage=[lustre(stack), home(stack)], user_data=script)
    template = synth(stack)
    text = user_data(template, data_of(template))
    message = email.message_from_string(text)
    boundary = message.get_boundary()
    assert message.get_content_type() == "multipart/mixed"
    assert message["MIME-Version"] == "1.0"
    assert text.splitlines()[-1] == f"--{boundary}--"
    assert text.splitlines()[-2] == ""
    assert message.defects == []


def test_a_plain_script_of_the_user_is_wrapped_and_runs_as_it_is(stack, synth) -> None:
    p5(stack, user_data=SCRIPT)
    template = synth(stack)
    assert "   #!/bin/bash\n   echo mine\n" in user_data(template, data_of(template))
