"""The unigram model: sub-words chosen by their probability, spaces kept as a marker."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import regex

from softlookup.checks import Range, Size, checked, require
from softlookup.tokenization.segmentation import UnigramModel
from softlookup.tokenization.splitting import require_writable
from softlookup.words import Vocabulary

MARKER = "▁"
"""Stands for a space, U+2581, so that a piece can hold the space before a word."""

LEAST_COUNT = 1e-12  # keeps the logarithm of a character finite that EM would give up
SEEDS_PER_PIECE = 5


@checked
class UnigramTokenizer:
    """A text cut into the pieces whose probabilities have the largest product.

    Spaces become the marker "▁", and one more stands before the text, so that its first word looks
    like the others. No piece reaches over a marker. A text comes back exactly if its characters
    are known.

    Args:
        log_probabilities: The natural logarithm of each piece's probability.
        unknown: Stands for a run of unknown characters. It gets id 0.

    Attributes:
        model: The probabilities, which can cut one word: ``model.best_pieces``.

    Raises:
        ValueError: A piece is empty, is ``unknown``, or has no finite logarithm of at most 0.

    Source: Kudo 2018; lecture 004, "Vocabulary Size". Chapter: tokenization#unigram

    Example:
        >>> tokenizer = UnigramTokenizer({"▁": -3.0, "▁to": -2.0, "ken": -2.0, "s": -1.5})
        >>> tokenizer.encode("tokens to")
        [2, 3, 4, 2]
        >>> tokenizer.decode([2, 3, 4, 2])
        'tokens to'
    """

    def __init__(self, log_probabilities: Mapping[str, float], *, unknown: str = "<unk>") -> None:
        self.model = UnigramModel(log_probabilities)
        self._vocabulary = Vocabulary(log_probabilities, unknown=unknown)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: Size,
        *,
        max_length: Size = 8,
        kept: Annotated[float, Range(0, 1, above=True, below=True)] = 0.75,
        n_steps: Size = 2,
        unknown: str = "<unk>",
    ) -> "UnigramTokenizer":
        """Start with many pieces, fit their probabilities, drop those that matter least, repeat.

        Args:
            texts: The training texts.
            vocab_size: Pieces in all, ``unknown`` included. Where the texts hold fewer sub-words
                that occur twice, there are fewer. Single characters always stay.
            max_length: Characters in the longest piece, the marker included.
            kept: The share of the pieces that survives a round, between 0 and 1.
            n_steps: Steps of EM in each round.
            unknown: Stands for a run of unknown characters.

        Returns:
            The trained tokenizer, its pieces by falling probability.

        Raises:
            ValueError: ``vocab_size`` leaves no room for the characters, a text holds the marker,
                an option is out of range, ``texts`` is one string or holds no character.

        Example:
            >>> UnigramTokenizer.train(["low low lower lowest"], 10).tokens[:2]
            ['<unk>', '▁low']
        """
        words = Counter(word for text in texts for word in split_at_markers(text))
        characters = set("".join(words))
        require(bool(characters), "texts must hold at least one character")
        rule = f"vocab_size must be at least {1 + len(characters)}"
        require(vocab_size > len(characters), rule, vocab_size=vocab_size)
        size = vocab_size - 1
        scores = _seeds(words, max_length, SEEDS_PER_PIECE * size, unknown)
        while True:
            for _ in range(n_steps):
                counts, _ = UnigramModel(scores).expected_counts(words)
                scores = _normalized(counts)
            if len(scores) <= size:
                break
            scores = _pruned(counts, scores, max(size, math.floor(kept * len(scores))))
        order = sorted(scores, key=lambda piece: (-scores[piece], piece))
        return cls({piece: scores[piece] for piece in order}, unknown=unknown)

    @property
    def tokens(self) -> list[str]:
        """All pieces, each at the place of its id, the unknown token at 0."""
        return self._vocabulary.tokens

    def encode(self, text: str) -> list[int]:
        """The ids of a text's most probable pieces.

        Args:
            text: Any text without the marker.

        Returns:
            Ids from 0 to ``len(self) - 1``; one 0 for each run of unknown characters.

        Raises:
            ValueError: The text holds the marker or a lone surrogate.

        Example:
            >>> UnigramTokenizer({"▁": -2.0, "a": -1.0}).encode("a?!a")
            [1, 2, 0, 2]
        """
        ids: list[int] = []
        for word in split_at_markers(text):
            pieces, _ = self.model.best_pieces(word)
            before = -1  # the id before, in the same word
            for id_ in self._vocabulary.encode(pieces):
                ids += [] if id_ == before == 0 else [id_]
                before = id_
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids: markers are spaces again, and the first one goes.

        Args:
            ids: Ids from 0 to ``len(self) - 1``.

        Returns:
            The text.

        Raises:
            ValueError: An id stands for no piece.

        Example:
            >>> UnigramTokenizer({"▁a": -1.0, "▁": -1.0}).decode([1, 2, 1])
            'a  a'
        """
        pieces = self._vocabulary.decode(ids)
        return "".join(pieces).replace(MARKER, " ").removeprefix(" ")

    def __len__(self) -> int:
        return len(self._vocabulary)


