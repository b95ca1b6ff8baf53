"""Numbers that a caller hands over from Python, where nothing stops a text, a fraction or a token of the CDK."""

from __future__ import annotations

__all__ = ["no_whole_number"]

_TOKEN_MAGNITUDE = 1e250
"""The CDK writes a number that only the deployment knows as a float near -1.9e289; nothing real comes near it."""


def no_whole_number(value: object) -> str | None:
    """Why a value is no whole number, in words for a finding; None for one that is."""
    if isinstance(value, float) and abs(value) > _TOKEN_MAGNITUDE:
        return "is a value that only the deployment knows, and nothing can be planned with it"
    if isinstance(value, int) and not isinstance(value, bool):
        return None
    return f"{value!r} is no whole number"
