"""Files of word vectors: what is written comes back bit for bit, and damage is refused."""

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from softlookup.data import PRETRAINED_FILE, pretrained_vectors
from softlookup.words import Vocabulary
from softlookup.words.word2vec import Word2Vec, load_word2vec, load_word2vec_text, save_word2vec

WORDS = ["the", "queen", "a word", 'quote"\\', "γάτα", "\n"]
D_MODEL = 5


@pytest.fixture
def model(generator):
    model = Word2Vec(Vocabulary(WORDS, unknown=None), D_MODEL, generator=generator)
    with torch.no_grad():
        model.context.weight.copy_(torch.randn(len(WORDS), D_MODEL, generator=generator))
    return model


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "vectors.safetensors"


def metadata(**changes):
    vocabulary = json.dumps({"unknown": None, "tokens": WORDS})
    ours = {"format": "softlookup.word2vec", "version": "1", "vocabulary": vocabulary}
    return {name: value for name, value in (ours | changes).items() if value is not None}


def tables(**changes):
    ours = {name: torch.ones(len(WORDS), D_MODEL) for name in ("centre", "context")}
    return {name: table for name, table in (ours | changes).items() if table is not None}


# our own format


@pytest.mark.parametrize("unknown", [None, "<unk>"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_model_comes_back_bit_for_bit(model, path, unknown, dtype, generator):
    words = WORDS if unknown is None else WORDS[1:]
    model = Word2Vec(Vocabulary(words, unknown=unknown), D_MODEL, generator=generator).to(dtype)
    save_word2vec(model, path)
    found = load_word2vec(str(path))
    for name in ("centre", "context"):
        ours, theirs = getattr(model, name).weight, getattr(found, name).weight
        assert ours.dtype == theirs.dtype == dtype
        assert torch.equal(ours, theirs)
        assert theirs.requires_grad
    assert found.vocabulary.tokens == model.vocabulary.tokens
    assert found.vocabulary.unknown == unknown
    assert found.vocabulary.encode(WORDS[1:2]) == model.vocabulary.encode(WORDS[1:2])


def test_the_two_tables_keep_their_places(model, path):
    save_word2vec(model, path)
    assert not torch.equal(model.centre.weight, model.context.weight)
    assert torch.equal(load_word2vec(path).centre.weight, model.centre.weight)


def test_loading_leaves_chance_alone(model, path):
    save_word2vec(model, path)
    state = torch.get_rng_state()
    load_word2vec(path)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_second_file_replaces_the_first_and_nothing_is_left_over(model, path):
    save_word2vec(model, path)
    with torch.no_grad():
        model.centre.weight.zero_()
    save_word2vec(model, path)
    assert (load_word2vec(path).centre.weight == 0).all()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_file_cut_short_anywhere_is_refused(model, path):
    save_word2vec(model, path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 1, 13), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="the file must be whole safetensors; got"):
            load_word2vec(path)


def test_other_files_are_refused(path, model):
    path.write_bytes(b"PK\x03\x04 no tensors here")
    with pytest.raises(ValueError, match="the file must be whole safetensors; got"):
        load_word2vec(path)
    with pytest.raises(ValueError, match="there must be a file of kind"):
        load_word2vec(path.parent)
    with pytest.raises(ValueError, match="the folder of the file must exist; got folder="):
        save_word2vec(model, path / "below" / "it")


WRONG_FILES = {
    "no metadata": (None, tables(), "version 1; got format=None, version=None"),
    "another format": (metadata(format="other"), tables(), "got format='other', version='1'"),
    "another version": (
        metadata(version="2"), tables(),
        "the file must be softlookup.word2vec, version 1; got format='softlookup.word2vec', "
        "version='2'",
    ),
    "no vocabulary": (
        metadata(vocabulary=None), tables(), "must hold a vocabulary; got vocabulary=''"
    ),
    "no JSON": (metadata(vocabulary="{"), tables(), "must hold a vocabulary; got vocabulary='{'"),
    "a list": (metadata(vocabulary="[]"), tables(), "must hold a vocabulary"),
    "numbers for words": (
        metadata(vocabulary='{"unknown": null, "tokens": [1, 2, 3, 4, 5, 6]}'), tables(),
        "must hold a vocabulary",
    ),
    "a string for words": (
        metadata(vocabulary='{"unknown": null, "tokens": "abcdef"}'), tables(),
        "must hold a vocabulary",
    ),
    "a word twice": (
        metadata(vocabulary='{"unknown": null, "tokens": ["a", "b", "a", "c", "d", "e"]}'),
        tables(), "must be distinct; got repeated=['a']",
    ),
    "unknown not first": (
        metadata(vocabulary='{"unknown": "b", "tokens": ["a", "b", "c", "d", "e", "f"]}'),
        tables(), "must begin with its unknown token; got unknown='b'",
    ),
    "one table": (metadata(), tables(context=None), "no other; got tables=['centre']"),
    "three tables": (
        metadata(), tables(third=torch.ones(1)), "got tables=['centre', 'context', 'third']"
    ),
    "too few rows": (
        metadata(), tables(centre=torch.ones(5, 5), context=torch.ones(5, 5)),
        "one row for each word of the vocabulary; got vocab_size=6, centre=(5, 5), context=(5, 5)",
    ),
    "two shapes": (
        metadata(), tables(context=torch.ones(6, 4)),
        "got vocab_size=6, centre=(6, 5), context=(6, 4)",
    ),
    "flat": (
        metadata(), tables(centre=torch.ones(6), context=torch.ones(6)),
        "got vocab_size=6, centre=(6,), context=(6,)",
    ),
    "no columns": (
        metadata(), tables(centre=torch.ones(6, 0), context=torch.ones(6, 0)),
        "got vocab_size=6, centre=(6, 0), context=(6, 0)",
    ),
    "no words": (
        metadata(vocabulary='{"unknown": null, "tokens": []}'),
        tables(centre=torch.ones(0, 5), context=torch.ones(0, 5)),
        "got vocab_size=0, centre=(0, 5), context=(0, 5)",
    ),
    "whole numbers": (
        metadata(), tables(centre=torch.ones(6, 5).long()),
        "must hold finite floating-point numbers; got centre=(6, 5)",
    ),
    "not finite": (
        metadata(), tables(context=torch.full((6, 5), torch.nan)),
        "must hold finite floating-point numbers; got centre=(6, 5)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_FILES)
def test_sound_tensors_that_are_no_model_are_refused(path, case):
    found, held, message = WRONG_FILES[case]
    save_file(held, path, metadata=found)
    with pytest.raises(ValueError, match=re.escape(message)):
        load_word2vec(path)


def test_the_helper_of_these_tests_writes_a_sound_file(path):
    save_file(tables(), path, metadata=metadata())
    assert load_word2vec(path).vocabulary.tokens == WORDS


# the text format


@pytest.fixture
def text(tmp_path):
    """Writes a text file of vectors, and returns its path."""

    def write(content):
        path = tmp_path / "vectors.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


SOUND = "3 2\nking 1 -0.5\nqueen 1e-3 +2 \nγάτα 0 7\n"


def test_text_vectors(text):
    vocabulary, table = load_word2vec_text(text(SOUND))
    assert vocabulary.tokens == ["king", "queen", "γάτα"]
    assert vocabulary.unknown is None
    assert table.dtype == torch.float32
    assert torch.equal(table, torch.tensor([[1, -0.5], [1e-3, 2], [0, 7]]))


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_text_vectors_with_other_line_ends(text, ending):
    content = "2 2\na 1 2\nb 3 4".replace("\n", ending or "\n") + ending
    vocabulary, table = load_word2vec_text(text(content))
    assert vocabulary.tokens == ["a", "b"]
    assert table.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_only_so_many_words_are_read(text, limit):
    vocabulary, table = load_word2vec_text(text(SOUND), limit=limit)
    assert len(vocabulary) == len(table) == min(limit, 3)


def test_words_with_spaces_and_odd_marks_stay_whole(text):
    vocabulary, _ = load_word2vec_text(text("3 1\nnew york 1\n\x85 2\nx\u2028y 3\n"))
    assert vocabulary.tokens == ["new york", "\x85", "x\u2028y"]


WRONG_TEXTS = {
    "empty": (
        "", "line 1 must hold the number of words and the length of the vectors; got line=''"
    ),
    "no header": ("king 1 2\n", "line 1 must hold the number of words"),
    "no words": ("0 2\n", "line 1 must hold the number of words"),
    "no numbers": ("2 0\n", "line 1 must hold the number of words"),
    "header of words": ("two 2\n", "line 1 must hold the number of words"),
    "header with a sign": ("-2 2\n", "line 1 must hold the number of words"),
    "ends too early": (
        "3 2\na 1 2\nb 1 2\n", "line 4 must hold a word and 2 finite numbers; got line=''"
    ),
    "ends within a line": (
        "2 2\na 1 2\nb 1", "line 3 must hold a word and 2 finite numbers; got line='b 1'"
    ),
    "no word": ("1 2\n1 2\n", "line 2 must hold a word and 2 finite numbers"),
    "an empty word": ("1 2\n 1 2\n", "line 2 must hold a word and 2 finite numbers"),
    "not a number": ("1 2\na 1 b\n", "line 2 must hold a word and 2 finite numbers"),
    "nan": ("1 2\na 1 nan\n", "line 2 must hold a word and 2 finite numbers"),
    "infinite": ("1 2\na 1 -inf\n", "line 2 must hold a word and 2 finite numbers"),
    "twice": ("2 1\na 1\na 2\n", "must be distinct; got repeated=['a']"),
    "not UTF-8": (b"1 1\n\xff 1\n", "the file must be UTF-8 text; got"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_TEXTS)
def test_bad_texts_are_refused(text, case):
    content, message = WRONG_TEXTS[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        load_word2vec_text(text(content))


@pytest.mark.bad_input
def test_bad_limits_and_paths(text, tmp_path):
    with pytest.raises(ValueError, match="there must be a file of word vectors; got path="):
        load_word2vec_text(tmp_path / "nowhere.txt")


# somebody else's vectors


def test_pretrained_vectors_are_read_where_they_lie(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    (tmp_path / PRETRAINED_FILE).write_text(SOUND, encoding="utf-8")
    vocabulary, table = pretrained_vectors(limit=2)
    assert vocabulary.tokens == ["king", "queen"]
    assert table.shape == (2, 2)
    assert capsys.readouterr().out == ""


def test_pretrained_vectors_that_are_absent_are_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was used"))
    assert pretrained_vectors() is None
    line = "Pretrained vectors: there is no word2vec.txt in the data folder.\n"
    assert capsys.readouterr().out == line
    assert not (tmp_path / "nowhere").exists()


def test_pretrained_vectors_that_are_damaged_are_no_absence(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    (tmp_path / PRETRAINED_FILE).write_text("2 2\nking 1", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2 must hold a word and 2 finite numbers"):
        pretrained_vectors()
