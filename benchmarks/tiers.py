"""What each notebook of the book takes in a tier: seconds, memory, and what its model reached.

Each is executed alone, in a folder of its own and a fresh process, in the tier that fits the
machine, or that of the variable ``SOFTLOOKUP_TIER``. What is measured is kept at once: on a
processor in ``tiers.json``, on a card in ``cards/chapters.json``, under the tier and the card.
Where a model learns from the book's own prose, the record says from which text of it.
``python benchmarks/tiers.py`` measures what is missing there, or all where nothing is, and writes
the tables of both, ``cards/chapters.md``; with names of notebooks, as in
``python benchmarks/tiers.py training``, only these are measured. ``make gpu`` does it on a card.
"""

import datetime
import hashlib
import json
import os
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has none; the Makefile, which starts several, does not run there
    fcntl = None

import torch
from table import table

from softlookup.data import book_prose
from softlookup.training import TIER_VARIABLE, TIERS, choose_tier

sys.path.append(str(Path(__file__).parents[1] / "_ext"))
from registry import Page, notebooks

RECORD = Path(__file__).with_name("tiers.json")
CARDS = Path(__file__).with_name("cards") / "chapters.json"
TIER_HEADS = ["notebook", "CPU, s", "MB", "result", "GPU, s", "MB", "result"]
AT_ONCE = "SOFTLOOKUP_AT_ONCE"
"""The variable that says how many notebooks run at a time."""
PROCESSOR = "processor"
"""What stands in the record for the card where there is none."""

RESULTS = {
    "word2vec": "f'{excluded:.0%} of analogies'",
    "generalization": "f'{scores[\"window, n = 8\"][2]:.0%} of verbs'",
    "seq2seq": "f'{exact[0]:.1%} of sentences'",
    "transformer": "f'{right[\"Transformer\"].double().mean():.1%} of sentences'",
    "training": "f'{table[\"GPT, letters\"]:.2f} bits a byte'",
    "modern_attention": "f'{at[\"all keys\"][:, 7:64].mean():.2f} nats a letter'",
}
"""How the names of a notebook's cells tell what its largest training has reached."""
OF_THE_BOOK = ("word2vec", "training", "modern_attention")
"""Those whose result hangs on the book's prose; the others ask of planted sentences."""

BEFORE = """
import time as _time
_clock = _time.perf_counter if {on_gpu} else _time.process_time
_begun = _clock()
"""
AFTER = """
import json as _json, resource as _resource, sys as _sys, torch as _torch
_seconds = _clock() - _begun
_unit = 1 if _sys.platform == "darwin" else 1024
_peak = _unit * _resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss
if {on_gpu}:
    _peak = _torch.cuda.max_memory_allocated() if _torch.cuda.is_available() else None
print(_json.dumps({{"seconds": round(_seconds), "bytes": _peak, "result": {result}}}))
"""


def card() -> str:
    """What the tier of today computes on."""
    kind = choose_tier().device.type
    return {"cpu": PROCESSOR, "mps": "Apple GPU"}.get(kind) or torch.cuda.get_device_name()


def execute(path: Path, result: str = "None", *, on_gpu: bool = False) -> dict[str, Any]:
    """Run a notebook in an empty folder: its seconds, its peak memory, and its result.

    Without a GPU the seconds are those of one core, and the memory is that of the whole process.
    With one they are those of a clock, and the memory is what PyTorch held there.
    """
    import nbformat  # a machine without these may still measure the rest of `make gpu`
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    cells = [code.format(on_gpu=on_gpu, result=result) for code in (BEFORE, AFTER)]
    first, last = map(nbformat.v4.new_code_cell, cells)
    notebook.cells = [first, *notebook.cells, last]
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=3600, kernel_name="python3", resources=resources)
        client.create_kernel_manager()
        client.km.kernel_spec.argv[0] = sys.executable  # whatever Python a kernel of that name has
        client.execute()
    return json.loads(last.outputs[0].text)


# the record


def edition() -> str:
    """The first digits of the checksum of the book's prose: from which text a model has learned."""
    return hashlib.sha256(book_prose().encode()).hexdigest()[:12]


def read_record(*paths: Path) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """By tier, by card, by notebook: what was measured on a processor, and on cards."""
    record = {}
    for path in paths or (RECORD, CARDS):
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        record |= {tier: found[tier] for tier in TIERS if tier in found}
    return record


def measure(
    pages: Iterable[Page], path: Path | None = None, where: tuple[str, str] | None = None
) -> None:
    """Execute notebooks, and keep what they took; each at once.

    Args:
        pages: The notebooks.
        path: The record; that of the processor or that of cards if left out.
        where: Under which tier and card it is kept, in a rehearsal; those of today if left out.
    """
    os.environ |= {"OMP_NUM_THREADS": "1", "SOFTLOOKUP_STATIC": "1"}
    os.environ[TIER_VARIABLE] = choose_tier().name
    tier, on = where or (choose_tier().name, card())
    path = path or (RECORD if tier == "cpu" else CARDS)
    for page in pages:
        found = execute(page.path, RESULTS.get(page.name, "None"), on_gpu=tier != "cpu")
        if page.name in OF_THE_BOOK:
            found = found | {"text": edition()}
        with alone(path.parent):  # another process may measure other notebooks meanwhile
            record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            first = record.setdefault("measured", {}).setdefault(on, stamp())
            found = found if first == stamp() else found | {"measured": stamp()}
            record.setdefault(tier, {}).setdefault(on, {})[page.name] = found
            new = path.with_suffix(".new")
            new.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            new.replace(path)  # a whole record or none, for whoever reads it
        print(page.name, found, flush=True)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process writes in a folder; a process that dies keeps nobody waiting."""
    if fcntl is None:
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def stamp() -> str:
    """The day and the machine, in words: no name, no path."""
    where = f"{platform.machine()} processor, {os.cpu_count()} cores, one thread"
    beside = ", several notebooks at a time" if int(os.environ.get(AT_ONCE, "1")) > 1 else ""
    return f"{datetime.date.today():%d %B %Y}: {where}, PyTorch {torch.__version__}{beside}"


# the tables


def cards_of(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tier and the name of each card of a record."""
    return [(tier, name) for tier in ("gpu", "big") for name in record.get(tier, {})]


