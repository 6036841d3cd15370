"""Word vectors in a file: our own format (safetensors), and the text format of other programs."""

import json
import os
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import Size, checked, require
from softlookup.files import load_tensors, save_tensors
from softlookup.words.text import Vocabulary
from softlookup.words.word2vec.two_tables import Word2Vec

FORM = {"kind": "softlookup.word2vec", "version": "1"}
TABLES = ("centre", "context")


@checked
def save_word2vec(model: Word2Vec, path: str | os.PathLike) -> None:
    """Write a model to a safetensors file: both tables, and the vocabulary in its metadata.

    The file is written beside its place and moved there when it is whole, so a reader finds the
    old file or the new one, never a part.

    Args:
        model: What ``train_word2vec`` returns.
        path: The file. One that exists is replaced.

    Raises:
        ValueError: The folder does not exist.

    Chapter: word2vec#saving.

    Example:
        >>> from tempfile import mkdtemp
        >>> generator = torch.Generator().manual_seed(0)
        >>> model = Word2Vec(Vocabulary(["a", "b"], unknown=None), 3, generator=generator)
        >>> path = Path(mkdtemp()) / "small.safetensors"
        >>> save_word2vec(model, path)
        >>> load_word2vec(path).vocabulary.tokens
        ['a', 'b']
    """
    vocabulary = {"unknown": model.vocabulary.unknown, "tokens": model.vocabulary.tokens}
    tables = {name: getattr(model, name).weight for name in TABLES}
    save_tensors(path, tables, {"vocabulary": json.dumps(vocabulary)}, **FORM)


@checked
def load_word2vec(path: str | os.PathLike) -> Word2Vec:
    """Read a model that ``save_word2vec`` wrote, bit for bit; nothing is unpickled or executed.

    Args:
        path: The file.

    Returns:
        The model, with its vocabulary.

    Raises:
        ValueError: There is no such file, it is cut short or damaged, it is of another format or
            version, or its tables and its vocabulary do not fit each other.

    Chapter: word2vec#saving.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "small.safetensors"
        >>> vocabulary = Vocabulary(["a", "b"], unknown=None)
        >>> save_word2vec(Word2Vec(vocabulary, 3, generator=torch.Generator()), path)
        >>> load_word2vec(path).vocabulary.tokens
        ['a', 'b']
        >>> load_word2vec("nowhere.safetensors")
        Traceback (most recent call last):
        ValueError: there must be a file of kind softlookup.word2vec; got path='nowhere.safetensors'
    """
    tables, texts = load_tensors(path, **FORM)
    vocabulary = _vocabulary(texts.get("vocabulary", ""))
    _require_fit(vocabulary, tables)
    model = Word2Vec(vocabulary, tables["centre"].shape[1], generator=torch.Generator())
    for name in TABLES:
        getattr(model, name).weight = nn.Parameter(tables[name])
    return model


@checked
def load_word2vec_text(
    path: str | os.PathLike, *, limit: Size | None = None
) -> tuple[Vocabulary, Float[Tensor, "vocab d_model"]]:
    """Read vectors in the text format of word2vec, which most programs and archives can write.

    The first line holds the number of words and the length of the vectors; every other line a word
    and its numbers, with spaces between.

    Args:
        path: A file on this machine; nothing is ever fetched.
        limit: Read at most this many words: archives sort them by falling count.

    Returns:
        The words, in the order of the file, and their vectors.

    Raises:
        ValueError: There is no such file, its first line is none, it ends too early, or a line
            does not hold a new word and as many finite numbers as promised.

    Source: the authors' program, https://code.google.com/archive/p/word2vec.
    Chapter: word2vec#pretrained-vectors.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "two.txt"
        >>> _ = path.write_text("2 3\\nking 1 0 0.5\\nqueen 0 1 0.5\\n")
        >>> vocabulary, table = load_word2vec_text(path)
        >>> vocabulary.tokens, table
        (['king', 'queen'], tensor([[1.0000, 0.0000, 0.5000],
                [0.0000, 1.0000, 0.5000]]))
    """
    path = Path(path)
    require(path.is_file(), "there must be a file of word vectors", path=str(path))
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            n_words, d_model = _header(file.readline())
            wanted = n_words if limit is None else min(limit, n_words)
            lines = [_line(file.readline(), i + 2, d_model) for i in range(wanted)]
    except UnicodeDecodeError as error:
        raise ValueError(f"the file must be UTF-8 text; got {error}") from error
    table = torch.tensor([numbers for _, numbers in lines])
    return Vocabulary([word for word, _ in lines], unknown=None), table


def _vocabulary(text: str) -> Vocabulary:
    try:
        content = json.loads(text)
        unknown, tokens = content["unknown"], content["tokens"]
        is_sound = isinstance(unknown, str | None) and isinstance(tokens, list)
        is_sound = is_sound and all(isinstance(token, str) for token in tokens)
    except (ValueError, KeyError, TypeError):
        is_sound = False
    require(is_sound, "the file must hold a vocabulary", vocabulary=text[:80])
    starts = unknown is None or tokens[:1] == [unknown]
    require(starts, "the vocabulary must begin with its unknown token", unknown=unknown)
    return Vocabulary(tokens if unknown is None else tokens[1:], unknown=unknown)


def _require_fit(vocabulary: Vocabulary, tables: dict[str, Tensor]) -> None:
    rule = "the file must hold the tables centre and context and no other"
    require(sorted(tables) == sorted(TABLES), rule, tables=sorted(tables))
    sizes = {table.shape for table in tables.values()}
    fits = len(sizes) == 1 and all(
        table.ndim == 2 and len(table) == len(vocabulary) > 0 and table.shape[1] > 0
        for table in tables.values()
    )
    rule = "both tables must have one row for each word of the vocabulary"
    require(fits, rule, vocab_size=len(vocabulary), **tables)
    finite = all(t.is_floating_point() and bool(torch.isfinite(t).all()) for t in tables.values())
    require(finite, "both tables must hold finite floating-point numbers", **tables)


def _header(line: str) -> tuple[int, int]:
    fields = line.split()
    is_header = len(fields) == 2 and all(field.isdecimal() and int(field) > 0 for field in fields)
    rule = "line 1 must hold the number of words and the length of the vectors"
    require(is_header, rule, line=line[:80])
    return int(fields[0]), int(fields[1])


def _line(line: str, number: int, d_model: int) -> tuple[str, list[float]]:
    fields = line.rstrip().rsplit(" ", d_model)
    try:
        numbers = [float(field) for field in fields[1:]]
    except ValueError:
        numbers = []
    is_sound = len(numbers) == d_model and all(abs(x) < float("inf") for x in numbers)
    rule = f"line {number} must hold a word and {d_model} finite numbers"
    require(is_sound and bool(fields[0]), rule, line=line[:80])
    return fields[0], numbers
