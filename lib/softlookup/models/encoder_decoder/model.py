"""The model: an encoder that reads, a decoder that writes, and the tables at their ends."""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention import KeyValueCache
from softlookup.attention.positions import sinusoidal
from softlookup.checks import Ids, checked
from softlookup.masks import causal_mask, padding_of
from softlookup.models.blocks import DecoderBlock, EncoderBlock, make_norm
from softlookup.models.encoder_decoder.configuration import TransformerConfig
from softlookup.ops import without_unread

SourceToken, TargetToken = Ids("self.config.vocab_sizes[0]"), Ids("self.config.vocab_sizes[1]")


class Encoded(NamedTuple):
    """What the encoder hands to the decoder.

    Attributes:
        context: One row per source token; those of filler mean nothing.
        mask: True at the tokens, False at filler; the middle axis has length 1.

    Chapter: transformer#the-encoder

    Example:
        >>> from softlookup.masks import padding_mask
        >>> Encoded(torch.zeros(2, 3, 4), padding_mask([3, 1], 3)).mask.shape
        torch.Size([2, 1, 3])
    """

    context: Float[Tensor, "batch n_k d_model"]
    mask: Bool[Tensor, "batch 1 n_k"]


class DecoderState(NamedTuple):
    """What a step of the decoder needs beside the token before it.

    Attributes:
        written: Keys and values of the target so far; they grow with each step.
        context: Those of the source, which every step reads again.
        mask: True where the context may be read.

    Chapter: transformer#writing

    Example:
        >>> config = TransformerConfig(11, d_model=4, n_heads=2, d_ff=7)
        >>> state = Transformer(config).start(torch.tensor([[3, 1, 6], [2, 5, 5]]), [3, 1])
        >>> state.written.n_slots, state.context.n_slots, state.mask.shape
        (0, 3, torch.Size([2, 1, 3]))
    """

    written: KeyValueCache
    context: KeyValueCache
    mask: Bool[Tensor, "batch 1 n_k"]


