"""The images of a team: built, tested and retired on their own schedule, apart from every cluster that boots them.

A cluster finds the newest image by the name of its parameter, so nothing refers to this stack and each is deployed when
it changes. A cluster's file names the parameter under `image`, see `apps/tuned_image`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import aws_cdk as cdk

from ultracluster import ClusterNetwork, TunedImage
from ultracluster.storage.cluster_key import ClusterKey
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from constructs import Construct

    from ultracluster.plan.image_build import Base

__all__ = ["ImageChoice", "ImageStack"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageChoice:
    """One image of the stack; what `TunedImage` takes and is plain data.

    Attributes:
        base: what it starts from; the Deep Learning AMI by default.
        vendor: whose accelerators it is for.
        architecture: of the processor.
        opt_ins: settings that are not applied unasked.
        without: parts that are left out.
        instance_types: what it is built and tested on; types without accelerator by default.
    """

    base: Base | None = None
    vendor: str = "nvidia"
    architecture: str = "x86_64"
    opt_ins: Sequence[str] = ()
    without: Sequence[str] = ()
    instance_types: Sequence[str] = ()


class ImageStack(cdk.Stack):
    """Pipelines for the images of a team, in a small network of their own, with one key.

    Args:
        scope: the app, or a stage of a pipeline.
        construct_id: name of the stack.
        images: the images by their names; a name is the last part of the image's parameter.
        env: account and Region.

    Attributes:
        network: where build instances run.
        key: encrypts images, logs and notices.
        images: the pipelines by name.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, images: Mapping[str, ImageChoice], env: cdk.Environment
    ) -> None:
        super().__init__(scope, construct_id, env=env, description="machine images of training nodes")
        zone = f"{env.region}a"
        self.network = ClusterNetwork(self, "Network", availability_zones=[zone], interface_endpoints=[])
        self.key = ClusterKey(self, "Key").key
        self.images = {name: self._image(name, choice) for name, choice in images.items()}

    def _image(self, name: str, choice: ImageChoice) -> TunedImage:
        image = TunedImage(
            self,
            name,
            network=self.network,
            base=choice.base,
            vendor=choice.vendor,
            architecture=choice.architecture,
            opt_ins=choice.opt_ins,
            without=choice.without,
            instance_types=choice.instance_types,
            encryption_key=self.key,
            parameter_name=f"/imagebuilder/{self.stack_name}/{name}",
            image_name=f"{self.stack_name}-{name}",
        )
        cdk.CfnOutput(self, f"{name}-parameter", value=image.parameter_name, description="newest tested image")
        cdk.CfnOutput(self, f"{name}-pipeline", value=image.pipeline_arn, description="builds one when it is started")
        return image
