"""The wheel: holds everything, installs into an empty environment, works away from the checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from support.sources import ROOT, tracked_files

PACKAGES = {"ultracluster": "constructs", "ultracluster_stacks": "stacks", "ultracluster_cli": "apps"}


def _run(*command: str | Path, cwd: Path) -> str:
    outcome = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the checkout, built with the locked hatchling."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    uv = Path(sys.executable).with_name("uv")
    _run(
        uv,
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-deps",
        "--python",
        folder / "bin" / "python",
        wheel,
        cwd=folder,
    )
    return folder


@pytest.fixture(scope="module")
def with_dependencies(environment: Path) -> Path:
    """The same environment, which now also sees the locked dependencies (but not the checkout)."""
    site = next((environment / "lib").glob("python3*")) / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return environment


def test_the_wheel_holds_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        path.relative_to(ROOT / root).as_posix()
        for package, root in PACKAGES.items()
        for path in tracked_files()
        if path.is_relative_to(ROOT / root / package)
    }
    assert names == expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


def test_the_wheel_names_license_command_and_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = {name.partition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        metadata = archive.read(info["METADATA"]).decode()
        scripts = archive.read(info["entry_points.txt"]).decode()
    assert "licenses/LICENSE" in info
    assert "License-Expression: Apache-2.0" in metadata
    assert "ultracluster = ultracluster_cli.main:main" in scripts
    assert {f"Provides-Extra: {extra}" for extra in ("aws", "dev", "docs", "local", "nag")} <= set(
        metadata.splitlines()
    )


def test_the_pure_half_works_in_an_empty_environment(environment: Path, tmp_path: Path) -> None:
    code = "import ultracluster as u; t = u.instance_type('p5.48xlarge'); print(u.__file__, t.accelerator_count)"
    file, count = _run(environment / "bin" / "python", "-c", code, cwd=tmp_path).split()
    assert Path(file).is_relative_to(environment)
    assert int(count) == 8


def test_all_packages_import_outside_the_checkout(with_dependencies: Path, tmp_path: Path) -> None:
    code = (
        "import ultracluster as u, ultracluster_cli.main as m, ultracluster_stacks.assemble as a;"
        "print(u.__file__, m.__file__, a.__file__)"
    )
    for file in _run(with_dependencies / "bin" / "python", "-c", code, cwd=tmp_path).split():
        assert Path(file).is_relative_to(with_dependencies)


def test_the_command_finds_its_data_outside_the_checkout(with_dependencies: Path, tmp_path: Path) -> None:
    command = with_dependencies / "bin" / "ultracluster"
    assert "catalog" in _run(command, "--help", cwd=tmp_path)
    assert "p5.48xlarge" in _run(command, "catalog", cwd=tmp_path)
