"""Forms of text in the cluster file: names, Regions, zones and AWS ids, each with words for its faults."""

from __future__ import annotations

import re
from datetime import datetime
from ipaddress import ip_network
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field
from pydantic_core import core_schema

from ultracluster.spec.keys import fault
from ultracluster.spec.wording import either, shown
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

__all__ = [
    "AccountId",
    "AmiId",
    "BucketName",
    "BucketReference",
    "CidrText",
    "DeviceName",
    "Email",
    "FilePath",
    "Form",
    "Moment",
    "MountPath",
    "Name",
    "Namespace",
    "PlacementGroupName",
    "Prefix",
    "Region",
    "ReservationId",
    "ResourceGroupArn",
    "RouteTableId",
    "ServiceName",
    "SsmParameter",
    "SubnetId",
    "TagKey",
    "TagValue",
    "Tags",
    "TypeName",
    "VpcId",
    "Zone",
    "number_or",
]

IPV4 = 4
MOMENT = "2027-03-15T11:30:00Z"


@dataclass(frozen=True, slots=True)
class Form:
    """A form that a text must have.

    Attributes:
        pattern: a regular expression for the whole text, in the common subset of Python and JSON Schema.
        words: what the pattern means, for messages.
        example: a text of that form.
    """

    pattern: str
    words: str
    example: str

    def check(self, value: str) -> str:
        """Hand the value back when it has the form."""
        if re.fullmatch(self.pattern, value, re.ASCII) is None:
            raise fault("UC-SPC-008", f"{shown(value)} is not {self.words}", f"write it like {self.example}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:  # noqa: ANN401 - fixed by pydantic
        """Check after the type of the value is known to be text."""
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The same pattern for editors."""
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$", "examples": [self.example]}


def number_or(*words: str) -> BeforeValidator:
    """One error, not one per member, for a value that is a whole number or one of some words."""

    def check(value: object) -> object:
        if value is None or value in words or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise fault(
            "UC-SPC-005",
            f"{shown(value)} is neither a number nor {either(words)}",
            f"write a number or {either(words)}",
        )

    return BeforeValidator(check)


Name = Annotated[
    str,
    Form(
        r"[a-z](?:-?[a-z0-9]){0,31}",
        "a name of lower-case letters, digits and single hyphens, a letter first, at most 32 long",
        "train-a",
    ),
]
"""A name that becomes part of construct ids and of resource names: stable, and short enough for both."""

Region = Annotated[str, Form(r"[a-z]{2,5}(?:-[a-z]+)+-[0-9]{1,2}", "the name of a Region", "us-east-1")]

Zone = Annotated[
    str,
    Form(
        r"[a-z]{2,5}(?:-[a-z]+)+-[0-9]{1,2}(?:-[a-z]{3}-[0-9])?[a-z]",
        "the name of an Availability Zone or Local Zone (not a zone id such as use1-az1)",
        "us-east-1a",
    ),
]

AccountId = Annotated[str, Form(r"[0-9]{12}", "an account id of 12 digits", "111122223333")]
VpcId = Annotated[str, Form(r"vpc-(?:[0-9a-f]{8}|[0-9a-f]{17})", "the id of a VPC", "vpc-0a1b2c3d4e5f60718")]
SubnetId = Annotated[
    str, Form(r"subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})", "the id of a subnet", "subnet-0a1b2c3d4e5f60718")
]
RouteTableId = Annotated[
    str, Form(r"rtb-(?:[0-9a-f]{8}|[0-9a-f]{17})", "the id of a route table", "rtb-0a1b2c3d4e5f60718")
]
AmiId = Annotated[str, Form(r"ami-(?:[0-9a-f]{8}|[0-9a-f]{17})", "the id of an image", "ami-0a1b2c3d4e5f60718")]
ReservationId = Annotated[str, Form(r"cr-[0-9a-f]{17}", "the id of a reservation", "cr-0a1b2c3d4e5f60718")]

ResourceGroupArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.{1,300}",
        "the ARN of a resource group",
        "arn:aws:resource-groups:us-east-1:111122223333:group/training",
    ),
]

SsmParameter = Annotated[
    str, Form(r"/?[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*", "the name of an SSM parameter", "/images/training/latest")
]

DeviceName = Annotated[str, Form(r"/dev/[a-z0-9]+", "the name of a block device", "/dev/sda1")]

TypeName = Annotated[str, Form(r"[a-z0-9-]+\.[a-z0-9-]+", "the name of an instance type", "p5.48xlarge")]

PlacementGroupName = Annotated[
    str, Form(r"\S(?:[ -~]{0,253}\S)?", "the name of a placement group, 1 to 255 ASCII characters", "training-a")
]

BucketName = Annotated[
    str,
    Form(
        r"(?!xn--|sthree-)[a-z0-9](?:[a-z0-9]|[.-](?=[a-z0-9-])){1,61}[a-z0-9]",
        "the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens",
        "my-training-data",
    ),
]

BucketReference = Annotated[
    str,
    Form(
        r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/.*)?|[a-z][a-z0-9-]*",
        "the name of a bucket under storage.buckets or an s3:// address",
        "checkpoints",
    ),
]

Prefix = Annotated[
    str, Form(r"(?!/)[!-~]{0,900}", "a prefix inside a bucket, without a slash in front and without spaces", "runs/a")
]

MountPath = Annotated[
    str,
    Form(
        r"(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+",
        "an absolute path of letters, digits, dots, hyphens and underscores",
        "/fsx",
    ),
]

FilePath = Annotated[str, Form(r"[^\x00-\x1f]{1,1000}", "a path of a file", "bootstrap.sh")]

Email = Annotated[
    str, Form(r"[^@\s,;<>]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", "an e-mail address", "ml-oncall@example.com")
]

Namespace = Annotated[
    str,
    Form(r"(?!AWS/)[A-Za-z0-9._/#-]{1,255}", "a CloudWatch namespace of your own (not AWS/...)", "UltraCluster"),
]

ServiceName = Annotated[str, Form(r"[a-z0-9]+(?:[.-][a-z0-9]+)*", "the short name of an AWS service", "ssm")]

TagKey = Annotated[
    str,
    Form(
        r"(?![Aa][Ww][Ss]:)[\w .:/=+@-]{1,128}",
        "a tag key: 1 to 128 letters, digits, spaces and _.:/=+-@, not beginning with aws:",
        "cost-centre",
    ),
]
TagValue = Annotated[
    str, Form(r"[\w .:/=+@-]{0,256}", "a tag value: at most 256 letters, digits, spaces and _.:/=+-@", "research")
]
Tags = Annotated[dict[TagKey, TagValue], Field(max_length=40)]
"""Tags; services add some of their own, so that 40 of the 50 that a resource can have are left to the user."""


def _as_network(text: str) -> str:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise fault("UC-SPC-008", f"{shown(text)} is not an IPv4 block", "write it like 10.0.0.0/16") from None
    if network.version != IPV4:
        raise fault("UC-SPC-008", f"{shown(text)} is not an IPv4 block", "write it like 10.0.0.0/16")
    if str(network) != text:
        raise fault("UC-SPC-008", f"{shown(text)} is not written as its network address", f"write {network}")
    return text


CidrText = Annotated[str, AfterValidator(_as_network)]


def _as_moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise fault("UC-SPC-008", f"{shown(value)} is not a date and time", f"write it like {MOMENT}") from None


Moment = Annotated[AwareDatetime, BeforeValidator(_as_moment)]
"""A point in time with its zone, in the form of ISO 8601."""
