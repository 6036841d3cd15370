"""One head of attention, trained on captions to tell which pronoun comes next.

Captions of Multi30k's photographs are cut before their first "his", "her", "their" or "its". A
blank is put in its place, and a table of vectors with one head of attention must tell which of the
four it was. Then: how often is it right on captions that it has not seen, which words does it read,
and is it still right when the word that it reads most is taken away?
"""

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlookup.attention import Attention, attention_weights
from softlookup.recorded.captions import SMALL_CAPTIONS, english_captions
from softlookup.training import shuffled_rows, train_model
from softlookup.words import word_tokens

DATA = ("multi30k",)
SEED = 0
STARTS = 3
"""How many times the head is trained, each time from other random numbers."""
BATCH_SIZE = 64

PRONOUNS = ("his", "her", "their", "its")
PADDING, UNKNOWN, BLANK = "<padding>", "<unknown>", "___"
SPECIAL = (PADDING, UNKNOWN, BLANK)

SHOWN = (
    "a little girl in a checkered dress plays with",
    "a yellow dog carries a ball in",
    "a young woman stands singing at a microphone while a man behind",
    "an asian fruit and vegetable vendor's selection of bananas oranges melons and more in",
    "a man and a woman walk with",
    "the chicken crossed the road with",
)
"""Beginnings of which the weights are kept; the last two are no captions."""
VOTERS = ("girl", "woman", "man", "dog", "are", "one", "plays", "in")
"""Words of which the votes are kept, where they are known."""


