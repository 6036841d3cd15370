"""Byte-pair encoding as a tokenizer: train it, encode, decode, save and load."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import regex

from softlookup.checks import (
    Size,
    checked,
    require,
    require_distinct,
    require_known_ids,
    require_text,
)
from softlookup.files import replace_file
from softlookup.tokenization.merges import (
    BYTES,
    Pair,
    apply_merges,
    learn_merges_incrementally,
)
from softlookup.tokenization.splitting import GPT4_PATTERN, compiled, require_writable, split_chunks

FORMAT = "softlookup byte-pair tokenizer"
VERSION = 1
CACHED_CHUNKS = 2**16


@checked
class BytePairTokenizer:
    """Byte-level byte-pair encoding: every text has ids, and the ids give the text back exactly.

    Ids 0 to 255 are the bytes, the next ones the merges in the order learned, the last ones the
    special tokens, which stand for no text and are only read where ``encode`` is told to.

    Args:
        merges: Pairs of ids; merge k, counted from 0, makes id 256 + k.
        pattern: Where a text is cut before merging, as in ``split_chunks``.
        special_tokens: Names, in the order of their ids.

    Attributes:
        merges: The merges, as given.
        pattern: The split pattern.
        token_bytes: The bytes of each id; for a special token, those of its name.
        special_tokens: The id of each special token, by its name.

    Raises:
        ValueError: A merge is no pair of earlier ids, or makes bytes that an earlier id has; the
            pattern does not compile; a special token is empty, no string, or comes twice.

    Source: Sennrich, Haddow and Birch 2016; Radford et al. 2019; lecture 004, "Subwords Selection".
    Chapter: tokenization#byte-pair-encoding

    Example:
        >>> tokenizer = BytePairTokenizer.train(["low lower newer newer"], 259)
        >>> tokenizer.token_bytes[256:]
        [b'we', b'wer', b'lo']
        >>> tokenizer.encode("newer")
        [110, 101, 257]
        >>> tokenizer.decode([110, 101, 257])
        'newer'
        >>> BytePairTokenizer([(104, 105)]).encode("hi, Ohio")
        [256, 44, 32, 79, 256, 111]
    """

    def __init__(
        self,
        merges: Iterable[Sequence[int]],
        *,
        pattern: str = GPT4_PATTERN,
        special_tokens: Iterable[str] = (),
    ) -> None:
        compiled(pattern)
        names = _checked_names(special_tokens)
        self.merges = [_checked_pair(k, pair) for k, pair in enumerate(merges)]
        self.pattern = pattern
        self.token_bytes = _token_bytes(self.merges)
        self.special_tokens = {name: len(self.token_bytes) + i for i, name in enumerate(names)}
        self.token_bytes += [name.encode() for name in names]
        self._chunk_ids = _ChunkIds({pair: BYTES + k for k, pair in enumerate(self.merges)})

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: Size,
        *,
        pattern: str = GPT4_PATTERN,
        special_tokens: Iterable[str] = (),
    ) -> "BytePairTokenizer":
        """Learn merges: the most frequent pair first, and of equals the first in the text.

        Args:
            texts: The training texts. The name of a special token in them is ordinary text.
            vocab_size: Ids in all: 256 bytes, merges, special tokens. Where the texts run out of
                pairs, training stops and ``len`` is smaller.
            pattern: Where a text is cut before merging.
            special_tokens: Names, in the order of their ids.

        Returns:
            The trained tokenizer.

        Raises:
            ValueError: ``vocab_size`` leaves no room for bytes and special tokens, ``texts`` is one
                string, or a text or the pattern is refused by ``split_chunks``.

        Example:
            >>> len(BytePairTokenizer.train(["aaaa"], 1000, special_tokens=["<|end|>"]))
            259
        """
        names = _checked_names(special_tokens)
        least = BYTES + len(names)
        require(vocab_size >= least, f"vocab_size must be at least {least}", vocab_size=vocab_size)
        counts = Counter(chain.from_iterable(split_chunks(text, pattern) for text in texts))
        chunks = {chunk.encode(): count for chunk, count in counts.items()}
        merges = learn_merges_incrementally(chunks, vocab_size - least)
        return cls(merges, pattern=pattern, special_tokens=names)

    def encode(
        self, text: str, *, allowed_special: Iterable[str] | Literal["all"] = ()
    ) -> list[int]:
        """The ids of a text.

        Args:
            text: Any text without lone surrogates.
            allowed_special: The special tokens that are read as such, or "all" for all of them;
                of two that fit at one place, the longer. Any other is ordinary text, so that nobody
                can type one in.

        Returns:
            Ids from 0 to ``len(self) - 1``; none for the empty text.

        Raises:
            ValueError: The text holds a lone surrogate, the pattern passes over a part of it, or
                ``allowed_special`` names no special token of this tokenizer.

        Example:
            >>> tokenizer = BytePairTokenizer([], special_tokens=["<end>"])
            >>> tokenizer.encode("a<end>", allowed_special=["<end>"])
            [97, 256]
            >>> tokenizer.encode("a<end>")
            [97, 60, 101, 110, 100, 62]
        """
        names = self._allowed(allowed_special)
        if not names:
            return self._encode_ordinary(text)
        require_writable(text)
        longest_first = "|".join(map(regex.escape, sorted(names, key=len, reverse=True)))
        parts = regex.split(f"({longest_first})", text)  # text, special token, text, ..., text
        ids = self._encode_ordinary(parts[0])
        for name, ordinary in zip(parts[1::2], parts[2::2], strict=True):
            ids += [self.special_tokens[name], *self._encode_ordinary(ordinary)]
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; bytes that are no UTF-8 become U+FFFD, the replacement character.

        Args:
            ids: Ids from 0 to ``len(self) - 1``.

        Returns:
            The text; it undoes ``encode``. A special token gives its name.

        Raises:
            ValueError: An id stands for nothing here.

        Example:
            >>> tokenizer = BytePairTokenizer([])
            >>> tokenizer.decode([226, 130, 172]), tokenizer.decode([226, 130])
            ('€', '\\ufffd')
        """
        ids = list(ids)
        require_known_ids(len(self), ids)
        return b"".join([self.token_bytes[id_] for id_ in ids]).decode(errors="replace")

    def save(self, path: str | os.PathLike) -> None:
        """Write the tokenizer as JSON, one merge a line; a file is replaced whole or not at all.

        Args:
            path: Where to write.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     BytePairTokenizer([(104, 105)]).save(f"{folder}/bpe.json")
            ...     BytePairTokenizer.load(f"{folder}/bpe.json").merges
            [(104, 105)]
        """
        head = self.description()
        merges = ",\n".join(f"  [{left}, {right}]" for left, right in head.pop("merges"))
        lines = [f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()]
        text = "{\n" + "".join(lines) + ' "merges": [\n' + merges + "\n ]\n}\n"
        replace_file(path, text.encode())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "BytePairTokenizer":
        """Read a tokenizer that ``save`` wrote.

        Args:
            path: The file.

        Returns:
            A tokenizer that gives every text the same ids.

        Raises:
            ValueError: The file is cut short, of another format or version, or does not fit
                together.
        """
        name = Path(path).name
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:  # no JSON, or no UTF-8
            raise ValueError(f"{name} must be a whole JSON file: {error}") from None
        return cls.described(data, name)

    def description(self) -> dict[str, object]:
        """All that the tokenizer is, as plain lists and strings for a file.

        Returns:
            The format and its version, the pattern, the special tokens, and the merges.

        Example:
            >>> BytePairTokenizer([(104, 105)], pattern="a|b").description()["merges"]
            [(104, 105)]
        """
        head = {"format": FORMAT, "version": VERSION, "pattern": self.pattern}
        return {**head, "special_tokens": list(self.special_tokens), "merges": self.merges}

    @classmethod
    def described(cls, data: object, name: str) -> "BytePairTokenizer":
        """The tokenizer of a ``description``, which may have been through JSON.

        Args:
            data: The description, or whatever stood in its place.
            name: Where it comes from, for the words of an error.

        Returns:
            A tokenizer that gives every text the same ids.

        Raises:
            ValueError: The description is none, of another format or version, or does not fit
                together.

        Example:
            >>> BytePairTokenizer.described(BytePairTokenizer([]).description(), "ours").merges
            []
        """
        kind = data.get("format") if isinstance(data, dict) else None
        require(kind == FORMAT, f"{name} must be of the format {FORMAT!r}", format=kind)
        rule = f"{name} must be of version {VERSION}"
        require(data.get("version") == VERSION, rule, version=data.get("version"))
        missing = sorted({"pattern", "special_tokens", "merges"} - set(data))
        require(not missing, f"{name} must be complete", missing=missing)
        lists = isinstance(data["merges"], list) and isinstance(data["special_tokens"], list)
        require(lists, f"merges and special_tokens of {name} must be lists")
        require_text(pattern=data["pattern"])
        merges = [tuple(pair) if isinstance(pair, list) else pair for pair in data["merges"]]
        merges = [_checked_pair(k, pair) for k, pair in enumerate(merges)]
        names = _checked_names(data["special_tokens"])
        return cls(merges, pattern=data["pattern"], special_tokens=names)

    def __len__(self) -> int:
        return len(self.token_bytes)

    def _allowed(self, allowed_special: Iterable[str] | Literal["all"]) -> set[str]:
        if allowed_special == "all":
            return set(self.special_tokens)
        names = set(allowed_special)
        unknown = sorted(names - set(self.special_tokens), key=repr)
        rule = "allowed_special must name special tokens of this tokenizer"
        require(not unknown, rule, unknown=unknown)
        return names

    def _encode_ordinary(self, text: str) -> list[int]:
        chunks = split_chunks(text, self.pattern)
        return list(chain.from_iterable(map(self._chunk_ids.__getitem__, chunks)))


