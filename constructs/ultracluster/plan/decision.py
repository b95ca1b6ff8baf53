"""A decision that can say why: what `ultracluster plan` prints."""

from __future__ import annotations

from ultracluster.values import dataclass

__all__ = ["Decision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decided value.

    Attributes:
        subject: what was decided, in the user's terms (`fleets[0].placement_group`).
        value: the decided value as text, with its unit.
        because: the reason, with the fact or the input that it follows from.
    """

    subject: str
    value: str
    because: str
