"""The process that looks: one connection to the metadata service, one thread, nothing that could block for long."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable

from ..host import Node
from ..imds import ImdsError
from . import trainers
from .sources import Source, sources
from .state import State, hooks_of, progress_file

_LONGEST_PAUSE_S = 4.0
_AGAIN_S = 1.0
_CLEAN_S = 300.0


def log(event: str, **fields: object) -> None:
    """One line of JSON to the journal."""
    print(json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event, **fields}), flush=True)


class Watcher:
    """Looks for notices, signals processes, starts who handles the rest.

    Args:
        node: the node.
        wall: seconds since 1970.
    """

    def __init__(self, node: Node, wall: Callable[[], float] = time.time) -> None:
        self.node, self._wall = node, wall
        self.state = State(node)
        self._sources: list[Source] = []
        self._due: dict[str, float] = {}
        self._failures = 0
        self._handlers: dict[int, str] = {}
        self._restart_at: dict[str, float] = {}
        self._clean_at = 0.0
        self._stop = False

    def run(self) -> int:
        """Look until the service is stopped."""
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "_stop", True))
        trainers.prepare(self.node)
        while not self._stop:
            self.node.sleep(max(self.tick() - self.node.clock(), 0))
        return 0

    def tick(self) -> float:
        """Everything that is due now; when the next look is."""
        if not self._sources:
            return self._begin()
        for source in self._chosen(self.node.clock()):
            if not self._look(source):
                break
        if self.state.leaving:
            self._signal()
        self._handle()
        return min(self._due.values())

    def _begin(self) -> float:
        """Make the sources; one of them may need the metadata service, which can be late at boot."""
        try:
            self._sources = sources(self.node, self._wall)
        except ImdsError as error:
            return self._failed(error)
        now = self.node.clock()
        self._due = {source.kind: now for source in self._sources}
        log("watching", notices=[source.kind for source in self._sources], standing=list(self.state.notices))
        return now

    def _chosen(self, now: float) -> list[Source]:
        """The source with the least time whenever it is due, and one of the others: a slow service must not add up."""
        due = [source for source in self._sources if self._due[source.kind] <= now]
        fastest = [source for source in due if source is self._sources[0]]
        others = sorted((source for source in due if source not in fastest), key=lambda each: self._due[each.kind])
        return [*fastest, *others[:1]]

    def _look(self, source: Source) -> bool:
        try:
            found = source.look(self.node)
        except ImdsError as error:
            self._due = dict.fromkeys(self._due, self._failed(error))
            return False
        if self._failures:
            log("metadata-back", failures=self._failures)
            self._failures = 0
        now = self.node.clock()
        self._due[source.kind] = max(self._due[source.kind] + source.poll_s, now + source.poll_s / 2)
        standing = {name for name, notice in self.state.notices.items() if notice["kind"] == source.kind}
        for name in standing - found.keys():
            self._withdraw(name)
        for name in found.keys() - standing:
            self._notice(source, name, found[name], now)
        return True

    def _failed(self, error: ImdsError) -> float:
        """Say the first of a row of failures; when to look again, later each time."""
        if not self._failures:
            log("metadata-silent", why=str(error))
        pause = min(0.5 * 2.0 ** min(self._failures, 5), _LONGEST_PAUSE_S)
        self._failures += 1
        return self.node.clock() + pause

    def _notice(self, source: Source, name: str, ends: float | None, now: float) -> None:
        left = source.notice_s if ends is None else ends - self._wall()
        if not 0 < left <= source.notice_s:
            left = source.notice_s  # the clock of one side is wrong, or it is days ahead: hooks get their time now
        self.state.notices[name] = {
            "kind": source.kind,
            "leaving": source.leaving,
            "completes": source.completes,
            "ends": ends,
            "deadline": now + left,
            "handled": False,
        }
        if source.leaving:
            self._signal()
        self.state.save()
        log("notice", notice=name, kind=source.kind, leaving=source.leaving, seconds=round(left))

    def _withdraw(self, name: str) -> None:
        hooks = hooks_of(name, self.state.notices[name])
        self.state.forget(name)
        self.state.save()
        self._restart_at.pop(name, None)
        for done in (f"event {name}", f"group {name}"):
            progress_file(self.node, done).unlink(missing_ok=True)
        if not self.state.leaving or hooks != "hooks leaving":
            progress_file(self.node, hooks).unlink(missing_ok=True)
        log("withdrawn", notice=name)

    def _signal(self) -> None:
        """Signal every registered process that was not: also one that registered after the notice."""
        name = next(name for name, notice in self.state.notices.items() if notice["leaving"])
        new = [trainer for trainer in trainers.registered(self.node) if trainer.key not in self.state.signalled]
        sent = [trainers.send(trainer) for trainer in new]
        if new:
            self.state.signalled.update(dict.fromkeys((trainer.key for trainer in new), name))
            self.state.save()
        for trainer, hit in zip(new, sent):
            log("signalled" if hit else "gone", pid=trainer.pid, signal=trainer.signal, notice=name)

    def _handle(self) -> None:
        """Start a process for each notice that nobody handles, and see which of them ended."""
        now = self.node.clock()
        for pid, name in list(self._handlers.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._handlers[pid]
                self._ended(name, now, failed=status != 0)
        for name, notice in self.state.notices.items():
            idle = not notice["handled"] and name not in self._handlers.values()
            if idle and self._restart_at.get(name, now) <= now:
                self._handlers[self._spawn(name)] = name
        if now >= self._clean_at:
            trainers.registered(self.node)  # removes what is gone
            self._clean_at = now + _CLEAN_S

    def _ended(self, name: str, now: float, *, failed: bool) -> None:
        """A handler ended: it is started again while there is time, unless it did everything."""
        self._restart_at[name] = now + _AGAIN_S
        notice = self.state.notices.get(name)
        if notice is not None and (not failed or now >= notice["deadline"]):
            notice["handled"] = True
            self.state.save()

    def _spawn(self, name: str) -> int:
        command = [sys.executable, sys.argv[0], "watch", "--handle", name]
        return os.posix_spawn(sys.executable, command, self.node.environ, setpgroup=0)
