"""The model of the workshop: a GPT that has read tiny Shakespeare, small enough for a page.

Tiny Shakespeare is cut into speeches. The last tenth of them is held out, and every fortieth of the
others is not trained on either, but judges. Two models are trained whole, one on single characters
and one on byte pairs. Each reads the text equally often, since the text is what is scarce: a token
of two characters makes a reading half as long, and a model that reads the same again begins to
learn it by heart. The weights are kept at the step at which the judging speeches are told best, and
the kind of token whose model tells them in fewer bits per byte is the workshop's. Its weights are
kept in half precision, in one file with what they are: the config, the tokens, the seed, the data.
"""

import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import torch
from torch import Tensor

from softlookup.data import tiny_shakespeare
from softlookup.language_models import greedy, random_pieces, sample
from softlookup.models import GPT, GPTConfig, load_gpt, save_gpt
from softlookup.recorded import shakespeare_gpt
from softlookup.recorded.ngram_shakespeare import SMALL_TEXT
from softlookup.recorded.record import data_checksums
from softlookup.recorded.version import code_version
from softlookup.tokenization import BytePairTokenizer
from softlookup.training import recipe_optimizers, recipe_rate, train_model

DATA = ("tiny_shakespeare",)
SEED = 0
WEIGHTS = Path(__file__).parent / "capstone.safetensors"
PROMPTS = ("ROMEO:\n", "My lord, ", "What is ")
"""What the samples begin with."""
CARE = {"temperature": 0.8, "min_p": 0.05}
"""How they are drawn."""


def load() -> str | None:
    """Tiny Shakespeare, or None after one printed line that says why."""
    return tiny_shakespeare()


def run_small() -> dict:
    """The same on ten speeches of a cat and a dog."""
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "length": 16, "window": 8, "batch_size": 4}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "small.safetensors"
        writes = {"prompts": ("The cat",), "n_written": 20}
        found = run(SMALL_TEXT, path, n_readings=6, looks=1, n_tokens=270, **writes, **sizes)
    del found["sha256"]  # the file names the version of the code
    return found


