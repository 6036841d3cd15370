"""What one asks of a real model: go on with this text, or guess the word in the gap."""

from typing import Annotated, TypedDict, Unpack

import torch
from torch import Generator

from softlookup.checks import Positive, Range, Share, Size, checked, require
from softlookup.language_models import sample
from softlookup.models.bert import BERT
from softlookup.models.gpt import GPT
from softlookup.models.pretrained.bert_tokenizer import MASK, BERTTokenizer
from softlookup.models.pretrained.gpt2_tokenizer import END_OF_TEXT, GPT2Tokenizer


class Way(TypedDict, total=False):
    """How to draw the next token, as in ``decoding.sample``: all of it may be left out.

    Attributes:
        temperature: $\\tau$; near 0 the most probable token nearly always comes.
        top_k: How many of the most probable tokens may come.
        top_p: How probable those that may come must be together.
        min_p: How probable a token must be, measured against the most probable one.
    """

    temperature: Positive
    top_k: Size | None
    top_p: Annotated[float, Range(0, 1, above=True)] | None
    min_p: Share | None


@checked
def write_on(
    model: GPT,
    tokenizer: GPT2Tokenizer,
    prompt: str,
    n_tokens: Size,
    *,
    generator: Generator,
    **way: Unpack[Way],
) -> list[str]:
    """Let a GPT-2 go on with a text.

    Args:
        model: The model.
        tokenizer: The one that it was trained with.
        prompt: How the text begins.
        n_tokens: How many tokens to add at most; it may end the text before.
        generator: The source of chance.
        way: What a ``Way`` holds: ``temperature``, ``top_k``, ``top_p``, ``min_p``.

    Returns:
        The tokens of the prompt and the new ones, each as a string; joined, they are the text.

    Raises:
        ValueError: The prompt is empty, or as in ``decoding.sample``.

    Source: Radford et al. 2019, section 2. Chapter: training#optional-real-weights.

    Example:
        >>> from softlookup.models import GPTConfig
        >>> from softlookup.models.pretrained.gpt2_tokenizer import byte_characters
        >>> names = [*byte_characters(), "<|endoftext|>"]
        >>> tokenizer = GPT2Tokenizer({name: id_ for id_, name in enumerate(names)}, [])
        >>> model = GPT(GPTConfig(257, 9, d_model=2, n_heads=1, n_layers=1)).eval()
        >>> generator = torch.Generator().manual_seed(0)
        >>> way = {"generator": generator, "temperature": 0.5}
        >>> written = write_on(model, tokenizer, "no", 3, **way)
        >>> written[:2], len(written) <= 5
        (['n', 'o'], True)
        >>> write_on(*load_pretrained("gpt2"), "A", 9, generator=generator)  # doctest: +SKIP
    """
    ids = tokenizer.encode(prompt)
    require(len(ids) > 0, "the prompt must not be empty", prompt=prompt)
    read = torch.tensor([ids], device=model.embedding.weight.device)
    state, end = model.start(read[:, :-1]), tokenizer.special_tokens[END_OF_TEXT]
    (text,) = sample(model.step, state, ids[-1:], end, n_tokens, generator=generator, **way)
    return [tokenizer.decode([id_]) for id_ in (*ids, *text.ids)]


@checked
def fill_gap(
    model: BERT, tokenizer: BERTTokenizer, text: str, n: Size = 5
) -> list[tuple[str, float]]:
    """What a BERT would put where "[MASK]" stands.

    Args:
        model: A model with its head.
        tokenizer: The one that it was trained with.
        text: It holds "[MASK]" once.
        n: How many guesses.

    Returns:
        The most probable pieces and their probabilities, the best first.

    Raises:
        ValueError: There is not one gap, ``n`` is no integer of at least 1, or the model has no
            head.

    Source: Devlin et al. 2019, section 3.1. Chapter: training#optional-real-weights.

    Example:
        >>> from softlookup.models import BERTConfig
        >>> tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "not", "yet"]
        >>> model = BERT(BERTConfig(7, 9, d_model=2, n_heads=1, n_layers=1)).eval()
        >>> guesses = fill_gap(model, BERTTokenizer(tokens), "not [MASK]", n=7)
        >>> sorted(piece for piece, _ in guesses)
        ['[CLS]', '[MASK]', '[PAD]', '[SEP]', '[UNK]', 'not', 'yet']
        >>> real = load_pretrained("bert-base-uncased")  # doctest: +SKIP
        >>> fill_gap(*real, "The capital of France is [MASK].")[0][0]  # doctest: +SKIP
        'paris'
    """
    ids = torch.tensor([tokenizer.encode(text)], device=model.embedding.weight.device)
    gaps = ids == tokenizer.special_tokens[MASK]
    n_gaps = int(gaps.sum())
    require(n_gaps == 1, f"the text must hold {MASK} once", n_gaps=n_gaps)
    with torch.no_grad():
        chances = model.mlm_scores(model(ids)[gaps])[0].softmax(dim=-1)
    best = chances.topk(min(n, len(chances)))
    guesses = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [(tokenizer.decode([id_]), p) for id_, p in guesses]
