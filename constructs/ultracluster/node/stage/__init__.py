"""Data sets on scratch: copied from S3 or a shared file system, checked, held by jobs, evicted by age."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from ..host import Node, NodeError
from . import checksum, evicting, holding, shelf, units
from .copying import Copy
from .sources import source

__all__ = ["SUMMARY", "arguments", "run"]

SUMMARY = "copy data sets to scratch, hold them for a job, evict them by age"

_SHOWN_FAILURES = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """Subcommands of the program."""
    commands = parser.add_subparsers(dest="command", required=True)
    copy = commands.add_parser("copy", help="copy a data set; goes on where an earlier copy was stopped")
    copy.add_argument("source", help="s3://BUCKET/PREFIX, or a folder")
    copy.add_argument("target", type=Path, help="folder of the data set, such as /scratch/data/NAME")
    copy.add_argument("--max-size", type=units.size, help="refuse a larger data set, such as 2T")
    copy.add_argument("--reserve", type=units.size, help="stay free on the file system (default: 5 %% of it)")
    copy.add_argument("--sha256", type=Path, metavar="FILE", help="checksums as sha256sum writes them")
    evict = commands.add_parser("evict", help="take away data sets that were not used for a while")
    evict.add_argument("target", type=Path, help="a data set, or a folder with some")
    evict.add_argument("--older-than", type=units.duration, help="not used for so long, such as 7d")
    evict.add_argument("--to-free", type=units.size, help="until so much is free on the file system, such as 500G")
    evict.add_argument("--dry-run", action="store_true", help="only say what would go")
    hold = commands.add_parser("hold", help="run a command that reads data sets: they are not evicted meanwhile")
    hold.add_argument("words", nargs=argparse.REMAINDER, metavar="target ... -- command ...")
    listed = commands.add_parser("list", help="the data sets below a folder")
    listed.add_argument("target", type=Path)


def run(args: argparse.Namespace, node: Node) -> int:
    """Run a subcommand.

    Raises:
        NodeError: it cannot be done; file system errors too, in one line.
    """
    try:
        return {"copy": _copy, "evict": _evict, "hold": _hold, "list": _list}[str(args.command)](args, node)
    except OSError as error:
        raise NodeError(f"{error.filename or 'the file system'}: {error.strerror or error}; look at it") from error


def _copy(args: argparse.Namespace, node: Node) -> int:
    slot = shelf.Slot(_absolute(args.target))
    began = node.clock()
    with shelf.alone(slot.target.parent) as waited:
        if waited:
            node.say("waited for another copy")
        found = source(node, args.source)
        sums = checksum.sums(args.sha256) if args.sha256 else None
        journal = shelf.Journal(slot, args.source.rstrip("/"))
        done = Copy(node, slot, found, journal, sums=sums).run(max_size=args.max_size, reserve=args.reserve)
    seconds = round(node.clock() - began, 1)
    for path, why in list(done.failed.items())[:_SHOWN_FAILURES]:
        node.say(f"{path}: {why}")
    node.say(
        f"{done.copied} files copied ({units.shown(done.copied_bytes)}), {done.stood} of {done.files} stood, "
        f"{len(done.failed)} failed, {seconds} s"
    )
    print(json.dumps({**asdict(done), "path": str(slot.target), "source": args.source, "seconds": seconds}))
    return 1 if done.failed else 0


def _evict(args: argparse.Namespace, node: Node) -> int:
    folder = _absolute(args.target)
    if args.older_than is None and args.to_free is None:
        raise NodeError("evict needs --older-than or --to-free; without either it would take everything")
    with shelf.alone(evicting.candidates(folder)[0].target.parent):
        done = evicting.evict(node, folder, older_than=args.older_than, to_free=args.to_free, dry_run=args.dry_run)
    print(json.dumps(asdict(done)))
    for path in done.in_use:
        node.say(f"{path} is in use and stays")
    if args.to_free is not None and done.free_bytes < args.to_free:
        node.say(f"{units.shown(done.free_bytes)} are free, not {units.shown(args.to_free)}")
        return 1
    return 0


def _hold(args: argparse.Namespace, node: Node) -> int:
    del node
    if "--" not in args.words:
        raise NodeError("hold needs data sets, `--` and a command: hold /scratch/data/NAME -- python train.py")
    at = args.words.index("--")
    targets, command = args.words[:at], args.words[at + 1 :]
    if not targets or not command:
        raise NodeError("hold needs data sets before `--` and a command after it")
    return holding.hold([shelf.Slot(_absolute(Path(target))) for target in targets], command)


def _list(args: argparse.Namespace, node: Node) -> int:
    del node
    rows = []
    for slot in shelf.slots(_absolute(args.target)):
        header, known = shelf.read(slot.journal)
        rows.append(
            {
                "path": str(slot.target),
                "source": header["source"] if header else "",
                "files": len(known),
                "size_bytes": evicting.staged_bytes(slot),
                "last_used": round(slot.last_used()),
                "in_use": slot.in_use(),
            }
        )
    print(json.dumps(rows))
    return 0


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise NodeError(f"{path} is no absolute path; give one like /scratch/data/NAME")
    return path
