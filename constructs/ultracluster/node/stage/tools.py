"""The transfer tools that nodes may have: s5cmd, or the AWS CLI in the version that moves data through the CRT."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Protocol

from ..files import write_atomically
from ..host import Node, NodeError
from .shelf import Entry

_LIST_S, _HEAD_S = 3600, 60
_FILTERS = 200  # files of one call of the AWS CLI when not all are wanted
_SPECIAL = re.compile(r"([*?[])")  # of the patterns that its filters are
_CRT = "[default]\ns3 =\n    preferred_transfer_client = crt\n"
_KMS = "aws:kms"
_WITH_CRT = 2  # version of the AWS CLI


class Tool(Protocol):
    """What both can do."""

    def listed(self, bucket: str, prefix: str) -> list[tuple[str, int, str]]:
        """Key, size and ETag of all objects whose key begins with a prefix, without markers of folders."""

    def encrypted_by_key(self, bucket: str, key: str) -> bool:
        """Whether KMS encrypts the object, so that its ETag is no checksum."""

    def fetch(self, entries: Sequence[Entry], folder: Path, lease: IO[str]) -> Iterator[tuple[Entry, str]]:
        """Bring files into a folder; yields each with why it failed, or nothing when it came."""


def chosen(node: Node) -> Tool:
    """The tool to use.

    Raises:
        NodeError: the node has none.
    """
    if node.has("s5cmd"):
        return S5cmd(node)
    version = _aws_version(node)
    if version >= _WITH_CRT:
        return AwsCli(node)
    found = (
        f"the AWS CLI here is version {version}, which has no CRT" if version else "no transfer tool is on this node"
    )
    raise NodeError(f"{found}; install s5cmd, or version 2 of the AWS CLI")


def _aws_version(node: Node) -> int:
    if not node.has("aws"):
        return 0
    done = node.run("aws", "--version", check=False)
    found = re.search(r"aws-cli/(\d+)", done.stdout + done.stderr)
    return int(found.group(1)) if found else 0


def _endpoint(node: Node) -> str:
    return node.environ.get("AWS_ENDPOINT_URL_S3") or node.environ.get("AWS_ENDPOINT_URL", "")


def lines(node: Node, command: Sequence[str | Path], lease: IO[str]) -> Iterator[str]:
    """What a command prints while it runs, complaints included; it is killed when the caller stops listening.

    The command has the lease as well: should this program be killed, nobody takes the data set before it has ended.
    """
    tool = node.tool(str(command[0]))
    with subprocess.Popen(
        [str(tool), *map(str, command[1:])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=node.environ,
        text=True,
        errors="replace",
        start_new_session=True,
        pass_fds=(lease.fileno(),),
    ) as process:
        try:
            yield from process.stdout or ()
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


class S5cmd:
    """s5cmd: many requests at a time, one process for all files, JSON output.

    Args:
        node: the node.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        endpoint = _endpoint(node)
        self._command = ("s5cmd", "--json", *(("--endpoint-url", endpoint) if endpoint else ()))

    def listed(self, bucket: str, prefix: str) -> list[tuple[str, int, str]]:
        """All objects below a prefix."""
        done = self._node.run(*self._command, "ls", "--etag", f"s3://{bucket}/{prefix}*", timeout=_LIST_S, check=False)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        if done.status and not found:
            why = _error(done.stderr)
            if "no object found" in why:
                return []
            raise NodeError(f"s3://{bucket}/{prefix} cannot be listed: {why}")
        head = len(f"s3://{bucket}/")
        # An empty object is printed without a size.
        return [(row["key"][head:], int(row.get("size", 0)), row["etag"]) for row in found if row["type"] == "file"]

    def encrypted_by_key(self, bucket: str, key: str) -> bool:
        """Whether its ETag is no checksum."""
        done = self._node.run(*self._command, "head", "--raw", f"s3://{bucket}/{key}", timeout=_HEAD_S, check=False)
        try:
            return bool(json.loads(done.stdout)["server_side_encryption"].startswith(_KMS))
        except (ValueError, KeyError):
            return False

    def fetch(self, entries: Sequence[Entry], folder: Path, lease: IO[str]) -> Iterator[tuple[Entry, str]]:
        """Bring files into a folder."""
        by_source = {entry.source: entry for entry in entries}
        # A failed command is shown without its quotes, so it is looked up as a whole.
        by_command = {f"cp {entry.source} {folder / entry.path}": entry.source for entry in entries}
        batch = folder.with_suffix(".commands")
        text = "".join(f"cp --raw {shlex.quote(e.source)} {shlex.quote(str(folder / e.path))}\n" for e in entries)
        write_atomically(batch, text)
        last = "s5cmd ended early"
        for line in lines(self._node, [*self._command, "run", batch], lease):
            said, why = _outcome(line)
            entry = by_source.pop(by_command.get(said, said), None)
            if entry is not None:
                yield entry, why
            elif why:
                last = why
        batch.unlink(missing_ok=True)
        for entry in by_source.values():
            yield entry, last