def table_rows(record: Mapping[str, Any], tier: str = "", name: str = "") -> list[list[str]]:
    """A row for each notebook: what it took on the processor, and on a card if one is named."""
    here, there = record.get("cpu", {}).get(PROCESSOR, {}), record.get(tier, {}).get(name, {})
    return [
        [link(page), *numbers(here.get(page.name)), *numbers(there.get(page.name))]
        for page in notebooks()
    ]


def tables(record: Mapping[str, Any]) -> list[str]:
    """A table for each card below its name, which may be long; one alone where there is no card."""
    lines = []
    for tier, name in cards_of(record):
        lines += [f"**{name}**, tier `{tier}`", table(TIER_HEADS, table_rows(record, tier, name))]
    return lines or [table(TIER_HEADS, table_rows(record))]


def numbers(found: Mapping[str, Any] | None) -> list[str]:
    """Seconds, megabytes and result; a dash for what nobody has measured."""
    if found is None:
        return ["–"] * 3
    megabytes = "–" if found["bytes"] is None else f"{found['bytes'] / 2**20:,.0f}"
    return [f"{found['seconds']:,}", megabytes, found["result"] or ""]


def link(page: Page) -> str:
    """A link to a page by its name; the site fills in the number of a chapter."""
    words = page.name.replace("_", " ")
    return f"[{words if page.number is None else f'{{number}} {words}'}]({page.name})"


def page_links(names: Iterable[str]) -> list[str]:
    """Links to pages in the book's order: to chapters by their number, to others by their name."""
    wanted = {*names}
    return [
        f"[chapter {{number}}]({page.name})" if page.number is not None else link(page)
        for page in notebooks()
        if page.name in wanted
    ]


def in_words(parts: list[str]) -> str:
    """A list in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def told(stamps: Mapping[str, str]) -> str:
    """By name when it was measured, in a line: the most frequent day first, others with names."""
    (first, _), *others = Counter(stamps.values()).most_common()
    named = [
        f"but {in_words([name for name, when in stamps.items() if when == other])}, {other}"
        for other, _ in others
    ]
    return "; ".join([first, *named])


def places(record: Mapping[str, Any]) -> list[tuple[str, dict[str, dict[str, Any]]]]:
    """By name the processor and each card of a record, with what was measured there."""
    found = [(name, record.get(tier, {}).get(name, {}))
             for tier, name in (("cpu", PROCESSOR), *cards_of(record))]  # fmt: skip
    return [place for place in found if place[1]]


def outdated(record: Mapping[str, Any]) -> list[str]:
    """A sentence about the results of an earlier text of the book; none if there is no such."""
    now, parts = edition(), []
    for on, taken in places(record):
        old = [name for name in OF_THE_BOOK if name in taken and taken[name].get("text") != now]
        if old:
            parts.append(f"{in_words(page_links(old))} on the {on}")
    said = "These results were measured with an earlier text of the book than the present one: "
    return [f"{said}{'; '.join(parts)}."] if parts else []


def shown(cards: Path = CARDS) -> str:
    """The tables of a processor beside each card, when each was measured, and with which text."""
    paths = [path for path in (RECORD, cards) if path.exists()]
    record, firsts = read_record(*paths), {}
    for path in paths:
        firsts |= json.loads(path.read_text(encoding="utf-8")).get("measured", {})
    stamps = [
        f"{on}, " + told({one: taken[name].get("measured", firsts[on]) for name in taken
                          for one in page_links([name]) or [name]})
        for on, taken in places(record)
        if on in firsts
    ]  # fmt: skip
    lines = tables(record)
    if stamps:
        lines.append("*Measured on: " + "; ".join(stamps) + ".*")
    lines += outdated(record)
    if all(path == RECORD for path in paths):
        lines.append("No GPU was at hand for this record. So its columns are empty, not guessed.")
    return "\n\n".join(lines) + "\n"


def lacking() -> list[Page]:
    """The notebooks that the record lacks for this tier and card; all where it is whole."""
    known = read_record().get(choose_tier().name, {}).get(card(), {})
    return [page for page in notebooks() if page.name not in known] or list(notebooks())


def main(names: list[str]) -> None:
    """Measure and write the tables."""
    if unknown := {*names} - {page.name for page in notebooks()}:
        sys.exit(f"no such notebook: {', '.join(sorted(unknown))}")
    measure([page for page in notebooks() if page.name in names] or lacking())
    CARDS.with_name("chapters.md").write_text(shown(CARDS), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
