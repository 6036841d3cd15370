"""The Transformer block: reading and thinking, each of them added to a stream and normalised."""

from collections.abc import Callable, Iterator

from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.checks import require, require_choice
from softlookup.feedforward import FeedForward, GatedFeedForward
from softlookup.multihead import MultiHeadAttention
from softlookup.normalization import LayerNorm, RMSNorm

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


class EncoderBlock(nn.Module):
    r"""Tokens read each other, then each thinks alone: attention and a feed-forward layer.

    With a causal mask it is the block of a decoder-only model. ``self_attention`` and
    ``feed_forward`` are ``Sublayer``s, whose probes are there to look into.

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
        dropout: The rate at three places: attention's weights, the activations, and what each
            sub-layer adds.
        eps: $\epsilon$ of the norms.

    Raises:
        ValueError: A size is no integer of at least 1, ``n_heads`` does not divide ``d_model``,
            ``norm`` or ``activation`` is unknown, ``dropout`` is not in [0, 1), or ``eps`` not
            positive and finite.

    Source: Vaswani et al. 2017, section 3.1; lectures 000, "Transformer (2)", 001,
    "Transformers", and 002, "Transformer Layer Structure". Chapter: block#the-whole-block.

    Example:
        >>> block = EncoderBlock(512, 8, 2048, attention_bias=False)
        >>> sum(p.numel() for p in block.parameters())
        3150336
    """

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
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.self_attention, self.feed_forward = _sublayers(
            1, d_model, n_heads, d_ff, norm_first, norm, activation, gated, bias, attention_bias,
            dropout, eps,
        )  # fmt: skip

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        mask: Bool[Tensor, "... #n n"] | None = None,
        *,
        rotary: Callable[..., Tensor] | None = None,
        score_bias: Float[Tensor, "... #n #n"] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Read, then think.

        Args:
            x: One row per token.
            mask: True where a token may read another, as in ``MultiHeadAttention``.
            rotary: As in ``MultiHeadAttention``.
            score_bias: As in ``MultiHeadAttention``.

        Returns:
            One row per token. A row that no other may read has no influence on the others.

        Raises:
            ValueError: As in ``MultiHeadAttention``.
        """
        options = {"mask": mask, "rotary": rotary, "score_bias": score_bias}
        return self.feed_forward(self.self_attention(x, **options))


class DecoderBlock(nn.Module):
    """Tokens read each other, then another text, then each thinks alone.

    The three sub-layers are ``self_attention``, ``cross_attention`` and ``feed_forward``. Of the
    other text the rows are read as they come: a norm stands around the stream alone.

    Args:
        d_model: The width of a row, and of the context's.
        n_heads: As in ``EncoderBlock``.
        d_ff: As in ``EncoderBlock``.
        norm_first: As in ``EncoderBlock``.
        norm: As in ``EncoderBlock``.
        activation: As in ``EncoderBlock``.
        gated: As in ``EncoderBlock``.
        bias: As in ``EncoderBlock``.
        attention_bias: As in ``EncoderBlock``.
        dropout: As in ``EncoderBlock``.
        eps: As in ``EncoderBlock``.

    Raises:
        ValueError: As in ``EncoderBlock``.

    Source: Vaswani et al. 2017, section 3.1; lectures 000, "Transformer (3)", and 001,
    "Cross-Attention". Chapter: block#the-whole-block.

    Example:
        >>> block = DecoderBlock(512, 8, 2048, attention_bias=False)
        >>> sum(p.numel() for p in block.parameters())
        4199936
    """

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
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.self_attention, self.cross_attention, self.feed_forward = _sublayers(
            2, d_model, n_heads, d_ff, norm_first, norm, activation, gated, bias, attention_bias,
            dropout, eps,
        )  # fmt: skip

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        context: Float[Tensor, "*batch n_k d_model"],
        mask: Bool[Tensor, "... #n n"] | None = None,
        context_mask: Bool[Tensor, "... #n n_k"] | None = None,
        *,
        rotary: Callable[..., Tensor] | None = None,
        score_bias: Float[Tensor, "... #n #n"] | None = None,
    ) -> Float[Tensor, "*batch n d_model"]:
        """Read the own text, read the other one, then think.

        Args:
            x: One row per token.
            context: One row per token of the other text, an encoder's output.
            mask: True where a token may read one of its own text; ``causal_mask`` in a decoder.
            context_mask: True where a token may read one of the other text.
            rotary: As in ``MultiHeadAttention``, in the own text alone.
            score_bias: As in ``MultiHeadAttention``, in the own text alone.

        Returns:
            One row per token of ``x``.

        Raises:
            ValueError: As in ``MultiHeadAttention``.
        """
        x = self.self_attention(x, mask=mask, rotary=rotary, score_bias=score_bias)
        x = self.cross_attention(x, context, mask=context_mask)
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


def _sublayers(
    n_attentions: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    norm_first: bool,
    norm: str,
    activation: str,
    gated: bool,
    bias: bool,
    attention_bias: bool | None,
    dropout: float,
    eps: float,
) -> Iterator[Sublayer]:
    """Some layers of attention and a feed-forward layer, each with its way around and its norm."""
    attention_bias = bias if attention_bias is None else attention_bias
    layers: list[nn.Module] = [
        MultiHeadAttention(d_model, n_heads, bias=attention_bias, dropout=dropout)
        for _ in range(n_attentions)
    ]
    kind = GatedFeedForward if gated else FeedForward
    layers.append(kind(d_model, d_ff, activation=activation, bias=bias, dropout=dropout))
    for layer in layers:
        around = make_norm(norm, d_model, eps=eps, bias=bias)
        yield Sublayer(layer, around, norm_first=norm_first, dropout=dropout)
