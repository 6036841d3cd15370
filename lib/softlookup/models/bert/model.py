"""The model: three embeddings, a stack of encoder blocks, and the head that guesses tokens."""

from collections.abc import Sequence
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.attention.positions import LearnedPositions
from softlookup.checks import Ids, Positive, Size, checked, require
from softlookup.layers import ACTIVATIONS, Activation, LayerNorm
from softlookup.masks import padding_of
from softlookup.models.bert.configuration import BERTConfig
from softlookup.models.blocks import EncoderBlock

INITIAL_STD = 0.02


@checked
class MaskedTokenHead(nn.Module):
    r"""Scores for the token under the mask: $\mathrm{norm}(f(xW + b))\,E^\top + b_{\mathcal{V}}$.

    One more layer prepares the row, then it is compared with the embedding of every token. The
    table $E$ is the one that embeds: the head has none of its own.

    Args:
        vocab_size: How many tokens there are.
        d_model: The width of a row.
        activation: $f$, as in ``FeedForward``.
        eps: $\epsilon$ of the norm.

    Raises:
        ValueError: A size is no integer of at least 1, ``activation`` is unknown, or ``eps`` not
            positive and finite.

    Source: Devlin et al. 2019, section 3.1 and the authors' code.
    Chapter: objectives#masked-language-modelling.

    Example:
        >>> head = MaskedTokenHead(1000, 64)
        >>> head(torch.zeros(7, 64), torch.zeros(1000, 64)).shape
        torch.Size([7, 1000])
    """

    def __init__(
        self,
        vocab_size: Size,
        d_model: Size,
        *,
        activation: Activation = "gelu",
        eps: Positive = 1e-12,
    ) -> None:
        super().__init__()
        self.vocab_size, self.d_model, self.activation = vocab_size, d_model, activation
        self.W = nn.Linear(d_model, d_model)
        self.norm = LayerNorm(d_model, eps=eps)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(
        self,
        rows: Float[Tensor, "*batch {self.d_model}"],
        table: Float[Tensor, "{self.vocab_size} {self.d_model}"],
    ) -> Float[Tensor, "*batch vocab"]:
        """Compare what became of each row with the embedding of every token.

        Args:
            rows: What the last block made of some tokens.
            table: The embeddings $E$, one row per token of the vocabulary.

        Returns:
            One score per token of the vocabulary, for each row.

        Raises:
            ValueError: The width of ``rows`` or the shape of ``table`` does not fit.
        """
        return F.linear(self.norm(ACTIVATIONS[self.activation](self.W(rows))), table, self.bias)


@checked(not_empty="n")
class BERT(nn.Module):
    """An encoder whose every token reads the whole text, before it and behind it.

    A token's row is the sum of three embeddings, of the token, of its place and of its segment, and
    a norm. Blocks in post-norm follow, as in the first Transformer, with GELU. At the start all
    matrices are normal with a standard deviation of 0.02, and all biases 0.

    The parts are ``embedding``, ``position_embedding``, ``segment_embedding``, ``norm``, ``blocks``
    (a list of ``EncoderBlock``) and ``head`` (a ``MaskedTokenHead``, None where the config wants
    none). The probe ``rows`` sees what enters the first block.

    Args:
        config: The choices.

    Source: Devlin et al. 2019, section 3; lecture 000, "How to train a Transformer".
    Chapter: objectives#masked-language-modelling.

    Example:
        >>> model = BERT(BERTConfig(11, context=7, d_model=6, n_heads=3, n_layers=2))
        >>> rows = model(torch.tensor([[3, 1, 6, 0], [8, 2, 0, 0]]), lengths=[3, 2])
        >>> rows.shape, model.mlm_scores(rows).shape
        (torch.Size([2, 4, 6]), torch.Size([2, 4, 11]))
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        d_model, eps = config.d_model, config.eps
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        self.position_embedding = LearnedPositions(config.context, d_model)
        self.segment_embedding = nn.Embedding(config.n_segments, d_model)
        self.norm = LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(config.dropout)
        self.rows = nn.Identity()  # probe: what enters the first block
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, config.n_heads, config.width_inside, **config.block_options)
            for _ in range(config.n_layers)
        )
        options = {"activation": config.activation, "eps": eps}
        self.head = MaskedTokenHead(config.vocab_size, d_model, **options) if config.head else None
        self._start()

    def forward(
        self,
        ids: Annotated[Int[Tensor, "batch n"], Ids("self.config.vocab_size")],
        lengths: Int[Tensor, "batch"] | Sequence[int] | None = None,
        segments: Annotated[Int[Tensor, "batch n"], Ids("self.config.n_segments")] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """Read a batch of texts that are filled up to one length.

        Args:
            ids: The tokens. The filler must be tokens too, but has no influence at all.
            lengths: How many tokens of each text are real; they come first. None: all.
            segments: The segment of each token, counted from 0. None: all of segment 0.

        Returns:
            One row per token, which has read the whole text. Rows of filler mean nothing.

        Raises:
            ValueError: An id is no token, a segment unknown, a text longer than the context, or
                the lengths do not fit.
        """
        mask = None if lengths is None else padding_of(lengths, ids)
        x = self._embed(ids, segments, mask)
        for block in self.blocks:
            x = block(x, mask)
        return x

    def mlm_scores(
        self, rows: Float[Tensor, "*batch {self.config.d_model}"]
    ) -> Float[Tensor, "*batch vocab"]:
        """Which token might stand at each of these places.

        Args:
            rows: Rows that ``forward`` returned, all of them or only those of the masked tokens.

        Returns:
            One score per token of the vocabulary, for each row.

        Raises:
            ValueError: The model has no head, or the width does not fit.
        """
        has_head = self.head is not None
        require(has_head, "a BERT without a head scores no tokens", head=self.config.head)
        return self.head(rows, self.embedding.weight)

    def _embed(self, ids: Tensor, segments: Tensor | None, mask: Tensor | None) -> Tensor:
        """Token, place and segment, in one row, normalized."""
        n, context = ids.shape[-1], self.config.context
        require(n <= context, "a text must not be longer than the context", n=n, context=context)
        places = torch.arange(n, device=ids.device)
        segments = torch.zeros_like(ids) if segments is None else segments
        x = self.embedding(ids) + self.position_embedding(places) + self.segment_embedding(segments)
        x = self.dropout(self.norm(x))
        if mask is not None:
            x = x.masked_fill(~mask.mT, 0.0)  # nothing comes out of filler
        return self.rows(x)

    def _start(self) -> None:
        """Where training begins."""
        for module in self.modules():
            if isinstance(module, nn.Embedding | nn.Linear):
                nn.init.normal_(module.weight, std=INITIAL_STD)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
