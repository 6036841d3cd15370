"""A small GPT learns letters of Shakespeare, and writes as it learns; beside counts of the same.

Tiny Shakespeare is cut into speeches, and the last tenth of them is held out, as in
``ngram_shakespeare``. The GPT is that of the book's recipe, and so are its optimizers and its
rates; but a letter looks at more than four letters, since this run is longer. How much does it
know after 100 steps, after 1000, at the end, and what does it write then?
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from softlookup.data import tiny_shakespeare
from softlookup.language_models import (
    KneserNey,
    bits_per_byte,
    known_words,
    next_token_log_probabilities,
    next_token_loss,
    random_pieces,
    sample,
)
from softlookup.models import GPT, GPTConfig
from softlookup.recorded.ngram_shakespeare import SMALL_TEXT, copied, joined, longest_copy
from softlookup.training import recipe_optimizers, recipe_rate, train_model

DATA = ("tiny_shakespeare",)
SEED = 0
BETWEEN = "\n\n"
"""What stands between two speeches: one token, and two bytes."""


def load() -> str | None:
    """Tiny Shakespeare, or None after one printed line that says why."""
    return tiny_shakespeare()


def run_small() -> dict:
    """The same on ten speeches of a cat and a dog."""
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "context": 16, "window": 4}
    return run(SMALL_TEXT, looks=(0, 5, 30), orders=(1, 2), n_written=60, batch_size=4, **sizes)


def run(
    text: str,
    looks: Sequence[int] = (0, 30, 100, 300, 1000, 2000),
    orders: Sequence[int] = (1, 2, 6),
    *,
    context: int = 128,
    window: int = 64,
    d_model: int = 128,
    n_heads: int = 4,
    n_layers: int = 4,
    batch_size: int = 16,
    n_written: int = 400,
) -> dict:
    """Train the GPT, and look at what it knows and writes after so many steps.

    Args:
        text: Speeches with an empty line between them.
        looks: After which steps it is judged and writes; the last is the end of the run.
        orders: Each n, how many letters the n-grams have that it is compared with.
        context: How many letters a piece of the text has.
        window: How many of the last letters a letter looks at in each block.
        d_model: The width of a row.
        n_heads: How many heads.
        n_layers: How many blocks.
        batch_size: How many pieces a step reads.
        n_written: How many characters it writes each time.

    Returns:
        Sizes; the loss of each tenth step in bits; under "looks" the bits per byte of the held-out
        speeches and a text at each look; the bits per byte of counts; what was copied at the end.
    """
    parts = speeches_of(text)
    letters = [*known_words([list(speech) for speech in parts[0]]), BETWEEN]
    learn, held_out = (stream(part, letters) for part in parts)
    torch.manual_seed(SEED)
    config = GPTConfig.quick(len(letters), context, d_model, n_heads, n_layers)
    model = GPT(replace(config, window=window))
    seen = []

    def look(step: int) -> None:
        bits = held_out_bits(model, held_out, context, n_bytes(parts[1]))
        seen.append({"step": step, "bits": bits, "text": write(model, letters, n_written)})

    look(looks[0])
    chance, n_steps = torch.Generator().manual_seed(SEED), looks[-1]
    losses = train_model(
        model,
        next_loss,
        random_pieces(learn, context, batch_size, generator=chance),
        optimizers=recipe_optimizers(model),
        n_steps=n_steps,
        schedule=lambda step: recipe_rate(step, n_steps=n_steps),
        clip=1.0,
        after_step=lambda step, _: look(step) if step in looks[1:] else None,
    )
    source, end = joined([list(speech) for speech in parts[0]]), seen[-1]["text"]
    longest = longest_copy(end, source)
    return {
        "letters": len(letters),
        "learned_from": len(learn),
        "held_out": len(held_out),
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "read": n_steps * batch_size * context,
        "losses": [loss / math.log(2) for loss in losses[::10]],
        "looks": seen,
        "counts": {str(n): counted_bits(parts, n) for n in orders},
        "copied": copied(end, source),
        "longest_copy": longest,
    }


def speeches_of(text: str) -> tuple[list[str], list[str]]:
    """The speeches to learn from, and the last tenth, which is held out."""
    speeches = text.strip().split(BETWEEN)
    edge = len(speeches) * 9 // 10
    return speeches[:edge], speeches[edge:]


def stream(speeches: Sequence[str], letters: Sequence[str]) -> Tensor:
    """The speeches as one text of ids, a token between them, before the first and after all."""
    number, between = {letter: i for i, letter in enumerate(letters)}, len(letters) - 1
    ids = [between]
    for speech in speeches:
        ids += [*(number[letter] for letter in speech), between]
    return torch.tensor(ids)


def n_bytes(speeches: Sequence[str]) -> int:
    """How long the speeches are, with the empty line behind each of them."""
    return sum(len((speech + BETWEEN).encode()) for speech in speeches)


def next_loss(model: nn.Module, ids: Tensor) -> Tensor:
    """The mean loss of the next letter."""
    return next_token_loss(model(ids), ids)


def held_out_bits(model: nn.Module, ids: Tensor, context: int, n_bytes: int) -> float:
    """Bits per byte, each letter told from half a context of letters at least."""
    logs = next_token_log_probabilities(model, ids, context, stride=context // 2)
    return bits_per_byte(logs.sum().item(), n_bytes)


def counted_bits(parts: tuple[list[str], list[str]], n: int) -> float:
    """The same measure for counts of n letters, smoothed as Kneser and Ney do."""
    learn, held_out = ([list(speech) for speech in part] for part in parts)
    counts = KneserNey(learn, n, known_words(learn))
    logs = sum(counts.log_probability(speech) for speech in held_out)
    return bits_per_byte(logs, n_bytes(parts[1]))


def write(model: GPT, letters: Sequence[str], length: int) -> str:
    """A text that begins with a new speech, drawn with the same luck at each look."""
    between, luck = len(letters) - 1, torch.Generator().manual_seed(SEED)
    nothing = model.start(torch.zeros(1, 0, dtype=torch.int64))
    (text,) = sample(model.step, nothing, between, None, length, generator=luck, temperature=0.8)
    return "".join(letters[i] for i in text.ids)[:length]
