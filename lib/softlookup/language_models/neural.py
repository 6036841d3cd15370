"""Neural language models: a window of word vectors (Bengio et al. 2003), and a recurrent state."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.utils.rnn import pad_sequence

from softlookup.checks import Count, Ids, Positive, Range, Size, checked, require
from softlookup.language_models.language_model import LanguageModel
from softlookup.layers import GRUCell, unroll
from softlookup.ops import in_float64
from softlookup.training import train_model, warmup_cosine


@checked
class _NeuralLM(nn.Module, LanguageModel):
    """What the two share: a table with a row for each word, and one for BOS."""

    def __init__(self, words: Sequence[str], d_model: Size, *, unknown: bool) -> None:
        nn.Module.__init__(self)
        LanguageModel.__init__(self, words, unknown=unknown)
        self.embedding = nn.Embedding(len(self.vocabulary) + 1, d_model)  # the last row is BOS
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)

    def losses(self, texts: Sequence[Sequence[str]]) -> Float[Tensor, "tokens"]:
        r"""$-\log P(w_i \mid w_1 \dots w_{i-1})$ for every word and every end, text after text."""
        require(len(texts) > 0, "there must be at least one text", n_texts=len(texts))
        return self.losses_of_ids([self.ids(text) for text in texts])

    def losses_of_ids(self, texts: list[list[int]]) -> Float[Tensor, "tokens"]:
        """The same from ids."""
        raise NotImplementedError

    def log_probability(self, text: Sequence[str]) -> float:
        """The natural logarithm of the probability of a whole text, its end included."""
        with torch.no_grad():
            return -in_float64(self.losses([text])).sum().item()

    def _tensor(self, ids: list) -> Tensor:
        """Ids, where the model is."""
        return torch.tensor(ids, device=self.embedding.weight.device)

    def _nll(self, logits: Tensor, texts: list[list[int]]) -> Tensor:
        targets = self._tensor([id_ for ids in texts for id_ in [*ids, self.eos]])
        return nn.functional.cross_entropy(logits, targets, reduction="none")


@checked
class FeedForwardLM(_NeuralLM):
    r"""Bengio's model: the vectors of the last $n-1$ words, side by side, through one tanh layer.

    $x = [E_{w_{i-n+1}}; \dots; E_{w_{i-1}}]$, $P = \mathrm{softmax}(U \tanh(H x + d) + W x + b)$;
    the direct connections $W$ may be left out. Before a text stand n - 1 times BOS.

    Args:
        words: The words it knows.
        n: How many words there are with the predicted one, at least 2.
        d_model: The width of a word vector.
        d_hidden: How many units the hidden layer has.
        direct: Whether there are direct connections $W$.
        unknown: Whether ``<unk>`` stands for every other word.

    Raises:
        ValueError: A size is no integer or too small, or as ``LanguageModel``.

    Source: Bengio et al. 2003, section 2; lecture 001, "Types of Neural Language Models".
    Chapter: neural_language_models#a-window-of-vectors.

    Example:
        >>> model = FeedForwardLM(["yes", "no"], n=3, d_model=5, d_hidden=7)
        >>> model(torch.tensor([[3, 0], [0, 1]])).shape  # BOS yes, yes no
        torch.Size([2, 3])
    """

    def __init__(
        self,
        words: Sequence[str],
        n: Annotated[int, Range(2)],
        d_model: Size,
        d_hidden: Size,
        *,
        direct: bool = False,
        unknown: bool = False,
    ) -> None:
        super().__init__(words, d_model, unknown=unknown)
        self.n = n
        self.hidden = nn.Linear((n - 1) * d_model, d_hidden)
        self.output = nn.Linear(d_hidden, len(self.vocabulary))
        self.direct = nn.Linear((n - 1) * d_model, len(self.vocabulary), bias=False)
        if not direct:
            self.direct = None

    def forward(
        self,
        histories: Annotated[
            Int[Tensor, "*batch {self.n}-1"], Ids("self.embedding.num_embeddings")
        ],
    ) -> Float[Tensor, "*batch vocab"]:
        """The logits of the next word, from the ids of the n - 1 words before it.

        Args:
            histories: Ids, BOS included where there is no word.

        Returns:
            One logit for each word.

        Raises:
            ValueError: A history does not have n - 1 ids, or an id has no row.
        """
        x = self.embedding(histories).flatten(start_dim=-2)
        logits = self.output(torch.tanh(self.hidden(x)))
        return logits if self.direct is None else logits + self.direct(x)

    def next_word_ids(self, ids: list[int]) -> Float[Tensor, "vocab"]:
        """The probability of each next word, from the ids of all words before it."""
        padded = [self.bos] * (self.n - 1) + ids
        with torch.no_grad():
            return self(self._tensor(padded[len(ids) :])).softmax(dim=-1)

    def losses_of_ids(self, texts: list[list[int]]) -> Float[Tensor, "tokens"]:
        """The negative log-probability of every word and every end, text after text."""
        size, padded, starts = self.n - 1, [], []
        for ids in texts:
            starts += range(len(padded), len(padded) + len(ids) + 1)
            padded += [self.bos] * size + ids
        histories = self._tensor(padded).unfold(0, size, 1)[self._tensor(starts)]
        return self._nll(self(histories), texts)


@checked(not_empty="n")
class RecurrentLM(_NeuralLM):
    r"""A gated recurrent unit that reads the text, and a softmax over the words at every step.

    $h_i = \mathrm{GRU}(E_{w_{i-1}}, h_{i-1})$ and $P = \mathrm{softmax}(U h_i + b)$. The state may
    remember any word before, however far back.

    Args:
        words: The words it knows.
        d_model: The width of a word vector.
        d_hidden: The width of the state.
        unknown: Whether ``<unk>`` stands for every other word.

    Raises:
        ValueError: A size is no integer or too small, or as ``LanguageModel``.

    Source: Mikolov et al. 2010; lecture 001, "Types of Neural Language Models".
    Chapter: generalization#a-state-that-remembers.

    Example:
        >>> model = RecurrentLM(["yes", "no"], d_model=5, d_hidden=7)
        >>> model(torch.tensor([[3, 0, 1]])).shape  # after BOS, after yes, after no
        torch.Size([1, 3, 3])
    """

    def __init__(
        self, words: Sequence[str], d_model: Size, d_hidden: Size, *, unknown: bool = False
    ) -> None:
        super().__init__(words, d_model, unknown=unknown)
        self.cell = GRUCell(d_model, d_hidden)
        self.output = nn.Linear(d_hidden, len(self.vocabulary))

    def forward(
        self,
        ids: Annotated[Int[Tensor, "batch n"], Ids("self.embedding.num_embeddings")],
        lengths: Sequence[Count] | None = None,
    ) -> Float[Tensor, "batch n vocab"]:
        """The logits of the next word after each of the words, the first of which is BOS.

        Args:
            ids: One text in each row; what fills a row up is not read, but must be an id.
            lengths: How many ids of each row are real. None: all.

        Returns:
            One row of logits per id.

        Raises:
            ValueError: An id has no row in the table, or a length does not fit.
        """
        hidden, _ = unroll(self.cell, self.embedding(ids), lengths=lengths)
        return self.output(hidden)

    def next_word_ids(self, ids: list[int]) -> Float[Tensor, "vocab"]:
        """The probability of each next word, from the ids of all words before it."""
        with torch.no_grad():
            return self(self._tensor([[self.bos, *ids]]))[0, -1].softmax(dim=-1)

    def losses_of_ids(self, texts: list[list[int]]) -> Float[Tensor, "tokens"]:
        """The negative log-probability of every word and every end, text after text."""
        begun = [self._tensor([self.bos, *ids]) for ids in texts]
        lengths = [len(ids) for ids in begun]
        logits = self(pad_sequence(begun, batch_first=True, padding_value=self.bos), lengths)
        rows = [row[:length] for row, length in zip(logits, lengths, strict=True)]
        return self._nll(torch.cat(rows), texts)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step for ``decoding``: only the last word is read, and the state goes on.

        Args:
            tokens: The last word of each text, BOS before the first.
            state: The hidden states, one row for each text, or None for zeros.

        Returns:
            The logits of the next words, and the states after.
        """
        with torch.no_grad():
            state = self.cell(self.embedding(tokens), state)
            return self.output(state), state

    def _start(self, prefix: Sequence[str]) -> tuple[Tensor, int]:
        ids = [self.bos, *self.ids(prefix)]
        state = self.output.weight.new_zeros(1, self.cell.d_hidden)
        for id_ in ids[:-1]:
            _, state = self.step(self._tensor([id_]), state)
        return state, ids[-1]


