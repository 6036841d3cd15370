"""The idea ledger: one text, one task, one idea more in each row, and what it bought.

The text is the book's own prose; every tenth paragraph is held out. Each model
gives the next byte a probability. ``--rates`` tries the learning rates and the sizes of counting on
a part of the *training* text; the best of them stand below. What is measured goes into
``ideas.json`` at once: a measurement that was broken off goes on where it was, and a whole one is
made anew. With keys of rows, only these are measured, where they are missing.
"""

import json
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from idea_models import CONTEXT, LETTERS, N_STEPS, Idea, ideas
from recipes import loss_of_batch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from softlookup.attention import peak_memory
from softlookup.data import book_prose
from softlookup.data.prose import SHA256, tenth_out
from softlookup.language_models import AddK, KneserNey, NGramModel, bits_per_byte
from softlookup.models import GPT
from softlookup.show.figure import figure_html
from softlookup.tokenization import BytePairTokenizer
from softlookup.training import train_model

BATCH = 8
SEEDS = (1, 2, 3)
RECORD = Path(__file__).with_name("ideas.json")
PICTURE = Path(__file__).with_name("ideas.html")
PLAN = {"context": CONTEXT, "batch": BATCH, "steps": N_STEPS, "seeds": list(SEEDS)}
IDEA_HEADS = ["idea", "bits a byte", "of three seeds", "it bought", "CPU seconds"]
IDEA_HEADS += ["numbers learned", "training, MB", "kept, bytes"]
TO = "\N{WORD JOINER}–\N{WORD JOINER}"
"""A dash at which no line is broken."""
CAPTION = (
    "Bits a byte of held-out text after each idea, a dot for each seed. Squares, and the dashed "
    "line at the best of them, are counts. Further left is better."
)


# text


@dataclass(frozen=True)
class Text:
    """A part of the prose as ids, and how many of them are a window.

    Attributes:
        ids: A line feed, then the text.
        n: How many ids are read at once: in bytes, always about the same.
        n_bytes: How many bytes the text has.
    """

    ids: Tensor
    n: int
    n_bytes: int


def halves(*, tuning: bool = False) -> tuple[str, str]:
    """What is learned from and what is held out; for tuning, both are parts of the former."""
    lines = book_prose().splitlines()
    if tuning:
        lines, _ = tenth_out(lines)
    return tuple("".join(f"{line}\n" for line in part) for part in tenth_out(lines))


def encoded(parts: tuple[str, str], vocab_size: int) -> list[Text]:
    """Both parts as ids of bytes, or of subwords learned from the first."""
    tokenizer = BytePairTokenizer.train(parts[:1], vocab_size)  # with 256 ids nothing is merged
    texts = [tokenizer.encode("\n" + part) for part in parts]
    share = len(texts[0]) / len(("\n" + parts[0]).encode())
    n = 2 * round(CONTEXT * share / 2)
    return [
        Text(torch.tensor(ids), n, len(part.encode()))
        for ids, part in zip(texts, parts, strict=True)
    ]


def batches(text: Text, generator: torch.Generator) -> Iterator[Tensor]:
    """Windows of the text, drawn by chance: what is read, and one id more."""
    while True:
        first = torch.randint(len(text.ids) - text.n, (BATCH, 1), generator=generator)
        yield text.ids[first + torch.arange(text.n + 1)]


# measures


@torch.no_grad()
def bits(model: nn.Module, text: Text) -> float:
    """Bits per byte; each id is scored with half a window to a window before it.

    Each window begins half a window after the one before; of all but the first, the second half is
    scored.
    """
    half, windows = text.n // 2, text.ids.unfold(0, text.n + 1, text.n // 2)
    pieces = [(windows[:1], 0), *((piece, half) for piece in windows[1:].split(64))]
    covered = half * (len(windows) - 1) + text.n
    pieces += [(text.ids[None, covered - half :], half)] if covered < len(text.ids) - 1 else []
    total = 0.0
    for ids, skipped in pieces:
        scores = model(ids[:, :-1])[:, skipped:].flatten(0, 1)
        total += cross_entropy(scores, ids[:, 1 + skipped :].flatten(), reduction="sum").item()
    return bits_per_byte(-total, text.n_bytes)


def counted_bits(model: NGramModel, text: Text) -> float:
    """The same of a model that counts, which looks back less than half a window."""
    ids = model.ids([LETTERS[byte] for byte in text.ids.tolist()])
    before = model.n - 1
    rows = (model.next_word_ids(ids[max(0, i - before) : i])[ids[i]] for i in range(1, len(ids)))
    return bits_per_byte(sum(math.log(row) for row in rows), text.n_bytes)


def counted(idea: Idea, text: Text) -> NGramModel:
    """The model, once it has counted."""
    return idea.make([[LETTERS[byte] for byte in text.ids.tolist()]], words=LETTERS)


