"""Results that a reader need not compute: on data that may not be at hand, or after hours.

Read in this order: ``ngram_shakespeare``, an experiment with its result beside it in a JSON file;
``experiment``, what every experiment is asked for; ``version``, the digest that says whether a
result still belongs to its code; ``record``, the file, how it is read, and how it is written;
``weights``, the model of the workshop, which its experiment has kept. The other experiments stand
in ``experiment.EXPERIMENTS``.
"""

from softlookup.recorded.experiment import EXPERIMENTS
from softlookup.recorded.record import Record, differences, recomputed, recorded
from softlookup.recorded.weights import capstone_model

__all__ = ["EXPERIMENTS", "Record", "capstone_model", "differences", "recomputed", "recorded"]
