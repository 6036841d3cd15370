"""The TF-IDF bench: edit the documents, choose the variants, watch the weights."""

import math
from collections.abc import Sequence

from softlookup.checks import require, require_choice, require_int
from softlookup.data import LECTURE_SENTENCES
from softlookup.show.figures.tfidf_bench.live import MOST_DOCUMENTS, live_view
from softlookup.show.interactive import Interactive
from softlookup.words import IDF_VARIANTS, TF_VARIANTS

LECTURE = LECTURE_SENTENCES
"""The two documents of the lecture's tables."""

_ALT = (
    "A table of words with their term frequency in each document, the number of documents that "
    "hold them, their IDF and their TF-IDF, computed as you edit the documents and choose variants."
)
_CAPTION = (
    "The TF-IDF bench. Edit the documents or choose another variant, and every number follows. "
    "Point at a number, or tap it, to see the sum that made it."
)
_BASES = {10: "10", math.e: "e", 2: "2"}
_MOST_CHARACTERS = 50_000
_DEFAULTS = {"lowercase": False, "n": 1, "tf": "count", "idf": "log", "base": "10"}
_EXAMPLES = (
    {
        "label": "Capitals",
        "documents": ["This is a sentence.", "A sentence."],
        "settings": {**_DEFAULTS, "tf": "binary"},
        "hint": "“a” and “A” are two words. Fold case, and they are one; then count pairs.",
    },
    {
        "label": "Threefold",
        "documents": [
            "Rain again today.",
            "Rain again today. Rain again today. Rain again today.",
            "Sun again tomorrow.",
        ],
        "settings": _DEFAULTS,
        "hint": "The counts grow threefold; the cosine of x1 and x2 is 1 all the same. "
        "Choose percent: now the two columns agree too.",
    },
    {
        "label": "Reordered",
        "documents": ["Not good, very bad.", "Very good, not bad."],
        "settings": {**_DEFAULTS, "lowercase": True, "idf": "smooth"},
        "hint": "Word by word they are the same document. Count pairs, and they share nothing.",
    },
    {
        "label": "Below zero",
        "documents": ["Win a prize now!", "Win now, or call me.", "Call me now."],
        "settings": {**_DEFAULTS, "lowercase": True, "idf": "log_plus_one"},
        "hint": "“now” is in all three documents. What does it do to the cosines? "
        "Choose the last variant, the usual repair.",
    },
)


class TfidfBench(Interactive):
    """TF-IDF of documents that the reader edits, under variants that the reader chooses.

    Args:
        documents: What the bench starts with: 2 to 4 texts, 50,000 characters in all.
        lowercase: Whether it starts with case folded.
        n: Whether it starts with words (1) or pairs of neighbouring words (2).
        tf: The first variant of ``softlookup.words.term_frequency``.
        idf: The first variant of ``softlookup.words.inverse_document_frequency``.
        base: The first base of the logarithm: 10, e or 2.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A value is none of these, or as ``Interactive``.

    Source: lecture 000, "TF-IDF". Chapter: counting_words#tf-idf.

    Example:
        >>> TfidfBench(idf="log_plus_one").name
        'fig-tfidf-bench'
    """

    def __init__(
        self,
        documents: Sequence[str] = LECTURE,
        *,
        lowercase: bool = False,
        n: int = 1,
        tf: str = "count",
        idf: str = "log",
        base: int | float = 10,
        name: str = "fig-tfidf-bench",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_documents(documents)
        _require_settings(n, tf, idf, base)
        self.settings = {"lowercase": bool(lowercase), "n": n, "tf": tf, "idf": idf}
        self.settings["base"] = _BASES[base]
        self.documents = list(documents)
        super().__init__(
            name=name,
            data={"examples": [self._start(), *_EXAMPLES]},
            alt=alt,
            caption=caption,
        )

    def live(self):
        """The same in ``ipywidgets``, with every number computed by the library."""
        return live_view(self.documents, self.settings)

    def _start(self) -> dict:
        """What the bench opens with, and what its first button restores."""
        lecture = self.documents == list(LECTURE)
        label = "The lecture’s pair" if lecture else "The first documents"
        question = "Every word of x1 is also in x2. What does that do to its TF-IDF?"
        hint = question if lecture else "Edit the documents; the first button brings them back."
        return {
            "label": label,
            "documents": self.documents,
            "settings": self.settings,
            "hint": hint,
        }


def _require_documents(documents: Sequence[str]) -> None:
    texts = not isinstance(documents, str) and all(isinstance(text, str) for text in documents)
    require(texts, "documents must be a list of texts", documents=documents)
    few = 2 <= len(documents) <= MOST_DOCUMENTS
    require(few, f"documents must be 2 to {MOST_DOCUMENTS} texts", n_documents=len(documents))
    size = sum(map(len, documents))
    rule = f"documents must have at most {_MOST_CHARACTERS} characters in all"
    require(size <= _MOST_CHARACTERS, rule, characters=size)


def _require_settings(n: int, tf: str, idf: str, base: int | float) -> None:
    require_int(1, n=n)
    require(n <= 2, "n must be 1 or 2", n=n)
    require_choice(TF_VARIANTS, tf=tf)
    require_choice(IDF_VARIANTS, idf=idf)
    require(base in _BASES, "base must be 2, 10 or e", base=base)