def run(
    text: str,
    path: str | os.PathLike = WEIGHTS,
    *,
    n_readings: int = 3,
    looks: int = 2,
    dropout: float = 0.0,
    n_tokens: int = 512,
    length: int = 128,
    window: int = 64,
    d_model: int = 128,
    n_heads: int = 4,
    n_layers: int = 4,
    batch_size: int = 16,
    prompts: Sequence[str] = PROMPTS,
    n_written: int = 300,
) -> dict:
    """Train a GPT on each kind of token, and write the better one's weights in half precision.

    Args:
        text: Speeches with an empty line between them.
        path: The file of the weights.
        n_readings: How many times each run reads as many tokens as the text has.
        looks: How many times in a reading the weights are judged.
        dropout: The rate while it learns.
        n_tokens: How many byte pairs there are, single bytes included.
        length: How many tokens a piece of the text has.
        window: How many of the last tokens a token reads in each block.
        d_model: The width of a row.
        n_heads: How many heads.
        n_layers: How many blocks.
        batch_size: How many pieces a step reads.
        prompts: What the samples begin with.
        n_written: How many characters each sample goes on for.

    Returns:
        Under "runs" for each kind of token its sizes, the loss of each tenth step in bits a token,
        what the judging speeches cost at each look, in bits per byte, what the held-out speeches
        cost with the best weights, and samples; which kind is kept; the held-out bits per byte
        after the rounding; the samples of what was kept, and one with the most probable tokens; the
        size and the checksum of the file.
    """
    learn, judge, held_out = parts_of(text)
    kinds = {
        "characters": BytePairTokenizer([]),
        "byte pairs": BytePairTokenizer.train([learn], n_tokens),
    }
    shape = {"window": window, "d_model": d_model, "n_heads": n_heads, "n_layers": n_layers}
    sizes = {"length": length, "batch_size": batch_size}
    runs, models = {}, {}
    for kind, tokens in kinds.items():
        models[kind] = new_model(tokens, **shape, dropout=dropout)
        ids = ids_of(learn, tokens)
        n_steps = max(1, n_readings * len(ids) // (batch_size * length))
        every = max(1, n_steps // (n_readings * looks))
        told = partial(held_out_bits, tokens=tokens, text=judge, length=length)
        losses, seen = train_and_choose(models[kind], ids, n_steps, every, told, **sizes)
        model = models[kind] = without_dropout(models[kind])
        runs[kind] = {
            "tokens": len(tokens),
            "learned_from": len(ids),
            "read": n_steps * batch_size * length,
            "losses": [loss / math.log(2) for loss in losses[::10]],
            "looks": seen,
            "bits": held_out_bits(model, tokens, held_out, length),
            "samples": {prompt: drawn_text(model, tokens, prompt, n_written) for prompt in prompts},
        }
    kind = min(runs, key=lambda kind: best_look(runs[kind]["looks"])["bits"])
    keep(path, models[kind], kinds[kind], runs[kind]["looks"], sys.modules[__name__])
    return {
        "runs": runs,
        "kind": kind,
        "bits_before_rounding": runs[kind]["bits"],
        **results_of(path, held_out, length, prompts, n_written),
        "greedy": greedy_text(*load_gpt(path), prompts[0], n_written),
    }


def parts_of(text: str) -> tuple[str, str, str]:
    """What is learned from, the speeches that judge, and the last tenth, which is held out."""
    speeches = text.strip().split("\n\n")
    edge = len(speeches) * 9 // 10
    judge = range(edge % 40 // 2, edge, 40)  # all over the text, as each play has its own names
    learn = [speeches[i] for i in range(edge) if i not in judge]
    parts = learn, [speeches[i] for i in judge], speeches[edge:]
    return tuple("\n\n".join(part) + "\n\n" for part in parts)


def new_model(
    tokens: BytePairTokenizer,
    window: int,
    d_model: int,
    n_heads: int,
    n_layers: int,
    context: int = 1024,
    dropout: float = 0.0,
) -> GPT:
    """The book's recipe with a wider window; the context is only the longest text there may be."""
    torch.manual_seed(SEED)
    config = GPTConfig.quick(len(tokens), context, d_model, n_heads, n_layers)
    return GPT(replace(config, window=window, dropout=dropout))


def train_and_choose(
    model: GPT,
    ids: Tensor,
    n_steps: int,
    every: int,
    told: Callable[[GPT], float],
    *,
    length: int,
    batch_size: int,
) -> tuple[list[float], list[dict]]:
    """The book's recipe on pieces of one long text; the model ends with its best weights.

    Args:
        model: It has learned nothing yet.
        ids: The text.
        n_steps: How many steps it takes.
        every: After how many of them the weights are judged.
        told: What the judge says of a model; less is better.
        length: How many tokens a piece has.
        batch_size: How many pieces a step reads.

    Returns:
        The loss of each step, and the step and the judge's bits at each look.
    """
    seen, best = [], {}

    def look(step: int, _: float) -> None:
        if step % every == 0 or step == n_steps:
            seen.append({"step": step, "bits": told(without_dropout(model))})
            if best_look(seen) is seen[-1]:
                best.update({name: part.clone() for name, part in model.state_dict().items()})

    chance = torch.Generator().manual_seed(SEED)
    losses = train_model(
        model,
        shakespeare_gpt.next_loss,
        random_pieces(ids, length, batch_size, generator=chance),
        optimizers=recipe_optimizers(model),
        n_steps=n_steps,
        schedule=lambda step: recipe_rate(step, n_steps=n_steps),
        clip=1.0,
        after_step=look,
    )
    model.load_state_dict(best)
    return losses, seen


def best_look(looks: Sequence[dict]) -> dict:
    """The look at which the judging speeches cost least."""
    return min(looks, key=lambda look: look["bits"])


def without_dropout(model: GPT) -> GPT:
    """The same weights as they are used once they have been learned."""
    # Its first weights are not drawn from the training's chance.
    with torch.random.fork_rng(devices=()):
        plain = GPT(replace(model.config, dropout=0.0))
    plain.load_state_dict(model.state_dict())
    return plain


def ids_of(text: str, tokens: BytePairTokenizer) -> Tensor:
    """The ids of a text."""
    return torch.tensor(tokens.encode(text))


def held_out_bits(model: GPT, tokens: BytePairTokenizer, text: str, length: int) -> float:
    """Bits per byte, each token told from half a piece of tokens at least."""
    ids = ids_of(text, tokens)
    return shakespeare_gpt.held_out_bits(model, ids, length, len(text.encode()))


def drawn_text(
    model: GPT, tokens: BytePairTokenizer, prompt: str, n_written: int, seed: int = SEED
) -> str:
    """The prompt and so many characters more, drawn with a little care."""
    luck = torch.Generator().manual_seed(seed)
    return _written(partial(sample, generator=luck, **CARE), model, tokens, prompt, n_written)


def greedy_text(model: GPT, tokens: BytePairTokenizer, prompt: str, n_written: int) -> str:
    """The same, always with the most probable token."""
    return _written(greedy, model, tokens, prompt, n_written)


def _written(
    way: Callable, model: GPT, tokens: BytePairTokenizer, prompt: str, n_written: int
) -> str:
    """A prompt and what follows it: of a long prompt the end is read, and no more than fits."""
    context = model.config.context
    ids = ids_of(prompt, tokens)[-(context // 2) :].unsqueeze(0)
    n_tokens = min(n_written, context - ids.shape[1])
    (text,) = way(model.step, model.start(ids[:, :-1]), ids[:, -1], None, n_tokens)
    return prompt + tokens.decode(text.ids)[:n_written]


def keep(
    path: str | os.PathLike,
    model: GPT,
    tokens: BytePairTokenizer,
    looks: Sequence[dict],
    experiment: ModuleType,
) -> None:
    """Write the weights in half precision, and beside them where they come from.

    Args:
        path: The file.
        model: The model with its best weights.
        tokens: What it reads and writes.
        looks: What the judge said of it.
        experiment: The module that has trained it.
    """
    texts = {
        "data": json.dumps(data_checksums(experiment)),
        "seed": str(experiment.SEED),
        "step": str(best_look(looks)["step"]),
        "code": code_version(experiment),
        "command": f"make record NAME={experiment.__name__.rpartition('.')[2]}",
    }
    save_gpt(path, model, tokens, dtype=torch.float16, texts=texts)


def results_of(
    path: str | os.PathLike, held_out: str, length: int, prompts: Sequence[str], n_written: int
) -> dict:
    """What a file of weights holds, and how its model does after the rounding.

    Args:
        path: The file.
        held_out: A text that it was not trained on.
        length: How many tokens a piece of it has.
        prompts: What the samples begin with.
        n_written: How many characters each sample goes on for.

    Returns:
        The number of parameters; the held-out bits per byte; the samples; the size and the
        checksum of the file.
    """
    model, tokens = load_gpt(path)
    content = Path(path).read_bytes()
    return {
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "bits": held_out_bits(model, tokens, held_out, length),
        "samples": {prompt: drawn_text(model, tokens, prompt, n_written) for prompt in prompts},
        "n_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
