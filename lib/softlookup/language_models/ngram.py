"""n-gram models: the next word from the n - 1 before it, by counting."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Positive, Range, Size, checked, require
from softlookup.language_models.language_model import LanguageModel, known_words

Followers = dict[tuple, Counter]
"""For each history, how often each word came after it."""


@checked
class NGramModel(LanguageModel):
    r"""Maximum likelihood: $P(w \mid h) = C(hw) / C(h)$ for the $n-1$ words $h$ before $w$.

    Before a text stand $n-1$ times BOS, and its end is counted like a word. So each word has a
    history of full length, and the probabilities of all texts sum to 1.

    Args:
        texts: The words of each text.
        n: How many words an n-gram has: 1 looks at no word before, 2 at one.
        words: The words it knows; every other counts as ``<unk>``. Without this argument: all
            words of the texts, and no other.

    Raises:
        ValueError: There is no text or no word, ``n`` is no integer of at least 1, or ``words``
            holds a word twice or a symbol. ``next_word`` raises it after a history that was never
            seen: 0/0 is no probability.

    Source: Shannon 1948; lecture 001, "N-Gram Model". Chapter: language_models#count-ratios.

    Example:
        >>> model = NGramModel(["the dog barks".split(), "the dog runs".split()], n=2)
        >>> model.probability("barks", ["the", "dog"])
        0.5
        >>> round(math.exp(model.log_probability(["the", "dog", "runs"])), 4)
        0.5
    """

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        n: Size,
        words: Sequence[str] | None = None,
    ) -> None:
        every_word = known_words(texts)
        super().__init__(every_word if words is None else words, unknown=words is not None)
        self.n = n
        self.followers = follower_counts([self.padded(text) for text in texts], n)
        self.totals = {h: sum(counts.values()) for h, counts in self.followers.items()}

    def padded(self, text: Sequence[str]) -> list[int]:
        """The ids of a text between its n - 1 beginnings and its end."""
        return [self.bos] * (self.n - 1) + self.ids(text) + [self.eos]

    def next_word_ids(self, ids: list[int]) -> Float[Tensor, "vocab"]:
        """The probability of each next word, from the ids of all words before it."""
        history = self._history(ids)
        row = [self._ratio(word, history) for word in range(len(self.vocabulary))]
        return torch.tensor(row, dtype=torch.float64)

    def log_probability(self, text: Sequence[str]) -> float:
        """The natural logarithm of the probability of a whole text, its end included."""
        ids, total = self.padded(text), 0.0
        for end in range(self.n - 1, len(ids)):
            p = self._ratio(ids[end], tuple(ids[end - self.n + 1 : end]))
            if p == 0:
                return -math.inf  # from here on histories may be unknown; the product is 0 anyhow
            total += math.log(p)
        return total

    def _history(self, ids: list[int]) -> tuple[int, ...]:
        """The last n - 1 of the words so far, with beginnings before them where they are fewer."""
        padded = [self.bos] * (self.n - 1) + ids
        return tuple(padded[len(padded) - self.n + 1 :])

    def _ratio(self, word: int, history: tuple[int, ...]) -> float:
        if history not in self.followers:
            names = [*self.words, "<s>"]
            seen = [names[id_] for id_ in history]
            raise ValueError(f"the text that was counted never has the history; got {seen}")
        return self.followers[history][word] / self.totals[history]


@checked
class AddK(NGramModel):
    r"""Add $k$ to every count: $P(w \mid h) = (C(hw) + k) / (C(h) + kV)$. Nothing is impossible.

    Args:
        texts: The words of each text.
        n: How many words an n-gram has.
        k: What is added to every count, above 0; 1 is Laplace's rule of succession.
        words: The words it knows, as in ``NGramModel``.

    Raises:
        ValueError: As ``NGramModel``, or ``k`` is not positive and finite.

    Source: Jurafsky and Martin, chapter 3; lecture 001, "N-Gram Model".
    Chapter: language_models#smoothing.

    Example:
        >>> model = AddK([["the", "dog", "barks"]], n=2, k=1)
        >>> model.probability("the", ["dog"])  # never seen: (0 + 1) / (1 + 4)
        0.2
    """

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        n: Size,
        k: Positive,
        words: Sequence[str] | None = None,
    ) -> None:
        super().__init__(texts, n, words)
        self.k = k

    def _ratio(self, word: int, history: tuple[int, ...]) -> float:
        count = self.followers.get(history, Counter())[word]
        return (count + self.k) / (self.totals.get(history, 0) + self.k * len(self.vocabulary))


@checked
class KneserNey(NGramModel):
    r"""Interpolated Kneser-Ney: every count gives $D$ away, and a shorter history shares it out.

    $$P(w \mid h) = \frac{\max(C(hw) - D, 0)}{C(h)} + \frac{D\,N(h)}{C(h)}\,P(w \mid h')$$

    $N(h)$ is how many different words follow $h$, and $h'$ is $h$ without its first word. For every
    order below the highest, $C(hw)$ is not how often $hw$ occurs but in how many different places:
    how many different words come before it. (Before BOS comes nothing, so an n-gram that begins
    with it keeps its count.) At the bottom, below single words, all words are equally likely.

    Args:
        texts: The words of each text.
        n: How many words an n-gram has.
        words: The words it knows, as in ``NGramModel``.
        discount: $D$, above 0 and below 1.

    Raises:
        ValueError: As ``NGramModel``, or ``discount`` is out of range.

    Source: Kneser and Ney 1995; Chen and Goodman 1999, section 2.7.
    Chapter: language_models#smoothing.

    Example:
        >>> model = KneserNey([["san", "jose"], ["san", "jose"]], n=2, discount=0.5)
        >>> round(model.probability("jose", ["san"]), 4)  # (2 - 0.5)/2 + 0.5·1/2 · 1/3
        0.8333
    """

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        n: Size,
        words: Sequence[str] | None = None,
        *,
        discount: Annotated[float, Range(0, 1, above=True, below=True)] = 0.75,
    ) -> None:
        super().__init__(texts, n, words)
        self.discount = discount
        self._tables = [self.followers]
        for _ in range(n - 1):  # from the highest order down to single words
            self._tables.insert(0, _continuations(self._tables[0], self.bos))
        self._sums = [{h: sum(c.values()) for h, c in table.items()} for table in self._tables]

    def next_word_ids(self, ids: list[int]) -> Float[Tensor, "vocab"]:
        """The probability of each next word, from the ids of all words before it."""
        history, size = self._history(ids), len(self.vocabulary)
        row = torch.full((size,), 1 / size, dtype=torch.float64)
        for order, (table, sums) in enumerate(zip(self._tables, self._sums, strict=True)):
            h = history[len(history) - order :]
            if h in table:
                kept = torch.zeros_like(row)
                kept[list(table[h])] = row.new_tensor(list(table[h].values())) - self.discount
                row = (kept + self.discount * len(table[h]) * row) / sums[h]
        return row

    def _ratio(self, word: int, history: tuple[int, ...]) -> float:
        p = 1 / len(self.vocabulary)
        for order, (table, sums) in enumerate(zip(self._tables, self._sums, strict=True)):
            h = history[len(history) - order :]
            if h in table:
                kept = max(table[h][word] - self.discount, 0)
                p = (kept + self.discount * len(table[h]) * p) / sums[h]
        return p


@checked
def follower_counts(texts: Iterable[Sequence[Hashable]], n: Size) -> Followers:
    """How often each token follows each run of n - 1 tokens: all that an n-gram model knows.

    Args:
        texts: The tokens of each text, its beginnings and its end included.
        n: How many tokens an n-gram has.

    Returns:
        For each run that occurs with a token after it, the counts of these tokens.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or a text is one string.

    Source: lecture 001, "N-Gram Model". Chapter: language_models#count-ratios.

    Example:
        >>> follower_counts([["<s>", "no", "no", "</s>"]], n=2)[("no",)]
        Counter({'no': 1, '</s>': 1})
    """
    followers = defaultdict(Counter)
    for text in texts:
        for end in range(n - 1, len(text)):
            followers[tuple(text[end - n + 1 : end])][text[end]] += 1
    return dict(followers)


@checked
def unseen_share(
    seen: Sequence[Sequence[Hashable]], texts: Sequence[Sequence[Hashable]], n: Size
) -> float:
    """The share of all n-grams of ``texts`` that ``seen`` never has.

    Args:
        seen: The tokens of each text that was read.
        texts: The tokens of each new text.
        n: How many tokens an n-gram has.

    Returns:
        A share between 0 and 1.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or no text of ``texts`` has n tokens.

    Source: lecture 001, "Evolution: From Statistical to Neural Language Models".
    Chapter: language_models#sparse-data.

    Example:
        >>> unseen_share(["the dog barks".split()], ["the dog runs".split()], n=2)
        0.5
    """
    known, new = follower_counts(seen, n), follower_counts(texts, n)
    total = sum(sum(counts.values()) for counts in new.values())
    require(total > 0, "texts must hold at least one n-gram", n=n, n_texts=len(texts))
    missing = sum(
        count
        for history, counts in new.items()
        for token, count in counts.items()
        if token not in known.get(history, ())
    )
    return missing / total


def _continuations(table: Followers, bos: int) -> Followers:
    """One order down: after how many different words each run occurs."""
    lower = defaultdict(Counter)
    for history, counts in table.items():
        begins = history[1:2] == (bos,)  # nothing but BOS comes before BOS: the counts stay
        lower[history[1:]].update(counts if begins else counts.keys())
    return dict(lower)
