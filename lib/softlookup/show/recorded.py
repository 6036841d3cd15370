"""The line below what is shown of a recorded result."""

import html

from IPython.display import display

from softlookup.recorded import Record

STYLE = "font-size: 0.85em; font-style: italic; opacity: 0.8; margin: 0.25em 0 1em"
"""For Colab; on the site the style sheet has the last word."""


def show_recorded(record: Record) -> None:
    """Say in a line that what stands above was recorded: when, with what data, how long it took.

    Args:
        record: What ``recorded`` gave.
    """
    mark = record.mark()
    page = f'<p class="sl-recorded" style="{STYLE}">{html.escape(mark)}</p>'
    display({"text/html": page, "text/plain": mark}, raw=True)
