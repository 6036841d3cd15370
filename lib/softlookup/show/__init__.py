"""What a chapter shows: figures, tables, the library's source, figures that answer."""

from softlookup.show.attention_atlas import AttentionAtlas
from softlookup.show.book_map import show_book_map
from softlookup.show.bpe_player import BpePlayer
from softlookup.show.bug_hunt import BugHunt
from softlookup.show.collapse_cloud import CollapseCloud
from softlookup.show.cost_sliders import CostSliders
from softlookup.show.decoder_steps import DecoderSteps
from softlookup.show.draw import bars, heatmap
from softlookup.show.figure import show_figure
from softlookup.show.head_mixer import HeadMixer
from softlookup.show.information_flow import InformationFlow
from softlookup.show.interactive import Interactive
from softlookup.show.kernel_playground import KernelPlayground
from softlookup.show.mask_player import MaskPlayer
from softlookup.show.matrix_microscope import MatrixMicroscope
from softlookup.show.next_words import NextWords
from softlookup.show.parameter_calculator import ParameterCalculator
from softlookup.show.patch_cutter import PatchCutter
from softlookup.show.points import arrows, scatter_groups
from softlookup.show.query_bars import QueryBars
from softlookup.show.referent_switch import ReferentSwitch
from softlookup.show.rnn_stepper import RnnStepper
from softlookup.show.rotation_dial import RotationDial
from softlookup.show.rule_lights import RuleLights
from softlookup.show.sampling_filters import SamplingFilters
from softlookup.show.sentences import show_readings, show_spans
from softlookup.show.session import setup
from softlookup.show.shuffle_square import ShuffleSquare
from softlookup.show.similarity_plane import SimilarityPlane
from softlookup.show.sinusoid_explorer import SinusoidExplorer
from softlookup.show.soft_lookup import SoftLookup
from softlookup.show.source import show_source
from softlookup.show.spectral_sliders import SpectralSliders
from softlookup.show.streaming_simulator import StreamingSimulator
from softlookup.show.table import format_number, show_table
from softlookup.show.tfidf_bench import TfidfBench
from softlookup.show.token_draw import merge_tree, token_rows
from softlookup.show.word2vec_stepper import Word2VecStepper
from softlookup.show.word_map import word_map

__all__ = [
    "AttentionAtlas",
    "BpePlayer",
    "BugHunt",
    "CollapseCloud",
    "CostSliders",
    "DecoderSteps",
    "HeadMixer",
    "InformationFlow",
    "Interactive",
    "KernelPlayground",
    "MaskPlayer",
    "MatrixMicroscope",
    "NextWords",
    "ParameterCalculator",
    "PatchCutter",
    "QueryBars",
    "ReferentSwitch",
    "RnnStepper",
    "RotationDial",
    "RuleLights",
    "SamplingFilters",
    "ShuffleSquare",
    "SimilarityPlane",
    "SinusoidExplorer",
    "SoftLookup",
    "SpectralSliders",
    "StreamingSimulator",
    "TfidfBench",
    "Word2VecStepper",
    "arrows",
    "bars",
    "format_number",
    "heatmap",
    "merge_tree",
    "scatter_groups",
    "setup",
    "show_book_map",
    "show_figure",
    "show_readings",
    "show_source",
    "show_spans",
    "show_table",
    "token_rows",
    "word_map",
]
