"""The GPT that the workshop trains in the page, trained here: it learns sentences with names.

The text, the model, its optimizers and their rates are those that the page begins with, once with
Muon as in the workshop and once with AdamW as in the chapter on training. A browser that runs no
scripts shows this run in place of its own.
"""

import hashlib
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from softlookup.data import tagged_sentences
from softlookup.language_models import (
    AddK,
    KneserNey,
    LanguageModel,
    known_words,
    next_token_loss,
    random_pieces,
    sample,
)
from softlookup.models import GPT, GPTConfig
from softlookup.training import Muon, matrices_and_rest, train_model

SEED = 1
N_SENTENCES = 400
SHA256 = "7cefaaacd08ad32e640d26218a25b46bd1b332f14a04340a58bac26b543d0774"
DATA = ()
OWN_DATA = {"sentences with names": {"sentences.txt": SHA256}}
"""What comes with the library, and its checksum."""
MOST_HELD_OUT = 2049
"""On so many letters of the last tenth the losses are measured."""


def load() -> str:
    """The text that the page trains on."""
    return sentences(N_SENTENCES)


def sentences(n: int) -> str:
    """So many sentences, a line each; the first of those that the seed gives."""
    chance = torch.Generator().manual_seed(SEED)
    return "".join(" ".join(one.tokens) + ".\n" for one in tagged_sentences(n, chance))


def run_small() -> dict:
    """The same on thirty sentences."""
    return run(sentences(30), n_steps=20, context=16, d_model=8, n_heads=2, n_written=20)


def run(
    text: str,
    *,
    n_steps: int = 250,
    rates: Sequence[float] = (0.02, 0.01),
    context: int = 32,
    d_model: int = 32,
    n_heads: int = 4,
    n_layers: int = 2,
    batch_size: int = 16,
    n_written: int = 90,
) -> dict:
    """Train the GPT twice from the same start, and look at it 25 times or after each step.

    Args:
        text: The last tenth is held out.
        n_steps: How long each training is.
        rates: Those of Muon, with AdamW for all but matrices, and of AdamW alone.
        context: How many letters a piece of the text has.
        d_model: The width of a row.
        n_heads: How many heads.
        n_layers: How many blocks.
        batch_size: How many pieces a step reads.
        n_written: How many letters it writes at the end.

    Returns:
        How many letters it learned from; the losses, in nats a letter, of counts of two letters
        and of five; and for each optimizer the looks and what it writes after a prompt.
    """
    edge = len(text) - len(text) // 10
    held_out = text[edge : edge + MOST_HELD_OUT]
    letters = known_words([list(text)])
    number = {letter: i for i, letter in enumerate(letters)}
    learn, judge = (torch.tensor([number[one] for one in part]) for part in (text[:edge], held_out))
    counted = {
        "bigram": AddK([list(text[:edge])], 2, 0.1, letters),
        "Kneser–Ney": KneserNey([list(text[:edge])], 5, letters),
    }

    def trained(optimizer: str, rate: float) -> dict:
        torch.manual_seed(SEED)
        model = GPT(GPTConfig(len(letters), context, d_model, n_heads, n_layers))
        looks = []

        def look(step: int, loss: float) -> None:
            if step % max(1, n_steps // 25) == 0:
                looks.append({"step": step, "loss": loss, "held_out": loss_on(model, judge)})

        train_model(
            model,
            lambda model, ids: next_token_loss(model(ids), ids),
            random_pieces(
                learn, context, batch_size, generator=torch.Generator().manual_seed(SEED)
            ),
            optimizers=optimizers_of(model, optimizer, rate),
            n_steps=n_steps,
            after_step=look,
        )
        words = "".join(letters[i] for i in write(model, judge[:4].tolist(), n_written))
        return {"looks": looks, "prompt": held_out[:4], "written": words}

    return {
        "learned_from": edge,
        "letters": len(letters),
        "counted": {name: surprise(model, held_out) for name, model in counted.items()},
        "runs": {
            name: trained(name, rate) for name, rate in zip(("Muon", "AdamW"), rates, strict=True)
        },
    }


def optimizers_of(model: GPT, name: str, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices and AdamW at a third of its rate for the rest, or AdamW for all."""
    if name == "AdamW":
        return [torch.optim.AdamW(model.parameters(), lr=rate)]
    matrices, rest = matrices_and_rest(model)
    return [Muon(matrices, lr=rate), torch.optim.AdamW(rest, lr=rate / 3)]


@torch.no_grad()
def loss_on(model: GPT, ids: Tensor) -> float:
    """The mean loss over a text in pieces that share their ends, as the page measures it."""
    length = min(model.config.context, len(ids))
    pieces = ids.unfold(0, length, length - 1)
    return next_token_loss(model(pieces), pieces).item()


def write(model: GPT, prompt: list[int], n_tokens: int) -> list[int]:
    """A text of any length: where the context is full, the model reads on from its latter half."""
    context, ids, chance = model.config.context, list(prompt), torch.Generator().manual_seed(SEED)
    while (left := len(prompt) + n_tokens - len(ids)) > 0:
        begin = torch.tensor([ids[-(context // 2) :]])
        (more,) = sample(
            model.step,
            model.start(begin[:, :-1]),
            begin[:, -1],
            None,
            min(left, context - begin.shape[1]),
            generator=chance,
            temperature=0.8,
        )
        ids += more.ids
    return ids[len(prompt) :]


def surprise(model: LanguageModel, text: str) -> float:
    """The mean loss of each letter but the first, from those before it."""
    logs = [math.log(model.probability(text[i], list(text[:i]))) for i in range(1, len(text))]
    return -sum(logs) / len(logs)


def checksum(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
