"""Removal policies that file systems and buckets take."""

from __future__ import annotations

from typing import Literal

import aws_cdk as cdk

from ultracluster.findings import FindingsError, finding

__all__ = ["removal_choice"]


def removal_choice(policy: cdk.RemovalPolicy, *, subject: str) -> Literal["retain", "destroy"]:
    """The choice of the plan.

    Raises:
        FindingsError: a policy that these resources do not have, such as a snapshot.
    """
    match policy:
        case cdk.RemovalPolicy.RETAIN | cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE:
            return "retain"
        case cdk.RemovalPolicy.DESTROY:
            return "destroy"
        case _:
            raise FindingsError(
                [
                    finding(
                        "UC-STG-001", subject, f"{policy.value} is no policy of this resource", "use RETAIN or DESTROY"
                    )
                ]
            )
