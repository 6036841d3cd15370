"""What a chapter shows: figures, tables, the library's source, figures that answer."""

from softlookup.show.draw import bars, heatmap
from softlookup.show.figure import show_figure
from softlookup.show.interactive import Interactive
from softlookup.show.matrix_microscope import MatrixMicroscope
from softlookup.show.query_bars import QueryBars
from softlookup.show.session import setup
from softlookup.show.source import show_source
from softlookup.show.table import format_number, show_table
from softlookup.show.tfidf_bench import TfidfBench
from softlookup.show.word2vec_stepper import Word2VecStepper

__all__ = [
    "Interactive",
    "MatrixMicroscope",
    "QueryBars",
    "TfidfBench",
    "Word2VecStepper",
    "bars",
    "format_number",
    "heatmap",
    "setup",
    "show_figure",
    "show_source",
    "show_table",
]
