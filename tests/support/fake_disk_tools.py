"""lsblk, blkid, mdadm, mkfs.xfs, xfs_info and mount for a folder that looks like a node.

They keep what they write where the real ones keep it: superblocks at the documented places of files that stand for the
disks. So a program that reads disks back finds what an earlier, killed run left there. `$STATE/kill` names a tool and
a moment (`mkfs.xfs middle`) at which the caller is killed; `$STATE/bad` names disks that cannot be written.

Run as `python fake_disk_tools.py TOOL ARGUMENTS...`; see `support.disks`.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT, STATE = Path(os.environ["ROOT"]), Path(os.environ["STATE"])
MOUNTS = ROOT / "proc/self/mountinfo"
MEMBER_AT, DATA_AT = 4096, 8192


def main(tool: str, words: list[str]) -> None:
    with (STATE / "calls").open("a") as calls:
        calls.write(" ".join([tool, *words]) + "\n")
    action = f"{tool} {words[0]}" if tool == "mdadm" else tool
    die(action, "before")
    {"lsblk": lsblk, "blkid": blkid, "mdadm": mdadm, "mkfs.xfs": mkfs, "xfs_info": xfs_info, "mount": mount}[tool](
        words
    )
    die(action, "after")


def die(action: str, moment: str) -> None:
    """Kill the caller, once, when this is the moment."""
    order = STATE / "kill"
    if order.exists() and order.read_text() == f"{action} {moment}":
        order.unlink()
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit(1)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def fail(message: str, status: int = 1) -> None:
    sys.stderr.write(f"{message}\n")
    sys.exit(status)


def member(path: str) -> dict[str, object] | None:
    data = Path(path).read_bytes()[MEMBER_AT : MEMBER_AT + 512].rstrip(b"\0")
    return json.loads(data[2:]) if data.startswith(b"MD") else None


def dashed(digits: str) -> str:
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def put(path: str | Path, offset: int, data: bytes) -> None:
    failing = STATE / "bad"
    if failing.exists() and Path(path).name == failing.read_text():
        raise OSError
    with Path(path).open("r+b") as file:
        file.seek(offset)
        file.write(data)


def disks() -> list[str]:
    return sorted(str(path) for path in (ROOT / "dev").iterdir() if path.is_file() and not path.is_symlink())


def arrays() -> dict[str, str]:
    """Device file of each running array, and its UUID."""
    state = STATE / "arrays.json"
    return json.loads(state.read_text()) if state.exists() else {}


def set_arrays(found: dict[str, str]) -> None:
    (STATE / "arrays.json").write_text(json.dumps(found))


def mounted(source: str) -> str | None:
    lines = MOUNTS.read_text().splitlines() if MOUNTS.exists() else []
    return next((line.split(" ")[4] for line in lines if line.split(" - ")[1].split(" ")[1] == source), None)


def lsblk(words: list[str]) -> None:
    strangers = strange()
    say(json.dumps({"blockdevices": [described(path, strangers) for path in words if path.startswith("/")]}))


def strange() -> dict[str, list[dict[str, object]]]:
    """What a test has put on disks, by their names."""
    extra = STATE / "children.json"
    found: dict[str, list[dict[str, object]]] = json.loads(extra.read_text()) if extra.exists() else {}
    return found


def described(path: str, strangers: dict[str, list[dict[str, object]]]) -> dict[str, object]:
    known = member(path) or {}
    children = [
        {"name": Path(device).name, "path": device, "type": "raid0", "mountpoint": mounted(device)}
        for device, digits in arrays().items()
        if digits == known.get("uuid")
    ] + strangers.get(Path(path).name, [])
    entry = {"name": Path(path).name, "path": path, "type": "disk", "mountpoint": mounted(path)}
    return entry | ({"children": children} if children else {})


def blkid(words: list[str]) -> None:
    path = words[-1]
    data, known = Path(path).read_bytes(), member(path)
    found = {}
    if known:
        found = {"UUID": dashed(str(known["uuid"])), "LABEL": known["name"], "TYPE": "linux_raid_member"}
    elif data.startswith(b"XFSB"):
        found = {
            "LABEL": data[108:120].rstrip(b"\0").decode(),
            "UUID": dashed(data[32:48].hex()),
            "TYPE": "xfs",
        }
    elif data[1080:1082] == b"\x53\xef":
        found = {"UUID": dashed("7" * 32), "TYPE": "ext4"}
    elif data[510:512] == b"\x55\xaa":
        found = {"PTUUID": "0c2a5d10", "PTTYPE": "dos"}
    if not found:
        sys.exit(2)
    say(f"DEVNAME={path}")
    for name, value in found.items():
        say(f"{name}={str(value).replace(':', chr(92) + ':')}")


def mdadm(words: list[str]) -> None:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    paths = [word for word in words if word.startswith("/")]
    {"--create": create, "--assemble": assemble, "--stop": stop, "--zero-superblock": zero, "--detail": detail}[
        words[0]
    ](options, paths)


def create(options: dict[str, str], paths: list[str]) -> None:
    device, *members = paths
    if len(members) != int(options["raid-devices"]):
        fail("mdadm: You haven't given enough devices (real or missing) to create this array")
    digits = os.urandom(16).hex()
    for index, path in enumerate(members):
        if any(entry["type"] == "md" for entry in strange().get(Path(path).name, [])):
            fail(f"mdadm: cannot open {path}: Device or resource busy")
        if mounted(path) or Path(path).read_bytes().startswith(b"XFSB"):
            fail(f"mdadm: cannot open {path}: Device or resource busy")
        if index == len(members) // 2:
            die("mdadm --create", "middle")
        record = {
            "uuid": digits,
            "name": f"{options['homehost']}:{options['name']}",
            "devices": len(members),
            "index": index,
            "chunk": int(options["chunk"]),
        }
        try:
            put(path, MEMBER_AT, (b"MD" + json.dumps(record).encode()).ljust(512, b"\0"))
        except OSError:
            fail(f"mdadm: Failed to write metadata to {path}")
    run(device, digits, members)


def assemble(options: dict[str, str], paths: list[str]) -> None:
    device, *members = paths
    digits = options["uuid"].replace(":", "")
    known = [found for path in members if (found := member(path)) and found["uuid"] == digits]
    if not known or len(known) != known[0]["devices"]:
        fail(f"mdadm: {device} assembled from {len(known)} drives - not enough to start the array.")
    run(device, digits, members)


def run(device: str, digits: str, members: list[str]) -> None:
    """The array shows what the first disk has where the data begins, so also the remains of an older array."""
    first = next(path for path in members if (member(path) or {}).get("index") == 0)
    Path(device).parent.mkdir(parents=True, exist_ok=True)
    Path(device).write_bytes(Path(first).read_bytes()[DATA_AT : DATA_AT + 4096])
    set_arrays(arrays() | {device: digits})


def stop(options: dict[str, str], paths: list[str]) -> None:
    Path(paths[0]).unlink(missing_ok=True)
    kept = {name: [entry for entry in entries if entry["path"] != paths[0]] for name, entries in strange().items()}
    (STATE / "children.json").write_text(json.dumps(kept))
    set_arrays({device: digits for device, digits in arrays().items() if device != paths[0]})


def zero(options: dict[str, str], paths: list[str]) -> None:
    for path in paths:
        put(path, MEMBER_AT, bytes(512))


def parts_of(device: str) -> Iterator[tuple[dict[str, object], str]]:
    digits = arrays()[device]
    found = [(known, path) for path in disks() if (known := member(path)) and known["uuid"] == digits]
    return iter(sorted(found, key=lambda pair: int(str(pair[0]["index"]))))


def detail(options: dict[str, str], paths: list[str]) -> None:
    parts = list(parts_of(paths[0]))
    known = parts[0][0]
    digits = str(known["uuid"])
    say(f"{paths[0]}:\n           Version : 1.2\n     Creation Time : Mon Nov 30 21:00:00 2026")
    say("        Raid Level : raid0\n        Array Size : 29685760000 (27.65 TiB 30.40 TB)")
    say(f"      Raid Devices : {known['devices']}\n     Total Devices : {known['devices']}")
    say("       Persistence : Superblock is persistent\n\n             State : clean")
    say(f"\n        Chunk Size : {known['chunk']}K\n\nConsistency Policy : none\n")
    say(f"              Name : {known['name']}")
    say(f"              UUID : {':'.join(digits[at : at + 8] for at in range(0, 32, 8))}\n            Events : 0\n")
    say("    Number   Major   Minor   RaidDevice State")
    for index, (_, path) in enumerate(parts):
        say(f"       {index}     259       {index:2}        {index}      active sync   {path.removeprefix(str(ROOT))}")


def mkfs(words: list[str]) -> None:
    device = words[-1]
    values = dict(itertools.pairwise(words))
    shape = dict(part.split("=") for part in values.get("-d", "").split(",") if part)
    identity = values["-m"].removeprefix("uuid=").replace("-", "") if "-m" in values else os.urandom(16).hex()
    unit = int(shape.get("su", "0k")[:-1]) // 4
    block = bytearray(512)
    block[0:8] = struct.pack(">4sI", b"XFSB", 4096)
    block[32:48] = bytes.fromhex(identity)
    block[108:120] = values["-L"].encode().ljust(12, b"\0")
    block[184:192] = struct.pack(">II", unit, unit * int(shape.get("sw", "0")))
    block[126] = 1
    write(device, bytes(block))
    die("mkfs.xfs", "middle")
    block[126] = 0
    write(device, bytes(block))


def write(device: str, block: bytes) -> None:
    try:
        put(device, 0, block)
        if device in arrays():
            put(next(parts_of(device))[1], DATA_AT, block)
    except OSError:
        fail("mkfs.xfs: pwrite failed: Input/output error")


def xfs_info(words: list[str]) -> None:
    path = words[0].removeprefix(str(ROOT))
    sources = [line.split(" - ")[1].split(" ")[1] for line in MOUNTS.read_text().splitlines() if f" {path} " in line]
    unit, width = struct.unpack(">II", Path(sources[-1]).read_bytes()[184:192])
    say(f"meta-data={sources[-1]}             isize=512    agcount=8, agsize=262080 blks")
    say("         =                       sectsz=512   attr=2, projid32bit=1")
    say("data     =                       bsize=4096   blocks=2096640, imaxpct=25")
    say(f"         =                       sunit={unit}     swidth={width} blks")
    say("naming   =version 2              bsize=4096   ascii-ci=0, ftype=1")
    say("log      =internal log           bsize=4096   blocks=16384, version=2")
    say("         =                       sectsz=512   sunit=64 blks, lazy-count=1")


def mount(words: list[str]) -> None:
    source, target = words[-2:]
    kind = "none"
    if "--bind" in words:
        inner = source.removeprefix(str(ROOT))
        line = next(line for line in MOUNTS.read_text().splitlines() if line.split(" ")[4] == inner)
        source = line.split(" - ")[1].split(" ")[1]
    else:
        data = Path(source).read_bytes()
        if not data.startswith(b"XFSB") or data[126]:
            fail(f"mount: {target}: wrong fs type, bad option, bad superblock on {source}", 32)
        kind = "xfs"
    MOUNTS.parent.mkdir(parents=True, exist_ok=True)
    with MOUNTS.open("a") as file:
        file.write(f"36 35 259:0 / {target.removeprefix(str(ROOT))} rw,noatime - {kind} {source} rw\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
