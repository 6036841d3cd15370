"""Files that are whole or not there."""

import os
from pathlib import Path

import pytest

from softlookup.files import replace_file


def test_a_second_file_replaces_the_first_and_nothing_is_left_over(tmp_path):
    path = tmp_path / "note.bin"
    replace_file(path, b"first, and longer")
    replace_file(str(path), b"second\n\xff")
    assert path.read_bytes() == b"second\n\xff"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", [(os, "fsync"), (Path, "replace")], ids=["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, where):
    path = tmp_path / "note.bin"
    replace_file(path, b"old")

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(*where, fail)
    with pytest.raises(OSError, match="the disk is full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_whole_before_it_is_there(tmp_path, monkeypatch):
    seen = []
    replace = Path.replace

    def watched(self, target):
        seen.append((self.parent == Path(target).parent, self.read_bytes()))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    replace_file(tmp_path / "note.bin", b"all of it")
    assert seen == [(True, b"all of it")]


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        replace_file(tmp_path / "nowhere" / "note.bin", b"lost")
