"""Files that are whole at every moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import time
from pathlib import Path

import pytest

from ultracluster.node.files import locked, read_text, write_atomically


def test_content_mode_and_folder(tmp_path):
    file = tmp_path / "a/b/c.json"
    write_atomically(file, "ä\n", 0o600)
    assert file.read_text(encoding="utf-8") == "ä\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write_atomically(file, b"\0\1")
    assert file.read_bytes() == b"\0\1"
    assert [each.name for each in file.parent.iterdir()] == ["c.json"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "x"
    write_atomically(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "\udc80")
    assert file.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_absent_files(tmp_path):
    assert read_text(tmp_path / "x", "none") == "none"
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "x")


def write_for_ever(file: Path) -> None:
    for number in range(10**9):
        write_atomically(file, f"{number:06}" * 20_000)


def test_killed_at_any_moment_the_file_is_whole(tmp_path):
    file = tmp_path / "x"
    for moment in range(8):
        writer = multiprocessing.get_context("fork").Process(target=write_for_ever, args=(file,))
        writer.start()
        while not file.exists():
            time.sleep(0.001)
        time.sleep(0.01 + 0.007 * moment)
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        text = file.read_text()
        assert text == text[:6] * 20_000


def hold(file: Path, ready: Path) -> None:
    with locked(file):
        ready.touch()
        time.sleep(60)


def test_a_lock_ends_with_its_holder(tmp_path):
    holder = multiprocessing.get_context("fork").Process(target=hold, args=(tmp_path / "lock", tmp_path / "ready"))
    holder.start()
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    waiter = multiprocessing.get_context("fork").Process(target=hold, args=(tmp_path / "lock", tmp_path / "second"))
    waiter.start()
    time.sleep(0.3)
    assert not (tmp_path / "second").exists()
    os.kill(holder.pid or 0, signal.SIGKILL)
    holder.join()
    while not (tmp_path / "second").exists():
        time.sleep(0.01)
    waiter.kill()
    waiter.join()
