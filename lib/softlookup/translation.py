"""A translator: a sequence-to-sequence model with its two vocabularies, trained on pairs."""

import math
from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.additive import AdditiveAttention
from softlookup.checks import require, require_choice, require_int, require_tokens
from softlookup.decoding import beam_search, greedy
from softlookup.masks import padding_mask
from softlookup.ops import cross_entropy
from softlookup.seq2seq import Decoder, DecoderState, Encoder, Seq2Seq
from softlookup.text import Vocabulary

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"
Tokens = Sequence[str]
Coded = tuple[list[int], list[int]]


def pad_batch(
    texts: Sequence[Sequence[int]], filler: int = 0
) -> tuple[Int[Tensor, "batch n"], Int[Tensor, "batch"]]:
    """Texts of different lengths as one tensor, filled up at the end, and how long each is.

    Args:
        texts: The ids of each text.
        filler: The id that fills up.

    Returns:
        The ids, as wide as the longest text, and the lengths.

    Raises:
        ValueError: There is no text, or all are empty.

    Source: lecture 003, "Implementation Details". Chapter: seq2seq#padding.

    Example:
        >>> pad_batch([[5], [7, 8]])
        (tensor([[5, 0],
                [7, 8]]), tensor([1, 2]))
    """
    longest = max((len(text) for text in texts), default=0)
    require(longest > 0, "there must be at least one text that is not empty", n_texts=len(texts))
    rows = [[*text, *[filler] * (longest - len(text))] for text in texts]
    return torch.tensor(rows), torch.tensor([len(text) for text in texts])


def sequence_loss(
    scores: Float[Tensor, "batch n vocab"],
    targets: Int[Tensor, "batch n"],
    lengths: Int[Tensor, "batch"] | Sequence[int],
) -> Float[Tensor, ""]:
    """The mean cross-entropy of all real tokens of a batch; what fills up does not count.

    The mean is over tokens, not over texts: a long text counts for more.

    Args:
        scores: One row per step of each text.
        targets: The right token at each step.
        lengths: How many steps of each text are real.

    Returns:
        At least 0.

    Raises:
        ValueError: The shapes do not fit, a target is no token, or no step is real.

    Source: Sutskever et al. 2014, section 3.2. Chapter: seq2seq#training.

    Example:
        >>> sequence_loss(torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.long), [3, 1])
        tensor(1.3863)
    """
    is_real = padding_mask(lengths, targets.shape[-1]).squeeze(-2)
    fits = is_real.shape == targets.shape == scores.shape[:-1]
    rule = "scores and targets must have one row per text and one column per step"
    require(fits, rule, scores=scores, targets=targets, n_lengths=len(is_real))
    return cross_entropy(scores[is_real], targets[is_real])


