"""Sequence to sequence: an encoder, a decoder, and the attention that lets one read the other."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention import AdditiveAttention, MultiplicativeAttention
from softlookup.checks import Count, Ids, Size, checked, require
from softlookup.layers import GRUCell, unroll
from softlookup.masks import padding_mask

Lengths = Int[Tensor, "batch"] | Sequence[Count]
"""How many words of each sentence are real."""


class Encoded(NamedTuple):
    """What an encoder hands to a decoder.

    Attributes:
        context: One row per source word: its two hidden states and, with the encoder's shortcut,
            its embedding; zeros in filler.
        summary: One row per sentence: the last state of each direction.
        mask: True at the words, False at filler; the middle axis has length 1.

    Chapter: seq2seq#the-encoder
    """

    context: Float[Tensor, "batch n_k d_context"]
    summary: Float[Tensor, "batch d_hidden"]
    mask: Bool[Tensor, "batch 1 n_k"]


@checked(not_empty="n")
class Encoder(nn.Module):
    """Read a source sentence in both directions with two GRUs.

    A word's row of the context holds the state of each GRU at this word: what stands up to it, and
    what stands from it on. With the shortcut it also holds the word's own embedding, past the
    recurrence: without it, a model is freer to find a word in the row of its neighbour.

    Args:
        vocab_size: The number of source words.
        d_model: The width of their embeddings.
        d_hidden: The width of both hidden states together, an even number.
        shortcut: Whether a row holds the word's embedding, too.

    Raises:
        ValueError: A size is no integer of at least 1, or ``d_hidden`` is odd.

    Source: Bahdanau et al. 2015, section 3.2. Chapter: seq2seq#the-encoder.

    Example:
        >>> encoded = Encoder(7, 5, 4)(torch.tensor([[3, 1, 6], [2, 0, 0]]), [3, 1])
        >>> encoded.context.shape, encoded.summary.shape
        (torch.Size([2, 3, 9]), torch.Size([2, 4]))
    """

    def __init__(
        self, vocab_size: Size, d_model: Size, d_hidden: Size, *, shortcut: bool = True
    ) -> None:
        super().__init__()
        require(d_hidden % 2 == 0, "d_hidden must be even, half for each way", d_hidden=d_hidden)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rightward = GRUCell(d_model, d_hidden // 2)
        self.leftward = GRUCell(d_model, d_hidden // 2)
        self.shortcut = shortcut
        self.d_context = d_hidden + d_model if shortcut else d_hidden

    def forward(
        self,
        ids: Annotated[Int[Tensor, "batch n"], Ids("self.embedding.num_embeddings")],
        lengths: Lengths,
    ) -> Encoded:
        """Read a batch of sentences that are filled up to one length.

        Args:
            ids: Source words; what stands in the filler has no influence.
            lengths: How many words of each sentence are real.

        Returns:
            The context, the summary and the mask of each sentence.

        Raises:
            ValueError: An id is no word, or the lengths do not fit.
        """
        x = self.embedding(ids)
        right, last = unroll(self.rightward, x, lengths=lengths)
        left, first = unroll(self.leftward, x, lengths=lengths, reverse=True)
        mask = padding_mask(lengths, ids.shape[1], device=ids.device)
        parts = (right, left, x.masked_fill(~mask.mT, 0.0)) if self.shortcut else (right, left)
        return Encoded(torch.cat(parts, -1), torch.cat((last, first), -1), mask)


class DecoderState(NamedTuple):
    """What a decoder step needs beside the word before it.

    Attributes:
        hidden: One row per sentence.
        context: What may be read: one row per source word, or the summary alone.
        mask: True where the context may be read.

    Chapter: seq2seq#the-decoder
    """

    hidden: Float[Tensor, "batch d_hidden"]
    context: Float[Tensor, "batch n_read d_read"]
    mask: Bool[Tensor, "batch 1 n_read"]


@checked(not_empty="n")
class Decoder(nn.Module):
    r"""Write a target sentence with a GRU that reads the source before each word.

    One step: $h_t = \mathrm{GRU}(E y_{t-1}, h_{t-1})$; the attention of $h_t$ gives a context
    $c_t$; scores are $W_\text{out} \tanh(W_c [c_t; h_t])$. Bahdanau et al. let $h_{t-1}$ attend and
    feed $c_t$ to the GRU; here attention comes after the recurrence, as in Luong et al. and in the
    lecture, so that in training all steps attend at once. Without attention, $c_t$ is the summary
    of the source at every step.

    Args:
        vocab_size: The number of target words.
        d_model: The width of their embeddings.
        d_hidden: The width of the state, the same as the encoder's.
        attention: What reads the context, with queries of width ``d_hidden``; None for none.

    Raises:
        ValueError: A size is no integer of at least 1, or the attention takes other queries.

    Source: Luong et al. 2015, section 3; lecture 001, "Sequence-to-sequence with attention".
    Chapter: seq2seq#the-decoder.

    Example:
        >>> encoded = Encoder(7, 5, 4)(torch.tensor([[3, 1, 6]]), [3])
        >>> decoder = Decoder(11, 5, 4, AdditiveAttention(4, 9, 2))
        >>> scores, state = decoder.step(torch.tensor([0]), decoder.start(encoded))
        >>> scores.shape
        torch.Size([1, 11])
        >>> decoder(torch.tensor([[0, 8]]), decoder.start(encoded)).shape  # both steps at once
        torch.Size([1, 2, 11])
    """

    def __init__(
        self,
        vocab_size: Size,
        d_model: Size,
        d_hidden: Size,
        attention: AdditiveAttention | MultiplicativeAttention | None = None,
    ) -> None:
        super().__init__()
        d_query = d_hidden if attention is None else attention.d_query
        rule = "the attention must take queries of width d_hidden"
        require(d_query == d_hidden, rule, d_query=d_query, d_hidden=d_hidden)
        d_context = d_hidden if attention is None else attention.d_context
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.bridge = nn.Linear(d_hidden, d_hidden)  # from the summary to the first state
        self.cell = GRUCell(d_model, d_hidden)
        self.attention = attention
        self.combine = nn.Linear(d_context + d_hidden, d_hidden)
        self.unembed = nn.Linear(d_hidden, vocab_size)

    def start(self, encoded: Encoded) -> DecoderState:
        """The state before the first word.

        Args:
            encoded: What the encoder made of the source.

        Returns:
            The state that ``step`` takes.
        """
        hidden = torch.tanh(self.bridge(encoded.summary))
        if self.attention is not None:
            return DecoderState(hidden, encoded.context, encoded.mask)
        always = torch.ones(len(hidden), 1, 1, dtype=torch.bool, device=hidden.device)
        return DecoderState(hidden, encoded.summary.unsqueeze(1), always)

    def step(
        self,
        ids: Annotated[Int[Tensor, "batch"], Ids("self.embedding.num_embeddings")],
        state: DecoderState,
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderState]:
        """One step: from the word before to the scores of the next; what ``decoding`` calls.

        Args:
            ids: The word before, one per sentence.
            state: The state before.

        Returns:
            A score for each target word, and the state after.

        Raises:
            ValueError: An id is no word.
        """
        state = state._replace(hidden=self.cell(self.embedding(ids), state.hidden))
        return self.predict(state.hidden.unsqueeze(1), state).squeeze(1), state

    def forward(
        self,
        ids: Annotated[Int[Tensor, "batch n"], Ids("self.embedding.num_embeddings")],
        state: DecoderState,
        lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch n vocab"]:
        """All steps at once when the words before are known (teacher forcing).

        Args:
            ids: The target's words, each at the step that follows it: the first begins a text.
            state: The state before the first step.
            lengths: How many words of each sentence are real. None: all.

        Returns:
            A score for each target word at each step; row t is what ``step`` gives at step t.

        Raises:
            ValueError: An id is no word, or the lengths do not fit.
        """
        hidden, _ = unroll(self.cell, self.embedding(ids), state.hidden, lengths)
        return self.predict(hidden, state)

    def predict(
        self, hidden: Float[Tensor, "batch n {self.cell.d_hidden}"], state: DecoderState
    ) -> Float[Tensor, "batch n vocab"]:
        """From hidden states to scores: attend, put side by side, mix, score each word.

        Args:
            hidden: One row per step.
            state: It holds the context and its mask; its hidden state is not used.

        Returns:
            A score for each target word at each step.
        """
        if self.attention is None:
            context = state.context.expand(-1, hidden.shape[1], -1)
        else:
            context = self.attention(hidden, state.context, state.mask)
        return self.unembed(torch.tanh(self.combine(torch.cat((context, hidden), dim=-1))))


@checked(not_empty="n_k n_q")
class Seq2Seq(nn.Module):
    """An encoder and a decoder, from source words to scores of target words.

    Args:
        encoder: Reads the source.
        decoder: Writes the target.

    Raises:
        ValueError: The decoder's attention reads rows of another width than the encoder writes.

    Source: Sutskever et al. 2014; Bahdanau et al. 2015; lecture 001, "Sequence-to-sequence with
    attention". Chapter: seq2seq#the-whole-model.

    Example:
        >>> model = Seq2Seq(Encoder(7, 5, 4), Decoder(11, 5, 4))
        >>> model(torch.tensor([[3, 1, 6]]), [3], torch.tensor([[1, 8]])).shape
        torch.Size([1, 2, 11])
    """

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        wanted = {
            "d_hidden": (2 * encoder.rightward.d_hidden, decoder.cell.d_hidden),
            "d_context": (encoder.d_context, getattr(decoder.attention, "d_context", None)),
        }
        for name, (written, read) in wanted.items():
            fits = read is None or written == read
            rule = f"encoder and decoder must have the same {name}"
            require(fits, rule, encoder=written, decoder=read)
        self.encoder, self.decoder = encoder, decoder

    def start(
        self,
        source: Annotated[Int[Tensor, "batch n_k"], Ids("self.encoder.embedding.num_embeddings")],
        lengths: Lengths,
    ) -> DecoderState:
        """Read the source and make the state before the first target word; ``step`` goes on.

        Args:
            source: Source words, filled up to one length.
            lengths: How many words of each sentence are real.

        Returns:
            The state that ``step`` takes.

        Raises:
            ValueError: An id is no word, or the lengths do not fit.
        """
        return self.decoder.start(self.encoder(source, lengths))

    def step(
        self,
        ids: Annotated[Int[Tensor, "batch"], Ids("self.decoder.embedding.num_embeddings")],
        state: DecoderState,
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderState]:
        """One step of the decoder, as ``greedy`` and ``beam_search`` call it."""
        return self.decoder.step(ids, state)

    def forward(
        self,
        source: Annotated[Int[Tensor, "batch n_k"], Ids("self.encoder.embedding.num_embeddings")],
        source_lengths: Lengths,
        target: Annotated[Int[Tensor, "batch n_q"], Ids("self.decoder.embedding.num_embeddings")],
        target_lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch n_q vocab"]:
        """The scores of all target words at all steps, the words before being given.

        Args:
            source: Source words, filled up to one length.
            source_lengths: How many words of each source are real.
            target: The words before each step; the first begins a text.
            target_lengths: How many steps of each target are real. None: all.

        Returns:
            One row of scores per step.

        Raises:
            ValueError: An id is no word, or the lengths do not fit.
        """
        return self.decoder(target, self.start(source, source_lengths), target_lengths)
