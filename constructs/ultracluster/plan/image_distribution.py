"""Where a tuned image goes, and how long it is kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ultracluster.findings import Finding, finding
from ultracluster.plan.references import is_unresolved
from ultracluster.values import dataclass

__all__ = ["ImageRegion", "ImageRetention", "check_parameter", "check_regions", "check_retention"]

PARAMETER_PREFIX = "/imagebuilder/"
"""What the service-linked role of Image Builder may write; under another name every build would end in an error."""
_MOST_KEPT, _MOST_DAYS = 10, 365
_PARAMETER = re.compile(r"[a-zA-Z0-9_.\-/]{1,101}")
_ACCOUNT = re.compile(r"[0-9]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRegion:
    """A Region that gets every tested image, beside the one where it is built.

    Attributes:
        region: its name.
        key_arn: customer key in that Region which encrypts the copy; its default key for EBS when left out, with
            which an image cannot be shared.
        shared_with: accounts that may launch the image.
        copied_to: accounts that get an image and a parameter of their own; each needs the role
            EC2ImageBuilderDistributionCrossAccountRole.
    """

    region: str
    key_arn: str | None = None
    shared_with: tuple[str, ...] = ()
    copied_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRetention:
    """What becomes of old images and their snapshots. The newest ones always stay.

    Attributes:
        keep_newest: images that stay whatever their age, 1 to 10.
        after_days: age from which the others are deleted, at least 1; by then a fleet has been deployed again.
        spare_launched_within_days: an image that was launched within this time stays, 1 to 365.
    """

    keep_newest: int = 3
    after_days: int = 90
    spare_launched_within_days: int = 30


def check_regions(regions: Sequence[ImageRegion], *, home: str, subject: str) -> Iterator[Finding]:
    """No Region twice, no sharing without a customer key, and accounts that are accounts.

    Args:
        regions: what was asked for.
        home: Region of the stack; may be a token.
        subject: the construct's path.
    """
    counted = Counter(each.region for each in regions)
    for name in [name for name, count in counted.items() if count > 1]:
        yield finding("UC-API-132", f"{subject}.regions", f"{name} is named {counted[name]} times", "name it once")
    for place, each in enumerate(regions):
        where = f"{subject}.regions[{place}]"
        shared = each.shared_with or each.copied_to
        if shared and each.key_arn is None and each.region != home:
            message = (
                f"images in {each.region} would be encrypted with its default key, which other accounts cannot use"
            )
            yield finding("UC-API-132", f"{where}.key_arn", message, "name a customer key of that Region")
        if each.key_arn is not None and each.region == home:
            message = f"{home} is where the image is built, with encryption_key"
            yield finding("UC-API-132", f"{where}.key_arn", message, "leave key_arn out there")
        for account in (*each.shared_with, *each.copied_to):
            if not is_unresolved(account) and not _ACCOUNT.fullmatch(account):
                yield finding("UC-API-132", where, f"{account!r} is no account", "write its 12 digits")


def check_retention(retention: ImageRetention, *, subject: str) -> Iterator[Finding]:
    """Numbers that Image Builder takes."""
    limits = (
        ("keep_newest", retention.keep_newest, _MOST_KEPT),
        ("after_days", retention.after_days, 1000),
        ("spare_launched_within_days", retention.spare_launched_within_days, _MOST_DAYS),
    )
    for name, value, most in limits:
        if not 1 <= value <= most:
            message = f"{value} is not between 1 and {most}"
            yield finding("UC-API-132", f"{subject}.retention.{name}", message, f"use 1 to {most}")


def check_parameter(name: str, *, subject: str) -> Iterator[Finding]:
    """A name of a parameter that Image Builder may write."""
    if not name.startswith(PARAMETER_PREFIX) or not _PARAMETER.fullmatch(name):
        message = f"{name!r} is no parameter that Image Builder may write"
        fix = f"begin it with {PARAMETER_PREFIX}; letters, digits, dots, hyphens and slashes"
        yield finding("UC-API-132", f"{subject}.parameter_name", message, fix)
