"""Train a translator on pairs of sentences: a recurrent one, or a Transformer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.attention import AdditiveAttention
from softlookup.checks import Count, Positive, Rate, Size, checked, require, require_ids
from softlookup.models import Transformer, TransformerConfig
from softlookup.training import train_model
from softlookup.translation.batches import (
    Coded,
    Tokens,
    batches_of_pairs,
    pad_batch,
    require_sentences,
    sequence_loss,
)
from softlookup.translation.seq2seq import Decoder, Encoder, Seq2Seq
from softlookup.translation.translator import BOS, EOS, PAD, Translator, vocab_sizes
from softlookup.words import Vocabulary


@checked
def train_translator(
    pairs: Sequence[tuple[Tokens, Tokens]],
    *,
    generator: torch.Generator,
    attention: Literal["additive", "none"] = "additive",
    shortcut: bool = True,
    d_model: Size = 64,
    d_hidden: Size = 128,
    d_attention: Size = 32,
    n_steps: Size = 600,
    batch_size: Size = 32,
    learning_rate: Positive = 0.008,
    device: torch.device | str | None = None,
) -> Translator:
    """Train a recurrent translator on pairs of sentences with Adam, the words before being given.

    The learning rate rises over 20 steps and then falls in a straight line; the gradient's norm is
    cut at 1. A batch holds sentences of about the same length.

    Args:
        pairs: (source words, target words).
        generator: The source of chance, for the first weights and for the order of the batches.
        attention: "additive", or "none": then each step reads the summary of the source alone.
        shortcut: Whether the encoder hands on each word's embedding beside its states.
        d_model: The width of the embeddings.
        d_hidden: The width of the hidden states, even.
        d_attention: The width of the score's hidden layer.
        n_steps: How many batches.
        batch_size: How many pairs at a time; all, if there are fewer.
        learning_rate: The largest step size.
        device: What the model learns on. None: the CPU.

    Returns:
        The translator, on the CPU.

    Raises:
        ValueError: There is no pair or an empty sentence, ``attention`` is unknown, or a number is
            too small.

    Source: Bahdanau et al. 2015, section 4.2. Chapter: seq2seq#training.

    Example:
        >>> generator = torch.Generator().manual_seed(1)
        >>> pairs = [(["un", "roi"], ["a", "king"])]
        >>> train_translator(pairs, generator=generator, n_steps=9).translate([["un", "roi"]])
        [['a', 'king']]
    """

    def build(n_source: int, n_target: int) -> Seq2Seq:
        encoder = Encoder(n_source, d_model, d_hidden, shortcut=shortcut)
        reads = attention == "additive"
        reader = AdditiveAttention(d_hidden, encoder.d_context, d_attention) if reads else None
        model = Seq2Seq(encoder, Decoder(n_target, d_model, d_hidden, reader))
        for embedding in (model.encoder.embedding, model.decoder.embedding):
            nn.init.normal_(embedding.weight, std=0.5)
        return model

    plan = {"n_steps": n_steps, "batch_size": batch_size, "learning_rate": learning_rate}
    return _train(pairs, build, generator, n_warmup=20, device=device, **plan)


@checked
def train_transformer(
    pairs: Sequence[tuple[Tokens, Tokens]],
    *,
    generator: torch.Generator,
    vocabulary: Sequence[str] | None = None,
    d_model: Size = 96,
    n_heads: Size = 4,
    n_layers: Size = 2,
    d_ff: Size = 192,
    dropout: Rate = 0.0,
    norm_first: bool = True,
    n_steps: Size = 900,
    n_warmup: Size = 50,
    batch_size: Size = 32,
    learning_rate: Positive = 0.004,
    device: torch.device | str | None = None,
) -> Translator:
    """Train a Transformer on pairs of sentences, as ``train_translator`` does a recurrent model.

    Args:
        pairs: (source words, target words).
        generator: The source of chance, for the first weights, the order of the batches, and
            dropout.
        vocabulary: All tokens of both languages, which then share one matrix, tied to the output.
            Left out, each language has the words of ``pairs``, and the target's matrix is tied.
        d_model: The width of a row, even.
        n_heads: How many heads; it must divide ``d_model``.
        n_layers: How many blocks read, and how many write.
        d_ff: The width inside a feed-forward layer.
        dropout: As in ``TransformerConfig``.
        norm_first: True for pre-norm, False for the paper's post-norm.
        n_steps: How many batches.
        n_warmup: Over how many of them the learning rate rises.
        batch_size: How many pairs at a time; all, if there are fewer.
        learning_rate: The largest step size.
        device: What the model learns on. None: the CPU.

    Returns:
        The translator, on the CPU; no dropout any more.

    Raises:
        ValueError: There is no pair or an empty sentence, a word is not in ``vocabulary``, or a
            number is out of range.

    Source: Vaswani et al. 2017, section 5. Chapter: transformer#training-it.

    Example:
        >>> pairs = [(["un", "roi"], ["a", "king"]), (["un", "ami"], ["a", "friend"])]
        >>> generator = torch.Generator().manual_seed(1)
        >>> model = train_transformer(pairs, n_steps=60, d_model=8, d_ff=8, generator=generator)
        >>> model.translate([["un", "ami"]])
        [['a', 'friend']]
    """

    def build(n_source: int, n_target: int) -> Transformer:
        config = TransformerConfig(
            n_source, n_target, d_model=d_model, n_heads=n_heads, n_encoder_layers=n_layers,
            n_decoder_layers=n_layers, d_ff=d_ff, dropout=dropout, norm_first=norm_first,
            tie="output" if vocabulary is None else "all",
        )  # fmt: skip
        return Transformer(config)

    plan = {"n_steps": n_steps, "batch_size": batch_size, "learning_rate": learning_rate}
    plan |= {"n_warmup": n_warmup, "vocabulary": vocabulary, "device": device}
    return _train(pairs, build, generator, **plan)


def _train(
    pairs: Sequence[tuple[Tokens, Tokens]],
    build: Callable[[int, int], Seq2Seq | Transformer],
    generator: torch.Generator,
    *,
    n_steps: int,
    n_warmup: int,
    batch_size: int,
    learning_rate: float,
    device: torch.device | str | None,
    vocabulary: Sequence[str] | None = None,
) -> Translator:
    """One plan for every model: from (size of source, size of target) to a trained translator."""
    require(len(pairs) > 0, "there must be at least one pair", n_pairs=len(pairs))
    require_sentences(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs])
    source, target = _vocabularies(pairs, vocabulary)
    coded = [(source.encode(list(s)), target.encode(list(t))) for s, t in pairs]
    bos, eos = target.encode([BOS, EOS])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch.randint(2**62, (1,), generator=generator).item())
        translator = Translator(source, target, build(len(source), len(target)))
        model = translator.model.to(device or "cpu")
        train_model(
            model,
            lambda model, batch: translation_loss(model, batch, bos, eos),
            batches_of_pairs(coded, batch_size, generator),
            optimizers=_optimizer(model, learning_rate),
            n_steps=n_steps,
            schedule=lambda step: min(step / n_warmup, 1 - (step - 1) / n_steps),
        )
    model.eval().cpu()
    return translator


def _optimizer(model: nn.Module, learning_rate: float) -> torch.optim.Adam:
    """Adam, which cuts the gradient's norm at 1 before each step."""
    weights = list(model.parameters())
    fused = weights[0].is_cpu or None  # elsewhere as PyTorch sees fit
    optimizer = torch.optim.Adam(weights, learning_rate, betas=(0.9, 0.98), fused=fused)

    def cut(*_: object) -> None:  # PyTorch's way divides by the norm plus 1e-6
        nn.utils.clip_grad_norm_(weights, 1.0)

    optimizer.register_step_pre_hook(cut)
    return optimizer


