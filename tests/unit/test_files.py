"""Files that are whole or not there."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from softlookup.files import load_tensors, replace_file, save_tensors, tensors_and_texts

TOY = {"kind": "toy", "version": "3"}


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


def test_tensors_and_texts_come_back(tmp_path, generator):
    path = tmp_path / "toy.safetensors"
    wide = torch.randn(3, 5, generator=generator, dtype=torch.float64)
    tensors = {"turned": wide.mT, "leaf": wide.clone().requires_grad_(), "ids": torch.arange(7)}
    save_tensors(path, tensors, {"of": "ä text"}, **TOY)
    found, texts = load_tensors(str(path), **TOY)
    expected = {"turned": wide.mT, "leaf": wide, "ids": torch.arange(7)}
    assert_close(found, expected, rtol=0, atol=0)
    assert_close(load_file(path), expected, rtol=0, atol=0)
    assert texts == {"of": "ä text"}


def test_a_file_of_any_program_is_read_with_all_its_texts(tmp_path):
    path = tmp_path / "other.safetensors"
    tensors = {"x": torch.tensor([1.0, 2.0], dtype=torch.float64), "n": torch.tensor(7)}
    save_file(tensors, path, {"by": "others"})
    found, texts = tensors_and_texts(path, "tensors")
    assert_close(found, load_file(path), rtol=0, atol=0)
    assert texts == {"by": "others"}


@pytest.mark.parametrize(
    ("metadata", "got"),
    [
        ({"format": "toy", "version": "4"}, "got format='toy', version='4'"),
        ({"format": "other", "version": "3"}, "got format='other', version='3'"),
        (None, "got format=None, version=None"),
    ],
)
def test_what_another_program_wrote_is_refused(tmp_path, metadata, got):
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.ones(2)}, path, metadata)
    with pytest.raises(ValueError, match=f"the file must be toy, version 3; {got}"):
        load_tensors(path, **TOY)


def test_a_file_that_is_not_there_or_cut_short_is_told(tmp_path):
    path = tmp_path / "toy.safetensors"
    with pytest.raises(ValueError, match="there must be a file of kind toy; got path="):
        load_tensors(path, **TOY)
    with pytest.raises(ValueError, match="the folder of the file must exist; got folder="):
        save_tensors(path / "deeper", {}, {}, **TOY)
    save_tensors(path, {"x": torch.ones(9)}, {}, **TOY)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="the file must be whole safetensors; got"):
        load_tensors(path, **TOY)
