"""What one does with a trained model: look at its probes, mute its heads, name their patterns."""

from softlookup.analysis.distances import head_distance
from softlookup.analysis.muting import Pruning, head_gates, head_importance, prune_greedily
from softlookup.analysis.patterns import (
    distance_pattern,
    key_pattern,
    label_heads,
    offset_pattern,
    pattern_scores,
    rarest_pattern,
    relation_pattern,
    same_token_pattern,
)
from softlookup.analysis.probes import capture
from softlookup.analysis.spectra import captured_variance, score_matrices

__all__ = [
    "Pruning",
    "capture",
    "captured_variance",
    "distance_pattern",
    "head_distance",
    "head_gates",
    "head_importance",
    "key_pattern",
    "label_heads",
    "offset_pattern",
    "pattern_scores",
    "prune_greedily",
    "rarest_pattern",
    "relation_pattern",
    "same_token_pattern",
    "score_matrices",
]
