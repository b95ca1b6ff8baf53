"""Tuned images for GPU and Trainium nodes.

From the root of the checkout: `cdk deploy --app "python apps/tuned_image/app.py"`.
"""

import os

import aws_cdk as cdk

from ultracluster import Dlami
from ultracluster_stacks.image_stack import ImageChoice, ImageStack

app = cdk.App()
ImageStack(
    app,
    "training-images",
    images={
        "gpu": ImageChoice(opt_ins=["large-memory-writeback"]),
        "neuron": ImageChoice(vendor="aws", base=Dlami(os="ubuntu-24.04"), without=["lustre"]),
    },
    env=cdk.Environment(
        account=os.environ.get("CDK_DEFAULT_ACCOUNT"), region=os.environ.get("CDK_DEFAULT_REGION", "us-east-1")
    ),
)
app.synth()
