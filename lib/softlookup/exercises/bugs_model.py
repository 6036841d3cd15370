"""The patient of "Bugs that fooled everyone": a small language model whose parts can be changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention import attention_scores, join_heads, split_heads
from softlookup.attention.positions import sinusoidal
from softlookup.checks import require
from softlookup.language_models import top_k_filter
from softlookup.layers import layer_norm
from softlookup.masks import causal_mask
from softlookup.ops import masked_softmax
from softlookup.tokenization import count_pairs, merge_pair

Part = Callable[..., object]
Text = tuple[Tensor, Tensor]
"""Ids, one text per row, and how many of each row are real."""


def _clean(x: Tensor, real: Tensor) -> Tensor:
    return x.masked_fill(~real.unsqueeze(-1), 0.0)


def _tie(embedding: nn.Embedding, unembedding: nn.Linear) -> None:
    unembedding.weight = embedding.weight


def _total_loss(losses: Sequence[Tensor], counts: Sequence[int]) -> Tensor:
    return sum(loss * n for loss, n in zip(losses, counts, strict=True)) / sum(counts)


def _positions(n: int, d_model: int) -> Tensor:
    return sinusoidal(n, d_model, dtype=torch.float64)


PARTS: dict[str, Part] = {
    "count_pairs": count_pairs,
    "positions": _positions,
    "clean": _clean,
    "split": split_heads,
    "causal": causal_mask,
    "softmax": masked_softmax,
    "drop": F.dropout,
    "join": join_heads,
    "norm": layer_norm,
    "tie": _tie,
    "total_loss": _total_loss,
    "top_k": top_k_filter,
}
"""The healthy parts, in the order in which a text meets them."""


class Patient(nn.Module):
    """A language model in which any part may be another function: ``Patient(50, split=mine)``.

    Args:
        vocab_size: How many tokens there are.
        d_model: The width of a row.
        n_heads: How many heads; they divide the width.
        n_layers: How many blocks.
        dropout: In training, the share of attention weights that is set to 0.
        seed: Where the weights begin.
        parts: Functions that stand in for those of ``PARTS``, by their names.

    Raises:
        ValueError: There is no such part.

    Chapter: bugs#the-patient

    Example:
        >>> Patient(11)(torch.tensor([[3, 1, 4]])).shape
        torch.Size([1, 3, 11])
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        d_model: int = 24,
        n_heads: int = 3,
        n_layers: int = 2,
        dropout: float = 0.0,
        seed: int = 0,
        **parts: Part,
    ) -> None:
        super().__init__()
        unknown = sorted(set(parts) - set(PARTS))
        require(not unknown, f"a part is one of {', '.join(PARTS)}", unknown=unknown)
        self.parts = SimpleNamespace(**{**PARTS, **parts})
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embedding = nn.Embedding(vocab_size, d_model)
            self.unembedding = nn.Linear(d_model, vocab_size, bias=False)
            nn.init.normal_(self.embedding.weight, std=0.05)
            nn.init.normal_(self.unembedding.weight, std=0.05)
            self.blocks = nn.ModuleList(PatientBlock(self) for _ in range(n_layers))
        self.gain, self.shift = _gain_and_shift(d_model)
        self.parts.tie(self.embedding, self.unembedding)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        lengths: Int[Tensor, "batch"] | None = None,
        cache: list[tuple[Tensor, Tensor]] | None = None,
    ) -> Float[Tensor, "batch n vocab"]:
        """The scores of the next token after each token.

        Args:
            ids: One text per row; with a cache they go on where it ends.
            lengths: How many tokens of each text are real; filler stands behind them. None: all.
            cache: A list, empty at first, to which every block adds its keys and values.

        Returns:
            One row of scores per token; those of filler mean nothing.
        """
        parts, n = self.parts, ids.shape[-1]
        kept = cache[0][0].shape[-2] if cache else 0
        x = self.embedding(ids) * self.d_model**0.5
        x = x + parts.positions(kept + n, self.d_model)[kept:].to(x.dtype)
        mask = parts.causal(n, kept + n).expand(len(ids), 1, -1, -1)
        if lengths is not None:
            real = torch.arange(n) < lengths.unsqueeze(-1)
            x, mask = parts.clean(x, real), mask & real[:, None, None]
        old = list(cache) if cache else [None] * len(self.blocks)
        new = []
        for block, memory in zip(self.blocks, old, strict=True):
            x, memory = block(x, mask, memory, parts, self.training)
            new.append(memory)
        if cache is not None:
            cache[:] = new
        return self.unembedding(parts.norm(x, self.gain, self.shift, 1e-5))


