"""Letters of Shakespeare, counted: what an n-gram model knows, and what it only copies.

Tiny Shakespeare is cut into speeches; the last tenth of them is held out. For n = 1 to 8 the rest
is counted, and then: how well do the counts predict the held-out speeches, how much of these is
new to them, and what do they write when they are asked to go on by themselves?
"""

import math
from collections.abc import Iterable, Sequence

import torch

from softlookup.data import tiny_shakespeare
from softlookup.language_models import (
    AddK,
    KneserNey,
    LanguageModel,
    NGramModel,
    known_words,
    perplexity,
    unseen_share,
)

DATA = ("tiny_shakespeare",)
SEED = 0
SHOWN = 200
"""How many characters of each sample are kept to be read."""
WRITTEN = 2000
"""How many are written to measure how much of them is copied."""
RUN = 10
"""A run of so many characters that also stands in the counted text counts as copied."""

SMALL_TEXT = """Cat:
The mat is mine.

Dog:
The mat is wide.

Cat:
The mat is warm, and I am on the mat.

Dog:
And I am cold.

Cat:
Then lie down on the rug.

Dog:
The rug is cold, and the rug is thin.

Cat:
Then come and lie on the mat.

Dog:
The cat is kind.

Cat:
The mat is wide.

Dog:
The mat is thin, and I lie on it with the cat."""


def load() -> str | None:
    """Tiny Shakespeare, or None after one printed line that says why."""
    return tiny_shakespeare()


def run_small() -> dict:
    """The same on ten speeches of a cat and a dog."""
    return run(SMALL_TEXT, orders=(1, 2, 4), shown=80, written=200)


def run(
    text: str, orders: Iterable[int] = range(1, 9), *, shown: int = SHOWN, written: int = WRITTEN
) -> dict:
    """Count the speeches of a text, and look at what the counts know, for each n.

    Args:
        text: Speeches with an empty line between them.
        orders: Each n, how many characters an n-gram has.
        shown: How many characters of each sample are kept.
        written: How many are written in all.

    Returns:
        The sizes of the two parts; how much the held-out part, which copies nothing, would pass
        for copied; and under "rows" a dictionary for each n.
    """
    speeches = [list(speech) for speech in text.split("\n\n")]
    edge = len(speeches) * 9 // 10
    counted, held_out = speeches[:edge], speeches[edge:]
    source, new = (joined(part) for part in (counted, held_out))
    rows = [count(counted, held_out, n, shown=shown, written=written) for n in orders]
    return {
        "counted_speeches": len(counted),
        "counted_characters": sum(map(len, counted)),
        "held_out_speeches": len(held_out),
        "held_out_characters": sum(map(len, held_out)),
        "kinds_of_characters": len(known_words(counted)),
        "copied_by_held_out": copied(new, source),
        "rows": rows,
    }


def count(
    counted: Sequence[Sequence[str]],
    held_out: Sequence[Sequence[str]],
    n: int,
    *,
    shown: int,
    written: int,
) -> dict:
    """One row: all that is found for one n."""
    letters = known_words(counted)
    model = NGramModel(counted, n, letters)
    sample = write(model, written)
    source = joined(counted)
    return {
        "n": n,
        "histories": len(model.followers),
        "ngrams": sum(map(len, model.followers.values())),
        "one_follower": share(len(row) == 1 for row in model.followers.values()),
        "unseen": unseen_share(counted, held_out, n),
        "impossible": share(model.log_probability(text) == -math.inf for text in held_out),
        "bits_counted": bits(model, counted),
        "bits_add": bits(AddK(counted, n, 0.01, letters), held_out),
        "bits_kneser_ney": bits(KneserNey(counted, n, letters), held_out),
        "sample": sample[:shown],
        "longest_copy": longest_copy(sample[:shown], source),
        "copied": copied(sample, source),
    }


def bits(model: LanguageModel, texts: Sequence[Sequence[str]]) -> float:
    """Bits for a character, where the end of a text counts as one: the perplexity's logarithm."""
    n_tokens = sum(len(text) + 1 for text in texts)
    log_probability = sum(model.log_probability(text) for text in texts)
    return math.log2(perplexity(log_probability, n_tokens))


def write(model: LanguageModel, length: int) -> str:
    """Speech after speech, drawn from the model, until there are enough characters."""
    generator = torch.Generator().manual_seed(SEED)
    text = ""
    while len(text) < length:
        speech = "".join(model.sample(generator, max_length=length))
        text = f"{text}\n\n{speech}" if text else speech
    return text[:length]


def joined(speeches: Sequence[Sequence[str]]) -> str:
    """The speeches as one text again."""
    return "\n\n".join(map("".join, speeches))


def copied(text: str, source: str) -> float:
    """The share of a text's runs of ``RUN`` characters that also stand in its source."""
    known = {source[k : k + RUN] for k in range(len(source) - RUN + 1)}
    return share(text[k : k + RUN] in known for k in range(len(text) - RUN + 1))


def longest_copy(sample: str, source: str) -> str:
    """The longest run of a sample that stands, character by character, in its source."""
    longest = ""
    for start in range(len(sample)):
        while start + len(longest) < len(sample):
            longer = sample[start : start + len(longest) + 1]
            if longer not in source:
                break
            longest = longer
    return longest


def share(answers: Iterable[bool]) -> float:
    """The share of the answers that are yes."""
    answers = list(answers)
    return sum(answers) / len(answers)
