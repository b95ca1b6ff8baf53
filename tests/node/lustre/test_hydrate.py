"""Data in from S3: only released files, so many at a time, until they are in; layouts of folders."""

from __future__ import annotations

import argparse
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.lustre import LUSTRE, LustreHost
from ultracluster.node import lustre
from ultracluster.node.host import NodeError
from ultracluster.node.lustre.hydrate import Hydration, actions, states

RELEASED, RESIDENT = ["released", "exists", "archived"], ["exists", "archived"]


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def host(machine):
    return LustreHost(machine, LUSTRE)


def hydrated(host, path="/fsx", **options):
    clock = Clock()
    return Hydration(host.machine.node(clock=clock, sleep=clock.sleep), **options).run(path)


def test_only_released_files_are_asked_for_and_waited_for(host):
    host.files(
        {
            "/fsx/a": {"flags": RELEASED, "looks": 3, "size": 100},
            "/fsx/b": {"flags": RESIDENT},
            "/fsx/sub/c": {"flags": RELEASED, "size": 50},
            "/fsx/sub/new": {"flags": []},
        }
    )
    done = hydrated(host)
    assert (done.files, done.resident, done.restored, done.restored_bytes, done.failed) == (4, 2, 2, 150, {})
    assert host.hsm("/fsx/a")["flags"] == RESIDENT
    assert "asked" not in host.hsm("/fsx/b")


def test_a_second_run_asks_for_nothing(host):
    host.files({f"/fsx/{index}": {"flags": RELEASED} for index in range(5)})
    assert hydrated(host).restored == 5
    before = len(host.machine.called("lfs hsm_restore"))
    done = hydrated(host)
    assert (done.resident, done.restored) == (5, 0)
    assert len(host.machine.called("lfs hsm_restore")) == before


def test_no_more_files_in_flight_than_allowed(host):
    host.files({f"/fsx/{index:03}": {"flags": RELEASED, "looks": 2} for index in range(150)})
    assert hydrated(host, in_flight=40).restored == 150
    assert max(len(call.split()) - 2 for call in host.machine.called("lfs hsm_action")) <= 40
    batches = [len(call.split()) - 2 for call in host.machine.called("lfs hsm_restore")]
    assert sum(batches) == 150
    assert max(batches) <= 40


def test_a_restore_that_fails_is_asked_for_again_and_then_counted(host, capsys):
    host.files(
        {
            "/fsx/late": {"flags": RELEASED, "failures": 2},
            "/fsx/never": {"flags": RELEASED, "failures": 9},
            "/fsx/refused": {"flags": RELEASED, "refused": True},
            "/fsx/lost": {"flags": [*RELEASED, "lost_from_hsm"]},
            "/fsx/good": {"flags": RELEASED},
        }
    )
    done = hydrated(host)
    assert done.restored == 2
    failed = {path.rpartition("/")[2]: why for path, why in done.failed.items()}
    assert set(failed) == {"never", "refused", "lost"}
    assert failed["lost"] == "its object is no longer in S3"
    assert "Resource temporarily unavailable after 3 attempts" in failed["refused"]
    assert [host.hsm(f"/fsx/{name}")["asked"] for name in ("late", "never", "refused")] == [3, 3, 3]
    assert "2 of 2 files restored (0.0 GB), 0 of 5 were there, 3 failed" in capsys.readouterr().err


def test_a_file_that_nobody_moves_is_given_up(host):
    host.files({"/fsx/a": {"flags": RELEASED}, "/fsx/stuck": {"flags": RELEASED, "looks": 10**6}})
    done = hydrated(host, stall_s=60)
    assert done.restored == 1
    assert [why for _, why in done.failed.items()] == ["nothing came in for 60 s"]


def test_a_file_without_a_state_is_a_failure(host):
    host.files({"/fsx/a": {"flags": RELEASED}})
    (host.machine.root / "fsx/strange").write_text("x")
    done = hydrated(host)
    assert list(done.failed.values()) == ["lfs hsm_state says nothing of it"]


