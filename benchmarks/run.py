"""`make bench`: ratios of two things measured in one run, printed and written for the site.

A ratio above 1 means that the library takes longer, or more memory, than what it is compared with.
The seconds of a machine say little about another; that two things differ tenfold in one run does.
With names of sections, such as ``python benchmarks/run.py recipes``, only those are measured anew.
"""

import datetime
import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from attention import AGAINST_HEADS, GROWTH_HEADS, against_rows, growth_rows
from checking import CHECKING_HEADS, checking_rows
from efficient import TILES_HEADS, WINDOW_HEADS, tiles_rows, window_rows
from engine import ENGINE_HEADS, SIZE_HEADS, engine_rows, size_rows
from generation import GENERATION_HEADS, generation_rows
from ideas import IDEA_HEADS, idea_rows
from ngram import NGRAM_HEADS, ngram_rows
from one_head import ONE_HEAD_HEADS, one_head_rows
from recipes import LEDGER_HEADS, RECIPE_HEADS, ledger_rows, recipe_rows
from recurrence import GRU_HEADS, LENGTH_HEADS, gru_rows, length_rows
from table import table
from tf_idf import TF_IDF_HEADS, tf_idf_rows
from tokenization import TOKENIZATION_HEADS, tokenization_rows
from word2vec import WORD2VEC_HEADS, word2vec_rows

Rows = Callable[[], list[list[str]]]
PAGE = Path(__file__).parent / "last_run.md"
SECTIONS: dict[str, tuple[list[str], Rows]] = {
    "one-head": (ONE_HEAD_HEADS, one_head_rows),
    "checking": (CHECKING_HEADS, checking_rows),
    "tf-idf": (TF_IDF_HEADS, tf_idf_rows),
    "tokenization": (TOKENIZATION_HEADS, tokenization_rows),
    "word2vec": (WORD2VEC_HEADS, word2vec_rows),
    "ngram": (NGRAM_HEADS, ngram_rows),
    "gru": (GRU_HEADS, gru_rows),
    "gru-length": (LENGTH_HEADS, length_rows),
    "growth": (GROWTH_HEADS, growth_rows),
    "many-heads": (AGAINST_HEADS, against_rows),
    "generation": (GENERATION_HEADS, generation_rows),
    "engine": (ENGINE_HEADS, engine_rows),
    "engine-size": (SIZE_HEADS, size_rows),
    "window": (WINDOW_HEADS, window_rows),
    "tiles": (TILES_HEADS, tiles_rows),
    "recipes": (RECIPE_HEADS, recipe_rows),
    "ledger": (LEDGER_HEADS, ledger_rows),
    "ideas": (IDEA_HEADS, idea_rows),
}
"""The sections of the page: the heads of a table, and what measures its rows."""


def machine() -> str:
    """The machine's kind in words: no name, no path."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU used"
    return f"{platform.machine()} processor, {os.cpu_count()} cores, one thread, {gpu}"


def section(name: str) -> str:
    """Measure one section: its table, and when and where it was measured."""
    heads, measure = SECTIONS[name]
    rows = measure()
    if not rows:
        return "Not measured here: its text is not at hand."
    stamp = f"{datetime.date.today():%d %B %Y}: {machine()}, PyTorch {torch.__version__}"
    return f"{table(heads, rows)}\n\n*Measured on {stamp}.*"


def written() -> dict[str, str]:
    """The sections of the last run, by name."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return dict(re.findall(r"<!-- ([\w-]+) -->\n(.*?)\n<!-- end -->", text, re.DOTALL))


def main(names: list[str]) -> None:
    """Measure, print, write."""
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        sys.exit(f"no such section: {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    torch.set_num_threads(1)
    for name in names or SECTIONS:  # each is kept at once: a whole run takes an hour
        new = section(name)
        parts = written() | {name: new}
        texts = [f"<!-- {key} -->\n{parts[key]}\n<!-- end -->" for key in SECTIONS if key in parts]
        PAGE.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
