"""The Transformer block: reading and thinking, each of them added to a stream and normalized."""

from typing import ClassVar, Literal, Unpack, get_args

from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention import GroupedQueryAttention, LayerCache, Reading
from softlookup.checks import Positive, Rate, Size, checked
from softlookup.layers import (
    Activation,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    Residual,
    RMSNorm,
)

Norm = Literal["layer", "rms"]
NORMS = get_args(Norm)


@checked
class Sublayer(Residual):
    r"""A residual connection with a norm: before the layer, or after the addition.

    Post-norm, as in the paper, is $\mathrm{norm}(x + F(x))$; pre-norm is $x + F(\mathrm{norm}(x))$:
    the sum itself is never normalized, so it is a stream to which every layer adds. Dropout takes
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
        self, layer: nn.Module, norm: nn.Module, *, norm_first: bool, dropout: Rate = 0.0
    ) -> None:
        super().__init__(layer)
        self.norm, self.norm_first, self.dropout = norm, norm_first, nn.Dropout(dropout)
        self.write = nn.Identity()  # probe: what is added
        self.stream = nn.Identity()  # probe: what leaves

    @property
    def d_model(self) -> int | None:
        """The width of a row; None where the norm takes any."""
        return getattr(self.norm, "d_model", None)

    def forward(
        self, x: Float[Tensor, "*batch n {self.d_model}"], *args: object, **options: object
    ) -> Float[Tensor, "*batch n {self.d_model}"]:
        """Add what the layer makes of ``x``; normalize before or after.

        Args:
            x: One row per token.
            args: Whatever else the layer takes.
            options: The same, by name.

        Returns:
            One row per token.

        Raises:
            ValueError: ``x`` has not the norm's width, or the layer changes the shape, even if the
                sum could be broadcast.
        """
        read = self.norm(x) if self.norm_first else x
        write = self.write(self.dropout(self.layer(read, *args, **options)))
        y = self.add(x, write)
        return self.stream(y if self.norm_first else self.norm(y))


@checked
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
        n_kv_heads: How many heads of keys and values, as in ``GroupedQueryAttention``.
        qk_norm: Whether queries and keys are normalized, as in ``GroupedQueryAttention``.
        dropout: The rate at three places: attention's weights, the activations, and what each
            sub-layer adds.
        eps: $\\epsilon$ of the norms around the sub-layers.

    Raises:
        ValueError: A size is no integer of at least 1, ``n_heads`` does not divide ``d_model`` or
            ``n_kv_heads`` not ``n_heads``, ``norm`` or ``activation`` is unknown, ``dropout`` is
            not in [0, 1), or ``eps`` not positive and finite.

    Source: Vaswani et al. 2017, section 3.1. Chapter: block#the-whole-block.

    Example:
        >>> [name for name, _ in Block(6, 3, 11).named_children()]
        ['self_attention', 'feed_forward']
    """

    attentions: ClassVar[tuple[str, ...]] = ("self_attention",)

    def __init__(
        self,
        d_model: Size,
        n_heads: Size,
        d_ff: Size,
        *,
        norm_first: bool = False,
        norm: Norm = "layer",
        activation: Activation = "relu",
        gated: bool = False,
        bias: bool = True,
        attention_bias: bool | None = None,
        n_kv_heads: Size | None = None,
        qk_norm: bool = False,
        dropout: Rate = 0.0,
        eps: Positive = 1e-5,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        attention_bias = bias if attention_bias is None else attention_bias
        options = {"bias": attention_bias, "n_kv_heads": n_kv_heads, "qk_norm": qk_norm}
        layers = {
            name: GroupedQueryAttention(d_model, n_heads, dropout=dropout, **options)
            for name in self.attentions
        }
        kind = GatedFeedForward if gated else FeedForward
        think = kind(d_model, d_ff, activation=activation, bias=bias, dropout=dropout)
        for name, layer in (layers | {"feed_forward": think}).items():
            around = make_norm(norm, d_model, eps=eps, bias=bias)
            self.add_module(name, Sublayer(layer, around, norm_first=norm_first, dropout=dropout))


@checked
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
        >>> import torch
        >>> from softlookup.masks import causal_mask
        >>> block(torch.zeros(7, 512), causal_mask(7)).shape
        torch.Size([7, 512])
    """

    def forward(
        self,
        x: Float[Tensor, "*batch n {self.d_model}"],
        mask: Bool[Tensor, "... #n n_read"] | None = None,
        **reading: Unpack[Reading],
    ) -> Float[Tensor, "*batch n {self.d_model}"]:
        """Read, then think.

        Args:
            x: One row per token.
            mask: True where a token may read another, as in ``GroupedQueryAttention``.
            reading: How positions and a cache take part, as in ``GroupedQueryAttention``.

        Returns:
            One row per token. A row that no other may read has no influence on the others.

        Raises:
            ValueError: As in ``GroupedQueryAttention``.
        """
        x = self.self_attention(x, mask=mask, **reading)
        return self.feed_forward(x)


@checked
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
        >>> import torch
        >>> from softlookup.masks import causal_mask
        >>> block(torch.zeros(7, 512), torch.zeros(5, 512), causal_mask(7)).shape
        torch.Size([7, 512])
    """

    attentions: ClassVar[tuple[str, ...]] = ("self_attention", "cross_attention")

    def forward(
        self,
        x: Float[Tensor, "*batch n {self.d_model}"],
        context: Float[Tensor, "*batch n_k {self.d_model}"],
        mask: Bool[Tensor, "... #n n_read"] | None = None,
        context_mask: Bool[Tensor, "... #n n_context"] | None = None,
        *,
        context_cache: LayerCache | None = None,
        **reading: Unpack[Reading],
    ) -> Float[Tensor, "*batch n {self.d_model}"]:
        """Read the own text, read the other one, then think.

        Args:
            x: One row per token.
            context: One row per token of the other text, an encoder's output; none of those whose
                keys and values ``context_cache`` holds.
            mask: True where a token may read one of its own text; ``causal_mask`` in a decoder.
            context_mask: True where a token may read one of the other text.
            context_cache: Keys and values of the other text that were read before.
            reading: How positions and a cache take part in reading the own text, as in
                ``GroupedQueryAttention``.

        Returns:
            One row per token of ``x``.

        Raises:
            ValueError: As in ``GroupedQueryAttention``.
        """
        x = self.self_attention(x, mask=mask, **reading)
        x = self.cross_attention(x, context, mask=context_mask, cache=context_cache)
        return self.feed_forward(x)


@checked
def make_norm(
    norm: Norm, d_model: Size, *, eps: Positive = 1e-5, bias: bool = True
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
    return LayerNorm(d_model, eps=eps, bias=bias) if norm == "layer" else RMSNorm(d_model, eps=eps)
