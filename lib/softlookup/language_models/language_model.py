"""What every language model answers: which word comes next, and how probable is a text."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Positive, Size, checked, require
from softlookup.language_models import decoding
from softlookup.words import Vocabulary

BOS, EOS, UNKNOWN = "<s>", "</s>", "<unk>"
"""What stands before the first word, after the last, and for a word that a model does not know."""


@checked
class LanguageModel:
    r"""A probability for each next word, $P(w_i \mid w_1 \dots w_{i-1})$, given those before it.

    A text ends with the symbol ``</s>``, which is predicted like a word. A subclass says what
    ``next_word_ids`` gives; the rest follows from it by the chain rule.

    Args:
        words: The words it knows, without the symbols.
        unknown: Whether ``<unk>`` stands for every other word. If not, another word is refused.

    Raises:
        ValueError: There is no word, one comes twice, or one of them is a symbol.

    Source: lecture 001, "Neural Language Models".
    Chapter: language_models#what-comes-next.

    Example:
        >>> LanguageModel(["yes", "no"], unknown=True).words
        ['<unk>', 'yes', 'no', '</s>']
        >>> class Uniform(LanguageModel):
        ...     def next_word_ids(self, ids):
        ...         return torch.ones(len(self.words)) / len(self.words)
        >>> model = Uniform(["yes", "no", "maybe"])
        >>> model.words, model.probability("no", ["yes"])
        (['yes', 'no', 'maybe', '</s>'], 0.25)
    """

    def __init__(self, words: Sequence[str], *, unknown: bool = False) -> None:
        symbols = sorted({BOS, EOS, UNKNOWN}.intersection(words))
        require(not symbols, "words must hold none of the symbols", symbols=symbols)
        require(len(words) > 0, "words must hold at least one word", words=words)
        self.vocabulary = Vocabulary([*words, EOS], unknown=UNKNOWN if unknown else None)
        self.eos = len(self.vocabulary) - 1
        self.bos = len(self.vocabulary)  # never comes next, so it is no word of the vocabulary

    @property
    def words(self) -> list[str]:
        """All that can come next, each at the place of its id: the words and ``</s>``, the last."""
        return self.vocabulary.tokens

    def next_word_ids(self, ids: list[int]) -> Float[Tensor, "vocab"]:
        """The probability of each next word, from the ids of all words before it."""
        raise NotImplementedError

    def next_word(self, history: Sequence[str] = ()) -> Float[Tensor, "vocab"]:
        """The probability of each next word.

        Args:
            history: All words of the text so far.

        Returns:
            One probability for each of ``words``; they sum to 1.

        Raises:
            ValueError: A word is not known, or the model has no answer after this history.
        """
        return self.next_word_ids(self.ids(history))

    def probability(self, word: str, history: Sequence[str] = ()) -> float:
        """The probability of one next word, ``</s>`` for the end; otherwise as ``next_word``."""
        (id_,) = self.vocabulary.encode([word])
        return self.next_word(history)[id_].item()

    def log_probability(self, text: Sequence[str]) -> float:
        """The natural logarithm of the probability of a whole text, its end included.

        Args:
            text: All its words.

        Returns:
            The sum over the words and the end; ``-inf`` for a text that the model thinks
            impossible.

        Raises:
            ValueError: A word is not known.
        """
        ids, total = [*self.ids(text), self.eos], 0.0
        for i, id_ in enumerate(ids):
            p = self.next_word_ids(ids[:i])[id_].item()
            if p == 0:
                return -math.inf
            total += math.log(p)
        return total

    def sample(
        self,
        generator: torch.Generator,
        prefix: Sequence[str] = (),
        *,
        max_length: Size = 50,
        temperature: Positive = 1.0,
    ) -> list[str]:
        """Draw word after word, each fed back as history, until the end or ``max_length`` words.

        Args:
            generator: The source of chance.
            prefix: How the text begins.
            max_length: How many words may be added, the end included.
            temperature: As in ``decoding.sample``.

        Returns:
            The prefix and the words that were drawn.

        Raises:
            ValueError: As ``next_word`` and ``decoding.sample`` do.
        """
        state, last = self._start(prefix)
        found = decoding.sample(
            self.step, state, last, self.eos, max_length,
            generator=generator, temperature=temperature,
        )  # fmt: skip
        return [*prefix, *self.vocabulary.decode(found[0].ids)]

    def greedy(self, prefix: Sequence[str] = (), *, max_length: Size = 50) -> list[str]:
        """Add the most probable word, again and again; otherwise as ``sample``."""
        state, last = self._start(prefix)
        found = decoding.greedy(self.step, state, last, self.eos, max_length)
        return [*prefix, *self.vocabulary.decode(found[0].ids)]

    def step(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step for ``decoding``; the state is the text so far, from BOS on."""
        texts = torch.cat([state, tokens.unsqueeze(-1)], dim=-1)
        rows = [self.next_word_ids(ids[1:]) for ids in texts.tolist()]
        return torch.log(torch.stack(rows)).to(tokens.device), texts

    def ids(self, text: Sequence[str]) -> list[int]:
        """The ids of a text's words; ValueError for a symbol or a word that is not known."""
        symbols = sorted({BOS, EOS}.intersection(text))
        require(not symbols, "a text must hold words, not the symbols of its edges", got=symbols)
        return self.vocabulary.encode(list(text))

    def _start(self, prefix: Sequence[str]) -> tuple[Tensor, int]:
        ids = [self.bos, *self.ids(prefix)]
        return torch.tensor([ids[:-1]], dtype=torch.long), ids[-1]


