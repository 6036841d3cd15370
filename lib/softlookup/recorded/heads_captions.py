"""One layer of attention that writes captions, with one head or with several.

A model reads a caption of Multi30k word by word and names the next word. It has a vector for each
word and each place, one layer of attention that reads what has been written so far, and a linear
layer that names the word; a layer of one head, of four or of eight has the same number of
parameters. Then: how well does it name the words of captions that it has not seen, what do its
heads read, and how much worse is it without one of them?
"""

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlookup.analysis import capture, head_gates
from softlookup.attention import MultiHeadAttention
from softlookup.masks import causal_mask
from softlookup.recorded.captions import SMALL_CAPTIONS, english_captions
from softlookup.training import shuffled_rows, train_model
from softlookup.words import word_tokens

DATA = ("multi30k",)
SEED = 0
STARTS = 3
"""How many times each size is trained, each time from other random numbers."""

HEADS = (0, 1, 4, 8)
"""How many heads a layer has; 0 is a model without attention, which sees the last word alone."""
LOOKED_INTO = 4
"""Of the first model with so many heads the maps are kept."""
N = 16
"""How many words of a caption are read, the mark of its beginning included."""
BATCH_SIZE = 64

START, UNKNOWN, END, PADDING = "<start>", "<unknown>", "<end>", -100
SHOWN = (
    "a man in a blue shirt is standing on a ladder",
    "a little girl in a pink dress plays with her dog",
)
"""Captions of which the weights are kept."""


class NextWord(nn.Module):
    """Names the next word from the last one and from what the heads have read.

    Args:
        n_words: The size of the vocabulary.
        n_heads: How many heads; with 0 there is no attention.
        d_model: The width of a word's vector.
        dropout: In training, the share of the entries of the vectors that is set to 0.
    """

    def __init__(
        self, n_words: int, n_heads: int, d_model: int = 64, *, dropout: float = 0.2
    ) -> None:
        super().__init__()
        self.word = nn.Embedding(n_words, d_model)
        self.place = nn.Embedding(N, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads) if n_heads else None
        self.dropout = nn.Dropout(dropout)
        self.names = nn.Linear(d_model, n_words)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores for the next word at each place."""
        n = ids.shape[-1]
        x = self.dropout(self.word(ids) + self.place.weight[:n])
        if self.attention is not None:
            x = x + self.attention(x, mask=causal_mask(n))
        return self.names(self.dropout(x))


def load() -> tuple[list[str], list[str]] | None:
    """The captions to train on and those to test on, or None after one line that says why."""
    return english_captions()


def run_small() -> dict:
    """The same on eight captions of our own."""
    options = {"min_count": 1, "epochs": 20, "heads": (0, 2), "looked_into": 2}
    data = SMALL_CAPTIONS, SMALL_CAPTIONS
    return run(data, starts=1, shown=("a man on a bike holds",), **options)


def run(
    captions: tuple[Sequence[str], Sequence[str]],
    *,
    starts: int = STARTS,
    shown: Sequence[str] = SHOWN,
    min_count: int = 20,
    epochs: int = 3,
    heads: Sequence[int] = HEADS,
    looked_into: int = LOOKED_INTO,
) -> dict:
    """Train layers with several numbers of heads, and look into one of them.

    Args:
        captions: Those to train on, and those to test on.
        starts: How many trainings of each size.
        shown: Captions of which the weights of the layer looked into are kept.
        min_count: Words that occur less often are unknown.
        epochs: Passes over the captions; 0 trains nothing.
        heads: The numbers of heads.
        looked_into: Into the first layer with so many heads we look.

    Returns:
        The sizes; for each number of heads the parameters and the loss of each start on captions
        to be tested on; and of the layer looked into, for each head: the share of its attention at
        each distance, the rise of the loss without it and the loss with it alone, and its weights
        in the captions shown.
    """
    train, test = ([word_tokens(caption) for caption in part] for part in captions)
    counts = Counter(word for words in train for word in words)
    vocabulary = [START, UNKNOWN, END, *(w for w, c in counts.most_common() if c >= min_count)]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    unseen = coded(test, numbers)
    found = {
        "train": len(train),
        "test": len(test),
        "asked": int((unseen[1] != PADDING).sum()),
        "vocabulary": len(vocabulary),
    }
    if not epochs:
        return found
    found["parameters"], found["loss"] = {}, {}
    texts, kept = coded(train, numbers), None
    for n_heads in heads:
        models = [trained(texts, len(vocabulary), n_heads, k, epochs) for k in range(starts)]
        found["parameters"][str(n_heads)] = sum(p.numel() for p in models[0].parameters())
        found["loss"][str(n_heads)] = [round(loss_of(model, unseen), 3) for model in models]
        kept = models[0] if n_heads == looked_into else kept
    found["whole"] = round(loss_of(kept, unseen), 3)
    ones = torch.ones(looked_into)
    found["without"], found["alone"] = [], []
    for head in torch.eye(looked_into):
        for name, gates in (("without", ones - head), ("alone", head)):
            with head_gates(kept.attention, gates):
                found[name].append(round(loss_of(kept, unseen), 3))
    with head_gates(kept.attention, 0 * ones):
        found["silent"] = round(loss_of(kept, unseen), 3)
    found["distances"] = distances(kept, unseen)
    found["shown"] = [reading(kept, text.split(), numbers) for text in shown]
    return found


def coded(texts: Sequence[Sequence[str]], numbers: dict[str, int]) -> tuple[Tensor, Tensor]:
    """The words' numbers, one row for each text, and at each place the number of the next word."""
    ids = torch.full((len(texts), N), numbers[END])
    targets = torch.full((len(texts), N), PADDING)
    for row, target, words in zip(ids, targets, texts, strict=True):
        known = [numbers.get(word, numbers[UNKNOWN]) for word in [START, *words, END]][: N + 1]
        row[: len(known) - 1] = torch.tensor(known[:-1])
        target[: len(known) - 1] = torch.tensor(known[1:])
    return ids, targets


