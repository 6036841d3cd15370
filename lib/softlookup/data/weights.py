"""The real GPT-2, if the reader fetches it: half a gigabyte of weights, and its vocabulary."""

from pathlib import Path
from typing import NamedTuple

from softlookup.data.cache import cache_folder, fetch
from softlookup.data.sources import SOURCES


class GPT2Files(NamedTuple):
    """Where the files of GPT-2 lie, each with the right checksum.

    Attributes:
        weights: The safetensors file, for ``load_gpt2``.
        vocabulary: The ids of the tokens, for ``GPT2Tokenizer.from_files``.
        merges: The merges, for the same.

    Chapter: data_card#public-data-sets

    Example:
        >>> GPT2Files(Path("a"), Path("b"), Path("c")).merges.name
        'c'
    """

    weights: Path
    vocabulary: Path
    merges: Path


def gpt2_files(*, download: bool = False) -> GPT2Files | None:
    """The small GPT-2 of 2019 with 124,439,808 parameters: its weights and its tokenizer.

    Args:
        download: Whether to fetch what the cache lacks; it is half a gigabyte.

    Returns:
        The places of the files, or None after one printed line that says why.

    Source: Radford et al. 2019, "Language models are unsupervised multitask learners".
    Chapter: data_card#public-data-sets

    Example:
        >>> files = gpt2_files()  # doctest: +SKIP
        >>> model = load_gpt2(files.weights)  # doctest: +SKIP
        >>> tokenizer = GPT2Tokenizer.from_files(*files[1:])  # doctest: +SKIP
    """
    source = SOURCES["gpt2_files"]
    places = []
    for key in GPT2Files._fields:
        file = source.files[key]
        content = fetch(source, file, call="gpt2_files(download=True)", download=download)
        if content is None:
            return None
        places.append(cache_folder() / file.name)
    return GPT2Files(*places)
