"""Models behind the exercises: a reader of a planted language, and a small GPT on real prose."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention import KeyValueCache, attention_scores
from softlookup.attention.positions import Rotary
from softlookup.checks import require_int
from softlookup.data import book_prose
from softlookup.data.prose import tenth_out
from softlookup.masks import causal_mask
from softlookup.models import GPT, GPTConfig
from softlookup.training import Tier, choose_tier, train_model

LETTERS = "^abcdefghijklmnopqrstuvwxyz"
"""Token 0, shown as ^, begins a text."""

ECHOES = "aeo"
"""After one of these, the letter before it comes again."""

_SEED, _STEPS = 18, 500
Weigh = Callable[[Tensor, Tensor], Tensor]


class EchoLanguage:
    """A planted language: chances for the next letter, but after a, e and o the last but one.

    Args:
        generator: Draws the table of chances, and later the texts.
    """

    def __init__(self, generator: torch.Generator) -> None:
        n = len(LETTERS)
        chances = torch.randn(n, n, generator=generator).softmax(dim=-1)
        chances[:, 0] = 0  # nothing begins twice
        self.chances = chances / chances.sum(dim=-1, keepdim=True)
        self.echoes = torch.tensor([LETTERS.index(letter) for letter in ECHOES])
        self.generator = generator

    def write(self, n_texts: int, n: int) -> Int[Tensor, "n_texts n_tokens"]:
        """Draw texts of the token that begins them and ``n`` letters."""
        require_int(1, n_texts=n_texts, n=n)
        ids = torch.zeros(n_texts, n + 1, dtype=torch.long)
        for i in range(1, n + 1):
            chances = self._next(ids[:, i - 1], ids[:, max(0, i - 2)])
            ids[:, i] = torch.multinomial(chances, 1, generator=self.generator)[:, 0]
        return ids

    def best_loss(self, ids: Int[Tensor, "n_texts n_tokens"]) -> float:
        """The mean loss of one who knows the chances: no reader can expect less."""
        before = torch.cat([ids[:, :1], ids[:, :-2]], dim=1)
        chances = self._next(ids[:, :-1], before)
        return -chances.gather(-1, ids[:, 1:, None]).log().mean().item()

    def _next(self, last: Tensor, before: Tensor) -> Float[Tensor, "... letters"]:
        again = torch.isin(last, self.echoes) & (before > 0)
        certain = F.one_hot(before, len(LETTERS)).to(self.chances.dtype)
        return torch.where(again.unsqueeze(-1), certain, self.chances[last])


class EchoReader(nn.Module):
    """One head beside the letter itself; no feed-forward layer cleans up after it."""

    def __init__(self, weigh: Weigh, d: int = 32) -> None:
        super().__init__()
        self.weigh, self.rotary = weigh, Rotary(d)
        self.letters, self.next = nn.Embedding(len(LETTERS), d), nn.Linear(d, len(LETTERS))
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.weights = nn.Identity()  # probe

    def head(self, ids: Int[Tensor, "batch n"]) -> list[Float[Tensor, "batch n d"]]:
        """Queries, keys and values of each token."""
        x = self.letters(ids)
        return [self.rotary(self.W_Q(x)), self.rotary(self.W_K(x)), self.W_V(x)]

    def forward(
        self, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "n n"]
    ) -> Float[Tensor, "batch n letters"]:
        """Scores of the next letter: what the last one says, and what the head has read."""
        query, key, value = self.head(ids)
        weights = self.weights(self.weigh(attention_scores(query, key), mask))
        return self.next(self.letters(ids) + self.W_O(weights @ value))


def reader_losses(
    model: EchoReader, ids: Int[Tensor, "batch n_tokens"], mask: Bool[Tensor, "n n"]
) -> Float[Tensor, "batch n"]:
    """The loss at each position, in nats; the mask says which keys each query finds."""
    scores = model(ids[:, :-1], mask)
    return F.cross_entropy(scores.mT, ids[:, 1:], reduction="none")


def train_reader(weigh: Weigh, texts: Int[Tensor, "n_texts n_tokens"]) -> EchoReader:
    """500 steps of AdamW over batches of 32 texts, with all keys of the past to read.

    Args:
        weigh: Turns scores and a mask into weights.
        texts: What to read.

    Returns:
        The trained reader, in float32; the generator of PyTorch stays as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        model, mask = EchoReader(weigh).float(), causal_mask(texts.shape[1] - 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1)
        batches = (texts[torch.randint(len(texts), (32,))] for _ in range(_STEPS))
        train_model(
            model,
            lambda model, ids: reader_losses(model, ids, mask).mean(),
            batches,
            optimizers=optimizer,
            n_steps=_STEPS,
            schedule=lambda step: 1 - (step - 1) / _STEPS,
        )
    return model.requires_grad_(False)


