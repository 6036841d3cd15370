"""The line below what is shown of a recorded result."""

import html

from IPython.display import display

from softlookup.recorded import Record


def show_recorded(record: Record) -> None:
    """Say in a line that what stands above was recorded: when, with what data, how long it took.

    Args:
        record: What ``recorded`` gave.
    """
    mark = record.mark()
    page = f'<p class="sl-recorded"><em>{html.escape(mark)}</em></p>'
    display({"text/html": page, "text/plain": mark}, raw=True)
