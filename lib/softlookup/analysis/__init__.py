"""What one does with a trained model: look at its probes, mute its heads, name their patterns.

Read in this order:

- ``probes``: what a model computes on the way
- ``patterns``, ``distances``, ``induction``: what heads read, and which are alike
- ``muting`` and ``patching``: what happens without a head, or with another's numbers
- ``rollout`` and ``lens``: attention over all layers, predictions after each
- ``circuits`` and ``attribution``: what heads do by their weights, and who wrote a score
- ``superposition`` and ``autoencoder``: more features than dimensions, and how to find them
- ``spectra`` and ``collapse``: ranks of scores, and tokens that become alike
"""

from softlookup.analysis.attribution import logit_attribution, stream_writes
from softlookup.analysis.autoencoder import SparseAutoencoder, best_cosines, sparse_loss
from softlookup.analysis.circuits import (
    composition_score,
    copying_score,
    norm_matrix,
    ov_circuit,
    ov_matrices,
    qk_circuit,
    unembedding_of,
)
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
from softlookup.analysis.superposition import Bottleneck, importance_loss, sparse_features

__all__ = [
    "Bottleneck",
    "Pruning",
    "SparseAutoencoder",
    "ablated_streams",
    "attention_maps",
    "attention_rollout",
    "best_cosines",
    "capture",
    "captured_variance",
    "composition_score",
    "copying_score",
    "distance_pattern",
    "head_distance",
    "head_gates",
    "head_importance",
    "importance_loss",
    "induction_pattern",
    "induction_scores",
    "key_pattern",
    "label_heads",
    "logit_attribution",
    "logit_lens",
    "norm_matrix",
    "offset_pattern",
    "ov_circuit",
    "ov_matrices",
    "patch",
    "patching_effects",
    "pattern_scores",
    "probes_of",
    "prune_greedily",
    "qk_circuit",
    "random_stack",
    "rank_residual",
    "rarest_pattern",
    "relation_pattern",
    "repeating_texts",
    "residual_stream",
    "score_matrices",
    "sparse_features",
    "sparse_loss",
    "stream_writes",
    "token_cosine",
    "unembedding_of",
]
