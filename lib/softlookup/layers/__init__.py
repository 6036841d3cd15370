"""The layers without attention, from which deep networks are built.

Read in this order:

- ``residual``: a layer adds to what came in
- ``recurrence`` and ``backpropagation``: a state handed on word by word, and its gradient
- ``normalization``: rows brought to one scale
- ``feed_forward``: two linear maps with an activation between them
- ``experts``: many feed-forward layers, of which each token takes a few
"""

from softlookup.layers.backpropagation import Gradients, bptt, hidden_gradients
from softlookup.layers.experts import MixtureOfExperts, Routing, balance_loss, expert_load, route
from softlookup.layers.feed_forward import ACTIVATIONS, Activation, FeedForward, GatedFeedForward
from softlookup.layers.normalization import LayerNorm, RMSNorm, layer_norm, rms_norm
from softlookup.layers.recurrence import GRUCell, LSTMCell, RNNCell, rnn_step, unroll
from softlookup.layers.residual import Residual

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "FeedForward",
    "GRUCell",
    "GatedFeedForward",
    "Gradients",
    "LSTMCell",
    "LayerNorm",
    "MixtureOfExperts",
    "RMSNorm",
    "RNNCell",
    "Residual",
    "Routing",
    "balance_loss",
    "bptt",
    "expert_load",
    "hidden_gradients",
    "layer_norm",
    "rms_norm",
    "rnn_step",
    "route",
    "unroll",
]
