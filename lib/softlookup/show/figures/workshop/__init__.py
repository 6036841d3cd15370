"""The workshop: a trained GPT in the page that writes, is looked into, and is changed."""

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from matplotlib.figure import Figure

from softlookup.analysis import capture
from softlookup.checks import require, require_choice, require_distinct, require_int, require_text
from softlookup.models.gpt import GPT, load_gpt
from softlookup.recorded.capstone import CARE, WEIGHTS, drawn_text
from softlookup.show.engine import engine_source
from softlookup.show.figure import styled, svg_of
from softlookup.show.interactive import Interactive
from softlookup.tokenization import BytePairTokenizer

PANELS = ("write", "look", "change", "count", "try")
PROMPTS = ("ROMEO:\n", "My lord, I", "What is")
PASSAGE = (
    "First Citizen:\nWe are accounted poor citizens, the patricians good.\n"
    "What authority surfeits on would relieve us.\n"
)
CAREFUL = {"temperature": CARE["temperature"], "least": CARE["min_p"]}
"""Temperature and min-p of a reader who draws, but no nonsense."""
MAPS = 4.4
"""How wide the maps of all heads are without scripts, in inches."""
SHADES = 12
"""How many shares between 0 and 1 such a map tells apart."""
COUNTED = 100
"""How many tokens are written where it is counted what they take."""
ROOM = 512
"""How many tokens a text may have in the page."""
STILL = 160
"""How many characters a text has that stands there before the model is fetched."""
_ALT = (
    "A trained language model that writes on after any beginning, token by token, with the "
    "probabilities of what could have come; its attention and its stream can be looked at, and "
    "its parts can be switched off or changed. It runs in the page and needs JavaScript. The text "
    "is one that it has written."
)
_CAPTION = (
    "The workshop. A model that has read Shakespeare computes in this page. First let it write, "
    "then look at how a token was chosen, then change a part and compare."
)