@checked
def known_words(texts: Sequence[Sequence[str]], min_count: Size = 1) -> list[str]:
    """The words that occur at least ``min_count`` times, in alphabetical order.

    Args:
        texts: The words of each text.
        min_count: At least 1.

    Returns:
        The words, without ``<unk>``, should the texts hold it.

    Raises:
        ValueError: There is no text, a text is one string, or ``min_count`` is below 1.

    Source: Chen and Goodman 1999, section 4. Chapter: language_models#held-out-text.

    Example:
        >>> known_words([["a", "b", "a"], ["c", "b"]], min_count=2)
        ['a', 'b']
    """
    require(len(texts) > 0, "there must be at least one text", n_texts=len(texts))
    counts: dict[str, int] = {}
    for text in texts:
        for word in text:
            counts[word] = counts.get(word, 0) + 1
    return sorted(w for w, count in counts.items() if count >= min_count and w != UNKNOWN)


@checked
def perplexity(log_probability: float, n_tokens: Size) -> float:
    r"""Among how many equally likely words the model hesitates: $e^{-\frac1N \log P}$.

    Args:
        log_probability: The natural logarithm of the probability of all texts together.
        n_tokens: $N$, how many tokens that took, with the ends of the texts.

    Returns:
        A number of at least 1; infinite where the model gave probability 0.

    Raises:
        ValueError: ``n_tokens`` is below 1, or ``log_probability`` is NaN or above 0.

    Source: Jelinek et al. 1977; lecture 004, "Learning Position Embeddings".
    Chapter: language_models#perplexity.

    Example:
        >>> round(perplexity(3 * math.log(1 / 7), n_tokens=3), 6)
        7.0
    """
    _require_log_probability(log_probability)
    mean = -log_probability / n_tokens
    return math.exp(mean) if mean < 700 else math.inf


@checked
def bits_per_byte(log_probability: float, n_bytes: Size) -> float:
    r"""How many bits the model needs for one byte of text: $-\log_2 P$ over the bytes.

    Unlike perplexity it can be compared between models that cut the text into different tokens.

    Args:
        log_probability: The natural logarithm of the probability of all texts together.
        n_bytes: How many bytes the texts have, in UTF-8.

    Returns:
        A number of at least 0; infinite where the model gave probability 0.

    Raises:
        ValueError: ``n_bytes`` is below 1, or ``log_probability`` is NaN or above 0.

    Source: Shannon 1951. Chapter: language_models#perplexity.

    Example:
        >>> bits_per_byte(5 * math.log(1 / 256), n_bytes=5)  # bytes by pure chance
        8.0
    """
    _require_log_probability(log_probability)
    return -log_probability / math.log(2) / n_bytes


def _require_log_probability(log_probability: float) -> None:
    rule = "log_probability must be the logarithm of a probability, at most 0"
    require(log_probability <= 1e-9, rule, log_probability=log_probability)
