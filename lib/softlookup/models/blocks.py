"""The Transformer block: reading and thinking, each of them added to a stream and normalised."""

from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention import LayerCache, MultiHeadAttention
from softlookup.checks import require, require_choice
from softlookup.layers import FeedForward, GatedFeedForward, LayerNorm, RMSNorm

NORMS = ("layer", "rms")


class Sublayer(nn.Module):
    r"""A layer that adds to its input, and a norm: before the layer, or after the addition.

    Post-norm, as in the paper, is $\mathrm{norm}(x + F(x))$; pre-norm is $x + F(\mathrm{norm}(x))$:
    the sum itself is never normalised, so it is a stream to which every layer adds. Dropout takes
    from what is added. Two probes are identities that a hook can read or replace: ``write`` sees
    what is added, ``stream`` what leaves.

    Args:
        layer: $F$: it takes rows and whatever else it is called with, and keeps their shape.
        norm: The norm, such as ``LayerNorm``.
        norm_first: True for pre-norm, False for post-norm.
        dropout: In training, the share of the entries of $F$'s output that is set to 0.

    Raises:
        ValueError: ``dropout`` is not in [0, 1); when called, $F$ changes the shape.

    Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020, section 3; lectures 000,
    "Transformer", 002, "Add & Normalize", and 004, "Layer Norm". Chapter: block#add-and-norm.

    Example:
        >>> import torch
        >>> rows = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
        >>> Sublayer(nn.Identity(), LayerNorm(4), norm_first=True)(rows).detach()
        tensor([[-0.3416,  1.5528,  3.4472,  5.3416]])
    """

    def __init__(
        self, layer: nn.Module, norm: nn.Module, *, norm_first: bool, dropout: float = 0.0
    ) -> None:
        super().__init__()
        require(0 <= dropout < 1, "dropout must be at least 0 and less than 1", dropout=dropout)
        self.norm_first = norm_first
        self.layer, self.norm, self.dropout = layer, norm, nn.Dropout(dropout)
        self.write = nn.Identity()  # probe: what is added
        self.stream = nn.Identity()  # probe: what leaves

    def forward(
        self, x: Float[Tensor, "*batch n d_model"], *args: object, **options: object
    ) -> Float[Tensor, "*batch n d_model"]:
        """Add what the layer makes of ``x``; normalise before or after.

        Args:
            x: One row per token.
            args: Whatever else the layer takes.
            options: The same, by name.

        Returns:
            One row per token.

        Raises:
            ValueError: The layer changes the shape, even if the sum could be broadcast.
        """
        read = self.norm(x) if self.norm_first else x
        write = self.write(self.dropout(self.layer(read, *args, **options)))
        rule = "layer must keep the shape of x, since its output is added to x"
        require(write.shape == x.shape, rule, x=x, output=write)
        return self.stream(x + write if self.norm_first else self.norm(x + write))


class Block(nn.Module):
    """What the two kinds of blocks are made of: layers of attention, then a feed-forward layer.

    Each of them is a ``Sublayer`` with a norm of its own; the probes in it are there to look into.

    Args:
        d_model: The width of a row.
        n_heads: How many heads; it must divide ``d_model``.
        d_ff: The width inside the feed-forward layer.
        norm_first: True for pre-norm, False for the paper's post-norm.
        norm: "layer" for ``LayerNorm``, "rms" for ``RMSNorm``.
        activation: As in ``FeedForward``.
        gated: Whether the feed-forward layer is a ``GatedFeedForward``.
        bias: Whether the feed-forward layer adds biases, and LayerNorm a shift.
        attention_bias: The same for the projections of attention; ``bias`` if left out. The paper
            has the one without the other.
        n_kv_heads: How many heads of keys and values, as in ``MultiHeadAttention``.
        qk_norm: Whether queries and keys are normalised, as in ``MultiHeadAttention``.
        dropout: The rate at three places: attention's weights, the activations, and what each
            sub-layer adds.
        eps: $\\epsilon$ of the norms around the sub-layers.

    Raises:
        ValueError: A size is no integer of at least 1, ``n_heads`` does not divide ``d_model`` or
            ``n_kv_heads`` not ``n_heads``, ``norm`` or ``activation`` is unknown, ``dropout`` is
            not in [0, 1), or ``eps`` not positive and finite.

    Source: Vaswani et al. 2017, section 3.1. Chapter: block#the-whole-block.

    Example:
        >>> [name for name, _ in DecoderBlock(6, 3, 11).named_children()]
        ['self_attention', 'cross_attention', 'feed_forward']
    """

    attentions: ClassVar[tuple[str, ...]] = ("self_attention",)

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        norm_first: bool = False,
        norm: str = "layer",
        activation: str = "relu",
        gated: bool = False,
        bias: bool = True,
        attention_bias: bool | None = None,
        n_kv_heads: int | None = None,
        qk_norm: bool = False,
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        attention_bias = bias if attention_bias is None else attention_bias
        options = {"bias": attention_bias, "n_kv_heads": n_kv_heads, "qk_norm": qk_norm}
        layers = {
            name: MultiHeadAttention(d_model, n_heads, dropout=dropout, **options)
            for name in self.attentions
        }
        kind = GatedFeedForward if gated else FeedForward
        think = kind(d_model, d_ff, activation=activation, bias=bias, dropout=dropout)
        for name, layer in (layers | {"feed_forward": think}).items():
            around = make_norm(norm, d_model, eps=eps, bias=bias)
            self.add_module(name, Sublayer(layer, around, norm_first=norm_first, dropout=dropout))


