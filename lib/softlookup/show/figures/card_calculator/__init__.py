"""The card calculator: a model, a training step, and whether both fit on a card."""

from softlookup.checks import require
from softlookup.models.gpt.memory import OPTIMIZER_NUMBERS, PRECISIONS
from softlookup.show.interactive import Interactive

CARDS = (8, 16, 24, 40, 80, 141)
"""Gigabytes of memory; those of laptops, of a T4, a 4090, an A100, an H100 and an H200."""
SPARE = 0.1
"""The share of a card that is left to CUDA itself, and to gaps between tensors."""
MODELS = {
    "GPT-2": ("gpt2", 768, 12, 64, 1, "4", 50_257),
    "GPT-2 medium": ("gpt2", 1024, 24, 64, 1, "4", 50_257),
    "GPT-2 large": ("gpt2", 1280, 36, 64, 1, "4", 50_257),
    "GPT-2 XL": ("gpt2", 1600, 48, 64, 1, "4", 50_257),
    "6.7 billion": ("gpt2", 4096, 32, 128, 1, "4", 50_257),
    "Llama 2 7B": ("llama", 4096, 32, 128, 1, "8/3", 32_000),
    "Llama 3 8B": ("llama", 4096, 32, 128, 4, "3.5", 128_000),
    "Llama 3 70B": ("llama", 8192, 80, 128, 8, "3.5", 128_000),
}
"""Kind of block, width, blocks, columns of a head, queries that share a head of keys, width inside
a feed-forward layer, vocabulary: Radford et al. 2019; Brown et al. 2020, table 2.1; Touvron et al.
2023; Grattafiori et al. 2024, table 3."""
KINDS = {
    "gpt2": {},
    "llama": {
        **{"positions": "rotary", "norm": "rms", "activation": "silu"},
        **{"gated": True, "bias": False, "tie": False},
    },
}
"""What the two kinds of block have in a ``GPTConfig``."""
WIDTHS = (64, 128, 256, 384, 512, 768, 1024, 1280, 1600, 2048, 2560, 4096, 5120, 8192)
LENGTHS = tuple(2**k for k in range(6, 16))
BATCHES = tuple(2**k for k in range(9))
HEAD_WIDTHS = (32, 64, 128)
SHARED = (1, 2, 4, 8)
INSIDES = ("8/3", "3.5", "4")
"""Width inside a feed-forward layer, in widths; 8/3 is rounded up to a multiple of 256."""
BITS = (32, 16, 8, 4)
VOCABULARIES = (100, 10_000, 32_000, 50_257, 128_000)
_OF_MODEL = ("kind", "d", "layers", "head", "share", "inside", "vocab")
_ALT = (
    "Controls for a GPT, its training and a card; a bar for each part of its memory. GPT-2 with "
    "eight texts of 1,024 tokens takes 11 gigabytes in float32 with Adam, and fits on a card of "
    "16; with sixteen texts it needs 20.2, and does not."
)
_CAPTION = (
    "Will it run on my card? The bars are parts of one training step, the line is the card. Choose "
    "16 texts, and the figure names three single changes after which it fits again. Which of them "
    "leaves what a step learns exactly as it was? Then let Llama 3 8B write a single text: with "
    "how many bits for a weight does it fit on a card of 8?"
)


class CardCalculator(Interactive):
    """Bars for weights, gradients, optimizer, activations and scores, beside the size of a card.

    Args:
        model: A name of ``MODELS``, chosen at first.
        batch_size: How many texts a step reads at first: a power of two from 1 to 256.
        card: Gigabytes of the card at first: one of ``CARDS``.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A choice is not among the figure's, or as ``Interactive``.

    Source: Korthikanti et al. 2022, section 4. Chapter: my_numbers_differ#out-of-memory.

    Example:
        >>> CardCalculator(batch_size=16).name
        'fig-differ-card'
    """

    def __init__(
        self,
        *,
        model: str = "GPT-2",
        batch_size: int = 8,
        card: int = 16,
        name: str = "fig-differ-card",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(model in MODELS, f"model must be one of {tuple(MODELS)}", model=model)
        require(
            batch_size in BATCHES, f"batch_size must be one of {BATCHES}", batch_size=batch_size
        )
        require(card in CARDS, f"card must be one of {CARDS}", card=card)
        data = {
            "models": [
                dict(zip(("name", *_OF_MODEL), (key, *values), strict=True))
                for key, values in MODELS.items()
            ],
            "model": model,
            "batch": batch_size,
            "card": card,
            "cards": CARDS,
            "spare": SPARE,
            "widths": WIDTHS,
            "lengths": LENGTHS,
            "batches": BATCHES,
            "headWidths": HEAD_WIDTHS,
            "shared": SHARED,
            "insides": INSIDES,
            "bits": BITS,
            "vocabularies": VOCABULARIES,
            "precisions": {key: size._asdict() for key, size in PRECISIONS.items()},
            "remembered": OPTIMIZER_NUMBERS,
        }
        super().__init__(name=name, data=data, alt=alt, caption=caption)
