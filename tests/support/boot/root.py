"""The guest's root file system: Debian by mmdebstrap, kept between runs under the hash of its recipe."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import struct
import subprocess
from pathlib import Path

GUEST = Path(__file__).parents[2] / "boot" / "guest"
# One release whatever the host has, so that every run tries the same kernel and the same cloud-init.
SUITE = os.environ.get("ULTRACLUSTER_BOOT_SUITE", "bookworm")
DISK_ID = 0x756C7472
_SECTOR = 512
_FIRST_SECTOR = 2048
_DISK_BYTES = 3 * 1024**3


def cache() -> Path:
    """Where roots are kept, away from the checkout: a fresh clone on the same machine finds them again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ultracluster-boot"


def root_folder() -> Path:
    """The guest's root as a folder; built when the recipe is new, which takes one to three minutes."""
    folder = cache() / f"{SUITE}-{_recipe()}"
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs may want the same root
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _certificate_authority(folder)
            _build(folder)
            (folder / "complete").touch()
            for old in cache().glob(f"{SUITE}-*"):
                if old != folder:
                    shutil.rmtree(old)
    return folder


def disk_image(folder: Path, image: Path) -> None:
    """A disk with one ext4 partition that holds the root, known by its partition id as in an image for EC2."""
    subprocess.run(
        [
            *("/sbin/mke2fs", "-q", "-t", "ext4", "-F", "-L", "cloudimg-rootfs", "-d", folder / "root"),
            *("-E", f"offset={_FIRST_SECTOR * _SECTOR},lazy_itable_init=1,lazy_journal_init=1"),
            *(image, f"{(_DISK_BYTES - _FIRST_SECTOR * _SECTOR) // 1024}k"),
        ],
        check=True,
        capture_output=True,
    )
    os.truncate(image, _DISK_BYTES)
    sectors = _DISK_BYTES // _SECTOR - _FIRST_SECTOR
    linux = 0x83
    entry = struct.pack("<B3sB3sII", 0x80, b"\0\0\0", linux, b"\0\0\0", _FIRST_SECTOR, sectors)
    with image.open("r+b") as disk:
        disk.seek(440)
        disk.write(struct.pack("<IH", DISK_ID, 0) + entry + bytes(48) + b"\x55\xaa")


def _recipe() -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted(path for path in GUEST.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(GUEST)}\0{file.stat().st_mode}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _packages() -> str:
    lines = (GUEST / "packages.txt").read_text().splitlines()
    names = (line.partition("#")[0].strip() for line in lines)
    return ",".join(name for name in names if name)


def _mirror() -> str:
    """The archive that this machine's own apt uses."""
    targets = subprocess.run(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)",
            "Created-By: Packages",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for line in targets.splitlines():
        origin, codename, component, uri = line.split(" ", 3)
        if origin == "Debian" and component == "main" and codename in ("bookworm", "trixie"):
            return uri
    raise RuntimeError("apt knows no Debian archive; run apt-get update, and do it on Debian 12 or 13")


def _build(folder: Path) -> None:
    root = folder / "root"
    options = [f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in ("doc", "man", "locale", "info")]
    options.append("--dpkgopt=force-unsafe-io")
    with (folder / "build.log").open("w") as log:
        done = subprocess.run(
            [
                # Mounts of its own end with it, whatever happens; nobody may ever copy a whole /proc.
                *("unshare", "--mount", "mmdebstrap", "--mode=root", "--variant=apt", "--format=directory"),
                *(f"--include={_packages()}", '--aptopt=APT::Install-Recommends "false"', *options),
                f'--customize-hook=cp -a "{GUEST}/root/." "$1/"',
                f'--customize-hook=cp "{folder}/ca.crt" "$1/usr/local/share/ca-certificates/endpoint-of-the-tests.crt"',
                f'--customize-hook=cp "{GUEST}/customize.sh" "$1/customize.sh"',
                '--customize-hook=chroot "$1" /bin/bash /customize.sh',
                '--customize-hook=rm "$1/customize.sh"',
                *(SUITE, root, _mirror()),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "INITRD": "No"},  # the kernel needs none, and packing one takes a minute
            check=False,
        )
    if done.returncode:
        tail = "\n".join((folder / "build.log").read_text().splitlines()[-15:])
        raise RuntimeError(f"mmdebstrap could not build the guest's root:\n{tail}")


def _certificate_authority(folder: Path) -> None:
    """Who signs the certificate of the local endpoint; made once per root, because the root trusts it."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=Tests"),
            *("-keyout", folder / "ca.key", "-out", folder / "ca.crt"),
        ],
        check=True,
        capture_output=True,
    )