def gpt_losses(
    model: GPT, ids: Int[Tensor, "batch n_tokens"], cache: KeyValueCache | None = None
) -> Float[Tensor, "batch n"]:
    """The loss at each position, in nats; a cache's window and sinks are kept to."""
    scores = model(ids[:, :-1], cache=cache)
    return F.cross_entropy(scores.mT, ids[:, 1:], reduction="none")


def stream_losses(
    model: GPT, ids: Int[Tensor, "batch n_tokens"], cache: KeyValueCache
) -> Float[Tensor, "batch n"]:
    """The same token by token, with positions in the cache: what is kept is always renumbered."""
    losses = []
    for token, following in zip(ids[:, :-1].mT, ids[:, 1:].mT, strict=True):
        scores, cache = model.step(token, cache)
        cache.renumber()
        losses.append(F.cross_entropy(scores, following, reduction="none"))
    return torch.stack(losses, dim=-1)


def train_prose_gpt(
    generator: torch.Generator,
    tier: Tier | None = None,
    *,
    n_steps: int = 400,
    batch_size: int = 16,
    d_model: int = 48,
    n_heads: int = 2,
    n_layers: int = 2,
    dropout: float = 0.0,
) -> tuple[GPT, Int[Tensor, "n_texts n_tokens"]]:
    """A GPT over the letters of the book's own prose, 64 at a time.

    Args:
        generator: Draws the batches.
        tier: What computes the training; None: the CPU.
        n_steps: How many steps it learns.
        batch_size: How many texts a step reads.
        d_model: The width of a row.
        n_heads: How many heads a block has.
        n_layers: How many blocks there are.
        dropout: The rate in training.

    Returns:
        The trained model, in float32 and on the CPU again, and 128 texts of 255 letters from every
        tenth paragraph of the prose, one after the other: it has not seen them. Token 0 begins
        every text.
    """
    tier, prose = tier or choose_tier("cpu"), book_prose()
    known = {letter: k for k, letter in enumerate(sorted(set(prose)), start=1)}
    seen, held_out = (
        torch.tensor([known[letter] for paragraph in part for letter in paragraph + "\n"])
        for part in tenth_out(prose.splitlines())
    )

    def drawn(n_texts: int, n: int, part: Tensor) -> Tensor:
        starts = torch.randint(len(part) - n, (n_texts, 1), generator=generator)
        return F.pad(part[starts + torch.arange(n)], (1, 0))

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        options = {"positions": "rotary", "norm": "rms", "bias": False, "dropout": dropout}
        sizes = {"d_model": d_model, "n_heads": n_heads, "n_layers": n_layers}
        model = GPT(GPTConfig(len(known) + 1, 255, **sizes, **options)).float().eval()
    with tier.holding(model):
        rate = 0.006 * (48 / d_model) ** 0.5  # wide rows want smaller steps
        train_model(
            model,
            lambda model, ids: gpt_losses(model, ids).mean(),
            (drawn(batch_size, 64, seen).to(tier.device) for _ in range(n_steps)),
            optimizers=torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.1),
            n_steps=n_steps,
            schedule=lambda step: min(1, step / 40) * (1 - (step - 1) / n_steps),
            clip=1.0,
            dtype=tier.dtype,
        )
    return model.requires_grad_(False), drawn(128, 255, held_out)
