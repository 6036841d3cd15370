"""What a chapter shows and checks: figures, tables, the library's source, figures that answer."""

from softlookup.show.book_map import show_book_map
from softlookup.show.draw import bars, heatmap
from softlookup.show.drawing import show_drawing
from softlookup.show.equality import assert_equal
from softlookup.show.figure import show_figure
from softlookup.show.figures import FIGURES
from softlookup.show.interactive import Interactive
from softlookup.show.points import arrows, scatter_groups
from softlookup.show.prediction import reveal
from softlookup.show.recorded import show_recorded
from softlookup.show.sentences import show_readings, show_spans
from softlookup.show.session import setup
from softlookup.show.source import show_source
from softlookup.show.table import format_number, show_table
from softlookup.show.token_draw import merge_tree, token_rows
from softlookup.show.word_map import word_map

__all__ = [
    "Interactive",
    "arrows",
    "assert_equal",
    "bars",
    "format_number",
    "heatmap",
    "merge_tree",
    "reveal",
    "scatter_groups",
    "setup",
    "show_book_map",
    "show_drawing",
    "show_figure",
    "show_readings",
    "show_recorded",
    "show_source",
    "show_spans",
    "show_table",
    "token_rows",
    "word_map",
]

globals().update(FIGURES)  # a figure is found by its folder: nothing else has to know it
__all__ += FIGURES
