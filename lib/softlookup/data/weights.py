"""The real GPT-2 and BERT, if the reader fetches them: half a gigabyte each."""

from collections.abc import Mapping
from typing import NamedTuple

from softlookup.checks import require_choice
from softlookup.data.downloads import cache_folder, fetch
from softlookup.data.sources import SOURCES
from softlookup.models import BERT, GPT, BERTConfig, GPTConfig
from softlookup.models.pretrained import BERTTokenizer, GPT2Tokenizer, load_bert, load_gpt2

CONFIGS: Mapping[str, GPTConfig | BERTConfig] = {
    "gpt2": GPTConfig.gpt2("small"),
    "bert-base-uncased": BERTConfig.base(),
}


class PretrainedModel(NamedTuple):
    """A model that others have trained, with the tokenizer that it was trained with.

    Attributes:
        model: The model, switched to evaluation.
        tokenizer: From texts to its ids and back.

    Chapter: training#optional-real-weights.

    Example:
        >>> pieces = BERTTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])
        >>> len(PretrainedModel(BERT(BERTConfig(6, 5, d_model=4, n_heads=2)), pieces).tokenizer)
        6
    """

    model: GPT | BERT
    tokenizer: GPT2Tokenizer | BERTTokenizer


def load_pretrained(name: str, *, download: bool = False) -> PretrainedModel | None:
    """A real model by its name: the small GPT-2 of 2019, or BERT-base without capitals.

    Args:
        name: "gpt2" or "bert-base-uncased".
        download: Whether to fetch what the cache lacks; it is half a gigabyte.

    Returns:
        The model and its tokenizer, or None after one printed line that says why.

    Raises:
        ValueError: ``name`` is none of those.

    Source: Radford et al. 2019; Devlin et al. 2019. Chapter: training#optional-real-weights.

    Example:
        >>> model, tokenizer = load_pretrained("gpt2", download=True)  # doctest: +SKIP
    """
    require_choice(tuple(CONFIGS), name=name)
    source, places = SOURCES[name], {}
    for key, file in source.files.items():
        call = f'load_pretrained("{name}", download=True)'
        if fetch(source, file, call=call, download=download) is None:
            return None
        places[key] = cache_folder() / file.name
    if name == "gpt2":
        tokenizer = GPT2Tokenizer.from_files(places["vocabulary"], places["merges"])
        return PretrainedModel(load_gpt2(places["weights"], CONFIGS[name]), tokenizer)
    tokenizer = BERTTokenizer.from_file(places["vocabulary"])
    return PretrainedModel(load_bert(places["weights"], CONFIGS[name]), tokenizer)


def pretrained_at_hand(*names: str) -> dict[str, PretrainedModel]:
    """Those of the real models whose files have been fetched.

    Args:
        names: As for ``load_pretrained``.

    Returns:
        The models that are there, by name. One printed line names the others, and says how to fetch
        them.

    Raises:
        ValueError: A name is none of those.

    Source: Radford et al. 2019; Devlin et al. 2019. Chapter: training#optional-real-weights.

    Example:
        >>> real = pretrained_at_hand("gpt2", "bert-base-uncased")  # doctest: +SKIP
    """
    for name in names:
        require_choice(tuple(CONFIGS), name=name)
    absent = [name for name in names if not _is_fetched(name)]
    if absent:
        titles = "; ".join(SOURCES[name].title for name in absent)
        calls = " and ".join(f'load_pretrained("{name}", download=True)' for name in absent)
        print(f"Not at hand: {titles}. Fetched once, half a gigabyte each, by {calls}.")
    loaded = {name: load_pretrained(name) for name in names if name not in absent}
    return {name: real for name, real in loaded.items() if real is not None}


def _is_fetched(name: str) -> bool:
    """Whether the cache holds all its files; one that cannot be looked into holds none."""
    try:
        return all((cache_folder() / file.name).is_file() for file in SOURCES[name].files.values())
    except OSError:
        return False
