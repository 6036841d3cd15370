"""The training ground: a small GPT is trained in the page, watched, broken, saved and raced."""

from collections.abc import Mapping, Sequence

from softlookup.checks import require, require_choice
from softlookup.show.engine import engine_source
from softlookup.show.interactive import Interactive

_FEWEST, _MOST = 1_000, 40_000
PRESETS = ("usual", "mask", "positions", "rate", "residual", "little")
CHOICES = (
    *("d_model", "n_layers", "n_heads", "context", "positions", "norm_first", "mask", "residual"),
    *("optimizer", "rate", "batchSize", "clip", "nSteps", "amount"),
)
_PYTHON = """from pathlib import Path

import torch
from softlookup.language_models import next_token_loss
from softlookup.models import load_gpt, save_gpt
from softlookup.training import random_batches, recipe_optimizers, train_model

text = Path("text.txt").read_text(encoding="utf-8")

model, letters = load_gpt("model.safetensors")
pieces = torch.tensor([letters.index(one) for one in text]).unfold(0, model.config.context, 1)
train_model(model, lambda model, batch: next_token_loss(model(batch[0]), batch[0]),
            random_batches(pieces, size=16), optimizers=recipe_optimizers(model), n_steps=100)

save_gpt("model.safetensors", model, letters)
"""
_ALT = (
    "A training ground: a text and a model are chosen, and training draws the loss on the training "
    "text and on held-out text beside the lines of a bigram and of Kneser–Ney, with samples and "
    "the lengths of gradients and weights. It runs in the page and needs JavaScript."
)
_CAPTION = (
    "Training from nothing. All that moves here is computed by the page itself: the losses, the "
    "two lines of models that only count, and the lengths of gradients and weights in each layer."
)


class TrainingGround(Interactive):
    """A small GPT that the page trains: on a text of ours or of the reader, in any way they choose.

    Args:
        texts: Texts to train on, by the names that the reader sees.
        presets: The ways to train that are offered, each with a question: "usual", "mask",
            "positions", "rate", "residual" and "little" text, or some of them.
        choices: A small ground: only these settings can be chosen, there is no other text than the
            first, no file and no race. None: all there is.
        usual: What the settings are at first, where it is not what it is in the workshop.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There is no text, one is shorter or longer than a page can use, or a
            preset or a setting is unknown; or as ``Interactive``.

    Chapter: workshop#train-one-yourself.

    Example:
        >>> TrainingGround({"letters": "abc" * 500}).name
        'fig-training-ground'
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        *,
        presets: Sequence[str] = PRESETS,
        choices: Sequence[str] | None = None,
        usual: Mapping[str, str] | None = None,
        name: str = "fig-training-ground",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(len(texts) > 0, "there must be at least one text", n_texts=len(texts))
        rule = f"a text must have from {_FEWEST:,} to {_MOST:,} letters"
        for title, text in texts.items():
            require(_FEWEST <= len(text) <= _MOST, rule, text=title, n=len(text))
        require(len(presets) > 0, "there must be a way to train", presets=presets)
        for preset in presets:
            require_choice(PRESETS, preset=preset)
        for setting in [*(choices or ()), *(usual or ())]:
            require_choice(CHOICES, setting=setting)
        data = {
            "texts": dict(texts),
            "presets": list(presets),
            "choices": None if choices is None else list(choices),
            "usual": dict(usual or {}),
            "engine": engine_source(),
            "python": _PYTHON if choices is None else "",
        }
        super().__init__(name=name, data=data, alt=alt, caption=caption)