def trained(
    texts: tuple[Tensor, Tensor], n_words: int, n_heads: int, start: int, epochs: int
) -> NextWord:
    """A model that was trained to name the next word."""
    ids, targets = texts

    def loss_of_rows(model: NextWord, rows: Tensor) -> Tensor:
        return F.cross_entropy(model(ids[rows]).flatten(0, 1), targets[rows].flatten())

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED + start)
        model = NextWord(n_words, n_heads)
        train_model(
            model,
            loss_of_rows,
            shuffled_rows(len(ids), BATCH_SIZE),
            optimizers=torch.optim.Adam(model.parameters(), lr=3e-3),
            n_steps=epochs * math.ceil(len(ids) / BATCH_SIZE),
        )
    return model.eval()


@torch.no_grad()
def loss_of(model: NextWord, texts: tuple[Tensor, Tensor]) -> float:
    """The mean cross-entropy of the next word."""
    scores = model(texts[0]).flatten(0, 1)
    return F.cross_entropy(scores.double(), texts[1].flatten()).item()


@torch.no_grad()
def distances(model: NextWord, texts: tuple[Tensor, Tensor], reach: int = 5) -> list[list[float]]:
    """For each head, the mean weight 0, 1, 2, ... words back, and that of the beginning mark.

    Only places are counted that have words at all these distances, and the mark farther back.
    """
    with capture(model, "weights") as seen:
        model(texts[0])
    weights = seen["attention.weights"]  # texts, heads, queries, keys
    rows = (texts[1] != PADDING) & (torch.arange(N) > reach)
    found = []
    for back in range(reach + 1):
        at = torch.zeros((*rows.shape, weights.shape[1]))
        at[:, back:] = weights.diagonal(-back, -2, -1).movedim(1, 2)
        found.append(at[rows].mean(0))
    found.append(weights[..., 0].movedim(1, 2)[rows].mean(0))
    return [[round(share, 2) for share in head] for head in torch.stack(found, 1).tolist()]


@torch.no_grad()
def reading(model: NextWord, words: Sequence[str], numbers: dict[str, int]) -> dict:
    """The words of a caption, and the weights of each head among them, beginning mark included."""
    words = [START, *words][:N]
    ids = torch.tensor([[numbers.get(word, numbers[UNKNOWN]) for word in words]])
    with capture(model, "weights") as seen:
        model(ids)
    weights = seen["attention.weights"][0]
    rounded = [[[round(a, 2) for a in row] for row in head] for head in weights.tolist()]
    return {"words": words, "weights": rounded}
