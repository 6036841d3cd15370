"""The model of the workshop, with the weights that its recorded run has kept."""

from softlookup.models.gpt import GPT, load_gpt
from softlookup.recorded.experiment import experiment_of
from softlookup.tokenization import BytePairTokenizer


def capstone_model() -> tuple[GPT, BytePairTokenizer]:
    """The GPT that has read tiny Shakespeare, and its tokenizer.

    Returns:
        The model, its weights rounded to half precision and kept in single precision; and the byte
        pairs that it reads and writes.

    Chapter: workshop#the-same-model-in-python.

    Example:
        >>> model, tokenizer = capstone_model()
        >>> model.config.n_layers, len(tokenizer) == model.config.vocab_size
        (4, True)
    """
    return load_gpt(experiment_of("capstone").WEIGHTS)