@checked
def translation_loss(
    model: Seq2Seq | Transformer, pairs: Sequence[Coded], bos: Count, eos: Count
) -> Float[Tensor, ""]:
    """The mean loss of all target tokens, ends included, the tokens before being given.

    Args:
        model: Recurrent, or a Transformer.
        pairs: The ids of each pair, without beginning and end.
        bos: The id that begins a target.
        eos: The id that ends it.

    Returns:
        At least 0.

    Raises:
        ValueError: There is no pair, a source is empty, or an id is no token.

    Source: Sutskever et al. 2014, section 3.2. Chapter: transformer#training-it.

    Example:
        >>> from softlookup.models import TransformerConfig
        >>> _ = torch.manual_seed(1)
        >>> model = Transformer(TransformerConfig(11, d_model=4, n_heads=2, d_ff=7))
        >>> bool(translation_loss(model, [([3, 1, 6], [5]), ([4], [8, 9])], 1, 2) > 0)
        True
    """
    require(len(pairs) > 0, "there must be at least one pair", n_pairs=len(pairs))
    sources, targets = zip(*pairs, strict=True)
    before, lengths = pad_batch([[bos, *ids] for ids in targets])
    after, _ = pad_batch([[*ids, eos] for ids in targets])
    read, device = pad_batch(sources), next(model.parameters()).device
    n_source, n_target = vocab_sizes(model)
    require_ids(n_source, pairs=read[0])
    require_ids(n_target, pairs=before, eos=after)
    read, (before, after, lengths) = (
        [part.to(device) for part in parts] for parts in (read, (before, after, lengths))
    )
    return sequence_loss(model(*read, before, lengths), after, lengths)


def _vocabularies(
    pairs: Sequence[tuple[Tokens, Tokens]], vocabulary: Sequence[str] | None
) -> tuple[Vocabulary, Vocabulary]:
    """One for each language, from the words of the pairs; or one for both, if it is given."""
    if vocabulary is not None:
        both = Vocabulary([PAD, BOS, EOS, *vocabulary], unknown=None)
        return both, both
    source = Vocabulary([PAD, *_words(pair[0] for pair in pairs)], unknown=None)
    target = Vocabulary([PAD, BOS, EOS, *_words(pair[1] for pair in pairs)], unknown=None)
    return source, target


def _words(sentences: Iterable[Tokens]) -> list[str]:
    return sorted(set().union(*sentences))
