"""Tables: readable by eye, by ear and as plain text."""

import html
import math
import re
from collections.abc import Sequence

from IPython.display import display
from torch import Tensor

from softlookup.checks import require, require_int

_WRITTEN = r"[+−-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?"
_QUANTITY = re.compile(rf"{_WRITTEN}(–{_WRITTEN})?(%|×| ([KMG]iB|million|billion))?")
"""A number as a chapter writes it: 16,384 and −0.03, 97% and 576.0 GiB, 79–81%."""


def format_number(value: object, digits: int = 4) -> str:
    """A number at ``digits`` significant digits; whole numbers and words as they are.

    Args:
        value: A number, a one-element tensor, or anything else with a ``str``.
        digits: Significant digits, at least 1.

    Raises:
        ValueError: ``digits`` is less than 1.

    Example:
        >>> format_number(0.30103), format_number(2.0), format_number("not")
        ('0.301', '2', 'not')
    """
    require_int(1, digits=digits)
    value = value.item() if isinstance(value, Tensor) else value
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value) or (value == int(value) and abs(value) < 10**6):
        return f"{value:.0f}" if math.isfinite(value) else str(value)
    return f"{value:.{digits}g}"


def show_table(
    values: Tensor | Sequence[Sequence[object]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    caption: str,
    corner: str = "",
    digits: int = 4,
) -> None:
    """Show a table whose rows and columns have names.

    Args:
        values: One sequence per row: numbers, tensors of one element, or words.
        rows: The rows' names.
        columns: The columns' names.
        caption: What the table shows.
        corner: The heading of the column of row names.
        digits: Significant digits of the numbers.

    Raises:
        ValueError: The table's size does not fit its names, or ``caption`` is empty.
    """
    values = [list(row) for row in values]
    require(bool(caption.strip()), "caption must not be empty", caption=caption)
    require(
        len(values) == len(rows),
        "values must have one row per row name",
        values=len(values),
        rows=len(rows),
    )
    for name, row in zip(rows, values, strict=True):
        require(
            len(row) == len(columns),
            f"row {name!r} must have one value per column",
            values=len(row),
            columns=len(columns),
        )
    cells = [[format_number(value, digits) for value in row] for row in values]
    display(
        {
            "text/html": _html(cells, rows, columns, caption, corner),
            "text/plain": _plain(cells, rows, columns, corner),
        },
        raw=True,
    )


def _html(cells, rows, columns, caption, corner) -> str:
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    corner = f'<th scope="col">{html.escape(corner)}</th>' if corner else "<td></td>"
    body = "\n".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(
            f"<td>{html.escape(cell.replace('-', '−'))}</td>"
            if _is_number(cell)
            else f'<td class="sl-word">{html.escape(cell)}</td>'
            for cell in row
        )
        + "</tr>"
        for name, row in zip(rows, cells, strict=True)
    )
    return (
        f'<div class="sl-table" role="region" tabindex="0" aria-label="{html.escape(caption)}" '
        f'style="overflow-x: auto">\n<table>\n<caption>{html.escape(caption, quote=False)}'
        f"</caption>\n<thead><tr>{corner}{heads}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _plain(cells, rows, columns, corner) -> str:
    lines = [[corner, *columns], *([name, *row] for name, row in zip(rows, cells, strict=True))]
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns) + 1)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
        for line in lines
    )


def _is_number(cell: str) -> bool:
    """Whether a cell stands on the right, so that sizes in one column can be compared by eye."""
    if _QUANTITY.fullmatch(cell):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True
