"""Forms of text: examples have their own form, edges are on the right side, and no text takes long to judge."""

from __future__ import annotations

import re
import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ultracluster.spec import forms

FORMS = {
    name: form for name in forms.__all__ for form in get_args(getattr(forms, name)) if isinstance(form, forms.Form)
}


def accepts(name, value):
    try:
        TypeAdapter(getattr(forms, name)).validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_example_of_a_form_has_that_form(name):
    assert accepts(name, FORMS[name].example)


@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_json_schema_holds_the_same_pattern(name):
    schema = TypeAdapter(getattr(forms, name)).json_schema()
    assert re.search(schema["pattern"], FORMS[name].example)
    assert schema["examples"] == [FORMS[name].example]


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("Name", "a", True),
        ("Name", "a" * 32, True),
        ("Name", "a" * 33, False),
        ("Name", "a-b-c1", True),
        ("Name", "a--b", False),
        ("Name", "a-", False),
        ("Name", "1a", False),
        ("Name", "a\n", False),
        ("Region", "us-gov-west-1", True),
        ("Region", "eusc-de-east-1", True),
        ("Region", "us-east-1a", False),
        ("Zone", "us-west-2-lax-1a", True),
        ("Zone", "us-east-1", False),
        ("Zone", "dummy1a", False),
        ("BucketName", "abc", True),
        ("BucketName", "ab", False),
        ("BucketName", "a..b", False),
        ("BucketName", "a-.b", False),
        ("BucketName", "A-b", False),
        ("BucketName", "x" * 63, True),
        ("BucketName", "x" * 64, False),
        ("BucketReference", "s3://my-data/a/b", True),
        ("BucketReference", "s3://My", False),
        ("BucketReference", "https://my-data", False),
        ("MountPath", "/a/b-c_d.e", True),
        ("MountPath", "/", False),
        ("MountPath", "/a/", False),
        ("MountPath", "/a/../b", False),
        ("MountPath", "/a b", False),
        ("Prefix", "", True),
        ("Prefix", "a/b/", True),
        ("Prefix", "/a", False),
        ("TagKey", "Aws:x", False),
        ("TagKey", "awsome", True),
        ("TagValue", "", True),
        ("ReservationId", "cr-0a1b2c3d4e5f6071", False),
        ("Email", "a@b", False),
        ("Email", "a.b+c@d-e.example.com", True),
        ("Namespace", "AWS/EC2", False),
        ("TypeName", "u-6tb1.56xlarge", True),
    ],
)
def test_edges(name, value, right):
    assert accepts(name, value) is right


@given(st.sampled_from(sorted(FORMS)), st.text(max_size=40))
def test_any_text_is_accepted_or_refused(name, value):
    assert accepts(name, value) in (True, False)


@pytest.mark.parametrize("name", sorted(FORMS))
def test_long_texts_are_judged_at_once(name):
    begin = time.perf_counter()
    for unit in ("a", "-a", "a-", "/a", ".", "a.", "1", " ", "a@", "\n"):
        accepts(name, FORMS[name].example + unit * 50_000 + "!")
    assert time.perf_counter() - begin < 5
