"""The CDK app before anything is in it: what Node can be busy with while Python still imports."""

from __future__ import annotations

import json
import os

import aws_cdk as cdk
from aws_cdk import region_info

__all__ = ["make_app"]

_OWN_BUDGET = {"@aws-cdk/core:stackResourceLimit": 0}
"""The CDK would end in a traceback over 500 resources; `check_assembly` counts, and names the part that is large."""


def make_app() -> cdk.App:
    """The app. CloudFormation validation costs seconds per synthesis: `-c validate=true` turns it on."""
    app = cdk.App(builtin_cloud_formation_validation=_context_flag("validate"), context=_OWN_BUDGET)
    # Every ARN needs a megabyte of facts about Regions, which Node reads on the first look, whatever the Region is.
    region_info.RegionInfo.get("us-east-1")
    return app


def _context_flag(name: str) -> bool:
    # The validation is an argument of the app, so the context has to be read before there is one.
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
    return str(context.get(name, "false")).lower() == "true"
