"""What each notebook of the book takes in a tier: seconds, memory, and what its model reached.

Each is executed alone, in a folder of its own and a fresh process, in the tier that fits the
machine, or that of the variable ``SOFTLOOKUP_TIER``. What is measured goes into ``tiers.json`` at
once, under the tier and the card. ``python benchmarks/run.py tiers`` measures what is missing
there, or all where nothing is, and writes the table; with names of notebooks, as in
``python benchmarks/tiers.py training``, only these are measured, and no table is written.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import torch
from nbclient import NotebookClient

from softlookup.training import TIER_VARIABLE, choose_tier

sys.path.append(str(Path(__file__).parents[1] / "_ext"))
from registry import Page, notebooks

RECORD = Path(__file__).with_name("tiers.json")
TIER_HEADS = ["notebook", "CPU, s", "MB", "result", "GPU", "s", "MB", "result"]
PROCESSOR = "processor"
"""What stands in the record for the card where there is none."""

RESULTS = {
    "word2vec": "f'{excluded:.0%} of analogies'",
    "neural_language_models": "f'{scores[\"window, n = 8\"][2]:.0%} of verbs'",
    "seq2seq": "f'{exact[0]:.1%} of sentences'",
    "transformer": 'f\'{sum(s == list(e) for s, e in zip(said["Transformer"], english))'
    " / len(english):.1%} of sentences'",
    "training": "f'{table[\"GPT, letters\"]:.2f} bits a byte'",
    "modern_attention": "f'{at[\"all keys\"][:, 7:64].mean():.2f} nats a letter'",
}
"""How the names of a notebook's cells tell what its largest training has reached."""

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
    notebook = nbformat.read(path, as_version=4)
    cells = [code.format(on_gpu=on_gpu, result=result) for code in (BEFORE, AFTER)]
    first, last = map(nbformat.v4.new_code_cell, cells)
    notebook.cells = [first, *notebook.cells, last]
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=3600, kernel_name="python3", resources=resources).execute()
    return json.loads(last.outputs[0].text)


# the record


def read_record() -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """By tier, by card, by notebook: what was measured."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def measure(pages: Iterable[Page]) -> None:
    """Execute notebooks, and keep what they took; each at once."""
    tier, on = choose_tier().name, card()
    os.environ |= {"OMP_NUM_THREADS": "1", "SOFTLOOKUP_STATIC": "1", TIER_VARIABLE: tier}
    for page in pages:
        found = execute(page.path, RESULTS.get(page.name, "None"), on_gpu=tier != "cpu")
        record = read_record()  # another process may have measured other notebooks meanwhile
        record.setdefault(tier, {}).setdefault(on, {})[page.name] = found
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(page.name, found, flush=True)


# the table


def table_rows(record: Mapping[str, Any]) -> list[list[str]]:
    """A row for each notebook, and one more for each further card."""
    cards = [(tier, name) for tier in ("gpu", "big") for name in record.get(tier, {})]
    rows = []
    for page in notebooks():
        here = record.get("cpu", {}).get(PROCESSOR, {}).get(page.name)
        left = [link(page), *numbers(here)]
        found = [[name, *numbers(taken)] for tier, name in cards
                 if (taken := record[tier][name].get(page.name))]  # fmt: skip
        for i, right in enumerate(found or [["–"] * 4]):
            rows.append([*(left if i == 0 else [""] * len(left)), *right])
    return rows


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


def tier_rows() -> list[list[str]]:
    """Measure the notebooks that the record lacks, or all where it is whole; and show."""
    known = read_record().get(choose_tier().name, {}).get(card(), {})
    lacking = [page for page in notebooks() if page.name not in known]
    measure(lacking or notebooks())
    return table_rows(read_record())


if __name__ == "__main__":
    unknown = {*sys.argv[1:]} - {page.name for page in notebooks()}
    if unknown:
        sys.exit(f"no such notebook: {', '.join(sorted(unknown))}")
    measure(page for page in notebooks() if page.name in sys.argv[1:] or not sys.argv[1:])
