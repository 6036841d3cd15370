"""WordPiece: sub-words with a mark of continuation, matched longest first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import regex

from softlookup.checks import Size, checked, require
from softlookup.tokenization.merges import Pair, count_pairs, merge_pair
from softlookup.tokenization.splitting import require_writable
from softlookup.words import Vocabulary

CONTINUES = "##"
"""Stands before a piece that does not begin a word: "token" and "##ization"."""


@checked
class WordPieceTokenizer:
    """Words cut into known pieces, from the left, each as long as possible.

    A piece inside a word is marked with "##", so the cuts between words need no sign of their own.
    A text comes back from its ids if it is words with single spaces between them, and if its
    characters are known. BERT's tokenizer also cuts at punctuation, and cannot undo that.

    Args:
        tokens: The pieces in the order of their ids, those inside a word with "##" before them.
        unknown: Stands for a word that the pieces cannot spell. It gets id 0.

    Raises:
        ValueError: A piece comes twice, is empty, or is ``unknown``.

    Source: Schuster and Nakajima 2012; lecture 002, "How Embeddings Work".
    Chapter: tokenization#wordpiece

    Example:
        >>> tokenizer = WordPieceTokenizer(["token", "##ization", "##i", "##s", "in"])
        >>> tokenizer.encode("tokenization is in tokens")
        [1, 2, 0, 5, 1, 4]
        >>> tokenizer.decode([1, 2, 0, 5, 1, 4])
        'tokenization [UNK] in tokens'
    """

    def __init__(self, tokens: Iterable[str], *, unknown: str = "[UNK]") -> None:
        self._vocabulary = Vocabulary(tokens, unknown=unknown)
        pieces = self._vocabulary.tokens[1:]
        empty = [piece for piece in pieces if piece in ("", CONTINUES)]
        require(not empty, "a piece must hold at least one character", empty=empty)
        self._pieces = set(pieces)
        self._longest = max(map(len, pieces), default=0)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: Size,
        *,
        min_count: Size = 2,
        unknown: str = "[UNK]",
    ) -> "WordPieceTokenizer":
        r"""Join pieces that stand together more often than their own counts let one expect.

        All characters start as pieces, once to begin a word and once inside. Each step joins the
        neighbours $a$, $b$ with the largest $\frac{c(ab)}{c(a)\,c(b)}$; of equals the pair with the
        larger count, then the one whose pieces are older.

        Args:
            texts: The training texts.
            vocab_size: Pieces in all, ``unknown`` included. Where no pair is left, there are fewer.
            min_count: How often a pair must occur to be joined. With 1, pairs of characters that
                occur only once come first: their ratio is 1, the largest there is.
            unknown: Stands for a word that cannot be spelled.

        Returns:
            The trained tokenizer.

        Raises:
            ValueError: ``vocab_size`` leaves no room for the characters, ``min_count`` is no
                integer of at least 1, or ``texts`` is one string.

        Example:
            >>> WordPieceTokenizer.train(["hug pug hugs"], 13).tokens[-2:]
            ['##ug', 'hug']
        """
        words = Counter(word for text in texts for word in split_words(text))
        alphabet = sorted(set("".join(words)))
        least = 1 + 2 * len(alphabet)
        require(vocab_size >= least, f"vocab_size must be at least {least}", vocab_size=vocab_size)
        start = [*alphabet, *(CONTINUES + character for character in alphabet)]
        tokens = _join_pieces(words, start, vocab_size - 1, min_count, unknown)
        return cls(tokens, unknown=unknown)

    @property
    def tokens(self) -> list[str]:
        """All pieces, each at the place of its id, the unknown token at 0."""
        return self._vocabulary.tokens

    def encode(self, text: str) -> list[int]:
        """The ids of a text, word by word.

        Args:
            text: Any text; white space separates its words and leaves no other trace.

        Returns:
            Ids from 0 to ``len(self) - 1``; one 0 for each word that cannot be spelled.

        Raises:
            ValueError: The text holds a lone surrogate.

        Example:
            >>> WordPieceTokenizer(["un", "##do", "##done"]).encode("undone undo")
            [1, 3, 1, 2]
        """
        pieces = [piece for word in split_words(text) for piece in self._spell(word)]
        return self._vocabulary.encode(pieces)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids: a space before each piece that begins a word.

        Args:
            ids: Ids from 0 to ``len(self) - 1``.

        Returns:
            Words with single spaces between them.

        Raises:
            ValueError: An id stands for no piece.

        Example:
            >>> WordPieceTokenizer(["un", "##do"]).decode([1, 2, 1])
            'undo un'
        """
        pieces = self._vocabulary.decode(ids)
        marked = (
            piece.removeprefix(CONTINUES) if piece.startswith(CONTINUES) else f" {piece}"
            for piece in pieces
        )
        return "".join(marked).removeprefix(" ")

    def __len__(self) -> int:
        return len(self._vocabulary)

    def _spell(self, word: str) -> list[str]:
        """The pieces of a word, or the unknown token alone."""
        pieces: list[str] = []
        start = 0
        while start < len(word):
            piece = self._longest_piece(word, start)
            if piece is None:
                return [self._vocabulary.unknown]
            pieces.append(piece)
            start += len(piece) - (len(CONTINUES) if start else 0)
        return pieces

    def _longest_piece(self, word: str, start: int) -> str | None:
        for end in range(min(len(word), start + self._longest), start, -1):
            piece = CONTINUES + word[start:end] if start else word[start:end]
            if piece in self._pieces and (start or not piece.startswith(CONTINUES)):
                return piece  # a word that begins with "##" does not begin with a continuation
        return None