def _outcome(line: str) -> tuple[str, str]:
    """Source of a copy that is done, or a command that failed and why; only the latter when it speaks of neither."""
    try:
        found = json.loads(line)
    except ValueError:
        return "", line.strip()
    if found.get("success"):
        return found["source"], ""
    return found.get("command", "").replace("cp --raw=true ", "cp ", 1), found.get("error", line).split(
        " status code:"
    )[0]


def _error(text: str) -> str:
    line = ([line for line in text.splitlines() if line.strip()] or ["no message"])[-1]
    return _outcome(line)[1]


class AwsCli:
    """Version 2 of the AWS CLI, whose CRT moves parts in parallel.

    Args:
        node: the node.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        endpoint = _endpoint(node)
        self._options = ("--endpoint-url", endpoint) if endpoint else ()
        self._with_content = 0

    def listed(self, bucket: str, prefix: str) -> list[tuple[str, int, str]]:
        """All objects below a prefix."""
        done = self._node.run(
            *("aws", "s3api", "list-objects-v2", *self._options, "--bucket", bucket, "--prefix", prefix),
            *("--output", "json", "--query", "Contents[].[Key,Size,ETag]"),
            timeout=_LIST_S,
            check=False,
        )
        if done.status:
            raise NodeError(f"s3://{bucket}/{prefix} cannot be listed: {_error(done.stderr)}")
        found = json.loads(done.stdout or "null") or []
        rows = [(key, int(size), etag.strip('"')) for key, size, etag in found if not key.endswith("/")]
        self._with_content = sum(1 for _, size, _ in rows if size)
        return rows

    def encrypted_by_key(self, bucket: str, key: str) -> bool:
        """Whether its ETag is no checksum."""
        done = self._node.run(
            *("aws", "s3api", "head-object", *self._options, "--bucket", bucket, "--key", key),
            *("--query", "ServerSideEncryption", "--output", "text"),
            timeout=_HEAD_S,
            check=False,
        )
        return done.stdout.startswith(_KMS)

    def fetch(self, entries: Sequence[Entry], folder: Path, lease: IO[str]) -> Iterator[tuple[Entry, str]]:
        """Bring files into a folder."""
        self._prefer_crt(folder)
        # Every call lists what it copies from: all at once when all is wanted, else neighbours from their folder.
        at_once = len(entries) if len(entries) == self._with_content else _FILTERS
        ordered = sorted(entries, key=lambda entry: entry.path)
        for start in range(0, len(ordered), at_once):
            batch = ordered[start : start + at_once]
            why = "the AWS CLI did not bring it"
            for line in lines(self._node, self._copy(batch, folder, filtered=at_once == _FILTERS), lease):
                why = line.strip() or why
            for entry in batch:
                yield entry, "" if (folder / entry.path).exists() else why

    def _copy(self, batch: Sequence[Entry], folder: Path, *, filtered: bool) -> list[str | Path]:
        first = batch[0]
        command: list[str | Path] = ["aws", "s3", "cp", *self._options, "--only-show-errors"]
        if len(batch) == 1:
            return [*command, first.source, folder / first.path]
        above = os.path.commonpath([entry.path.rpartition("/")[0] for entry in batch])
        below = len(above) + 1 if above else 0
        root = first.source[: len(first.source) - len(first.path) + below]
        command += [root, folder / above, "--recursive"]
        if not filtered:
            return command
        wanted = [word for entry in batch for word in ("--include", _SPECIAL.sub(r"[\1]", entry.path[below:]))]
        return [*command, "--exclude", "*", *wanted]

    def _prefer_crt(self, folder: Path) -> None:
        """Unless the user has a configuration, which is left to say what it says."""
        home = Path(self._node.environ.get("HOME", "/root"))
        if "AWS_CONFIG_FILE" in self._node.environ or (home / ".aws/config").exists():
            return
        config = folder.with_suffix(".aws")
        write_atomically(config, _CRT)
        self._node.environ["AWS_CONFIG_FILE"] = str(config)