class _ChunkIds(dict[str, list[int]]):
    """The ids of each chunk seen so far: the same words come again and again."""

    def __init__(self, new_ids: dict[Pair, int]) -> None:
        self.new_ids = new_ids

    def __missing__(self, chunk: str) -> list[int]:
        ids = apply_merges(chunk.encode(), self.new_ids)
        if len(self) >= CACHED_CHUNKS:
            self.clear()
        self[chunk] = ids
        return ids


def _checked_names(special_tokens: Iterable[str]) -> list[str]:
    names = list(special_tokens)
    for name in names:
        is_name = isinstance(name, str) and name != ""
        require(is_name, "a special token must be a string that is not empty", special_token=name)
        require_writable(name)
    require_distinct(special_tokens=names)
    return names


def _checked_pair(k: int, pair: object) -> Pair:
    is_pair = isinstance(pair, list | tuple) and len(pair) == 2
    fits = is_pair and all(type(id_) is int and 0 <= id_ < BYTES + k for id_ in pair)
    require(fits, f"merge {k} must be a pair of ids from 0 to {BYTES + k - 1}", merge=pair)
    return tuple(pair)


def _token_bytes(merges: list[Pair]) -> list[bytes]:
    """The bytes of each id; two ids with the same bytes would leave the encoding open."""
    token_bytes = [bytes([byte]) for byte in range(BYTES)]
    token_bytes += [b""] * len(merges)
    first: dict[bytes, int] = {}
    for id_, (left, right) in enumerate(merges, start=BYTES):
        token_bytes[id_] = token_bytes[left] + token_bytes[right]
        other = first.setdefault(token_bytes[id_], id_)
        rule = f"merge {id_ - BYTES} must make bytes of its own"
        require(other == id_, rule, bytes=token_bytes[id_], same_as_id=other)
    return token_bytes
