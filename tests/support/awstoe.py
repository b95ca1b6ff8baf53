"""A small runner of Image Builder component documents: phases and steps in their order, as the component manager does.

Commands run wherever the given `execute` runs them: in a folder by `chroot`, in a virtual machine by its console, or on
this machine. Nothing is fetched: objects of S3 come from a mapping.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

REBOOT_STATUS = 194
"""A command that ends with it asks for a reboot and is run again."""
_VARIABLE = re.compile(r"\{\{\s*([^}\s]+)\s*\}\}")
_MOST_REBOOTS = 5

Execute = Callable[[str, float], "Outcome"]


class StepFailed(Exception):  # noqa: N818 - reads as what it is
    """A step ended with an error, and its document with it."""


@dataclass(frozen=True)
class Outcome:
    """What a script did.

    Attributes:
        status: exit status.
        output: everything that it printed.
    """

    status: int
    output: str


@dataclass(frozen=True)
class Done:
    """A step that ran.

    Attributes:
        phase: build, validate or test.
        step: its name.
        action: its action module.
        status: exit status; 0 for actions that are no command.
        output: what it printed.
    """

    phase: str
    step: str
    action: str
    status: int = 0
    output: str = ""


def in_chroot(root: Path, environ: Mapping[str, str] | None = None) -> Execute:
    """Scripts run by bash inside a folder; needs root."""
    return _by(["chroot", str(root), "/bin/bash", "-s"], environ)


def on_this_machine(environ: Mapping[str, str] | None = None) -> Execute:
    """Scripts run by bash right here; only for documents that touch nothing outside of a folder of the test."""
    return _by(["/bin/bash", "-s"], environ)


def _by(command: Sequence[str], environ: Mapping[str, str] | None) -> Execute:
    plain = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}

    def execute(script: str, timeout: float) -> Outcome:
        try:
            done = subprocess.run(
                list(command),
                input=script,
                env={**plain, **(environ or {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            seen = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else str(error.stdout or "")
            return Outcome(124, seen + f"\nstopped after {timeout:g} s")
        return Outcome(done.returncode, done.stdout)

    return execute


@dataclass
class Runner:
    """Runs documents.

    Attributes:
        execute: runs a script with a time limit in seconds.
        root: the folder that is `/` for downloads and files.
        objects: files by their S3 address.
        reboot: called for each reboot.
        done: steps that ran, in their order.
    """

    execute: Execute
    root: Path = Path("/")
    objects: Mapping[str, Path] = field(default_factory=dict)
    reboot: Callable[[], None] = lambda: None
    done: list[Done] = field(default_factory=list)

    def run(
        self,
        text: str,
        *,
        phases: Sequence[str] = ("build", "validate"),
        parameters: Mapping[str, str] | None = None,
    ) -> list[Done]:
        """Run the phases of a document.

        Args:
            text: the document.
            phases: which, in the order of the document.
            parameters: values that a recipe would give it.

        Returns:
            The steps that ran.

        Raises:
            StepFailed: a step failed whose failure ends the document.
        """
        document = yaml.safe_load(text)
        values = dict(_defaults(document)) | dict(parameters or {})
        first = len(self.done)
        for phase in document["phases"]:
            if phase["name"] in phases:
                for step in phase["steps"]:
                    self._step(phase["name"], step, values)
        return self.done[first:]

    def _step(self, phase: str, step: Mapping[str, Any], values: Mapping[str, str]) -> None:
        action = step["action"]
        run = getattr(self, f"_do_{action.lower()}", None)
        if run is None:
            raise StepFailed(f"{step['name']}: this runner has no action {action}")
        inputs = _filled(step.get("inputs"), values)
        limit = step.get("timeoutSeconds", 7200)
        for left in reversed(range(step.get("maxAttempts", 1))):
            outcome = run(inputs, limit if limit > 0 else 7200)
            if outcome.status == 0 or left == 0:
                break
        self.done.append(Done(phase, step["name"], action, outcome.status, outcome.output))
        if outcome.status and step.get("onFailure", "Abort") == "Abort":
            raise StepFailed(f"{phase} {step['name']} ended with status {outcome.status}:\n{outcome.output}")

    def _do_executebash(self, inputs: Mapping[str, Any], limit: float) -> Outcome:
        script = "\n".join(inputs["commands"])
        for _ in range(_MOST_REBOOTS):
            outcome = self.execute(script, limit)
            if outcome.status != REBOOT_STATUS:
                return outcome
            self.reboot()
        return Outcome(REBOOT_STATUS, "asks for a reboot again and again")

    def _do_reboot(self, _inputs: object, _limit: float) -> Outcome:
        self.reboot()
        return Outcome(0, "")

    def _do_s3download(self, inputs: Sequence[Mapping[str, str]], _limit: float) -> Outcome:
        for entry in inputs:
            source = self.objects.get(entry["source"])
            if source is None:
                return Outcome(1, f"no object {entry['source']}")
            target = self._path(entry["destination"])
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        return Outcome(0, "")

    def _do_createfile(self, inputs: Sequence[Mapping[str, Any]], _limit: float) -> Outcome:
        for entry in inputs:
            target = self._path(entry["path"])
            if target.exists() and not entry.get("overwrite", True):
                return Outcome(1, f"{entry['path']} exists")
            target.parent.mkdir(parents=True, exist_ok=True)
            content = entry.get("content", "")
            target.write_bytes(base64.b64decode(content) if entry.get("encoding") == "base64" else content.encode())
            target.chmod(int(entry.get("permissions", "0644"), 8))
        return Outcome(0, "")

    def _do_updateos(self, _inputs: object, _limit: float) -> Outcome:
        return Outcome(0, "nothing is fetched in a test")

    def _path(self, absolute: str) -> Path:
        return self.root / absolute.lstrip(os.sep)


def _defaults(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for entry in document.get("parameters", ()):
        for name, parameter in entry.items():
            if "default" in parameter:
                yield name, parameter["default"]


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """A value with every `{{ name }}` replaced."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: values[found.group(1)], value)
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, values) for key, each in value.items()}
    return value
