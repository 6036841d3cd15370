"""The model: a table of tokens, blocks that read backwards, and the table again."""

from collections.abc import Sequence
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.attention import KeyValueCache, Reading, readable
from softlookup.attention.positions import LearnedPositions, Rotary
from softlookup.checks import Ids, checked, require
from softlookup.models.blocks import EncoderBlock, make_norm
from softlookup.models.gpt.configuration import GPTConfig

Token = Ids("self.config.vocab_size")


@checked
class GPT(nn.Module):
    r"""A language model: $h_0 = E_w + P_t$, then blocks, then scores $h_n E^\top$ of what is next.

    Weights start as in GPT-2: normal with standard deviation 0.02, biases at 0, and the matrices
    that write to the stream divided by $\sqrt{2L}$, since $2L$ of them add up, or 0 if the config
    says so. The scores are then small, and the loss starts near $\log|\mathcal{V}|$.

    The parts are ``embedding``, ``position_embedding`` (None unless positions are learned),
    ``blocks``, ``norm`` (nothing in post-norm) and ``unembedding`` (None where it is the embedding
    table). The probe ``rows`` sees what enters the first block.

    Args:
        config: The choices.

    Source: Radford et al. 2018, section 3.1; Radford et al. 2019, section 2.3; tied tables: Press
    and Wolf 2017; lecture 000, "GPT-1". Chapter: objectives#the-gpt.

    Example:
        >>> from softlookup.models.gpt import parameter_count
        >>> model = GPT(GPTConfig(vocab_size=11, context=8, d_model=6, n_heads=3, n_layers=2))
        >>> model(torch.tensor([[3, 1, 6], [2, 7, 0]]), lengths=[3, 2]).shape
        torch.Size([2, 3, 11])
        >>> sum(p.numel() for p in model.parameters()) == parameter_count(model.config)
        True
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        d_model, n_heads = config.d_model, config.n_heads
        learned, turned = (config.positions == kind for kind in ("learned", "rotary"))
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        self.position_embedding = LearnedPositions(config.context, d_model) if learned else None
        self.rotary = Rotary(d_model // n_heads) if turned else None
        self.dropout = nn.Dropout(config.dropout)
        self.rows = nn.Identity()  # probe: what enters the first block
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, n_heads, config.width_inside, **config.block_options)
            for _ in range(config.n_layers)
        )
        last = make_norm(config.norm, d_model, eps=config.eps, bias=config.bias)
        self.norm = last if config.norm_first else nn.Identity()
        self.unembedding = None if config.tie else nn.Embedding(config.vocab_size, d_model)
        self._start_weights()

    def forward(
        self,
        ids: Annotated[Int[Tensor, "batch n"], Token],
        lengths: Int[Tensor, "batch"] | Sequence[int] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch n vocab"]:
        """The scores of the next token after each token.

        Args:
            ids: One text per row. With a cache they go on where it ends.
            lengths: How many tokens of each text are real; filler stands behind them, and what it
                is has no influence on the tokens' scores. None: all.
            cache: The tokens read before; these ones are added to it. Its window counts, which may
                be another than the config's.

        Returns:
            One row of scores per token; those of filler mean nothing.

        Raises:
            ValueError: An id is no token, the lengths do not fit, a text grows longer than
                ``config.context`` (only with a cache that has a window, and without learned
                positions, may it go on), or the cache is of another model or other texts.
        """
        places, mask, readings = self._readings(ids, lengths, cache)
        x = self._embed(ids, places)
        for block, reading in zip(self.blocks, readings, strict=True):
            x = block(x, mask, **reading)
        if cache is not None:
            cache.forget()
        return self._unembed(self.norm(x))

    def new_cache(self) -> KeyValueCache:
        """An empty cache for this model.

        Returns:
            One that knows the config's window and sinks.
        """
        config = self.config
        rule = {"window": config.window, "n_sinks": config.n_sinks}
        return KeyValueCache(config.n_layers, **rule, device=self.embedding.weight.device)

    @torch.no_grad()
    def start(
        self,
        prompts: Annotated[Int[Tensor, "batch n"], Token],
        lengths: Int[Tensor, "batch"] | Sequence[int] | None = None,
    ) -> KeyValueCache:
        """Read the beginnings of texts, so that ``step`` can go on.

        The last token of a prompt belongs to the first ``step``. To write on after whole prompts,
        read them but for that one, ``start(prompts[:, :-1])``, or, where they differ in length,
        ``start(prompts, lengths - 1)``.

        Args:
            prompts: One text per row; there may be no token at all.
            lengths: How many tokens of each are read. None: all.

        Returns:
            A cache that has read exactly these tokens.

        Raises:
            ValueError: As in ``forward``.
        """
        cache = self.new_cache()
        self(prompts, lengths, cache)
        return cache

    @torch.no_grad()
    def step(
        self, tokens: Annotated[Int[Tensor, "batch"], Token], cache: KeyValueCache
    ) -> tuple[Float[Tensor, "batch vocab"], KeyValueCache]:
        """One more token each: the scores of the next, as the functions of ``decoding`` call it.

        Args:
            tokens: The next token of each text.
            cache: What was read before. It stays as it is, so that a text can go on in many ways.

        Returns:
            A score for each token of the vocabulary, and the cache after.

        Raises:
            ValueError: As in ``forward``.
        """
        cache = cache.copy()
        return self(tokens.unsqueeze(-1), cache=cache)[:, -1], cache

    def _embed(self, ids: Tensor, places: Tensor) -> Tensor:
        """One row per token: the token's own and, where positions are learned, its place's."""
        x = self.embedding(ids)
        if self.position_embedding is not None:
            x = x + self.position_embedding(places.clamp(min=0))
        if places.ndim == 2:  # there may be filler: not even NaN comes out of it
            x = x.masked_fill(places.unsqueeze(-1) < 0, 0.0)
        return self.rows(self.dropout(x))

    def _unembed(self, x: Tensor) -> Tensor:
        """How well each token of the vocabulary fits each row."""
        table = self.embedding if self.unembedding is None else self.unembedding
        return F.linear(x, table.weight)

    def _readings(
        self,
        ids: Tensor,
        lengths: Tensor | Sequence[int] | None,
        cache: KeyValueCache | None,
    ) -> tuple[Tensor, Tensor, list[Reading]]:
        """Where the tokens stand, -1 at filler, what they may read, and how each block reads."""
        lengths = None if lengths is None else _lengths_of(ids, lengths)
        self._check_room(ids, lengths, cache)
        places, slots = self._places(ids, lengths, cache)
        rule = self.config if cache is None else cache
        mask = readable(places, slots, window=rule.window, n_sinks=rule.n_sinks)
        turn = {"rotary": self.rotary, "positions": slots.clamp(min=0)}
        layers = [None] * len(self.blocks) if cache is None else cache.layers
        return places, mask, [{**turn, "cache": layer} for layer in layers]

    def _places(
        self, ids: Tensor, lengths: Tensor | None, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor]:
        """Where the tokens stand, and where those that they may read stand."""
        batch, n = ids.shape
        if lengths is None and cache is None:
            places = torch.arange(n, device=ids.device)
            return places, places
        lengths = torch.full((batch,), n, device=ids.device) if lengths is None else lengths
        kept = self.new_cache() if cache is None else cache
        return kept.begin(lengths, n), kept.positions

    def _check_room(self, ids: Tensor, lengths: Tensor | None, cache: KeyValueCache | None) -> None:
        """No text may outgrow the context, unless a window slides over it."""
        ends = torch.tensor([ids.shape[-1]]) if lengths is None else lengths
        slides = False
        if cache is not None:
            n_layers = len(cache.layers)
            rule = "the cache must have a layer for each block"
            require(n_layers == len(self.blocks), rule, cache=n_layers, model=len(self.blocks))
            fits = cache.n_texts in (0, len(ids))
            rule = "there must be as many texts as the cache holds"
            require(fits, rule, n_texts=len(ids), held=cache.n_texts)
            ends = ends.cpu() + cache.lengths.cpu() if cache.n_texts else ends
            slides = cache.window is not None and self.position_embedding is None
        n, context = int(ends.max()) if len(ends) else 0, self.config.context
        rule = "a text must have at most as many tokens as the context"
        require(slides or n <= context, rule, n=n, context=context)

    def _start_weights(self) -> None:
        """Where training begins."""
        std = 0.02
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                writes = name.endswith(("W_O.weight", "W_2.weight"))
                scale = (2 * self.config.n_layers) ** -0.5 if writes else 1.0
                scale = 0.0 if writes and self.config.zero_writes else scale
                nn.init.normal_(parameter, std=std * scale)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)


def _lengths_of(ids: Tensor, lengths: Tensor | Sequence[int]) -> Tensor:
    """How many tokens of each text are real, where the ids are."""
    given, n = torch.as_tensor(lengths, dtype=torch.int64, device=ids.device), ids.shape[-1]
    rule = "there must be one length for each text"
    require(len(given) == len(ids), rule, n_lengths=len(given), ids=ids)
    wrong = [length for length in given.tolist() if not 0 <= length <= n]
    require(not wrong, "lengths must be from 0 to n", wrong=wrong, n=n)
    return given
