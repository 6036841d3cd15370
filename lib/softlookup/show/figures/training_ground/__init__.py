"""The training ground: a small GPT is trained in the page, watched, broken, saved and raced."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from softlookup.checks import require, require_choice
from softlookup.recorded import Record
from softlookup.show.engine import engine_source
from softlookup.show.figure import styled, svg_of
from softlookup.show.interactive import Interactive
from softlookup.show.style import BLUE, GREEN, LINE, PURPLE, RED, TEXT

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
        record: The training that the page begins with, as ``recorded("sentences_gpt")`` has it: a
            browser that runs no scripts shows it. None: such a browser shows words alone.
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
        record: Record | None = None,
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
        drawn = {}
        if record is not None:
            optimizer = "AdamW" if data["usual"].get("optimizer") == "adamw" else "Muon"
            drawn = still_of(record.results, optimizer)
        super().__init__(name=name, data=data, alt=alt, caption=caption, **drawn)


def still_of(found: Mapping, optimizer: str) -> dict[str, str]:
    """A picture of a recorded training, and what came out in words."""
    counted, run = found["counted"], found["runs"][optimizer]
    steps, training, held_out = (
        [look[key] for look in run["looks"]] for key in ("step", "loss", "held_out")
    )
    passed = next((k for k, loss in enumerate(held_out) if loss < counted["bigram"]), None)
    with styled():
        figure = Figure(figsize=(TEXT, 2.6))
        ax = figure.subplots()
        for (name, loss), colour, style in zip(
            counted.items(), (GREEN, PURPLE), (":", "--"), strict=True
        ):
            ax.axhline(loss, color=colour, linestyle=style, label=name)
        ax.plot(steps, training, color=BLUE, linewidth=1, label="training text")
        ax.plot(steps, held_out, color=RED, linewidth=2.5, label="held-out text")
        ax.set(xlabel="steps", ylabel="loss", ylim=(0, None))
        ax.grid(axis="y", color=LINE)
        figure.legend(loc="outside lower center", ncols=4)
        picture = svg_of(figure, "The losses of a training, and the lines of two counts")
    levels = f"Bigram {counted['bigram']:.3f}, Kneser–Ney {counted['Kneser–Ney']:.3f}."
    words = (
        f"Step {steps[-1]}: loss {training[-1]:.3f} on the training text, {held_out[-1]:.3f} held "
        f"out. {levels}"
    )
    if passed is not None:
        words += f" The model was better than the bigram from about step {steps[passed]} on."
    written = (run["prompt"] + run["written"]).replace("\n", "↵")
    return {
        "picture": picture,
        "still": f"{words} Then it wrote: {written}",
    }
