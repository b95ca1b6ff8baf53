"""What tools print, as their documentation and own captures have it, and shapes made of it."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.node import mountinfo
from ultracluster.node.host import NodeError
from ultracluster.node.scratch import parse

XFS_INFO = """\
meta-data=/dev/md127             isize=512    agcount=32, agsize=231919616 blks
         =                       sectsz=512   attr=2, projid32bit=1
         =                       crc=1        finobt=1, sparse=1, rmapbt=0
         =                       reflink=1    bigtime=1 inobtcount=1 nrext64=0
data     =                       bsize=4096   blocks=7421427712, imaxpct=5
         =                       sunit=64     swidth=512 blks
naming   =version 2              bsize=4096   ascii-ci=0, ftype=1
log      =internal log           bsize=4096   blocks=521728, version=2
         =                       sectsz=512   sunit=64 blks, lazy-count=1
realtime =none                   extsz=4096   blocks=0, rtextents=0
"""
DETAIL = """\
/dev/md127:
           Version : 1.2
     Creation Time : Mon Nov 30 21:00:00 2026
        Raid Level : raid0
        Array Size : 29685760000 (27.65 TiB 30.40 TB)
      Raid Devices : 8
     Total Devices : 8
       Persistence : Superblock is persistent

       Update Time : Mon Nov 30 21:00:00 2026
             State : clean
    Active Devices : 8
   Working Devices : 8
    Failed Devices : 0
     Spare Devices : 0

            Layout : -unknown-
        Chunk Size : 256K

Consistency Policy : none

              Name : any:ultracluster  (local to host any)
              UUID : 8a3f0b1c:5b0de98f:0cc7a7ff:3a1d2b40
            Events : 0

    Number   Major   Minor   RaidDevice State
       0     259        1        0      active sync   /dev/nvme1n1
       1     259       12        1      active sync   /dev/nvme12n1
       -       0        0        7      removed