@checked
def train_lm(
    model: FeedForwardLM | RecurrentLM,
    texts: Sequence[Sequence[str]],
    *,
    generator: torch.Generator,
    n_steps: Size = 500,
    batch_size: Size = 32,
    learning_rate: Positive = 3e-3,
) -> list[float]:
    """Lower the mean loss per word by Adam, on texts that are drawn by chance.

    Args:
        model: It is changed.
        texts: The words of each text.
        generator: The source of chance: which texts a step sees.
        n_steps: How many steps are taken.
        batch_size: How many texts a step sees.
        learning_rate: Adam's step size at the start; it falls to 0 along a cosine.

    Returns:
        The mean loss of each step's texts, in nats per word.

    Raises:
        ValueError: There is no text, a word is not known, a number is out of range, or the loss
            grows beyond all bounds.

    Source: Kingma and Ba 2015. Chapter: neural_language_models#a-window-of-vectors.

    Example:
        >>> model = FeedForwardLM(["yes", "no"], n=2, d_model=3, d_hidden=5)
        >>> generator = torch.Generator().manual_seed(1)
        >>> losses = train_lm(model, [["yes"]], generator=generator, learning_rate=0.1)
        >>> losses[-1] < 0.01 < 0.1 < losses[0]
        True
    """
    require(len(texts) > 0, "there must be at least one text", n_texts=len(texts))
    ids = [model.ids(text) for text in texts]
    batches = _random_texts(ids, batch_size, generator)
    return _lowered(model, _mean_loss, batches, n_steps, learning_rate)


