"""A network of literal ids, and images in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import aws_cdk as cdk

    from ultracluster.image.tuned_image import TunedImage


@pytest.fixture
def image(stack: cdk.Stack) -> Callable[..., TunedImage]:
    """Make an image `Image` in the stack of the test."""
    from support.images import tuned_image

    def make(**arguments: Any) -> TunedImage:
        return tuned_image(stack, **arguments)

    return make