"""
_NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
_HEX = st.integers(0, 2**128 - 1).map("{:032x}".format)


def test_mdadm_detail():
    assert parse.array(DETAIL) == parse.Array(
        name="ultracluster",
        uuid="8a3f0b1c5b0de98f0cc7a7ff3a1d2b40",
        level="raid0",
        devices=8,
        chunk_kib=256,
        members=("/dev/nvme1n1", "/dev/nvme12n1"),
    )


@given(
    names=st.tuples(_NAMES, _NAMES),
    digits=_HEX,
    level=st.sampled_from(["raid0", "raid1", "raid5", "linear"]),
    chunk=st.sampled_from([("64K", 64), ("512K", 512), ("1M", 1024), (None, 0)]),
    disks=st.lists(_NAMES, min_size=1, max_size=12, unique=True),
)
def test_any_array(names, digits, level, chunk, disks):
    host, name = names
    lines = [
        "/dev/md0:",
        "           Version : 1.2",
        f"        Raid Level : {level}",
        f"      Raid Devices : {len(disks)}",
        "             State : clean, degraded ",
        *([f"        Chunk Size : {chunk[0]}"] if chunk[0] else []),
        f"              Name : {host}:{name}",
        f"              UUID : {':'.join(digits[at : at + 8] for at in range(0, 32, 8))}",
        "    Number   Major   Minor   RaidDevice State",
        *(
            f"      {index:2}     259       {index:2}       {index:2}      active sync   /dev/{disk}"
            for index, disk in enumerate(disks)
        ),
    ]
    found = parse.array("\n".join(lines) + "\n")
    assert found == parse.Array(name, digits, level, len(disks), chunk[1], tuple(f"/dev/{disk}" for disk in disks))


@pytest.mark.parametrize("text", ["", "mdadm: cannot open /dev/md0\n", "/dev/md0:\n   Raid Level : raid0\n"])
def test_no_array(text):
    with pytest.raises(NodeError, match="mdadm --detail printed no array"):
        parse.array(text)


def test_xfs_info():
    assert parse.geometry(XFS_INFO) == parse.Geometry(256, 2048)


@given(block=st.sampled_from([512, 1024, 2048, 4096]), unit=st.integers(0, 512), disks=st.integers(0, 32))
def test_any_stripes(block, unit, disks):
    text = XFS_INFO.replace("bsize=4096   blocks=742", f"bsize={block:<6} blocks=742").replace(
        "sunit=64     swidth=512 blks", f"sunit={unit:<6} swidth={unit * disks} blks"
    )
    assert parse.geometry(text) == parse.Geometry(unit * block // 1024, unit * disks * block // 1024)


@pytest.mark.parametrize("text", ["", "xfs_info: /scratch is not a mounted XFS filesystem\n"])
def test_no_stripes(text):
    with pytest.raises(NodeError, match="xfs_info printed no data section"):
        parse.geometry(text)


_TYPES = st.sampled_from(["disk", "part", "raid0", "lvm", "crypt", "loop"])
_DEVICES = st.recursive(
    st.fixed_dictionaries(
        {"name": _NAMES, "type": _TYPES, "point": st.sampled_from([None, "/", "/data dir", "[SWAP]"])}
    ),
    lambda inner: st.fixed_dictionaries(
        {"name": _NAMES, "type": _TYPES, "point": st.none(), "children": st.lists(inner, min_size=1, max_size=3)}
    ),
    max_leaves=8,
)


def _listed(device, *, newer):
    """As a release of util-linux before or after 2.37 prints it."""
    point = {"mountpoints": [device["point"]]} if newer else {"mountpoint": device["point"]}
    entry = {"name": device["name"], "path": f"/dev/{device['name']}", "type": device["type"], **point}
    children = [_listed(child, newer=newer) for child in device.get("children", [])]
    return {**entry, "children": children} if children else entry


@given(devices=st.lists(_DEVICES, max_size=4), newer=st.booleans())
def test_any_tree_of_devices(devices, newer):
    found = parse.blocks(json.dumps({"blockdevices": [_listed(device, newer=newer) for device in devices]}))

    def flat(device):
        return [device, *(inner for child in device.get("children", []) for inner in flat(child))]

    wanted = [(f"/dev/{d['name']}", d["type"], d["point"] or "") for device in devices for d in flat(device)]
    assert [(b.path, b.kind, b.mountpoint) for block in found for b in block.tree()] == wanted


@pytest.mark.parametrize("text", ["", "lsblk: /dev/x: not a block device", "[]", '{"blockdevices": [{}]}', '{"a": 1}'])
def test_no_tree(text):
    with pytest.raises(NodeError, match="lsblk printed no list of devices"):
        parse.blocks(text)


def test_blkid():
    text = "DEVNAME=/dev/nvme1n1\nUUID=8a3f0b1c-5b0d-e98f-0cc7-a7ff3a1d2b40\nLABEL=any:ultracluster\nTYPE=x\n"
    assert parse.signature(text)["LABEL"] == "any:ultracluster"
    assert parse.same_uuid(parse.signature(text)["UUID"]) == parse.array(DETAIL).uuid


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), st.text(st.characters(exclude_categories=["C", "Z"]))
    )
)
def test_any_signature(values):
    special = set("\\ \"'$`<>&|;()*?[]#~=!%")
    lines = [f"{key}={''.join(chr(92) + c if c in special else c for c in value)}" for key, value in values.items()]
    assert parse.signature("\n".join(lines)) == values


@given(label=st.from_regex(r"[a-zA-Z0-9_-]{0,12}", fullmatch=True), digits=_HEX, flag=st.integers(0, 255))
def test_any_superblock(label, digits, flag):
    block = bytearray(512)
    block[:4] = b"XFSB"
    block[32:48] = bytes.fromhex(digits)
    block[108:120] = struct.pack("12s", label.encode())
    block[126] = flag
    assert parse.superblock(bytes(block)) == parse.Xfs(label, digits, flag == 0)


@given(st.binary(max_size=1024).filter(lambda data: not data.startswith(b"XFSB")))
def test_what_is_no_superblock(data):
    assert parse.superblock(data) is None
    assert parse.superblock(b"XFSB" + data[:507]) is None


_PATHS = st.from_regex(r"(/[a-z \t\\#]{1,6}){1,3}", fullmatch=True)


@given(st.lists(st.tuples(_PATHS, _PATHS, st.sampled_from(["xfs", "lustre", "nfs4"]), st.integers(0, 2)), max_size=5))
def test_any_mounts(entries):
    def quoted(path):
        return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in path)

    lines = [
        f"36 35 98:0 / {quoted(path)} rw,noatime {'master:1 ' * optional}- {kind} {quoted(source)} rw"
        for source, path, kind, optional in entries
    ]
    found = mountinfo.parse("\n".join(lines))
    assert [(mount.source, mount.path, mount.kind, mount.options) for mount in found] == [
        (source, path, kind, ("rw", "noatime")) for source, path, kind, _ in entries
    ]


def test_lines_of_another_shape_are_left_out(machine):
    machine.write("/proc/self/mountinfo", "\ngarbage\n1 2 3:4 / /a rw - x\n1 2 3:4 / /b rw - ext4 /dev/x rw\n")
    assert mountinfo.mounted_at(machine.node(), "/b").source == "/dev/x"
    assert mountinfo.mounted_at(machine.node(), "/a") is None


def test_the_last_mount_covers_those_before(machine):
    machine.write("/proc/self/mountinfo", "1 2 3:4 / /a rw - ext4 /dev/x rw\n1 2 3:4 / /a rw - xfs /dev/y rw\n")
    assert mountinfo.mounted_at(machine.node(), "/a").kind == "xfs"
