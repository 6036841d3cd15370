"""The training ground: a small GPT is trained in the page, watched, broken, saved and raced."""

from collections.abc import Mapping

from softlookup.checks import require
from softlookup.show.engine import engine_source
from softlookup.show.interactive import Interactive

_FEWEST, _MOST = 1_000, 40_000
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
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There is no text, or one is shorter or longer than a page can use; or as
            ``Interactive``.

    Chapter: workshop#train-one-yourself.

    Example:
        >>> TrainingGround({"letters": "abc" * 500}).name
        'fig-training-ground'
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        *,
        name: str = "fig-training-ground",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(len(texts) > 0, "there must be at least one text", n_texts=len(texts))
        rule = f"a text must have from {_FEWEST:,} to {_MOST:,} letters"
        for title, text in texts.items():
            require(_FEWEST <= len(text) <= _MOST, rule, text=title, n=len(text))
        data = {"texts": dict(texts), "engine": engine_source(), "python": _PYTHON}
        super().__init__(name=name, data=data, alt=alt, caption=caption)