@checked(not_empty="n_q n_k")
class Transformer(nn.Module):
    r"""An encoder that reads a source at once, and a decoder that writes a target.

    A token's row is $\sqrt{d_{model}}\,E_{w} + PE(t)$. At the start the entries of $E$ have
    variance $1/d_{model}$, so that neither part drowns the other, and the scores $\hat{x} E^\top$
    of a normalized row $\hat{x}$ have a variance of about 1: the loss starts near
    $\log|\mathcal{V}| + \frac12$. All other matrices start as in Glorot and Bengio 2010.

    The parts are ``embedding`` (the target's, and all a tied table is for), ``source_embedding``
    and ``unembedding`` (None where they are the same matrix), ``encoder`` and ``decoder`` (lists of
    blocks), then ``encoder_norm`` and ``decoder_norm``. The probes ``source_rows`` and
    ``target_rows`` see what enters the first blocks.

    Args:
        config: The choices.

    Source: Vaswani et al. 2017, section 3; tied matrices: Press and Wolf 2017; lectures 000,
    "Transformer", and 004, "Breaking the Transformer into modules". Chapter: transformer#the-model.

    Example:
        >>> from softlookup.models.encoder_decoder import parameter_counts
        >>> config = TransformerConfig(11, d_model=4, n_heads=2, d_ff=7, n_encoder_layers=1)
        >>> model = Transformer(config)
        >>> model(torch.tensor([[3, 1, 6]]), [3], torch.tensor([[1, 8]])).shape
        torch.Size([1, 2, 11])
        >>> sum(p.numel() for p in model.parameters()) == parameter_counts(config).total
        True
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        sizes = config.d_model, config.n_heads, config.d_ff
        n_source, n_target = config.vocab_sizes
        tied = config.tie != "none"
        one_table = config.tie == "all"
        self.embedding = nn.Embedding(n_target, config.d_model)
        self.source_embedding = None if one_table else nn.Embedding(n_source, config.d_model)
        self.unembedding = None if tied else nn.Embedding(n_target, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.source_rows, self.target_rows = nn.Identity(), nn.Identity()  # probes
        options = config.block_options
        self.encoder = nn.ModuleList(
            EncoderBlock(*sizes, **options) for _ in range(config.n_encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(*sizes, **options) for _ in range(config.n_decoder_layers)
        )
        self.encoder_norm, self.decoder_norm = _final_norm(config), _final_norm(config)
        self._start()

    def encode(
        self,
        source: Annotated[Int[Tensor, "batch n_k"], SourceToken],
        lengths: Int[Tensor, "batch"] | Sequence[int],
    ) -> Encoded:
        """Read a batch of source texts that are filled up to one length.

        Args:
            source: Source tokens; what stands in the filler has no influence on the tokens' rows.
            lengths: How many tokens of each text are real.

        Returns:
            The rows of the last block and the mask of the tokens.

        Raises:
            ValueError: An id is no token, or the lengths do not fit.
        """
        table = self.embedding if self.source_embedding is None else self.source_embedding
        x = self.source_rows(self._rows(source, table))
        mask = padding_of(lengths, source)
        for block in self.encoder:
            x = block(x, mask)
        return Encoded(self.encoder_norm(x), mask)

    def decode(
        self,
        target: Annotated[Int[Tensor, "batch n_q"], TargetToken],
        context: Float[Tensor, "batch n_k {self.config.d_model}"],
        context_mask: Bool[Tensor, "batch #n_q n_k"],
        lengths: Int[Tensor, "batch"] | Sequence[int] | None = None,
    ) -> Float[Tensor, "batch n_q vocab"]:
        """The scores of the next token after each token of the target.

        Args:
            target: Target tokens; the first begins a text.
            context: What ``encode`` returned.
            context_mask: The mask that ``encode`` returned.
            lengths: How many tokens of each target are real. None: all. Filler stands behind, so
                the causal mask hides it from every token anyway.

        Returns:
            One row of scores per token, from the tokens up to it.

        Raises:
            ValueError: An id is no token, or the shapes do not fit.
        """
        x = self.target_rows(self._rows(target, self.embedding))
        mask = causal_mask(target.shape[-1]).to(target.device)
        mask = mask if lengths is None else mask & padding_of(lengths, target)
        for block in self.decoder:
            x = block(x, context, mask, context_mask)
        return self._scores(x)

    def forward(
        self,
        source: Annotated[Int[Tensor, "batch n_k"], SourceToken],
        source_lengths: Int[Tensor, "batch"] | Sequence[int],
        target: Annotated[Int[Tensor, "batch n_q"], TargetToken],
        target_lengths: Int[Tensor, "batch"] | Sequence[int] | None = None,
    ) -> Float[Tensor, "batch n_q vocab"]:
        """The scores of all target tokens at all places, the tokens before being given.

        Args:
            source: Source tokens, filled up to one length.
            source_lengths: How many tokens of each source are real.
            target: The tokens before each place; the first begins a text.
            target_lengths: How many of each target are real. None: all.

        Returns:
            One row of scores per place.

        Raises:
            ValueError: An id is no token, or the lengths do not fit.
        """
        encoded = self.encode(source, source_lengths)
        return self.decode(target, encoded.context, encoded.mask, target_lengths)

    def start(
        self,
        source: Annotated[Int[Tensor, "batch n_k"], SourceToken],
        lengths: Int[Tensor, "batch"] | Sequence[int],
    ) -> DecoderState:
        """Read the source and make the state before the first target token; ``step`` goes on.

        Args:
            source: Source tokens, filled up to one length.
            lengths: How many tokens of each text are real.

        Returns:
            The state that ``step`` takes.

        Raises:
            ValueError: As in ``encode``.
        """
        encoded, n_layers = self.encode(source, lengths), self.config.n_decoder_layers
        state = DecoderState(KeyValueCache(n_layers), KeyValueCache(n_layers), encoded.mask)
        n_real = encoded.mask.sum(dim=-1).squeeze(-1)
        state.written.begin(torch.zeros_like(n_real), 0)
        state.context.begin(n_real, source.shape[-1])
        context = without_unread(encoded.context, encoded.mask)
        for block, layer in zip(self.decoder, state.context.layers, strict=True):
            layer.extend(*block.cross_attention.layer.keys_and_values(context))
        return state

    def step(
        self, ids: Annotated[Int[Tensor, "batch"], TargetToken], state: DecoderState
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderState]:
        """One more token each: the scores of the next; what ``greedy`` and ``beam_search`` call.

        One token goes through the decoder. Keys and values of the tokens before it, and of the
        source, are in the state.

        Args:
            ids: The token before, one per text.
            state: The state before. It stays as it is, so that a text can go on in many ways.

        Returns:
            A score for each target token, and the state after.

        Raises:
            ValueError: An id is no token, or there is not one for each text.
        """
        ids, written = ids.unsqueeze(-1), state.written.copy()
        x = self.target_rows(self._rows(ids, self.embedding, start=written.n_slots))
        written.begin(torch.ones_like(ids[:, 0]), 1)
        nothing = x[:, :0]  # of the source there is nothing to project any more
        layers = zip(self.decoder, written.layers, state.context.layers, strict=True)
        for block, own, other in layers:
            x = block(x, nothing, None, state.mask, cache=own, context_cache=other)
        return self._scores(x)[:, -1], state._replace(written=written)

    def _scores(self, x: Tensor) -> Tensor:
        output = self.embedding if self.unembedding is None else self.unembedding
        return F.linear(self.decoder_norm(x), output.weight)

    def _rows(self, ids: Tensor, table: nn.Embedding, start: int = 0) -> Tensor:
        """Embedding and position of each token, in one row."""
        d_model, weight = self.config.d_model, table.weight
        codes = sinusoidal(ids.shape[-1], d_model, start=start, dtype=weight.dtype)
        codes = codes.to(weight.device)
        return self.dropout(table(ids) * math.sqrt(d_model) + codes)

    def _start(self) -> None:
        """Where training begins. Biases of linear maps start at 0, as in Glorot and Bengio."""
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)


def _final_norm(config: TransformerConfig) -> nn.Module:
    if not config.ends_with_norm:
        return nn.Identity()
    return make_norm(config.norm, config.d_model, eps=config.eps, bias=config.bias)
