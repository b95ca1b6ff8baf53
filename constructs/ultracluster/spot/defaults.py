"""Defaults of interruption handling, each with its reason."""

from __future__ import annotations

from typing import Final

__all__ = ["DEAD_LETTER_RETENTION_S", "MAX_RECEIVES", "NOTICE_RETENTION_S"]

NOTICE_RETENTION_S: Final = 300
"""A notice is worth nothing two minutes after it was sent; five leave a late consumer a chance and keep the depth of
the queue a true picture of notices that nobody took."""

DEAD_LETTER_RETENTION_S: Final = 1_209_600
"""14 days, the most that SQS keeps: what could not be handled is looked at by people."""

MAX_RECEIVES: Final = 3
"""A consumer that failed three times on a notice will fail again, and time is short."""
