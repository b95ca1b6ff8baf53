"""The packed file: the same bytes every time, old Pythons, one program at a time."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ultracluster.node import __main__ as entry
from ultracluster.plan import node_program as packing
from ultracluster.plan.node_program import node_program

SOURCE = Path(entry.__file__).parent
# What costs megabytes; the watcher has fifteen for everything.
HEAVY = {
    *("ssl", "http.client", "urllib.request", "subprocess", "email", "dataclasses", "inspect", "tempfile", "shutil"),
    *("argparse", "calendar", "datetime", "_strptime", "threading", "logging", "typing"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("node") / "ultracluster-node"
    file.write_bytes(node_program().data)
    file.chmod(0o755)
    return file


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(program), *words], capture_output=True, text=True, check=False)


def test_two_builds_are_the_same_bytes_whatever_the_folder_says(monkeypatch, tmp_path):
    first = node_program.__wrapped__().data
    copy = tmp_path / "node"
    for file in sorted(SOURCE.rglob("*"), reverse=True):
        if file.is_file() and "__pycache__" not in file.parts:
            target = copy / file.relative_to(SOURCE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes().replace(b"\n", b"\r\n") if file.suffix == ".py" else file.read_bytes())
            target.chmod(0o600)
            os.utime(target, (1, 1))
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__/x.pyc").write_bytes(b"x")
    (copy / "boot.py~").write_bytes(b"x")
    (copy / ".DS_Store").write_bytes(b"x")
    monkeypatch.setattr(packing, "_SOURCE", copy)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert node_program.__wrapped__().data == first
    assert hashlib.sha256(first).hexdigest() == node_program.__wrapped__().sha256


def test_what_is_packed():
    with zipfile.ZipFile(io.BytesIO(node_program().data)) as archive:
        names = archive.namelist()
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    assert names[0] == "__main__.py"
    assert {"node/__init__.py", "node/watch/loop.py", "node/units/ultracluster-watch.service"} <= set(names)
    assert {"node/facts/types.json", "node/facts/watch.json"} <= set(names)
    assert not [name for name in names if "pycache" in name]
    assert node_program().data.startswith(b"#!/usr/bin/env python3\n")


def test_help_names_every_program(program):
    done = run(program, "--help")
    assert done.returncode == 0, done.stderr
    for name in entry.PROGRAMS:
        assert f"\n  {name} " in done.stdout
    assert "None" not in done.stdout


@pytest.mark.parametrize("name", entry.PROGRAMS)
def test_every_program_explains_itself(program, name):
    done = run(program, name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: ultracluster-node {name}")


def test_bad_usage(program):
    assert run(program).returncode == 2
    done = run(program, "dance")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no program 'dance'; one of boot," in done.stderr
    assert run(program, "watch", "--nonsense").returncode == 2


def test_a_fault_is_one_line(program, tmp_path):
    (tmp_path / "etc/ultracluster").mkdir(parents=True)
    (tmp_path / "etc/ultracluster/node.json").write_text("[]")
    environment = {"ULTRACLUSTER_ROOT": str(tmp_path), "PATH": os.defpath}
    done = subprocess.run(
        [sys.executable, str(program), "metrics"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert (
        done.stderr
        == f"ultracluster metrics: {tmp_path}/etc/ultracluster/node.json is no JSON object; write it again\n"
    )


def test_all_sources_are_python_of_the_oldest_image():
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                words = {word.arg for word in node.keywords}
                name = ast.unparse(node.func)
                assert not (name == "zip" and "strict" in words), f"{file}:{node.lineno}"
                assert not (name.endswith("dataclass") and words & {"slots", "kw_only"}), f"{file}:{node.lineno}"


def test_nothing_but_the_standard_library_and_ourselves():
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names.append(node.module or "")
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names, f"{file}:{node.lineno} imports {name}"


def test_the_watcher_loads_nothing_heavy(program):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import node.imds, node.watch.loop\n"
        "from node.__main__ import main\n"
        "import node.watch, node.watch.trainers\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code, str(program)], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def other_pythons() -> list[str]:
    """Pythons of this machine that a node could have."""
    found = [f"/usr/bin/python3.{minor}" for minor in range(9, 15)]
    return [name for name in [*found, "/usr/bin/python3"] if Path(name).exists()]


def test_it_runs_with_the_pythons_of_distributions(program):
    for python in other_pythons():
        done = subprocess.run([python, str(program), "--help"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{python}: {done.stderr}"
