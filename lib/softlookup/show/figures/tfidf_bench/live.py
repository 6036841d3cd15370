"""The TF-IDF bench where there is a kernel: widgets, and every number from the library."""

import html
import math
from itertools import combinations

from torch import Tensor

from softlookup.ops import cosine_similarity
from softlookup.words import (
    IDF_VARIANTS,
    TF_VARIANTS,
    count_matrix,
    document_frequency,
    inverse_document_frequency,
    ngrams,
    term_frequency,
    tf_idf,
    word_tokens,
)

MOST_DOCUMENTS = 4
_ROWS_SHOWN = 40
_BASES = {"2": 2, "10": 10, "e": math.e}


def live_view(documents: list[str], settings: dict):
    """The bench as an ``ipywidgets`` box that calls the library at every change."""
    import ipywidgets as widgets  # only where there is a kernel to answer

    areas = [
        widgets.Textarea(text, description=f"x{i}", layout={"width": "98%"})
        for i, text in enumerate(documents, start=1)
    ]
    choices = {
        "lowercase": widgets.Checkbox(settings["lowercase"], description="Fold case"),
        "n": widgets.Dropdown(
            options={"words": 1, "pairs": 2}, value=settings["n"], description="Count"
        ),
        "tf": widgets.Dropdown(options=TF_VARIANTS, value=settings["tf"], description="TF"),
        "idf": widgets.Dropdown(options=IDF_VARIANTS, value=settings["idf"], description="IDF"),
        "base": widgets.Dropdown(
            options=_BASES, value=_BASES[settings["base"]], description="Base"
        ),
    }
    table = widgets.HTML()

    def show(_change=None) -> None:
        chosen = {name: choice.value for name, choice in choices.items()}
        table.value = bench_html([area.value for area in areas], **chosen)

    for control in [*areas, *choices.values()]:
        control.observe(show, names="value")
    show()
    return widgets.VBox([*areas, widgets.HBox(list(choices.values())), table])


def bench_html(
    texts: list[str], *, lowercase: bool, n: int, tf: str, idf: str, base: int | float
) -> str:
    """The table of words and the cosines below it, as HTML; every number from the library."""
    documents = [ngrams(word_tokens(text, lowercase=lowercase), n) for text in texts]
    words = list(dict.fromkeys(word for document in documents for word in document))
    if not words:
        return "<p>Nothing to count yet.</p>"
    counts = count_matrix(documents, words)
    frequency = document_frequency(counts)
    rarity = inverse_document_frequency(frequency, len(texts), idf, base=base)
    terms, weights = term_frequency(counts, tf), tf_idf(counts, tf=tf, idf=idf, base=base)
    numbers = [*terms, frequency, rarity, *weights]
    names = [f"x{i + 1}" for i in range(len(texts))]
    heads = [f"TF {name}" for name in names] + ["N_j", "IDF"] + [f"TF-IDF {name}" for name in names]
    cosines = "".join(_cosine(weights, i, j) for i, j in combinations(range(len(texts)), 2))
    return _table(words[:_ROWS_SHOWN], heads, numbers) + _flag(rarity) + cosines


def _table(words: list[str], heads: list[str], numbers: list[Tensor]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in ["Word", *heads])
    rows = (
        f'<tr><th scope="row">{html.escape(word)}</th>'
        + "".join(f"<td>{column[j].item():.4g}</td>" for column in numbers)
        + "</tr>"
        for j, word in enumerate(words)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _flag(rarity: Tensor) -> str:
    negative = int((rarity < 0).sum())
    return f"<p>⚑ {negative} of {len(rarity)} IDFs negative.</p>" if negative else ""


def _cosine(weights: Tensor, i: int, j: int) -> str:
    defined = bool(weights[i].any()) and bool(weights[j].any())
    value = f"{cosine_similarity(weights[i], weights[j]).item():.4f}" if defined else "0/0"
    return f"<p>cos(x{i + 1}, x{j + 1}) = {value} with TF-IDF</p>"
