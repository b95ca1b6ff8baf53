"""Stack events as AWS writes them: a resource that an update leaves alone has none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from ultracluster.local.emulator.internals import part

__all__ = ["UpdateEvents", "in_order"]


def in_order(original: Callable[..., None]) -> Callable[..., None]:
    """Give every event of a stack a later time than the one before it.

    Here dozens of resources are made within one millisecond; clients sort events by their time and would show them in
    any order.
    """

    def added(stack_id: str, *rest: Any, **named: Any) -> None:
        original(stack_id, *rest, **named)
        events = part("services.cloudformation")._stack_events[stack_id]
        if len(events) > 1 and events[-1]["Timestamp"] <= (before := events[-2]["Timestamp"]):
            later = datetime.fromisoformat(before).astimezone(UTC) + timedelta(milliseconds=1)
            events[-1]["Timestamp"] = later.strftime("%Y-%m-%dT%H:%M:%S.") + f"{later.microsecond // 1000:03d}Z"

    return added


class UpdateEvents:
    """What an update reports: nothing of a resource it leaves alone, and a creation where it creates.

    MiniStack walks every resource of a stack on an update and announces each as updated. Resources are walked one
    after another within a stack, so the start event is held back until it is known what happens to the resource.
    """

    def __init__(self) -> None:
        """Start with nothing held."""
        self._held: dict[str, tuple[Any, ...]] = {}
        self._unchanged: set[tuple[str, str]] = set()
        self._created: set[tuple[str, str]] = set()

    def update(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the engine's update: notice when old and new properties are the same."""

        def updated(*call: Any) -> Any:
            _, identifier, old, new, stack, logical = (*call, None)[:6]
            resource = (stack, logical or identifier)
            if old == new:
                self._unchanged.add(resource)
            try:
                return original(*call)
            finally:
                # A replacement creates inside the update; its events are those of an update all the same.
                self._created.discard(resource)

        return updated

    def provision(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the engine's create: notice what is new."""

        def provisioned(kind: str, logical: str, properties: Any, stack: str) -> Any:
            self._created.add((stack, logical))
            return original(kind, logical, properties, stack)

        return provisioned

    def add_event(self, original: Callable[..., None]) -> Callable[..., None]:
        """Wrap the engine's event writer."""

        def added(*event: Any, **named: Any) -> None:
            stack_id, stack, logical, kind, status, *rest = event
            held = self._held.pop(stack_id, None)
            resource = (stack, logical)
            if held and held[2] == logical and status == "UPDATE_COMPLETE" and resource in self._unchanged:
                self._unchanged.discard(resource)
                return
            if held:
                original(*held[:4], self._status(held[1:3], held[4]), *held[5:])
            status = self._status(resource, status) if held else status
            if not status.endswith("_IN_PROGRESS"):
                self._created.discard(resource)
            if status == "UPDATE_IN_PROGRESS" and logical != stack and not rest and not named:
                self._held[stack_id] = (stack_id, stack, logical, kind, status)
                return
            original(stack_id, stack, logical, kind, status, *rest, **named)

        return added

    def _status(self, resource: tuple[str, str], status: str) -> str:
        created = tuple(resource) in self._created and status.startswith("UPDATE_")
        return status.replace("UPDATE_", "CREATE_", 1) if created else status
