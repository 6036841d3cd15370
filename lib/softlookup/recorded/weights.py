"""The models of the workshop, with the weights that their recorded runs have kept."""

from typing import Literal

from softlookup.checks import require_choice
from softlookup.models.gpt import GPT, load_gpt
from softlookup.recorded.experiment import experiment_of
from softlookup.tokenization import BytePairTokenizer

MODELS = {"shakespeare": "capstone", "book": "capstone_prose"}
"""What a model has read, and the experiment that trained it."""


def capstone_model(
    read: Literal["shakespeare", "book"] = "shakespeare",
) -> tuple[GPT, BytePairTokenizer]:
    """A GPT of the workshop, and its tokenizer.

    Args:
        read: What it has read: "shakespeare", tiny Shakespeare, or "book", the prose of this one.

    Returns:
        The model, its weights rounded to half precision and kept in single precision; and the
        tokens that it reads and writes.

    Raises:
        ValueError: There is no model that has read this.

    Chapter: workshop#the-same-model-in-python.

    Example:
        >>> model, tokenizer = capstone_model()
        >>> model.config.n_layers, len(tokenizer) == model.config.vocab_size
        (4, True)
    """
    require_choice(MODELS, read=read)
    return load_gpt(experiment_of(MODELS[read]).WEIGHTS)
