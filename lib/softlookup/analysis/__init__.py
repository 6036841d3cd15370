"""What one does with a trained model: look at its probes, mute its heads, name their patterns.

Read in this order:

- ``probes``: what a model computes on the way
- ``patterns``, ``distances``, ``induction``: what heads read, and which are alike
- ``muting`` and ``patching``: what happens without a head, or with another's numbers
- ``rollout`` and ``lens``: attention over all layers, predictions after each
- ``spectra`` and ``collapse``: ranks of scores, and tokens that become alike
"""

from softlookup.analysis.collapse import (
    ablated_streams,
    random_stack,
    rank_residual,
    token_cosine,
)
from softlookup.analysis.distances import head_distance
from softlookup.analysis.induction import induction_pattern, induction_scores, repeating_texts
from softlookup.analysis.lens import logit_lens, residual_stream
from softlookup.analysis.muting import Pruning, head_gates, head_importance, prune_greedily
from softlookup.analysis.patching import patch, patching_effects
from softlookup.analysis.patterns import (
    distance_pattern,
    key_pattern,
    label_heads,
    offset_pattern,
    pattern_scores,
    rarest_pattern,
    relation_pattern,
)
from softlookup.analysis.probes import capture, probes_of
from softlookup.analysis.rollout import attention_maps, attention_rollout
from softlookup.analysis.spectra import captured_variance, score_matrices

__all__ = [
    "Pruning",
    "ablated_streams",
    "attention_maps",
    "attention_rollout",
    "capture",
    "captured_variance",
    "distance_pattern",
    "head_distance",
    "head_gates",
    "head_importance",
    "induction_pattern",
    "induction_scores",
    "key_pattern",
    "label_heads",
    "logit_lens",
    "offset_pattern",
    "patch",
    "patching_effects",
    "pattern_scores",
    "probes_of",
    "prune_greedily",
    "random_stack",
    "rank_residual",
    "rarest_pattern",
    "relation_pattern",
    "repeating_texts",
    "residual_stream",
    "score_matrices",
    "token_cosine",
]