def trained(idea: Idea, text: Text, seed: int) -> nn.Module:
    """The model, once it has learned."""
    torch.manual_seed(seed)
    model = idea.model()
    train_model(
        model,
        loss_of_batch,
        batches(text, torch.Generator().manual_seed(seed)),
        optimizers=idea.optimizers(model),
        n_steps=idea.n_steps,
        schedule=idea.share,
        clip=1.0,
    )
    return model


def training_bytes(idea: Idea, text: Text) -> int:
    """The most that a step of training holds: parameters, gradients, means, and the way back."""
    model, batch = idea.model(), next(batches(text, torch.Generator().manual_seed(0)))
    optimizers = idea.optimizers(model)

    def step() -> None:
        model.zero_grad()
        loss_of_batch(model, batch).backward()
        for optimizer in optimizers:
            optimizer.step()

    step()  # from now on the optimizers have their means
    model.zero_grad()
    peak = peak_memory(step)
    states = [state for optimizer in optimizers for state in optimizer.state.values()]
    held = [*model.parameters(), *(t for state in states for t in state.values())]
    return peak + sum(tensor.nbytes for tensor in held)


def counting_bytes(idea: Idea, text: Text) -> int:
    """The most that counting holds."""
    tracemalloc.start()
    counted(idea, text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def sizes(idea: Idea, learn: Text) -> dict[str, int]:
    """What does not depend on the seed."""
    if idea.rate is None:
        followers = counted(idea, learn).followers.values()
        found = {"numbers": sum(map(len, followers)), "training": counting_bytes(idea, learn)}
    else:
        model = idea.model()
        numbers = sum(parameter.numel() for parameter in model.parameters())
        found = {"numbers": numbers, "training": training_bytes(idea, learn)}
        if isinstance(model, GPT):
            return found | {"kept": model.start(learn.ids[None, : learn.n]).n_bytes}
    return found | {"kept": idea.kept_bytes}


def run(idea: Idea, parts: tuple[str, str], seed: int) -> tuple[float, float]:
    """Learn once: bits per byte of the other part, and the CPU seconds of learning."""
    start = time.process_time()
    learn, held = encoded(parts, idea.vocab_size)
    model = counted(idea, learn) if idea.rate is None else trained(idea, learn, seed)
    spent = time.process_time() - start
    return (counted_bits if idea.rate is None else bits)(model, held), spent


# the record


def read_record() -> dict[str, Any]:
    """What was measured of this text by this plan; empty where it was another."""
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    head = {"corpus": SHA256, "plan": PLAN}
    same = {key: record.get(key) for key in head} == head
    return record if same else head | {"ideas": {}}


def is_whole(record: dict[str, Any]) -> bool:
    """Whether every row has all its runs, and was measured as it stands now."""
    wanted = {i.key: (i.settings, 1 if i.rate is None else len(SEEDS)) for i in ideas()}
    rows = record["ideas"].items()
    return wanted == {key: (found["settings"], len(found["bits"])) for key, found in rows}


def write_record(record: dict[str, Any]) -> None:
    """One line for each row."""
    order = [idea.key for idea in ideas() if idea.key in record["ideas"]]
    lines = [f"  {json.dumps(key)}: {json.dumps(record['ideas'][key])}" for key in order]
    head = [f" {json.dumps(key)}: {json.dumps(record[key])},\n" for key in ("corpus", "plan")]
    text = "{\n" + "".join(head) + ' "ideas": {\n' + ",\n".join(lines) + "\n }\n}\n"
    RECORD.write_text(text, encoding="utf-8")


def measure(keys: Collection[str] = ()) -> dict[str, Any]:
    """Every run that the record lacks, or those of some rows; all of them where it is whole."""
    parts = halves()
    if is_whole(read_record()) and not keys:
        RECORD.unlink()
    for seed in SEEDS:
        for idea in ideas():
            found = read_record()["ideas"].get(idea.key, {})
            if found.get("settings") != idea.settings:
                found = {"settings": idea.settings, "bits": [], "seconds": []}
            done = len(found["bits"]) > (0 if idea.rate is None else SEEDS.index(seed))
            if done or (keys and idea.key not in keys):
                continue
            if "numbers" not in found:
                found |= sizes(idea, encoded(parts, idea.vocab_size)[0])
            for key, value in zip(("bits", "seconds"), run(idea, parts, seed), strict=True):
                found[key].append(round(value, 6))
            record = read_record()  # another process may have written other rows meanwhile
            record["ideas"][idea.key] = found
            write_record(record)
            print(idea.key, seed, found["bits"][-1], found["seconds"][-1], flush=True)
    return read_record()


# the table


def in_decimals(value: float) -> str:
    """Three digits, and no fewer than those before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def table_rows(record: dict[str, Any]) -> list[list[str]]:
    """The rows of the page: medians, and from the least to the most."""
    rows, before = [], None
    for idea in ideas():
        found = record["ideas"][idea.key]
        middle = round(statistics.median(found["bits"]), 3)
        ends = f"{min(found['bits']):.3f}{TO}{max(found['bits']):.3f}"
        rows.append([
            f"[{idea.says}]({idea.place})",
            f"{middle:.3f}",
            ends if len(found["bits"]) > 1 else "",
            "" if before is None else f"{before - middle:+.3f}".replace("-", "−"),
            in_decimals(statistics.median(found["seconds"])),
            f"{found['numbers']:,}",
            in_decimals(found["training"] / 2**20),
            f"{found['kept']:,}",
        ])  # fmt: skip
        before = middle
    return rows


def idea_rows() -> list[list[str]]:
    """Measure, and show."""
    record = measure()
    PICTURE.write_text(picture(record), encoding="utf-8")
    return table_rows(record)


def picture(record: dict[str, Any]) -> str:
    """Each row's bits: a dot for each seed, a square for what was counted."""
    found = [(idea.says, record["ideas"][idea.key]["bits"]) for idea in ideas()]
    counts = statistics.median(record["ideas"]["kneser-ney"]["bits"])
    bottom = 20 * len(found) + 6

    def x(value: float) -> str:
        return f"{205 + 45 * (value - 1.5):.1f}"

    lines = [
        f'<path d="M{x(tick)} 4V{bottom}" stroke="var(--sl-line, #c9c9c6)"/>'
        f'<text x="{x(tick)}" y="{bottom + 14}" text-anchor="middle">{tick}</text>'
        for tick in (2, 3, 4, 5)
    ]
    orange = 'fill="var(--sl-orange, #985900)"'
    dashed = 'stroke="var(--sl-orange, #985900)" stroke-dasharray="4 3"'
    lines.append(f'<path d="M{x(counts)} 4V{bottom}" {dashed}/>')
    lines.append(f'<text x="{x(3.25)}" y="{bottom + 30}" text-anchor="middle">bits a byte</text>')
    for k, (says, bits_of_seeds) in enumerate(found):
        y = 20 * k + 15
        lines.append(f'<text x="195" y="{y + 4}" text-anchor="end">{says}</text>')
        for value in bits_of_seeds:
            square = f'<path d="M{x(value)} {y - 4}m-4 0h8v8h-8z" {orange}/>'
            dot = f'<circle cx="{x(value)}" cy="{y}" r="3.5" fill="var(--sl-blue, #0072b2)"/>'
            lines.append(dot if len(bits_of_seeds) > 1 else square)
    best = min(found, key=lambda row: statistics.median(row[1]))[0]
    alt = f"Of {len(found)} rows, the fewest bits a byte has: {best}."
    opening = (
        f'<svg role="img" aria-label="{alt}" viewBox="0 0 380 {bottom + 36}" '
        'style="width: 100%; max-width: 560px; height: auto" font-size="12" fill="currentColor">'
    )
    svg = "\n".join([opening, *lines, "</svg>"])
    return figure_html(svg, caption=CAPTION, name="fig-ideas") + "\n"


# the search


def grids() -> dict[str, list[dict[str, Any]]]:
    """What is tried of some ideas, each from the least to the most.

    An idea that has no line here takes the rate of the one before it.
    """
    return {
        "pairs": [{"make": partial(AddK, n=2, k=k)} for k in (0.003, 0.01, 0.03, 0.1, 0.3)],
        "kneser-ney": [{"make": partial(KneserNey, n=n, discount=discount)}
                       for n in (6, 9, 12, 15, 20) for discount in (0.75, 0.9, 0.95, 0.98)],
        **{key: [{"rate": rate} for rate in (1e-3, 3e-3, 1e-2, 3e-2)]
           for key in ("window", "state", "gates", "head", "places", "heads")},
        **{key: [{"rate": rate} for rate in (2e-3, 4e-3, 8e-3, 1.6e-2)]
           for key in ("block", "depth", "cosine", "rotary", "modern")},
        "muon": [{"matrix_rate": rate} for rate in (0.01, 0.02, 0.04)],
    }  # fmt: skip


def try_rates(names: list[str]) -> None:
    """One seed, on a tenth of the training text: the best rates and sizes."""
    parts, by_key = halves(tuning=True), {idea.key: idea for idea in ideas()}
    for key in names or grids():
        for changes in grids()[key]:
            found, spent = run(replace(by_key[key], **changes), parts, seed=0)
            print(key, changes, f"{found:.3f} bits a byte, {spent:.1f} s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if "--rates" in sys.argv[1:]:
        try_rates(sys.argv[2:])
    else:
        measure(sys.argv[1:])
