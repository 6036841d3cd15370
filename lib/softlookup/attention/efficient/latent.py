"""One short vector a token: latent attention, whose cache holds what keys and values come from."""

from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention.lookup import SoftLookup
from softlookup.attention.multi_head import join_heads, split_heads
from softlookup.checks import Size, checked


@checked
class LatentAttention(SoftLookup):
    r"""Heads whose keys and values are unfolded from one latent vector: $C = XW^{DKV}$.

    With $K_h = CW^{UK}_h$ and $V_h = CW^{UV}_h$ the cache of a layer holds the $d_c$ numbers of
    $C$ for each token, not the $2Hd$ of all heads' keys and values. And since
    $Q_h (CW^{UK}_h)^\top = (Q_h W^{UK\top}_h) C^\top$ and $A_h (CW^{UV}_h) = (A_h C) W^{UV}_h$,
    they need never be unfolded: each head can turn its queries instead, and read $C$ itself.

    Causal order comes from a mask. Positions are left out: a rotation between the query and the
    key depends on both places, so it could not move over to the query.

    Args:
        d_model: Width of the tokens that come in and go out.
        n_heads: $H$, the number of heads.
        d_head: $d$, the width of a head's queries, keys and values.
        d_latent: $d_c$, how many numbers are kept of a token.

    Raises:
        ValueError: A size is no integer of at least 1.

    Source: DeepSeek-AI 2024 (DeepSeek-V3), section 2.1.1.
    Chapter: modern_attention#optional-latent-attention.

    Example:
        >>> import torch
        >>> layer = LatentAttention(d_model=6, n_heads=4, d_head=5, d_latent=3)
        >>> layer.compress(torch.zeros(7, 6)).shape, layer(torch.zeros(7, 6)).shape
        (torch.Size([7, 3]), torch.Size([7, 6]))
    """

    def __init__(self, d_model: Size, n_heads: Size, d_head: Size, d_latent: Size) -> None:
        super().__init__()
        self.d_model, self.d_latent, self.n_heads = d_model, d_latent, n_heads
        self.W_Q = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.W_DKV = nn.Linear(d_model, d_latent, bias=False)
        self.W_UK = nn.Linear(d_latent, n_heads * d_head, bias=False)
        self.W_UV = nn.Linear(d_latent, n_heads * d_head, bias=False)
        self.W_O = nn.Linear(n_heads * d_head, d_model, bias=False)

    def compress(
        self, x: Float[Tensor, "*batch n {self.d_model}"]
    ) -> Float[Tensor, "*batch n {self.d_latent}"]:
        """What the cache keeps: $C = XW^{DKV}$.

        Args:
            x: One row per token.

        Returns:
            One short row per token.

        Raises:
            ValueError: ``x`` has another width or dtype than the layer.
        """
        return self.W_DKV(x)

    def forward(
        self,
        x: Float[Tensor, "*batch n_q {self.d_model}"],
        latent: Float[Tensor, "*batch n_k {self.d_latent}"] | None = None,
        *,
        mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
        form: Literal["unfolded", "absorbed"] = "absorbed",
    ) -> Float[Tensor, "*batch n_q {self.d_model}"]:
        """What the tokens of ``x`` read from the tokens whose latent rows were kept.

        Args:
            x: The tokens that ask, one row each.
            latent: What ``compress`` gave for the tokens that are read; None: for ``x`` itself.
            mask: True where a query may read a token; the same for all heads. None allows all.
            form: The order of the products, not the result. "unfolded" makes keys and values of
                all heads; "absorbed" never does.

        Returns:
            One row per token of ``x``.

        Raises:
            ValueError: Shapes or dtypes do not fit, ``mask`` is not boolean, or ``form`` is
                unknown.
        """
        latent = self.compress(x) if latent is None else latent
        query = split_heads(self.W_Q(x), self.n_heads)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # the same for all heads
        read = self._unfolded if form == "unfolded" else self._absorbed
        return self.W_O(join_heads(read(query / query.shape[-1] ** 0.5, latent, mask)))

    def _unfolded(self, query: Tensor, latent: Tensor, mask: Tensor | None) -> Tensor:
        key, value = (split_heads(W(latent), self.n_heads) for W in (self.W_UK, self.W_UV))
        return self.mix(query @ key.mT, value, mask)

    def _absorbed(self, query: Tensor, latent: Tensor, mask: Tensor | None) -> Tensor:
        W_UK, W_UV = (
            W.weight.unflatten(0, (self.n_heads, -1)) for W in (self.W_UK, self.W_UV)
        )  # heads × d × d_c each
        shared = latent.unsqueeze(-3)  # all heads read the same rows
        scores = query @ W_UK @ shared.mT
        read = self.mix(scores, shared.expand(*scores.shape[:-2], -1, -1), mask)
        return read @ W_UV.mT
