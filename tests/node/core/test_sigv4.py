"""Signatures are those of botocore, whatever is signed."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from hypothesis import given
from hypothesis import strategies as st

from support.aws_endpoint import expected_signature
from support.imds_server import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN
from ultracluster.node.sigv4 import sign

CREDENTIALS = {"AccessKeyId": ACCESS_KEY, "SecretAccessKey": SECRET_KEY, "Token": SESSION_TOKEN}
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1).filter(
    lambda key: not {".", ".."} & set(key.split("/")) and "//" not in f"/{key}"
)
PLAIN = st.text("abcXYZ019-_.~ /:+&=%*äß漢", max_size=20)
TIMES = st.integers(0, 4 * 10**9)
REGIONS = st.sampled_from(["us-west-2", "eu-north-1", "cn-north-1"])


def check(method: str, url: str, headers: dict[str, str], body: bytes, **scope) -> None:
    signed = sign(method, url, headers, body, credentials=CREDENTIALS, **scope)
    assert signed["X-Amz-Security-Token"] == SESSION_TOKEN
    assert f"/{scope['region']}/{scope['service']}/aws4_request" in signed["Authorization"]
    assert signed["Authorization"].endswith(expected_signature(method, url, signed, body, signed["Authorization"]))


@given(KEYS, st.dictionaries(st.sampled_from(["versionId", "partNumber", "x-id"]), PLAIN), REGIONS, TIMES)
def test_objects_of_s3(key, query, region, now):
    url = f"https://bucket.s3.{region}.amazonaws.com/{quote(key)}"
    if query:
        url += "?" + urlencode(query, quote_via=quote)
    check("GET", url, {}, b"", region=region, service="s3", now=now)


@given(st.dictionaries(PLAIN, PLAIN, max_size=6), REGIONS, TIMES)
def test_query_calls(params, region, now):
    url = f"https://autoscaling.{region}.amazonaws.com/"
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    check("POST", url, headers, urlencode(params).encode(), region=region, service="autoscaling", now=now)


@given(st.binary(max_size=200), st.text("ab c", max_size=12), REGIONS, TIMES)
def test_json_calls_and_headers_with_odd_spaces(body, value, region, now):
    headers = {"X-Amz-Target": "AWSEvents.PutEvents", "X-Odd": value, "Content-Type": "application/x-amz-json-1.1"}
    check("POST", f"http://127.0.0.1:8080/{quote('a b')}/", headers, body, region=region, service="events", now=now)


def test_the_example_of_the_documentation():
    """The first request of AWS's published test suite (`get-vanilla`)."""
    signed = sign(
        "GET",
        "https://example.amazonaws.com/",
        {},
        b"",
        credentials={"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
        region="us-east-1",
        service="service",
        now=1440938160,
    )
    assert signed["X-Amz-Date"] == "20150830T123600Z"
    assert signed["Authorization"].endswith("5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
