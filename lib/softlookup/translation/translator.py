"""A trained model with its two vocabularies: from words to words, and to where it looked."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention import GroupedQueryAttention
from softlookup.checks import Size, checked, require
from softlookup.language_models import beam_search, greedy
from softlookup.models import Transformer
from softlookup.translation.batches import Tokens, pad_batch, require_sentences
from softlookup.translation.seq2seq import Seq2Seq
from softlookup.words import Vocabulary

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"


@checked
class Translator:
    """A model that translates lists of words, and shows where it looked.

    Args:
        source: The words of the source language; the filler comes first.
        target: Those of the target language; the filler, the beginning and the end come first.
        model: From ids of ``source`` to scores of ids of ``target``: recurrent, or a Transformer.

    Raises:
        ValueError: The model's vocabularies are of other sizes.

    Source: Bahdanau et al. 2015; Vaswani et al. 2017. Chapter: seq2seq#training.

    Example:
        >>> from softlookup.translation import Decoder, Encoder, train_translator
        >>> source = Vocabulary([PAD, "ami", "roi", "un"], unknown=None)
        >>> target = Vocabulary([PAD, BOS, EOS, "a", "friend", "king"], unknown=None)
        >>> model = Translator(source, target, Seq2Seq(Encoder(4, 8, 16), Decoder(6, 8, 16)))
        >>> pairs = [(["un", "roi"], ["a", "king"]), (["un", "ami"], ["a", "friend"])]
        >>> generator = torch.Generator().manual_seed(1)
        >>> model = train_translator(pairs, n_steps=60, d_model=8, d_hidden=16, generator=generator)
        >>> model.translate([["un", "ami"]])
        [['a', 'friend']]
    """

    def __init__(
        self, source: Vocabulary, target: Vocabulary, model: Seq2Seq | Transformer
    ) -> None:
        sizes = vocab_sizes(model)
        rule = "the model must have one embedding for each word of its vocabularies"
        fits = sizes == (len(source), len(target))
        require(fits, rule, model=sizes, vocabularies=(len(source), len(target)))
        self.source, self.target, self.model = source, target, model

    def translate(
        self, sentences: Sequence[Tokens], *, max_length: Size = 64, width: Size | None = None
    ) -> list[list[str]]:
        """The translation of each sentence.

        Args:
            sentences: Lists of source words.
            max_length: How many words a translation may have, its end included.
            width: The width of the beam; greedy if left out.

        Returns:
            One list of target words per sentence.

        Raises:
            ValueError: A word is not in the vocabulary, or a number is below 1.
        """
        bos, eos = self.target.encode([BOS, EOS])
        ids = self._ids(self.source, sentences=sentences)
        with torch.no_grad():
            if width is None:
                state = self.model.start(*self._batch(ids))
                found = greedy(self.model.step, state, bos, eos, max_length)
            else:
                states = [self.model.start(*self._batch([text])) for text in ids]
                options = {"max_length": max_length, "width": width}
                found = [beam_search(self.model.step, s, bos, eos, **options)[0] for s in states]
        return [self.target.decode(text.ids) for text in found]

    def align(
        self, sources: Sequence[Tokens], targets: Sequence[Tokens], *, layer: int = -1
    ) -> list[Float[Tensor, "_ _"]]:
        """Where the model looks while it writes given translations.

        Args:
            sources: Lists of source words.
            targets: Their translations.
            layer: Which block's cross-attention, of a Transformer; the last one if left out. What
                its heads read is averaged. A recurrent model has one layer.

        Returns:
            For each pair the attention weights, one row per target word; a row sums to 1.

        Raises:
            ValueError: The model has no attention, or no such layer; the lists differ in length, or
                a word is not in the vocabulary.
        """
        sizes = {"sources": len(sources), "targets": len(targets)}
        rule = "there must be one target for each source"
        require(len(sources) == len(targets), rule, **sizes)
        read = self._batch(self._ids(self.source, sources=sources))
        (bos,) = self.target.encode([BOS])
        written = [[bos, *ids] for ids in self._ids(self.target, targets=targets)]
        written = self._batch(written)
        with torch.no_grad():
            seen = _cross_weights(self.model, layer, lambda: self.model(*read, *written))
        pairs = zip(seen, sources, targets, strict=True)
        return [weights[: len(target), : len(source)] for weights, source, target in pairs]

    def _batch(self, ids: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Filled up to one length, and how long each is; both where the model is."""
        device = next(self.model.parameters()).device
        filled, lengths = pad_batch(ids)
        return filled.to(device), lengths.to(device)

    def _ids(self, vocabulary: Vocabulary, **texts: Sequence[Tokens]) -> list[list[int]]:
        require_sentences(**texts)
        return [vocabulary.encode(list(text)) for some in texts.values() for text in some]


@checked
def vocab_sizes(model: Seq2Seq | Transformer) -> tuple[int, int]:
    """How many tokens a model reads, and how many it writes.

    Args:
        model: Recurrent, or a Transformer.

    Returns:
        The sizes of the vocabularies of the source and of the target.

    Chapter: seq2seq#training.

    Example:
        >>> from softlookup.translation import Decoder, Encoder
        >>> vocab_sizes(Seq2Seq(Encoder(7, 5, 4), Decoder(11, 5, 4)))
        (7, 11)
    """
    if isinstance(model, Transformer):
        return model.config.vocab_sizes
    return model.encoder.embedding.num_embeddings, model.decoder.embedding.num_embeddings


def _cross_weights(
    model: Seq2Seq | Transformer, layer: int, run: Callable[[], object]
) -> Float[Tensor, "batch n_q n_k"]:
    """The weights of one layer of cross-attention while the model runs, the mean of its heads."""
    layers = [model.decoder.attention] if isinstance(model, Seq2Seq) else [
        block.cross_attention.layer for block in model.decoder
    ]  # fmt: skip
    require(layers != [None], "the model must have attention to show", model=type(model).__name__)
    rule = "layer must be one of the model's layers"
    require(-len(layers) <= layer < len(layers), rule, layer=layer, n_layers=len(layers))
    attention, seen = layers[layer], []
    with ExitStack() as afterwards:
        hook = attention.weights.register_forward_hook(lambda *call: seen.append(call[-1]))
        afterwards.callback(hook.remove)
        if isinstance(attention, GroupedQueryAttention):  # take the path that can be looked into
            afterwards.callback(setattr, attention, "fused", attention.fused)
            attention.fused = False
        run()
    (weights,) = seen
    return weights if isinstance(model, Seq2Seq) else weights.mean(dim=-3)
