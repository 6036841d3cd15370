"""The matrix microscope where there is a kernel: the same switches, computed by the library."""

import html

import ipywidgets as widgets
import matplotlib.pyplot as plt
import torch
from torch import Tensor

from softlookup.attention import attention_scores, attention_weights
from softlookup.masks import causal_mask, window_mask
from softlookup.show.draw import heatmap
from softlookup.show.figure import svg_of
from softlookup.show.table import format_number

LARGEST = 1000
"""What a field takes at most, as in parts.js: no score can overflow."""

_NAMES = ("x", "W_Q", "W_K", "W_V")


def compute(state: dict) -> dict[str, Tensor]:
    """Self-attention of a state of the microscope, step by step, by the library.

    Args:
        state: The matrices ``x``, ``W_Q``, ``W_K``, ``W_V``; the switches ``scale``, ``causal``,
            ``window`` (with ``width``) and ``same``; and ``hidden``, True for each key that no
            query may read.

    Returns:
        ``Q``, ``K``, ``V``, ``mask``, ``scores``, ``weights`` and ``out``.
    """
    x, W_Q, W_K, W_V = (torch.as_tensor(state[name], dtype=torch.float64) for name in _NAMES)
    query, key, value = x @ W_Q, x @ (W_Q if state["same"] else W_K), x @ W_V
    n = len(x)
    mask = ~torch.tensor(state["hidden"]).expand(n, n)
    mask = mask & causal_mask(n) if state["causal"] else mask
    mask = mask & window_mask(n, state["width"]) if state["window"] else mask
    weights = attention_weights(query, key, mask, scale=state["scale"])
    return {
        "Q": query,
        "K": key,
        "V": value,
        "mask": mask,
        "scores": attention_scores(query, key, scale=state["scale"]),
        "weights": weights,
        "out": weights @ value,
    }


def live_view(*, tokens: list[str], start: dict, **matrices: list) -> widgets.VBox:
    """Fields, switches and choices, and below them what the library computes from them.

    Args:
        tokens: The words.
        start: The switches' first state.
        matrices: ``x``, ``W_Q``, ``W_K`` and ``W_V``, as lists of rows.
    """
    fields = {name: _fields(name, rows) for name, rows in matrices.items()}
    switches = _switches(tokens, start)
    shown = widgets.HTML()

    def update(change: dict | None = None) -> None:
        state = {name: [[f.value for f in row] for row in rows] for name, rows in fields.items()}
        state |= {name: widget.value for name, widget in switches.items()}
        state["hidden"] = [j in state["hidden"] for j in range(len(tokens))]
        shown.value = _page(tokens, state)

    all_fields = [field for rows in fields.values() for row in rows for field in row]
    for widget in [*all_fields, *switches.values()]:
        widget.observe(update, names="value")
    update()
    grids = [_grid(name, rows) for name, rows in fields.items()]
    wrap = widgets.Layout(flex_flow="row wrap")
    return widgets.VBox(
        [
            widgets.HBox(grids, layout=wrap),
            widgets.HBox(list(switches.values()), layout=wrap),
            shown,
        ]
    )


def _fields(name: str, rows: list) -> list[list[widgets.BoundedFloatText]]:
    narrow = widgets.Layout(width="5em")
    return [
        [
            widgets.BoundedFloatText(
                value,
                min=-LARGEST,
                max=LARGEST,
                step=0.1,
                layout=narrow,
                tooltip=f"{name}, row {r}, column {c}",
            )
            for c, value in enumerate(row)
        ]
        for r, row in enumerate(rows)
    ]


def _grid(name: str, rows: list) -> widgets.VBox:
    title = widgets.HTML(f"<b>{name}</b>")
    return widgets.VBox([title, *(widgets.HBox(row) for row in rows)])


def _switches(tokens: list[str], start: dict) -> dict[str, widgets.Widget]:
    places = [(token, i) for i, token in enumerate(tokens)]
    words = {
        "scale": "divide by √d_k",
        "causal": "causal mask",
        "window": "window mask",
        "same": "W_K = W_Q",
    }
    boxes = {
        name: widgets.Checkbox(start[name], description=text, indent=False)
        for name, text in words.items()
    }
    return boxes | {
        "width": widgets.IntSlider(start["width"], 0, len(tokens) - 1, description="width"),
        "hidden": widgets.SelectMultiple(options=places, description="hide keys", rows=len(tokens)),
        "query": widgets.Dropdown(options=places, value=start["query"], description="query"),
        "key": widgets.Dropdown(options=places, value=start["key"], description="key"),
    }


def _page(tokens: list[str], state: dict) -> str:
    """The two heatmaps, and the chosen weight in words."""
    result = compute(state)
    i, j = state["query"], state["key"]
    query, key = (f"<b>{html.escape(tokens[at])}</b>" for at in (i, j))
    product, score = (result["Q"][i] * result["K"][j]).sum(), result["scores"][i, j]
    mask = "" if result["mask"][i, j] else " The mask keeps it from being read."
    return (
        f"{_picture(tokens, result)}<p>{query} reads {key} with weight "
        f"{format_number(result['weights'][i, j])}: the dot product is {format_number(product)}, "
        f"the score {format_number(score)}.{mask} The output of {query} is "
        f"({', '.join(format_number(value) for value in result['out'][i])}).</p>"
    )


def _picture(tokens: list[str], result: dict[str, Tensor]) -> str:
    size = 0.55 * len(tokens) + 0.6
    figure, (left, right) = plt.subplots(1, 2, figsize=(2 * size + 0.8, size))
    heatmap(left, result["scores"], rows=tokens, columns=tokens, scale="signed")
    heatmap(right, result["weights"], rows=tokens, columns=tokens)
    left.set_title("scores S")
    right.set_title("weights A")
    svg = svg_of(figure, "Scores and weights: queries on rows, keys on columns.")
    plt.close(figure)
    return svg