@checked
def train_side_by_side(
    models: Sequence[RecurrentLM],
    texts: Sequence[Sequence[str]],
    *,
    generator: torch.Generator,
    n_steps: Size = 500,
    batch_size: Size = 32,
    learning_rate: Positive = 3e-3,
) -> list[float]:
    """Train several models of one form at once: what ``train_lm`` makes of each, only faster.

    Their weights are stacked, and one step moves all of them. All read the same batches.

    Args:
        models: They are changed. Their words, and the shapes of their weights, are the same.
        texts: The words of each text.
        generator: The source of chance: which texts a step sees.
        n_steps: How many steps are taken.
        batch_size: How many texts a step sees.
        learning_rate: Adam's step size at the start; it falls to 0 along a cosine.

    Returns:
        The mean loss of each step's texts, in nats per word, and over the models.

    Raises:
        ValueError: There is no model or no text, the models differ in form, a word is not known,
            a number is out of range, or the loss grows beyond all bounds.

    Source: Kingma and Ba 2015.
    Chapter: generalization#a-cell-that-can-hold-on.

    Example:
        >>> models = [RecurrentLM(["yes", "no"], d_model=3, d_hidden=5) for _ in range(2)]
        >>> generator = torch.Generator().manual_seed(1)
        >>> losses = train_side_by_side(models, [["yes"]], generator=generator, learning_rate=0.1)
        >>> losses[-1] < 0.01 < 0.1 < losses[0]
        True
    """
    require(len(models) > 0, "there must be at least one model", n_models=len(models))
    require(len(texts) > 0, "there must be at least one text", n_texts=len(texts))
    forms = {(*model.words, *map(_form, model.named_parameters())) for model in models}
    require(len(forms) == 1, "the models must be of one form", n_forms=len(forms))
    first = models[0]
    read = [first._tensor([first.bos, *first.ids(text)]) for text in texts]
    read = pad_sequence(read, batch_first=True, padding_value=first.bos)
    targets = [first._tensor([*first.ids(text), first.eos]) for text in texts]
    targets = pad_sequence(targets, batch_first=True, padding_value=-1)  # -1 has no loss

    def loss_of(stack: _SideBySide, batch: list[int]) -> Tensor:
        logits = stack(read[batch]).flatten(0, 2)
        expected = targets[batch].flatten().repeat(len(models))
        mean = nn.functional.cross_entropy(logits, expected, ignore_index=-1)
        return len(models) * mean  # a sum over the models: each has the gradient of its own loss

    stack = _SideBySide(models)
    batches = _random_texts(range(len(texts)), batch_size, generator)
    losses = _lowered(stack, loss_of, batches, n_steps, learning_rate)
    stack.hand_back(models)
    return [loss / len(models) for loss in losses]


def _lowered(
    module: nn.Module, loss_of: Callable, batches: Iterable, n_steps: int, learning_rate: float
) -> list[float]:
    """The loss of each step of Adam, whose rate falls along a cosine."""
    weights = list(module.parameters())
    fused = weights[0].is_cpu or None  # elsewhere as PyTorch sees fit
    return train_model(
        module,
        loss_of,
        batches,
        optimizers=torch.optim.Adam(weights, lr=learning_rate, fused=fused),
        n_steps=n_steps,
        schedule=lambda step: warmup_cosine(step, n_steps=n_steps + 1, n_warmup=1),
    )


def _mean_loss(model: FeedForwardLM | RecurrentLM, batch: list[list[int]]) -> Tensor:
    return model.losses_of_ids(batch).mean()


def _form(named: tuple[str, Tensor]) -> tuple:
    name, weight = named
    return name, weight.shape, weight.dtype, weight.device


class _SideBySide(nn.Module):
    """Models of one form as one module: each weight is a stack with one layer for each model."""

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        weights, _ = stack_module_state(list(models))
        self.names, self.stacks = list(weights), nn.ParameterList(weights.values())
        self.form = [models[0]]  # in a list: its own weights are not learned

    def forward(self, ids: Tensor) -> Tensor:
        def logits_of(*weights: Tensor) -> Tensor:
            named = dict(zip(self.names, weights, strict=True))
            return functional_call(self.form[0], named, (ids,))

        return vmap(logits_of)(*self.stacks)

    def hand_back(self, models: Sequence[nn.Module]) -> None:
        """Each model gets its own layer of the stacks."""
        with torch.no_grad():
            for k, model in enumerate(models):
                for weight, stack in zip(model.parameters(), self.stacks, strict=True):
                    weight.copy_(stack[k])


def _random_texts(texts: Sequence, batch_size: int, generator: torch.Generator) -> Iterator[list]:
    while True:
        drawn = torch.randint(len(texts), (batch_size,), generator=generator).tolist()
        yield [texts[i] for i in drawn]