class Workshop(Interactive):
    """A model in a file writes in the page, shows its inside, and is changed part by part.

    On the site the weights are a script of their own, which the page loads when its reader asks;
    in a notebook they are part of the figure.

    Args:
        path: The model, as ``save_gpt`` writes it, with a byte-pair tokenizer.
        panels: What can be done with the model, the first of them at once: some of "write", "look",
            "change", "count" what a token takes, and "try" the guided experiments, which need
            "look" and "change".
        prompts: What the reader may begin with, 1 to 4 texts.
        passage: A text of at least two tokens on which a change is judged.
        seen: The letters that the model has read; others are named to the reader. None: all.
        chance: Whether the next token is drawn at first, with temperature 0.8 and min-p 0.05;
            otherwise it is the most probable one.
        many: How many tokens are written at once.
        seed: Where the chances begin.
        inline: Whether the weights are part of the figure. None: outside the site.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There is no such model, its tokens are not byte pairs, there is no prompt or a
            blank one, a panel is unknown, comes twice or lacks another one, the passage is too
            short, ``many`` is no integer of at least 1, or ``seed`` is negative; or as
            ``Interactive``.

    Chapter: workshop#what-to-look-for.

    Example:
        >>> from tempfile import mkdtemp
        >>> from softlookup.models import GPT, GPTConfig, save_gpt
        >>> model = GPT(GPTConfig(vocab_size=256, context=128, d_model=6, n_heads=3, n_layers=1))
        >>> path = Path(mkdtemp()) / "small.safetensors"
        >>> save_gpt(path, model, BytePairTokenizer([]))
        >>> Workshop(path).name
        'fig-workshop'
    """

    def __init__(
        self,
        path: str | os.PathLike = WEIGHTS,
        *,
        panels: Sequence[str] = ("write", "look", "change", "try"),
        prompts: Sequence[str] = PROMPTS,
        passage: str = PASSAGE,
        seen: str | None = None,
        chance: bool = False,
        many: int = 30,
        seed: int = 1,
        inline: bool | None = None,
        name: str = "fig-workshop",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        model, tokens = load_gpt(path)
        is_known = isinstance(tokens, BytePairTokenizer)
        require(is_known, "the model's tokens must be byte pairs", tokens=type(tokens).__name__)
        rule = "prompts must be 1 to 4 texts"
        require(not isinstance(prompts, str) and 1 <= len(prompts) <= 4, rule, prompts=prompts)
        require(len(panels) > 0, "there must be a panel", panels=panels)
        require_distinct(panels=list(panels))
        for panel in panels:
            require_choice(PANELS, panel=panel)
        rule = "the panel try needs look and change"
        require("try" not in panels or {"look", "change"} <= {*panels}, rule, panels=panels)
        for i, prompt in enumerate(prompts):
            require_text(**{f"prompts[{i}]": prompt})
        require_text(passage=passage)
        ids = tokens.encode(passage)
        fits = 2 <= len(ids) <= model.config.context
        rule = "passage must have at least two tokens, and fit the context"
        require(fits, rule, n_tokens=len(ids))
        require_int(0, seed=seed)
        require_int(1, many=many)
        still = written(model, tokens, prompts[0])
        letters = as_text(path)
        inline = not os.environ.get("SOFTLOOKUP_STATIC") if inline is None else inline
        data = {
            "engine": engine_source(),
            "panels": list(panels),
            "prompts": list(prompts),
            "passage": passage,
            "still": still,
            "seen": seen,
            "chance": CAREFUL if chance else None,
            "many": many,
            "counted": COUNTED,
            "seed": seed,
            "layers": model.config.n_layers,
            "heads": model.config.n_heads,
            "window": model.config.window,
            "room": min(ROOM, model.config.context),
            "file": Path(path).stem,
            "address": f"../_static/models/{Path(path).stem}.js",
            "megabytes": round(len(letters) / 1e6, 1),
            "weights": letters if inline else None,
        }
        context, picture = model.config.context, ""
        ids = tokens.encode(prompts[0])[-(context // 2) :]
        if panels[0] == "look":
            picture = maps_of(model, ids)
        elif panels[0] == "count":
            still = rows_computed(len(ids), min(COUNTED, context - len(ids)))
        super().__init__(
            name=name, data=data, alt=alt, caption=caption, still=still, picture=picture
        )


def maps_of(model: GPT, ids: list[int]) -> str:
    """The attention of every head over a text, a map each: a row for each token."""
    with torch.no_grad(), capture(model) as seen:
        model(torch.tensor([ids]))
    n_layers, n_heads = model.config.n_layers, model.config.n_heads
    with styled():
        figure = Figure(figsize=(MAPS, MAPS * n_layers / n_heads))
        axes = figure.subplots(n_layers, n_heads, squeeze=False)
        for layer, row in enumerate(axes):
            weights = seen[f"blocks.{layer}.self_attention.layer.weights"][0]
            for head, ax in enumerate(row):
                shares = (SHADES * weights[head]).round() / SHADES  # fewer colours are fewer bytes
                ax.imshow(shares.numpy(), vmin=0, vmax=1, interpolation="none")
                ax.set(title=f"{layer}.{head}", xticks=[], yticks=[])
        return svg_of(figure, "The attention of each head over the text, layer by layer")


def rows_computed(n_prompt: int, n_tokens: int) -> str:
    """What a text takes with the cache and without it, in rows that the blocks compute."""
    anew = sum(range(n_prompt, n_prompt + n_tokens))
    return (
        f"To go on with {n_tokens} tokens from the cache, the blocks compute {n_tokens} rows, one "
        f"for each. Anew for each token they compute {n_prompt} + {n_prompt + 1} + … + "
        f"{n_prompt + n_tokens - 1} = {anew:,} rows, {anew / n_tokens:.3g} times as many."
    )


def written(model: GPT, tokens: BytePairTokenizer, prompt: str) -> str:
    """What a model makes of a prompt, drawn with care and always the same."""
    letters = drawn_text(model, tokens, prompt, STILL, seed=1)
    return "".join(one for one in letters if one == "\n" or one.isprintable())


def as_text(path: str | os.PathLike) -> str:
    """A file in letters, as a script can carry it."""
    return base64.b64encode(Path(path).read_bytes()).decode()


def as_script(path: str | os.PathLike) -> str:
    """A script that hands the file to the page that loads it."""
    name = json.dumps(Path(path).stem)
    return f'(globalThis.slModels ??= {{}})[{name}] = "{as_text(path)}";\n'
