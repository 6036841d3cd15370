"""The model of the workshop: a GPT that has read tiny Shakespeare, small enough for a page.

Two short trials with equal numbers of steps, one on characters and one on byte pairs, are compared
in bits per byte; the better kind of token is used for one longer run. Tiny Shakespeare is cut into
speeches. The last tenth of them is held out; a slice of the others is not trained on either, and
the weights are kept at the step at which that slice is told best. The weights are kept in half
precision, in one file with what they are: the config, the tokens, the seed, the data.

A first run took 2400 steps, eleven readings of the text. From the 800th step on the slice cost
more and more, while the loss went on to fall; so the run has 800 steps, and the rates come down by
then.
"""

import hashlib
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from softlookup.data import tiny_shakespeare
from softlookup.language_models import greedy, known_words, random_pieces
from softlookup.models import GPT, GPTConfig, load_gpt, save_gpt
from softlookup.recorded import shakespeare_gpt
from softlookup.recorded.ngram_shakespeare import SMALL_TEXT
from softlookup.recorded.record import checksums
from softlookup.recorded.version import code_version
from softlookup.tokenization import BytePairTokenizer
from softlookup.training import recipe_optimizers, recipe_rate, train_model

DATA = ("tiny_shakespeare",)
SEED = 0
WEIGHTS = Path(__file__).parent / "capstone.safetensors"
PROMPTS = ("ROMEO:\n", "My lord, ", "What is ")
"""What the samples begin with."""

Tokens = list[str] | BytePairTokenizer


def load() -> str | None:
    """Tiny Shakespeare, or None after one printed line that says why."""
    return tiny_shakespeare()


def run_small() -> dict:
    """The same on ten speeches of a cat and a dog."""
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "length": 16, "window": 8, "batch_size": 4}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "small.safetensors"
        steps = {"n_trial": 5, "n_steps": 20, "every": 5}
        writes = {"prompts": ("The cat",), "n_written": 20}
        found = run(SMALL_TEXT, path, n_tokens=270, **writes, **steps, **sizes)
    del found["sha256"]  # the file names the version of the code
    return found


