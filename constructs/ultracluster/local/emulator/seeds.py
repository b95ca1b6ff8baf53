"""Public parameters that every account can read: image ids of Amazon Linux, Ubuntu, the DLAMIs, EKS and PCS.

The names come from a data file with their sources; the image ids are made up, one per name and Region, and always the
same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.local.emulator.internals import account_and_region, part

__all__ = ["PublicParameters", "install_public_parameters", "made_up_image"]

_NAMES = Path(__file__).with_name("public_parameters.json")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    rows = json.loads(_NAMES.read_text(encoding="utf-8"))["parameters"]
    return tuple(re.compile(row["pattern"]) for row in rows)


def made_up_image(name: str, region: str) -> str:
    """An image id in the form of a real one, derived from the parameter's name and the Region."""
    return "ami-0" + hashlib.sha256(f"{region}:{name}".encode()).hexdigest()[:16]


class PublicParameters(dict[str, str]):
    """MiniStack's table of public parameters, answering every documented name."""

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a parameter; the default when no such parameter is public."""
        if name in self:
            return self[name]
        if any(pattern.fullmatch(name) for pattern in _patterns()):
            return made_up_image(name, account_and_region()[1])
        return default

    def known(self) -> Iterator[str]:
        """The patterns of the names that are answered."""
        return (pattern.pattern for pattern in _patterns())


def install_public_parameters() -> None:
    """Let MiniStack's SSM answer them, also where a template's parameter or a dynamic reference names one."""
    ssm = part("services.ssm")
    ssm._PUBLIC_AMI_PARAMETERS = PublicParameters(ssm._PUBLIC_AMI_PARAMETERS)