class Translator:
    """A model that translates lists of words, and shows where it looked.

    Args:
        source: The words of the source language; the filler comes first.
        target: Those of the target language; the filler, the beginning and the end come first.
        model: From ids of ``source`` to scores of ids of ``target``.

    Raises:
        ValueError: The model's vocabularies are of other sizes.

    Source: Bahdanau et al. 2015. Chapter: seq2seq#training.

    Example:
        >>> pairs = [(["un", "roi"], ["a", "king"]), (["un", "ami"], ["a", "friend"])]
        >>> generator = torch.Generator().manual_seed(1)
        >>> model = train_translator(pairs, n_steps=60, d_model=8, d_hidden=16, generator=generator)
        >>> model.translate([["un", "ami"]])
        [['a', 'friend']]
    """

    def __init__(self, source: Vocabulary, target: Vocabulary, model: Seq2Seq) -> None:
        sizes = model.encoder.embedding.num_embeddings, model.decoder.embedding.num_embeddings
        rule = "the model must have one embedding for each word of its vocabularies"
        fits = sizes == (len(source), len(target))
        require(fits, rule, model=sizes, vocabularies=(len(source), len(target)))
        self.source, self.target, self.model = source, target, model

    def translate(
        self, sentences: Sequence[Tokens], *, max_length: int = 64, width: int | None = None
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
        state = self._read(sentences)
        if width is None:
            found = greedy(self.model.step, state, bos, eos, max_length)
        else:
            rows = [
                type(state)(*(part[i : i + 1] for part in state)) for i in range(len(sentences))
            ]
            found = [
                beam_search(self.model.step, row, bos, eos, max_length, width=width)[0]
                for row in rows
            ]
        return [self.target.decode(text.ids) for text in found]

    def align(
        self, sources: Sequence[Tokens], targets: Sequence[Tokens]
    ) -> list[Float[Tensor, "n_q n_k"]]:
        """Where the model looks while it writes given translations.

        Args:
            sources: Lists of source words.
            targets: Their translations.

        Returns:
            For each pair the attention weights, one row per target word; a row sums to 1.

        Raises:
            ValueError: The model has no attention, the lists differ in length, or a word is not in
                the vocabulary.
        """
        attention = self.model.decoder.attention
        require(attention is not None, "the model must have attention to show")
        sizes = {"sources": len(sources), "targets": len(targets)}
        rule = "there must be one target for each source"
        require(len(sources) == len(targets), rule, **sizes)
        _require_sentences(targets=targets)
        seen = []
        handle = attention.weights.register_forward_hook(lambda *call: seen.append(call[-1]))
        try:
            with torch.no_grad():
                before, lengths = pad_batch([self.target.encode([BOS, *t]) for t in targets])
                self.model.decoder(before, self._read(sources), lengths)
        finally:
            handle.remove()
        pairs = zip(seen[0], sources, targets, strict=True)
        return [weights[: len(target), : len(source)] for weights, source, target in pairs]

    def _read(self, sentences: Sequence[Tokens]) -> DecoderState:
        _require_sentences(sentences=sentences)
        ids = [self.source.encode(list(sentence)) for sentence in sentences]
        with torch.no_grad():
            return self.model.start(*pad_batch(ids))


def train_translator(
    pairs: Sequence[tuple[Tokens, Tokens]],
    *,
    generator: torch.Generator,
    attention: str = "additive",
    d_model: int = 64,
    d_hidden: int = 128,
    d_attention: int = 32,
    n_steps: int = 600,
    batch_size: int = 32,
    learning_rate: float = 0.008,
) -> Translator:
    """Train a translator on pairs of sentences with Adam, the words before being given.

    The learning rate rises over 20 steps and then falls in a straight line; the gradient's norm is
    cut at 1. A batch holds sentences of about the same length.

    Args:
        pairs: (source words, target words).
        generator: The source of chance, for the first weights and for the order of the batches.
        attention: "additive", or "none": then each step reads the summary of the source alone.
        d_model: The width of the embeddings.
        d_hidden: The width of the hidden states, even.
        d_attention: The width of the score's hidden layer.
        n_steps: How many batches.
        batch_size: How many pairs at a time; all, if there are fewer.
        learning_rate: The largest step size.

    Returns:
        The translator.

    Raises:
        ValueError: There is no pair or an empty sentence, ``attention`` is unknown, or a number is
            too small.

    Source: Bahdanau et al. 2015, section 4.2. Chapter: seq2seq#training.

    Example:
        >>> train_translator([], generator=torch.Generator())
        Traceback (most recent call last):
        ValueError: there must be at least one pair; got n_pairs=0
    """
    _check_training(pairs, attention, n_steps, batch_size, learning_rate)
    source = Vocabulary([PAD, *_words(pair[0] for pair in pairs)], unknown=None)
    target = Vocabulary([PAD, BOS, EOS, *_words(pair[1] for pair in pairs)], unknown=None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch.randint(2**62, (1,), generator=generator).item())
        encoder = Encoder(len(source), d_model, d_hidden)
        reads = attention == "additive"
        reader = AdditiveAttention(d_hidden, encoder.d_context, d_attention) if reads else None
        model = Seq2Seq(encoder, Decoder(len(target), d_model, d_hidden, reader))
        for embedding in (model.encoder.embedding, model.decoder.embedding):
            nn.init.normal_(embedding.weight, std=0.5)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    bos, eos = target.encode([BOS, EOS])
    coded = [(source.encode(list(s)), target.encode(list(t))) for s, t in pairs]
    for step, batch in zip(range(n_steps), _batches(coded, batch_size, generator), strict=False):
        optimizer.param_groups[0]["lr"] = learning_rate * min((step + 1) / 20, 1 - step / n_steps)
        optimizer.zero_grad()
        _loss(model, batch, bos, eos).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return Translator(source, target, model)


def _loss(model: Seq2Seq, batch: list[Coded], bos: int, eos: int) -> Tensor:
    sources, targets = zip(*batch, strict=True)
    before, lengths = pad_batch([[bos, *ids] for ids in targets])
    after, _ = pad_batch([[*ids, eos] for ids in targets])
    return sequence_loss(model(*pad_batch(sources), before, lengths), after, lengths)


def _batches(
    coded: list[Coded], batch_size: int, generator: torch.Generator
) -> Iterator[list[Coded]]:
    """Batches without end, in a new order each time; each holds pairs of about the same lengths."""
    while True:
        order = torch.randperm(len(coded), generator=generator).tolist()
        pools = [order[i : i + 20 * batch_size] for i in range(0, len(order), 20 * batch_size)]
        batches = []
        for pool in pools:
            pool.sort(key=lambda i: [len(side) for side in coded[i]])
            batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
        for k in torch.randperm(len(batches), generator=generator).tolist():
            yield [coded[i] for i in batches[k]]


def _words(sentences: Iterable[Tokens]) -> list[str]:
    return sorted(set().union(*sentences))


def _check_training(
    pairs: Sequence[tuple[Tokens, Tokens]],
    attention: str,
    n_steps: int,
    batch_size: int,
    learning_rate: float,
) -> None:
    require(len(pairs) > 0, "there must be at least one pair", n_pairs=len(pairs))
    _require_sentences(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs])
    require_choice(("additive", "none"), attention=attention)
    require_int(1, n_steps=n_steps, batch_size=batch_size)
    is_rate = 0 < learning_rate < math.inf
    require(is_rate, "learning_rate must be positive and finite", learning_rate=learning_rate)


def _require_sentences(**sides: Sequence[Tokens]) -> None:
    for name, sentences in sides.items():
        for i, sentence in enumerate(sentences):
            require_tokens(**{f"{name}[{i}]": sentence})
            rule = f"{name}[{i}] must have at least one word"
            require(len(sentence) > 0, rule, **{f"{name}[{i}]": sentence})