class PatientBlock(nn.Module):
    """A pre-norm block of the patient.

    Args:
        patient: Whose block it is.

    Chapter: bugs#the-patient
    """

    def __init__(self, patient: Patient) -> None:
        super().__init__()
        d_model = patient.d_model
        self.n_heads, self.dropout = patient.n_heads, patient.dropout
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))
        self.W_1, self.W_2 = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)
        self.gain_1, self.shift_1 = _gain_and_shift(d_model)
        self.gain_2, self.shift_2 = _gain_and_shift(d_model)

    def forward(
        self,
        x: Float[Tensor, "batch n d_model"],
        mask: Bool[Tensor, "batch 1 n n_k"],
        memory: tuple[Tensor, Tensor] | None,
        parts: SimpleNamespace,
        training: bool,
    ) -> tuple[Float[Tensor, "batch n d_model"], tuple[Tensor, Tensor]]:
        """Read, then think; what was read before comes first.

        Args:
            x: One row per token.
            mask: True where a token may read another.
            memory: Keys and values of the tokens before; None if there are none.
            parts: The patient's parts.
            training: Whether weights are dropped.

        Returns:
            One row per token, and the keys and values of all tokens so far.
        """
        rows = parts.norm(x, self.gain_1, self.shift_1, 1e-5)
        query, key, value = (
            parts.split(W(rows), self.n_heads) for W in (self.W_Q, self.W_K, self.W_V)
        )
        if memory is not None:
            key, value = torch.cat((memory[0], key), -2), torch.cat((memory[1], value), -2)
        weights = parts.softmax(attention_scores(query, key), mask)
        weights = parts.drop(weights, self.dropout, training)
        x = x + self.W_O(parts.join(weights @ value))
        rows = parts.norm(x, self.gain_2, self.shift_2, 1e-5)
        return x + self.W_2(torch.relu(self.W_1(rows))), (key, value)


def text_loss(model: Patient, ids: Tensor, lengths: Tensor) -> tuple[Tensor, int]:
    """The mean surprise at the next token, and of how many tokens it is the mean.

    Args:
        model: The patient.
        ids: One text per row.
        lengths: How many tokens of each are real.

    Returns:
        The loss of the real tokens that have one before them, and their number.

    Chapter: bugs#the-patient

    Example:
        >>> loss, n = text_loss(Patient(11), torch.tensor([[3, 1, 4, 0]]), torch.tensor([3]))
        >>> round(loss.item()), n
        (2, 2)
    """
    scores = model(ids, lengths)[:, :-1]
    counts = torch.arange(1, ids.shape[-1]) < lengths.unsqueeze(-1)
    return F.cross_entropy(scores[counts], ids[:, 1:][counts]), int(counts.sum())


def train_patient(model: Patient, batches: Iterable[Sequence[Text]], lr: float) -> list[float]:
    """Take one step of Adam for each batch.

    Args:
        model: It is changed, and left in evaluation mode.
        batches: Each a list of parts, whose losses ``total_loss`` puts together.
        lr: The learning rate.

    Returns:
        What ``total_loss`` said at each step: the curve that one looks at.

    Chapter: bugs#the-patient
    """
    adam, curve = torch.optim.Adam(model.parameters(), lr=lr), []
    model.train()
    for batch in batches:
        losses, counts = zip(*(text_loss(model, *part) for part in batch), strict=True)
        loss = model.parts.total_loss(losses, counts)
        adam.zero_grad()
        loss.backward()
        adam.step()
        curve.append(loss.item())
    model.eval()
    return curve


def learn_pairs(text: str, n_merges: int, count: Part) -> list[tuple[int, int]]:
    """Byte-pair merges by the plain loop: count, join the most frequent pair, and again.

    Args:
        text: What to learn from.
        n_merges: How many merges.
        count: The part ``count_pairs``.

    Returns:
        The pairs in the order in which they are joined.

    Chapter: bugs#the-tokenizer

    Example:
        >>> learn_pairs("abab", 1, count_pairs)
        [(97, 98)]
    """
    ids, merges = list(text.encode()), []
    for new_id in range(256, 256 + n_merges):
        counts: Mapping[tuple[int, int], int] = count(ids)
        merges.append(max(counts, key=counts.get))
        ids = merge_pair(ids, merges[-1], new_id)
    return merges


def encode_pairs(text: str, merges: Sequence[tuple[int, int]]) -> list[int]:
    """The ids of a text, all merges made one after the other.

    Args:
        text: Any text.
        merges: Pairs, as learned.

    Returns:
        Ids from 0 to 255 for bytes, from 256 on for merges.

    Chapter: bugs#the-tokenizer

    Example:
        >>> encode_pairs("abc", [(97, 98)])
        [256, 99]
    """
    ids = list(text.encode())
    for k, pair in enumerate(merges):
        ids = merge_pair(ids, pair, 256 + k)
    return ids


def _gain_and_shift(d_model: int) -> tuple[nn.Parameter, nn.Parameter]:
    return nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
