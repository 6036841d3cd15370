"""A Vision Transformer: an image read as a text of patches (Dosovitskiy et al. 2021)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.attention.positions import LearnedPositions
from softlookup.checks import Positive, Rate, Size, checked, require
from softlookup.layers import Activation, LayerNorm
from softlookup.models.blocks import EncoderBlock
from softlookup.models.configuration import ModelConfig
from softlookup.tokenization import patchify


@checked
@dataclass(frozen=True)
class ViTConfig(ModelConfig):
    """Every choice that makes a ``ViT``.

    Attributes:
        n_classes: How many kinds of images there are to tell apart.
        image_size: Height and width of an image, in pixels.
        patch_size: The side of a patch in pixels; it must divide both.
        channels: Numbers per pixel: 1 for grey, 3 for colours.
        d_model: The width of a row.
        n_heads: How many heads; it must divide ``d_model``.
        n_layers: How many blocks.
        d_ff: The width inside a feed-forward layer; left out, ``4 * d_model``.
        activation: As in ``FeedForward``.
        dropout: The rate, behind the embeddings and in the blocks.
        eps: That of the norms.

    Raises:
        ValueError: A size is no integer of at least 1, ``image_size`` no pair, ``patch_size`` or
            ``n_heads`` does not divide what it must, ``activation`` is unknown, ``dropout`` is not
            in [0, 1), or ``eps`` not positive and finite.

    Source: Dosovitskiy et al. 2021, section 3.1. Chapter: beyond_text#images.

    Example:
        >>> config = ViTConfig(10, image_size=(8, 8), patch_size=2)
        >>> config.n_patches, config.patch_width, config.width_inside
        (16, 4, 256)
    """

    n_classes: Size
    image_size: tuple[Size, Size]
    patch_size: Size
    channels: Size = 1
    d_model: Size = 64
    n_heads: Size = 4
    n_layers: Size = 2
    d_ff: Size | None = None
    activation: Activation = "gelu"
    dropout: Rate = 0.0
    eps: Positive = 1e-6

    def __post_init__(self) -> None:
        """Check what no annotation can say."""
        super().__post_init__()
        divides = all(side % self.patch_size == 0 for side in self.image_size)
        sizes = {"patch_size": self.patch_size, "image_size": self.image_size}
        require(divides, "patch_size must divide height and width", **sizes)

    @classmethod
    def base(cls, n_classes: Size = 1000) -> "ViTConfig":
        """The paper's ViT-B/16.

        Args:
            n_classes: 1,000 for ImageNet.

        Returns:
            Width 768, 12 heads, 12 blocks, patches of 16 × 16 in colour images of 224 × 224.
        """
        return cls(n_classes, (224, 224), 16, channels=3, d_model=768, n_heads=12, n_layers=12)

    @property
    def n_patches(self) -> int:
        """How many patches an image has."""
        height, width = self.image_size
        return (height // self.patch_size) * (width // self.patch_size)

    @property
    def patch_width(self) -> int:
        """How many numbers a patch has."""
        return self.channels * self.patch_size**2


@checked
def parameter_count(config: ViTConfig) -> int:
    """Count the parameters by formula, without building the model.

    Args:
        config: The choices.

    Returns:
        Exactly as many as ``ViT(config)`` has.

    Source: Dosovitskiy et al. 2021, table 1, which says 86M. Chapter: beyond_text#images.

    Example:
        >>> parameter_count(ViTConfig.base())
        86567656
    """
    d_model, d_ff = config.d_model, config.width_inside
    norm = 2 * d_model
    embeddings = (config.patch_width + 1) * d_model + (1 + config.n_patches + 1) * d_model
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    head = (d_model + 1) * config.n_classes
    return embeddings + config.n_layers * (attention + feed_forward + 2 * norm) + norm + head


@checked(not_empty="batch")
class ViT(nn.Module):
    """An encoder for images: each patch is a token, and one more token collects the answer.

    Each patch's pixels are mapped to a row, a learned class token comes before them, and each place
    adds a learned vector: nothing else tells the model which patch stands beside which. Blocks in
    pre-norm follow, then a norm; a linear map of the class token's row scores the classes. That map
    starts at 0, so that the loss starts at the logarithm of the number of classes.

    The parts are ``patch_embedding``, ``class_token``, ``position_embedding``, ``blocks`` (a list
    of ``EncoderBlock``), ``norm`` and ``head``. The probe ``rows`` sees what enters the first
    block.

    Args:
        config: The choices.

    Source: Dosovitskiy et al. 2021, equations 1 to 4; lecture 004, "Attention is All You Need (2)".
    Chapter: beyond_text#images.

    Example:
        >>> model = ViT(ViTConfig(10, image_size=(8, 8), patch_size=2))
        >>> images = torch.zeros(5, 8, 8)
        >>> model(images).shape, model.read(images).shape
        (torch.Size([5, 10]), torch.Size([5, 17, 64]))
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        d_model, eps = config.d_model, config.eps
        self.patch_embedding = nn.Linear(config.patch_width, d_model)
        self.class_token = nn.Parameter(torch.zeros(d_model))
        self.position_embedding = LearnedPositions(1 + config.n_patches, d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.rows = nn.Identity()  # probe: what enters the first block
        sizes = d_model, config.n_heads, config.width_inside
        self.blocks = nn.ModuleList(
            EncoderBlock(*sizes, norm_first=True, **config.block_options)
            for _ in range(config.n_layers)
        )
        self.norm = LayerNorm(d_model, eps=eps)
        self.head = nn.Linear(d_model, config.n_classes)
        self._start()

    def read(
        self, images: Float[Tensor, "batch *channels height width"]
    ) -> Float[Tensor, "batch n d_model"]:
        """What the stack makes of every token.

        Args:
            images: One image each; grey ones may leave out the axis of channels.

        Returns:
            One row per token: first the class token's, then one a patch, in the order of reading.

        Raises:
            ValueError: There is no image, or the size or the dtype does not fit.
        """
        x = self._embed(self._patches(images))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(
        self, images: Float[Tensor, "batch *channels height width"]
    ) -> Float[Tensor, "batch classes"]:
        """The scores of the classes.

        Args:
            images: As in ``read``.

        Returns:
            One score per class for each image; the softmax of a row gives probabilities.

        Raises:
            ValueError: As in ``read``.
        """
        return self.head(self.read(images)[:, 0])

    def _patches(self, images: Tensor) -> Tensor:
        wanted = (self.config.channels, *self.config.image_size)
        grey = images.ndim == 3 and wanted[0] == 1
        images = images.unsqueeze(1) if grey else images
        fits = images.ndim == 4 and images.shape[1:] == wanted
        require(fits, f"images must be of the size {wanted}", images=images)
        rows = patchify(images.flatten(0, 1), self.config.patch_size)  # images are but channels
        return rows.unflatten(-1, (len(images), -1)).transpose(0, 1)

    def _embed(self, patches: Tensor) -> Tensor:
        """One row per token: the class token first, each with the vector of its place."""
        x = self.patch_embedding(patches)
        token = self.class_token.expand(len(x), 1, -1)
        places = torch.arange(1 + x.shape[1], device=x.device)
        x = torch.cat((token, x), dim=1) + self.position_embedding(places)
        return self.rows(self.dropout(x))

    def _start(self) -> None:
        """Where training begins: as in the authors' code, all classes score 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.zeros_(self.head.weight)
