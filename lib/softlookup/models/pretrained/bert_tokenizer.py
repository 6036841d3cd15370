"""BERT's tokenizer, from the file in which its pieces were published."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import regex

from softlookup.checks import checked, require, require_distinct, require_known_ids
from softlookup.tokenization import WordPieceTokenizer
from softlookup.tokenization.splitting import require_writable

BEGIN, END, UNKNOWN, MASK = "[CLS]", "[SEP]", "[UNK]", "[MASK]"
SPECIAL_TOKENS = ("[PAD]", UNKNOWN, BEGIN, END, MASK)
LONGEST_WORD = 100
"""A longer word is not cut at all: it is unknown."""

SPECIAL = regex.compile("(" + "|".join(map(regex.escape, SPECIAL_TOKENS)) + ")")
CONTROL = regex.compile(r"(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\uFFFD]")
CHINESE = regex.compile(
    r"[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF"
    r"\U00020000-\U0002A6DF\U0002A700-\U0002CEAF\U0002F800-\U0002FA1F]"
)
ACCENT = regex.compile(r"\p{Mn}")
WORD = regex.compile(r"[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+")


@checked
def bert_words(text: str) -> list[str]:
    """The words that BERT cuts into pieces: in small letters, without accents.

    Control characters go. Punctuation is a word, sign by sign, and so is every Chinese character.

    Args:
        text: Any text without lone surrogates.

    Returns:
        The words; none is empty.

    Raises:
        ValueError: The text holds a lone surrogate.

    Source: the authors' program, https://github.com/google-research/bert.
    Chapter: tokenization#wordpiece.

    Example:
        >>> bert_words("Déjà-vu, 東京!")
        ['deja', '-', 'vu', ',', '東', '京', '!']
    """
    require_writable(text)
    apart = CHINESE.sub(r" \g<0> ", CONTROL.sub("", text))
    bare = ACCENT.sub("", unicodedata.normalize("NFD", apart))
    return WORD.findall("".join(character.lower() for character in bare))


@checked
class BERTTokenizer:
    """The WordPiece of BERT without capitals, with the ids of its vocabulary.

    Inside works a ``WordPieceTokenizer``, on ``bert_words``. A text stands between "[CLS]" and
    "[SEP]", as BERT read it. Where the name of a special token stands in a text, it means that
    token: write "[MASK]" for the word to be guessed.

    Args:
        tokens: The pieces in the order of their ids, the special tokens among them.

    Attributes:
        special_tokens: The id of each special token, by its name.

    Raises:
        ValueError: A piece comes twice or is empty, or a special token is missing.

    Source: Devlin et al. 2019, section 3. Chapter: tokenization#wordpiece.

    Example:
        >>> tokenizer = BERTTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##do"])
        >>> tokenizer.encode("Undo [MASK]!")
        [2, 5, 6, 4, 1, 3]
        >>> tokenizer.decode([2, 5, 6, 4, 1, 3])
        '[CLS] undo [MASK] [UNK] [SEP]'
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        tokens = list(tokens)
        require_distinct(tokens=tokens)
        missing = [name for name in SPECIAL_TOKENS if name not in tokens]
        require(not missing, "the vocabulary must hold the special tokens", missing=missing)
        self._inner = WordPieceTokenizer([t for t in tokens if t != UNKNOWN], unknown=UNKNOWN)
        own = {token: id_ for id_, token in enumerate(self._inner.tokens)}
        self._own = [own[token] for token in tokens]
        self._published = {own_id: id_ for id_, own_id in enumerate(self._own)}
        self.special_tokens = {name: tokens.index(name) for name in SPECIAL_TOKENS}

    @classmethod
    def from_file(cls, vocabulary: str | os.PathLike) -> "BERTTokenizer":
        """Read ``vocab.txt``.

        Args:
            vocabulary: The file, one piece a line.

        Returns:
            The tokenizer.

        Raises:
            ValueError: The file is no text in UTF-8, or its lines are no vocabulary.
        """
        path = Path(vocabulary)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path.name} must be a text in UTF-8; got {error}") from None
        return cls(text.removesuffix("\n").split("\n"))

    def encode(self, text: str) -> list[int]:
        """The ids of a text.

        Args:
            text: Any text without lone surrogates.

        Returns:
            BERT's ids, those of "[CLS]" and "[SEP]" at the ends.

        Raises:
            ValueError: The text holds a lone surrogate.
        """
        require_writable(text)
        ids = [self.special_tokens[BEGIN]]
        for part in SPECIAL.split(text):
            if part in self.special_tokens:
                ids.append(self.special_tokens[part])
            else:
                ids += [id_ for word in bert_words(part) for id_ in self._spell(word)]
        return [*ids, self.special_tokens[END]]

    def decode(self, ids: Iterable[int]) -> str:
        """The pieces of some ids as words, with single spaces between them.

        Args:
            ids: BERT's ids.

        Returns:
            A text, which is not the one that was encoded: capitals, accents and spacing are gone.

        Raises:
            ValueError: An id stands for nothing here.
        """
        ids = list(ids)
        require_known_ids(len(self), ids)
        return self._inner.decode([self._own[id_] for id_ in ids])

    def __len__(self) -> int:
        return len(self._own)

    def _spell(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self.special_tokens[UNKNOWN]]
        return [self._published[id_] for id_ in self._inner.encode(word)]
