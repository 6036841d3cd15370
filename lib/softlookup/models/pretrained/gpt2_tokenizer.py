"""GPT-2's tokenizer, from the two files in which it was published."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from softlookup.checks import checked, require, require_known_ids
from softlookup.tokenization import GPT2_PATTERN, BytePairTokenizer
from softlookup.tokenization.merges import BYTES, Pair

END_OF_TEXT = "<|endoftext|>"


@checked
def byte_characters() -> list[str]:
    """The visible character that stands for each byte in GPT-2's files.

    Bytes that are visible characters of Latin-1 stand for themselves; the others, such as the space
    and the line feed, take the characters from U+0100 on, in their order.

    Returns:
        256 different characters; byte b has the one at place b.

    Source: the authors' program, https://github.com/openai/gpt-2. Chapter: tokenization#bytes.

    Example:
        >>> characters = byte_characters()
        >>> characters[ord("a")], characters[ord(" ")], characters[ord("\\n")]
        ('a', 'Ġ', 'Ċ')
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(BYTES) if byte not in visible]
    return [chr(b if b in visible else BYTES + hidden.index(b)) for b in range(BYTES)]


@checked
class GPT2Tokenizer:
    """The byte-pair encoding of GPT-2, with the ids of its vocabulary.

    Inside works a ``BytePairTokenizer``. Only the numbering differs: GPT-2 gives the bytes another
    order, and its vocabulary says which.

    Args:
        vocabulary: The id of each token, written in ``byte_characters``; ids from 0 on, each once.
        merges: Pairs of such tokens, in the order in which they were learned.
        special_tokens: Names in the vocabulary that are neither a byte nor a merge.

    Attributes:
        special_tokens: The id of each special token, by its name.

    Raises:
        ValueError: The ids are not 0, 1, 2, ... in some order, the vocabulary is not made of the
            bytes, the merges and the special tokens, or a merge is no pair of earlier tokens.

    Source: Radford et al. 2019, section 2.2. Chapter: tokenization#byte-pair-encoding.

    Example:
        >>> ids = {character: id_ for id_, character in enumerate(byte_characters())}
        >>> ids |= {"an": 256, "Ġan": 257, "<|endoftext|>": 258}
        >>> tokenizer = GPT2Tokenizer(ids, [("a", "n"), ("Ġ", "an")])
        >>> tokenizer.encode("an an"), tokenizer.decode([256, 257])
        ([256, 257], 'an an')
        >>> tokenizer.special_tokens
        {'<|endoftext|>': 258}
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        merges: Iterable[tuple[str, str]],
        special_tokens: Iterable[str] = (END_OF_TEXT,),
    ) -> None:
        _require_numbers(vocabulary)
        own = {character: byte for byte, character in enumerate(byte_characters())}
        pairs = [_own_pair(k, pair, own) for k, pair in enumerate(merges)]
        special = list(special_tokens)
        self._inner = BytePairTokenizer(pairs, pattern=GPT2_PATTERN, special_tokens=special)
        tokens = [*own, *special]
        missing = [token for token in tokens if token not in vocabulary]
        extra = sorted(vocabulary.keys() - set(tokens))
        rule = "the vocabulary must hold the bytes, the merges and the special tokens, nothing else"
        require(not (missing or extra), rule, missing=missing[:5], extra=extra[:5])
        self._published = [vocabulary[token] for token in tokens]
        self._own = {id_: i for i, id_ in enumerate(self._published)}
        self.special_tokens = {name: vocabulary[name] for name in special}

    @classmethod
    def from_files(
        cls, vocabulary: str | os.PathLike, merges: str | os.PathLike
    ) -> "GPT2Tokenizer":
        """Read ``vocab.json`` and ``merges.txt``, or ``encoder.json`` and ``vocab.bpe``.

        Args:
            vocabulary: The file of ids.
            merges: The file of merges, one a line, after a line that says its version.

        Returns:
            The tokenizer.

        Raises:
            ValueError: A file is cut short or of another form, or the two do not fit together.
        """
        ids = _json(Path(vocabulary))
        require(isinstance(ids, dict), f"{Path(vocabulary).name} must hold names and ids")
        lines = Path(merges).read_text(encoding="utf-8").split("\n")
        rule = f"{Path(merges).name} must begin with its version"
        require(lines[0].startswith("#version"), rule, line=lines[0])
        pairs = [tuple(line.split(" ")) for line in lines[1:] if line]
        return cls(ids, pairs)

    def encode(
        self, text: str, *, allowed_special: Iterable[str] | Literal["all"] = ()
    ) -> list[int]:
        """The ids of a text.

        Args:
            text: Any text without lone surrogates.
            allowed_special: As in ``BytePairTokenizer``.

        Returns:
            GPT-2's ids; none for the empty text.

        Raises:
            ValueError: As in ``BytePairTokenizer``.
        """
        ids = self._inner.encode(text, allowed_special=allowed_special)
        return [self._published[i] for i in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; it undoes ``encode``.

        Args:
            ids: GPT-2's ids.

        Returns:
            The text; bytes that are no UTF-8 become U+FFFD, the replacement character.

        Raises:
            ValueError: An id stands for nothing here.
        """
        ids = list(ids)
        require_known_ids(len(self), ids)
        return self._inner.decode([self._own[id_] for id_ in ids])

    def __len__(self) -> int:
        return len(self._published)


def _own_pair(k: int, pair: tuple[str, str], own: dict[str, int]) -> Pair:
    """The pair in our ids, after which the token that it makes has one too."""
    fits = len(pair) == 2 and all(token in own for token in pair)
    require(fits, f"merge {k} must be a pair of earlier tokens", merge=pair)
    left, right = pair
    token = left + right
    require(token not in own, f"merge {k} must make a new token", merge=pair)
    result = own[left], own[right]
    own[token] = BYTES + k
    return result


def _require_numbers(vocabulary: Mapping[str, int]) -> None:
    ids = list(vocabulary.values())
    integers = all(type(id_) is int for id_ in ids)
    rule = "the ids of the vocabulary must be 0, 1, 2, ..., each once"
    require(integers and sorted(ids) == list(range(len(ids))), rule, n_ids=len(ids))


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no UTF-8
        raise ValueError(f"{path.name} must be a whole JSON file; got {error}") from None