class EncoderBlock(Block):
    r"""Tokens read each other, then each thinks alone: attention and a feed-forward layer.

    With a causal mask it is the block of a decoder-only model. The two sub-layers are
    ``self_attention`` and ``feed_forward``; the arguments are those of ``Block``.

    Raises:
        ValueError: As in ``Block``.

    Source: Vaswani et al. 2017, section 3.1; lectures 000, "Transformer (2)", 001,
    "Transformers", and 002, "Transformer Layer Structure". Chapter: block#the-whole-block.

    Example:
        >>> block = EncoderBlock(512, 8, 2048, attention_bias=False)
        >>> sum(p.numel() for p in block.parameters())
        3150336
    """

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        mask: Bool[Tensor, "... #n n_read"] | None = None,
        *,
        rotary: Callable[..., Tensor] | None = None,
        score_bias: Float[Tensor, "... #n #n_read"] | None = None,
        positions: Int[Tensor, "... n_read"] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Read, then think.

        Args:
            x: One row per token.
            mask: True where a token may read another, as in ``MultiHeadAttention``.
            rotary: As in ``MultiHeadAttention``.
            score_bias: As in ``MultiHeadAttention``.
            positions: As in ``MultiHeadAttention``.
            cache: As in ``MultiHeadAttention``.

        Returns:
            One row per token. A row that no other may read has no influence on the others.

        Raises:
            ValueError: As in ``MultiHeadAttention``.
        """
        options = {"rotary": rotary, "score_bias": score_bias, "positions": positions}
        return self.feed_forward(self.self_attention(x, mask=mask, cache=cache, **options))


class DecoderBlock(Block):
    """Tokens read each other, then another text, then each thinks alone.

    The three sub-layers are ``self_attention``, ``cross_attention`` and ``feed_forward``; the
    arguments are those of ``Block``. Of the other text the rows are read as they come: a norm
    stands around the stream alone.

    Raises:
        ValueError: As in ``Block``.

    Source: Vaswani et al. 2017, section 3.1; lectures 000, "Transformer (3)", and 001,
    "Cross-Attention". Chapter: block#the-whole-block.

    Example:
        >>> block = DecoderBlock(512, 8, 2048, attention_bias=False)
        >>> sum(p.numel() for p in block.parameters())
        4199936
    """

    attentions: ClassVar[tuple[str, ...]] = ("self_attention", "cross_attention")

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        context: Float[Tensor, "*batch n_k d_model"],
        mask: Bool[Tensor, "... #n n_read"] | None = None,
        context_mask: Bool[Tensor, "... #n n_context"] | None = None,
        *,
        rotary: Callable[..., Tensor] | None = None,
        score_bias: Float[Tensor, "... #n #n_read"] | None = None,
        positions: Int[Tensor, "... n_read"] | None = None,
        cache: LayerCache | None = None,
        context_cache: LayerCache | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Read the own text, read the other one, then think.

        Args:
            x: One row per token.
            context: One row per token of the other text, an encoder's output; none of those whose
                keys and values ``context_cache`` holds.
            mask: True where a token may read one of its own text; ``causal_mask`` in a decoder.
            context_mask: True where a token may read one of the other text.
            rotary: As in ``MultiHeadAttention``, in the own text alone.
            score_bias: As in ``MultiHeadAttention``, in the own text alone.
            positions: As in ``MultiHeadAttention``, in the own text alone.
            cache: As in ``MultiHeadAttention``, of the own text.
            context_cache: As in ``MultiHeadAttention``, of the other text.

        Returns:
            One row per token of ``x``.

        Raises:
            ValueError: As in ``MultiHeadAttention``.
        """
        options = {"rotary": rotary, "score_bias": score_bias, "positions": positions}
        x = self.self_attention(x, mask=mask, cache=cache, **options)
        x = self.cross_attention(x, context, mask=context_mask, cache=context_cache)
        return self.feed_forward(x)


def make_norm(
    norm: str, d_model: int, *, eps: float = 1e-5, bias: bool = True
) -> LayerNorm | RMSNorm:
    """The norm of a name.

    Args:
        norm: "layer" for ``LayerNorm``, "rms" for ``RMSNorm``.
        d_model: The width of a row.
        eps: $\\epsilon$.
        bias: Whether LayerNorm has a shift; RMSNorm has none.

    Returns:
        A new layer.

    Raises:
        ValueError: ``norm`` is unknown, ``d_model`` no integer of at least 1, or ``eps`` not
            positive and finite.

    Source: Ba et al. 2016; Zhang and Sennrich 2019. Chapter: block#rmsnorm.

    Example:
        >>> sum(p.numel() for p in make_norm("rms", 512).parameters())
        512
    """
    require_choice(NORMS, norm=norm)
    return LayerNorm(d_model, eps=eps, bias=bias) if norm == "layer" else RMSNorm(d_model, eps=eps)
