"""Data sets that jobs hold, those that are evicted, and what is never touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ultracluster.node.host import NodeError
from ultracluster.node.stage import evicting, shelf

DAY = 86400


@pytest.fixture
def data(host, program, tmp_path):
    """Data sets by age of their last use, in days."""

    def made(**ages):
        for name, age in ages.items():
            source = tmp_path / name
            source.mkdir()
            (source / "file").write_bytes(bytes(10_000))
            assert program("copy", source, host.root / "scratch/data" / name)[0] == 0
            past = time.time() - age * DAY
            os.utime(shelf.Slot(host.root / "scratch/data" / name).lease, (past, past))
        return host.root / "scratch/data"

    return made


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != shelf.FOLDER)


def test_only_data_sets_that_were_not_used_for_so_long_go(program, data):
    folder = data(old=9, fresh=1)
    (folder / "of-somebody").mkdir()
    status, done = program("evict", folder, "--older-than", "7d")
    assert (status, done["evicted"], done["freed_bytes"]) == (0, [str(folder / "old")], 10_000)
    assert names(folder) == ["fresh", "of-somebody"]
    assert [slot.target.name for slot in shelf.slots(folder)] == ["fresh"]


def test_the_longest_unused_go_first_until_there_is_room(program, data, monkeypatch):
    folder = data(a=3, b=9, c=5)
    free = iter([0, 10_000, 20_000, 30_000])
    monkeypatch.setattr(evicting, "_free", lambda path: next(free))
    status, done = program("evict", folder, "--to-free", "15000")
    assert (status, [Path(path).name for path in done["evicted"]]) == (0, ["b", "c"])
    assert names(folder) == ["a"]


def test_room_that_cannot_be_made_is_a_finding(program, data):
    folder = data(a=3)
    status, _ = program("evict", folder, "--to-free", "9000T")
    assert status == 1
    assert "are free, not 9000.0 TiB" in program.said
    assert names(folder) == []


def test_age_and_room_together(program, data):
    folder = data(a=3, b=9)
    status, _ = program("evict", folder, "--older-than", "7d", "--to-free", "9000T")
    assert (status, names(folder)) == (1, ["a"])


def test_one_data_set_can_be_named(program, data):
    folder = data(a=3, b=9)
    assert program("evict", folder / "a", "--older-than", "1h")[0] == 0
    assert names(folder) == ["b"]


def test_a_dry_run_only_says(program, data):
    folder = data(a=9)
    status, done = program("evict", folder, "--older-than", "7d", "--dry-run")
    assert (status, done["evicted"]) == (0, [str(folder / "a")])
    assert names(folder) == ["a"]


def test_a_data_set_that_is_held_stays(program, data):
    folder = data(a=9, b=9)
    with shelf.Slot(folder / "a").leased(alone=False):
        status, done = program("evict", folder, "--older-than", "7d")
    assert (status, done["in_use"], done["evicted"]) == (0, [str(folder / "a")], [str(folder / "b")])
    assert "a is in use and stays" in program.said
    assert names(folder) == ["a"]


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_it_takes_a_reason(program, data, words):
    folder = data(a=9)
    with pytest.raises(NodeError, match="needs --older-than or --to-free"):
        program("evict", folder, *words)


def test_folders_that_were_not_staged_are_never_touched(program, host):
    other = host.root / "scratch/checkpoints"
    other.mkdir()
    with pytest.raises(NodeError, match="only data sets that `stage copy` made are evicted"):
        program("evict", other, "--older-than", "1s")
    assert other.is_dir()


def test_an_eviction_that_was_killed_is_finished_by_the_next(program, data):
    folder = data(a=9, b=1)
    trash = folder / shelf.FOLDER / "trash-a-1"
    (folder / "a").rename(trash)
    assert program("evict", folder, "--older-than", "7d")[0] == 0
    assert not trash.exists()
    assert [slot.target.name for slot in shelf.slots(folder)] == ["b"]


def test_after_an_eviction_the_data_set_can_be_copied_again(program, data, tmp_path):
    folder = data(a=9)
    program("evict", folder, "--older-than", "7d")
    status, done = program("copy", tmp_path / "a", folder / "a")
    assert (status, done["copied"], done["stood"]) == (0, 1, 0)


def test_the_list_says_what_is_there(program, data, tmp_path):
    folder = data(a=2)
    with shelf.Slot(folder / "a").leased(alone=False):
        _, rows = program("list", folder)
    (row,) = rows
    assert (row["path"], row["source"], row["files"], row["size_bytes"]) == (
        str(folder / "a"),
        str(tmp_path / "a"),
        1,
        10_000,
    )
    assert row["in_use"]
    assert abs(time.time() - 2 * DAY - row["last_used"]) < 100
    assert not program("list", folder)[1][0]["in_use"]
    assert program("list", folder / "a") == (0, [])


class TestHold:
    def test_the_status_of_the_command_is_ours_and_its_end_is_the_last_use(self, program, data):
        folder = data(a=9)
        status, _ = program("hold", folder / "a", "--", sys.executable, "-c", "raise SystemExit(7)")
        assert status == 7
        assert time.time() - shelf.Slot(folder / "a").last_used() < 60

    def test_nothing_is_evicted_while_the_command_runs(self, program, data, tmp_path):
        folder = data(a=9, b=9)
        code = (
            "import fcntl, sys\nfrom pathlib import Path\n"
            "for lease in Path(sys.argv[1]).glob('*.lease'):\n"
            "    try:\n        fcntl.flock(lease.open('a'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
            "    except OSError:\n        print(lease.stem)\n"
        )
        log = tmp_path / "held"
        script = tmp_path / "job.py"
        script.write_text(f"import sys\nsys.stdout = open({str(log)!r}, 'w')\n{code}")
        assert program("hold", folder / "a", "--", sys.executable, script, folder / shelf.FOLDER)[0] == 0
        assert log.read_text().split() == ["a"]

    def test_signals_go_on_to_the_command(self, data, tmp_path):
        folder = data(a=1)
        ready = tmp_path / "ready"
        job = tmp_path / "job.py"
        job.write_text(
            "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\n"
            f"open({str(ready)!r}, 'w').close()\ntime.sleep(60)\n"
        )
        code = (
            "import sys\nfrom pathlib import Path\nfrom ultracluster.node.stage import holding, shelf\n"
            "sys.exit(holding.hold([shelf.Slot(Path(sys.argv[1]))], sys.argv[2:]))\n"
        )
        constructs = Path(__file__).parents[3] / "constructs"
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder / "a"), sys.executable, str(job)],
            env={"PYTHONPATH": str(constructs)},
        )
        until = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert shelf.Slot(folder / "a").in_use()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 3
        assert not shelf.Slot(folder / "a").in_use()

    def test_a_command_that_a_signal_ends_has_the_status_of_a_shell(self, program, data):
        folder = data(a=1)
        code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        assert program("hold", folder / "a", "--", sys.executable, "-c", code)[0] == 137

    @pytest.mark.parametrize("words", [["a"], ["a", "--"], ["--", "true"], []])
    def test_it_needs_data_sets_and_a_command(self, program, data, words):
        folder = data(a=1)
        with pytest.raises(NodeError, match="hold needs data sets"):
            program("hold", *(folder / word if word == "a" else word for word in words))

    def test_what_is_not_there_cannot_be_held(self, program, data):
        folder = data(a=1)
        with pytest.raises(NodeError, match="b is not there; copy it first"):
            program("hold", folder / "b", "--", "true")
        with shelf.Slot(folder / "a").leased(alone=True), pytest.raises(NodeError, match="is being changed"):
            program("hold", folder / "a", "--", "true")
        with pytest.raises(NodeError, match="no-such-command cannot be started: No such file"):
            program("hold", folder / "a", "--", "no-such-command")


def test_every_user_of_the_node_can_hold_and_add(data):
    folder = data(a=1)
    slot = shelf.Slot(folder / "a")
    assert slot.lease.stat().st_mode & 0o777 == 0o666
    assert slot.shelf.stat().st_mode & 0o7777 == 0o1777


def test_an_error_of_the_file_system_is_one_line(program, data, monkeypatch):
    folder = data(a=9)

    def full(slot):
        raise OSError(28, "No space left on device", str(slot.journal))

    monkeypatch.setattr(evicting, "discard", full)
    with pytest.raises(NodeError, match=r"a\.journal: No space left on device; look at it$"):
        program("evict", folder, "--older-than", "7d")