@checked
def split_at_markers(text: str) -> list[str]:
    """Write spaces as markers, one more before the text, and cut before each.

    Args:
        text: Any text without the marker.

    Returns:
        The parts; none for the empty text. Joined, with spaces for markers, they are the text with
        a space before it.

    Raises:
        ValueError: The text holds the marker, which could not be told from a space, or a lone
            surrogate.

    Source: Kudo and Richardson 2018; lecture 004, "Vocabulary Size". Chapter: tokenization#unigram

    Example:
        >>> split_at_markers("How are  you?")
        ['▁How', '▁are', '▁', '▁you?']
    """
    require_writable(text)
    position = text.find(MARKER)
    require(position < 0, f"text must not hold the marker {MARKER}", position=position)
    marked = (f" {text}" if text else "").replace(" ", MARKER)
    return regex.findall(f"{MARKER}[^{MARKER}]*", marked)


def _seeds(words: Mapping[str, int], max_length: int, limit: int, unknown: str) -> dict[str, float]:
    """The first pieces: all characters, and the sub-words that cover most text; by frequency."""
    counts: Counter[str] = Counter()
    for word, weight in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + max_length) + 1):
                counts[word[start:end]] += weight
    longer = [p for p, count in counts.items() if len(p) > 1 and count > 1 and p != unknown]
    longer.sort(key=lambda piece: (-counts[piece] * len(piece), piece))
    singles = [piece for piece in counts if len(piece) == 1]
    return _normalized({piece: counts[piece] for piece in [*singles, *longer[:limit]]})


def _normalized(counts: Mapping[str, int | float]) -> dict[str, float]:
    """The M-step of EM: the logarithm of each piece's share of all counts."""
    floored = {piece: max(count, LEAST_COUNT) for piece, count in counts.items()}
    total = math.fsum(floored.values())
    return {piece: math.log(count / total) for piece, count in floored.items()}


def _pruned(
    counts: Mapping[str, float], log_probabilities: dict[str, float], size: int
) -> dict[str, float]:
    """The ``size`` pieces without which the text would lose most; all characters among them."""
    model = UnigramModel(log_probabilities)
    losses = {
        piece: counts[piece] * (score - model.best_pieces(piece, divided=True)[1])
        for piece, score in log_probabilities.items()
        if len(piece) > 1
    }
    singles = [piece for piece in log_probabilities if len(piece) == 1]
    kept = sorted(losses, key=lambda piece: (-losses[piece], piece))[: size - len(singles)]
    return _normalized({piece: math.exp(log_probabilities[piece]) for piece in [*singles, *kept]})