def test_progress_is_told_while_it_lasts(host, capsys):
    host.files({"/fsx/a": {"flags": RELEASED, "looks": 15, "size": 4}})
    hydrated(host)
    lines = [line for line in capsys.readouterr().err.splitlines() if "files restored" in line]
    assert lines[0].endswith("0 of 1 files restored (0.0 GB), 0 of 1 were there, 0 failed")
    assert len(lines) >= 3


def test_one_file_can_be_named(host):
    host.files({"/fsx/a": {"flags": RELEASED}, "/fsx/b": {"flags": RELEASED}})
    assert hydrated(host, "/fsx/a").restored == 1
    assert host.hsm("/fsx/b")["flags"] == RELEASED


def test_links_are_not_followed(host):
    host.files({"/fsx/a": {"flags": RELEASED}})
    (host.machine.root / "fsx/link").symlink_to("a")
    (host.machine.root / "fsx/loop").symlink_to(".")
    assert hydrated(host).files == 1


def test_the_program_prints_counts_and_fails_with_failures(host, capsys):
    host.files({"/fsx/a": {"flags": RELEASED}, "/fsx/lost": {"flags": [*RELEASED, "lost_from_hsm"]}})
    arguments = argparse.Namespace(command="hydrate", path="/fsx", in_flight=8, stall=60)
    assert lustre.run(arguments, host.machine.node()) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["restored"] == 1
    assert "/fsx/lost: its object is no longer in S3" in captured.err


@pytest.mark.parametrize(
    ("path", "message"),
    [("/scratch/x", "/scratch/x is on nothing, not on Lustre"), ("/fsx/none", "/fsx/none does not exist")],
)
def test_what_cannot_be_hydrated_is_named(host, path, message):
    host.files({"/fsx/a": {"flags": RELEASED}})
    with pytest.raises(NodeError, match=message):
        lustre.run(argparse.Namespace(command="hydrate", path=path, in_flight=8, stall=60), host.machine.node())


_PATHS = st.from_regex(r"/[a-zA-Z0-9 :(),._/-]{1,24}", fullmatch=True)
_FLAGS = st.lists(st.sampled_from(["released", "exists", "dirty", "archived", "lost_from_hsm"]), unique=True)


@given(st.dictionaries(_PATHS, st.tuples(_FLAGS, st.booleans()), max_size=6))
def test_any_states(files):
    lines = [
        f"{path}: (0x{index:08x}){''.join(f' {flag}' for flag in flags)}{', archive_id:1' if archived else ''}"
        for index, (path, (flags, archived)) in enumerate(files.items())
    ]
    assert states("\n".join(lines)) == {path: frozenset(flags) for path, (flags, _) in files.items()}


@given(
    st.dictionaries(_PATHS, st.sampled_from(["NOOP", "RESTORE waiting", "RESTORE running (9 bytes moved)"]), max_size=6)
)
def test_any_actions(files):
    found = actions("\n".join(f"{path}: {text}" for path, text in files.items()))
    assert found == {path: text.split()[0] for path, text in files.items()}


class TestStripe:
    @pytest.mark.parametrize(
        ("purpose", "options"), [("checkpoints", "-c -1 -S 16M"), ("data", "-c -1 -S 16M"), ("logs", "-c 1")]
    )
    def test_the_layout_is_that_of_the_purpose(self, host, purpose, options, capsys):
        host.files({})
        arguments = argparse.Namespace(command="stripe", path="/fsx/new/folder", purpose=purpose)
        assert lustre.run(arguments, host.machine.node()) == 0
        assert host.machine.called("lfs") == [f"lfs setstripe {options} /fsx/new/folder"]
        assert (host.machine.root / "fsx/new/folder").is_dir()
        assert "files in it stay as they are" in capsys.readouterr().err

    def test_other_file_systems_have_no_layout(self, host):
        host.files({})
        with pytest.raises(NodeError, match=r"^/fsxother is on nothing, not on Lustre"):
            lustre.run(argparse.Namespace(command="stripe", path="/fsxother", purpose="data"), host.machine.node())
        assert not (host.machine.root / "fsxother").exists()