@checked
def split_words(text: str) -> list[str]:
    """The parts of a text between white space, punctuation included.

    Args:
        text: Any text without lone surrogates.

    Returns:
        One string for each word; none is empty.

    Raises:
        ValueError: The text holds a lone surrogate.

    Source: lecture 002, "How Embeddings Work". Chapter: tokenization#wordpiece

    Example:
        >>> split_words("How are  you?")
        ['How', 'are', 'you?']
    """
    require_writable(text)
    return regex.findall(r"\S+", text)


def _join_pieces(
    words: Counter[str], tokens: list[str], size: int, min_count: int, unknown: str
) -> list[str]:
    """The alphabet and the pieces joined from it, until there are ``size``."""
    tokens = list(tokens)
    ids = {token: id_ for id_, token in enumerate(tokens)}
    corpus = _Corpus(
        [[ids[CONTINUES * (i > 0) + character] for i, character in enumerate(word)]
         for word in words],
        list(words.values()),
    )  # fmt: skip
    refused: set[Pair] = set()
    while len(ids) < size:
        pair = corpus.best(min_count, refused)
        if pair is None:
            break
        left, right = tokens[pair[0]], tokens[pair[1]].removeprefix(CONTINUES)
        looks_inside = left == "#" and (left + right).startswith(CONTINUES)
        if looks_inside or left + right == unknown:
            refused.add(pair)
            continue
        if left + right not in ids:  # "a" + "##bc" may follow "ab" + "##c"
            ids[left + right] = len(tokens)
            tokens.append(left + right)
        corpus.join(pair, ids[left + right])
    return tokens


class _Corpus:
    """The words as ids of pieces, with the counts of pieces and of pairs kept up to date."""

    def __init__(self, words: list[list[int]], weights: list[int]) -> None:
        self.words, self.weights = words, weights
        self.singles: Counter[int] = Counter()
        self.pairs: Counter[Pair] = Counter()
        self.places: dict[Pair, set[int]] = defaultdict(set)
        for place in range(len(words)):
            self._count(place, 1)

    def best(self, min_count: int, refused: set[Pair]) -> Pair | None:
        """The pair with the largest score, or None if no pair is frequent enough."""
        frequent = (p for p, n in self.pairs.items() if n >= min_count and p not in refused)
        return max(frequent, key=self._rank, default=None)

    def join(self, pair: Pair, new_id: int) -> None:
        """Join the pair in every word; only words that hold it are counted again."""
        for place in self.places.pop(pair):
            self._count(place, -1)
            self.words[place] = merge_pair(self.words[place], pair, new_id)
            self._count(place, 1)

    def _count(self, place: int, sign: int) -> None:
        word, weight = self.words[place], sign * self.weights[place]
        for piece in word:
            self.singles[piece] += weight
        for pair, count in count_pairs(word).items():
            self.pairs[pair] += count * weight
            self.places[pair].add(place)

    def _rank(self, pair: Pair) -> tuple[float, int, int, int]:
        left, right = pair
        count = self.pairs[pair]
        return count / (self.singles[left] * self.singles[right]), count, -left, -right
