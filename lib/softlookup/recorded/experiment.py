"""What an experiment is: a module of this package that has ``DATA``, ``SEED`` and three functions.

``DATA`` names the data sets in ``SOURCES``, and ``OWN_DATA``, where there is one, has the checksums
of what comes with the library; ``SEED`` is where its chance begins; ``load()`` gives
the data or None; ``run(data, ...)`` gives the results, plain numbers, words, lists and
dictionaries; ``run_small()`` does the same with a text that comes with the module, in seconds.
"""

import importlib
import io
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from softlookup.checks import require_choice

FOLDER = Path(__file__).parent
EXPERIMENTS = (
    "capstone",
    "capstone_prose",
    "counted_captions",
    "heads_captions",
    "ngram_shakespeare",
    "pronoun_captions",
    "sentence_search",
    "sentences_gpt",
    "seq2seq_multi30k",
    "shakespeare_gpt",
    "sms_filters",
    "tokens_multi30k",
    "transformer_multi30k",
    "word2vec_captions",
)
"""The names of the experiments: of each there is a module, and a JSON file with its result."""


def experiment_of(name: str) -> ModuleType:
    """The module of an experiment.

    Args:
        name: One of ``EXPERIMENTS``.

    Raises:
        ValueError: There is no experiment of this name.

    Example:
        >>> experiment_of("ngram_shakespeare").DATA
        ('tiny_shakespeare',)
    """
    require_choice(EXPERIMENTS, name=name)
    return importlib.import_module(f"softlookup.recorded.{name}")


def data_of(name: str) -> tuple[object | None, str]:
    """The data of an experiment, and the words that its loader printed.

    Args:
        name: One of ``EXPERIMENTS``.

    Returns:
        The data, None if it is not at hand; and the line in which the loader says why, or "".

    Raises:
        ValueError: There is no experiment of this name.
    """
    printed = io.StringIO()
    with redirect_stdout(printed):
        data = experiment_of(name).load()
    return data, printed.getvalue().strip()