def run(
    text: str,
    path: str | os.PathLike = WEIGHTS,
    *,
    n_trial: int = 150,
    n_steps: int = 800,
    every: int = 100,
    n_tokens: int = 512,
    length: int = 128,
    window: int = 64,
    d_model: int = 128,
    n_heads: int = 4,
    n_layers: int = 4,
    batch_size: int = 16,
    prompts: Sequence[str] = PROMPTS,
    n_written: int = 120,
) -> dict:
    """Choose the tokens, train the GPT, and write its weights in half precision.

    Args:
        text: Speeches with an empty line between them.
        path: The file of the weights. It is there as soon as the first have been judged.
        n_trial: How many steps each trial takes.
        n_steps: How many steps the run takes.
        every: After how many steps the weights are judged.
        n_tokens: How many byte pairs there are, single bytes included.
        length: How many tokens a piece of the text has.
        window: How many of the last tokens a token reads in each block.
        d_model: The width of a row.
        n_heads: How many heads.
        n_layers: How many blocks.
        batch_size: How many pieces a step reads.
        prompts: What the samples begin with.
        n_written: How many tokens each sample goes on for.

    Returns:
        Sizes; the bits per byte of both trials; the loss of each tenth step in bits a token; what
        the slice costs at each look; the bits per byte of the held-out speeches before
        and after the best weights were rounded; samples; the checksum of the file.
    """
    learn, judge, held_out = parts_of(text)
    kinds = {
        "characters": known_words([list(text)]),
        "byte pairs": BytePairTokenizer.train([learn], n_tokens),
    }
    sizes = {"length": length, "batch_size": batch_size}
    shape = {"window": window, "d_model": d_model, "n_heads": n_heads, "n_layers": n_layers}
    trials = {}
    for kind, tokens in kinds.items():
        model = new_model(tokens, **shape)
        train(model, ids_of(learn, tokens), n_trial, **sizes)
        trials[kind] = held_out_bits(model, tokens, judge, length)
    kind = min(trials, key=trials.get)
    tokens, looks, best = kinds[kind], [], {}

    def look(step: int, _: float) -> None:
        if step % every == 0 or step == n_steps:
            bits = held_out_bits(model, tokens, judge, length)
            if bits < min((seen["bits"] for seen in looks), default=math.inf):
                keep(path, model, tokens, step)
                best.update({name: part.clone() for name, part in model.state_dict().items()})
            looks.append({"step": step, "bits": bits})

    model = new_model(tokens, **shape)
    ids = ids_of(learn, tokens)
    losses = train(model, ids, n_steps, **sizes, after_step=look)
    model.load_state_dict(best)
    kept, _ = load_gpt(path)
    content = Path(path).read_bytes()
    return {
        "trials": trials,
        "kind": kind,
        "tokens": len(tokens),
        "parameters": sum(weights.numel() for weights in kept.parameters()),
        "learned_from": len(ids),
        "read": n_steps * batch_size * length,
        "losses": [loss / math.log(2) for loss in losses[::10]],
        "looks": looks,
        "bits_before_rounding": held_out_bits(model, tokens, held_out, length),
        "bits": held_out_bits(kept, tokens, held_out, length),
        "samples": {prompt: greedy_text(kept, tokens, prompt, n_written) for prompt in prompts},
        "n_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def parts_of(text: str) -> tuple[str, str, str]:
    """What is learned from, the slice that judges, and the last tenth, which is held out."""
    speeches = text.strip().split("\n\n")
    edges = len(speeches) * 17 // 20, len(speeches) * 18 // 20
    parts = speeches[: edges[0]], speeches[edges[0] : edges[1]], speeches[edges[1] :]
    return tuple("\n\n".join(part) + "\n\n" for part in parts)


def new_model(
    tokens: Tokens, window: int, d_model: int, n_heads: int, n_layers: int, context: int = 1024
) -> GPT:
    """A GPT of today with a window; the context is only the longest text that it may be given."""
    torch.manual_seed(SEED)
    config = GPTConfig.modern(len(tokens), context, d_model, n_heads, n_layers)
    return GPT(replace(config, window=window, tie=False))


def train(
    model: GPT, ids: Tensor, n_steps: int, *, length: int, batch_size: int, after_step=None
) -> list[float]:
    """The book's recipe on pieces of one long text."""
    chance = torch.Generator().manual_seed(SEED)
    return train_model(
        model,
        shakespeare_gpt.next_loss,
        random_pieces(ids, length, batch_size, generator=chance),
        optimizers=recipe_optimizers(model),
        n_steps=n_steps,
        schedule=lambda step: recipe_rate(step, n_steps=n_steps),
        clip=1.0,
        after_step=after_step,
    )


def ids_of(text: str, tokens: Tokens) -> Tensor:
    """The ids of a text."""
    if isinstance(tokens, BytePairTokenizer):
        return torch.tensor(tokens.encode(text))
    number = {letter: i for i, letter in enumerate(tokens)}
    return torch.tensor([number[letter] for letter in text])


def text_of(ids: list[int], tokens: Tokens) -> str:
    """The text of some ids."""
    if isinstance(tokens, BytePairTokenizer):
        return tokens.decode(ids)
    return "".join(tokens[i] for i in ids)


def held_out_bits(model: GPT, tokens: Tokens, text: str, length: int) -> float:
    """Bits per byte, each token told from half a piece of tokens at least."""
    ids = ids_of(text, tokens)
    return shakespeare_gpt.held_out_bits(model, ids, length, len(text.encode()))


def greedy_text(model: GPT, tokens: Tokens, prompt: str, n_written: int) -> str:
    """The prompt and how it goes on, always with the most probable token."""
    ids = ids_of(prompt, tokens).unsqueeze(0)
    (text,) = greedy(model.step, model.start(ids[:, :-1]), ids[:, -1], None, n_written)
    return text_of(ids[0].tolist() + text.ids, tokens)


def keep(path: str | os.PathLike, model: GPT, tokens: Tokens, step: int) -> None:
    """Write the weights in half precision, and beside them where they come from."""
    texts = {
        "data": json.dumps(checksums(DATA)),
        "seed": str(SEED),
        "step": str(step),
        "code": code_version(sys.modules[__name__]),
        "command": "make record NAME=capstone",
    }
    save_gpt(path, model, tokens, dtype=torch.float16, texts=texts)