class PronounReader(nn.Module):
    """A vector for each word, and one head whose values are four votes, one for each pronoun.

    Args:
        n_words: The size of the vocabulary.
        d_model: The width of a word's vector.
        d_k: The width of queries and keys.
        even: Give all words the same weight, whatever the query.
        dropout: In training, the share of the entries of the vectors that is set to 0.
    """

    def __init__(
        self, n_words: int, d_model: int = 32, d_k: int = 16, *, even: bool, dropout: float = 0.3
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, d_model)
        self.head = Attention(d_model=d_model, d_k=d_k, d_v=len(PRONOUNS))
        self.dropout = nn.Dropout(dropout)
        self.even = even

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The votes of the blank, the last word of each text, and the weights that it gives."""
        X = self.dropout(self.embedding(ids))
        query = self.head.W_Q(X[:, -1:])  # the blank's
        A = attention_weights(0 * query if self.even else query, self.head.W_K(X), mask)
        return (A @ self.head.W_V(X))[:, 0], A[:, 0]


def load() -> tuple[list[str], list[str]] | None:
    """The captions to train on and those to test on, or None after one line that says why."""
    return english_captions()


def run_small() -> dict:
    """The same on eight captions of our own."""
    shown = ("a woman in a park holds", "a dog on a bike has")
    data = SMALL_CAPTIONS, SMALL_CAPTIONS
    return run(data, starts=1, shown=shown, min_count=1, epochs=40)


def run(
    captions: tuple[Sequence[str], Sequence[str]],
    *,
    starts: int = STARTS,
    shown: Sequence[str] = SHOWN,
    min_count: int = 3,
    epochs: int = 5,
) -> dict:
    """Train heads from several starts, and look at what they read in captions new to them.

    Args:
        captions: Those to train on, and those to test on.
        starts: How many trainings.
        shown: Beginnings of which the weights of the first head are kept.
        min_count: Words that occur less often are unknown.
        epochs: Passes over the captions; 0 trains nothing.

    Returns:
        The sizes; for each start the share of right answers of the head, without the word that it
        reads most, without another word, and of a head whose weights are all equal; which words the
        first head reads most; its weights in the beginnings shown; and how some words vote, in the
        first head and in the first of those with equal weights.
    """
    train, test = (beginnings(part) for part in captions)
    counts = Counter(word for words, _ in train for word in words)
    vocabulary = [*SPECIAL, *(word for word, count in counts.most_common() if count >= min_count)]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    found = {
        "train": len(train),
        "test": len(test),
        "vocabulary": len(vocabulary),
        "asked": [sum(pronoun == k for _, pronoun in test) for k in range(len(PRONOUNS))],
    }
    if not epochs:
        return found
    texts, answers = coded(train, numbers)
    n_words = len(vocabulary)
    heads = [trained(texts, answers, n_words, k, epochs) for k in range(starts)]
    even = [trained(texts, answers, n_words, k, epochs, even=True) for k in range(starts)]
    unseen, right = coded(test, numbers)
    found["right"] = [share_right(head, unseen, right) for head in heads]
    found["right_without_first"] = [
        share_right(head, unseen, right, without(head, unseen)) for head in heads
    ]
    found["right_without_other"] = [
        share_right(head, unseen, right, without_another(head, unseen)) for head in heads
    ]
    found["right_even"] = [share_right(head, unseen, right) for head in even]
    first = read_most(heads[0], unseen)
    most = Counter(words[k] for (words, _), k in zip(test, first.tolist(), strict=True))
    found["read_most"] = [list(pair) for pair in most.most_common(10)]
    found["shown"] = [reading(heads[0], text.split(), numbers) for text in shown]
    voters = [word for word in VOTERS if word in numbers]
    for name, reader in ("votes", heads[0]), ("votes_even", even[0]):
        found[name] = {word: votes_of(reader, numbers[word]) for word in voters}
    return found


def beginnings(captions: Sequence[str]) -> list[tuple[list[str], int]]:
    """What stands before the first pronoun of each caption that has one, and which one it is."""
    found = []
    for caption in captions:
        words = word_tokens(caption)
        places = [k for k, word in enumerate(words) if word in PRONOUNS]
        if places and places[0] >= 2:
            found.append((words[: places[0]], PRONOUNS.index(words[places[0]])))
    return found


def coded(texts: Sequence[tuple[list[str], int]], numbers: dict[str, int]) -> tuple[Tensor, Tensor]:
    """The words' numbers and the blank's, at the right end of a row that begins with padding."""
    length = max(len(words) for words, _ in texts) + 1
    ids = torch.full((len(texts), length), numbers[PADDING])
    for row, (words, _) in zip(ids, texts, strict=True):
        known = [numbers.get(word, numbers[UNKNOWN]) for word in [*words, BLANK]]
        row[length - len(known) :] = torch.tensor(known)
    return ids, torch.tensor([pronoun for _, pronoun in texts])


def readable(ids: Tensor) -> Tensor:
    """Which words the blank may read: all before it, and no padding. One row for each text."""
    mask = ids != SPECIAL.index(PADDING)
    mask[:, -1] = False
    return mask[:, None]


def trained(
    ids: Tensor, answers: Tensor, n_words: int, start: int, epochs: int, *, even: bool = False
) -> PronounReader:
    """A head that was trained to name the pronouns."""

    def loss_of_rows(reader: PronounReader, rows: Tensor) -> Tensor:
        votes, _ = reader(ids[rows], readable(ids[rows]))
        return F.cross_entropy(votes, answers[rows])

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED + start)
        reader = PronounReader(n_words, even=even)
        train_model(
            reader,
            loss_of_rows,
            shuffled_rows(len(ids), BATCH_SIZE),
            optimizers=torch.optim.Adam(reader.parameters(), lr=0.01),
            n_steps=epochs * math.ceil(len(ids) / BATCH_SIZE),
        )
    return reader.eval()


@torch.no_grad()
def share_right(
    reader: PronounReader, ids: Tensor, answers: Tensor, mask: Tensor | None = None
) -> float:
    """The share of the texts for which the right pronoun has the most votes."""
    votes, _ = reader(ids, readable(ids) if mask is None else mask)
    return round((votes.argmax(dim=1) == answers).double().mean().item(), 3)


@torch.no_grad()
def read_most(reader: PronounReader, ids: Tensor) -> Tensor:
    """The place of the word with the largest weight, counted from the first word of each text."""
    _, weights = reader(ids, readable(ids))
    return weights.argmax(dim=1) - (ids == SPECIAL.index(PADDING)).sum(dim=1)


def without(reader: PronounReader, ids: Tensor) -> Tensor:
    """The mask under which each text lacks the word that the head reads most."""
    mask = readable(ids)
    place = read_most(reader, ids) + (ids == SPECIAL.index(PADDING)).sum(dim=1)
    mask[torch.arange(len(ids)), 0, place] = False
    return mask


def without_another(reader: PronounReader, ids: Tensor) -> Tensor:
    """The mask under which each text lacks a word drawn from those that it does not read most."""
    mask, others = readable(ids), without(reader, ids)[:, 0]
    generator = torch.Generator().manual_seed(SEED)
    place = others.double().multinomial(1, generator=generator)[:, 0]
    mask[torch.arange(len(ids)), 0, place] = False
    return mask


@torch.no_grad()
def reading(reader: PronounReader, words: Sequence[str], numbers: dict[str, int]) -> dict:
    """A beginning with the weight of each word, and what the votes make of the four pronouns."""
    ids, _ = coded([(list(words), 0)], numbers)
    votes, weights = reader(ids, readable(ids))
    chances = votes.softmax(dim=1)[0]
    return {
        "words": list(words),
        "weights": [round(weight, 2) for weight in weights[0, :-1].tolist()],
        "chances": [round(chance, 2) for chance in chances.tolist()],
    }


@torch.no_grad()
def votes_of(reader: PronounReader, number: int) -> list[float]:
    """The value of a word, less its mean, which a softmax ignores."""
    value = reader.head.W_V(reader.embedding.weight[number])
    return [round(vote, 1) for vote in (value - value.mean()).tolist()]
