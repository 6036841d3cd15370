"""Laws that every language model must keep, asked of the patient with some parts exchanged.

Each law takes parts by name and returns None, or what it saw go wrong. Everything is float64, and
every size another prime, so that nothing fits by chance.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softlookup.exercises.bugs_model import Part, Patient, text_loss, train_patient
from softlookup.tokenization import merge_pair

Law = Callable[..., str | None]

_VOCAB, _WIDTH, _HEADS, _N, _BATCH = 13, 14, 2, 7, 3
_FILLER = 12
"""A token that stands for nothing: only filler is made of it."""


def right_shapes(**parts: Part) -> str | None:
    """Each part, and the model, returns tensors of the right shape."""
    model, ids = patient(**parts), texts()
    if model(ids, torch.tensor([_N, 5, 2])).shape != (_BATCH, _N, _VOCAB):
        return "the scores have another shape than (batch, n, vocab)."
    cut = model.parts.top_k(model(ids)[:, -1], 5)
    if cut.shape != (_BATCH, _VOCAB):
        return "what top_k leaves has another shape than the scores."
    return None


def starts_at_chance(**parts: Part) -> str | None:
    """Before training the loss is about the logarithm of the vocabulary's size."""
    model = Patient(101, **parts).eval()
    ids = torch.randint(101, (17, 19), generator=torch.Generator().manual_seed(1))
    loss = text_loss(model, ids, torch.full((17,), 19))[0].item()
    off = abs(loss - math.log(101))
    return None if off < 0.2 else f"the first loss is {loss:.2f}, not {math.log(101):.2f}."


def loss_falls(**parts: Part) -> str | None:
    """Twenty steps on one batch, in two parts, and the loss has halved."""
    model, ids, lengths = Patient(_VOCAB, **parts), texts(), torch.tensor([_N, 5, 6])
    batch = list(zip(ids.split([2, 1]), lengths.split([2, 1]), strict=True))
    first, *_, last = train_patient(model, [batch] * 21, lr=2e-2)
    return None if last < first / 2 else f"the loss went from {first:.2f} to {last:.2f}."


def as_in_pytorch(**parts: Part) -> str | None:
    """The same weights in PyTorch's own layers, with the formula's positions, give the scores."""
    model, ids = patient(**parts), texts()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        x = model.embedding.weight[ids] * _WIDTH**0.5 + _wave(_N, _WIDTH)
        later = torch.ones(_N, _N, dtype=torch.bool).triu(1)
        for block in model.blocks:
            x = _torch_block(block)(x, src_mask=later)
        rows = F.layer_norm(x, (_WIDTH,), model.gain, model.shift)
        peer = rows @ model.unembedding.weight.mT
        return _differ(model(ids), peer, "PyTorch's layers give", tolerance=1e-5)


def no_look_ahead(**parts: Part) -> str | None:
    """Another token at place t changes no score before t, not by one bit."""
    model, ids = patient(**parts), texts()
    before = model(ids)
    for t in range(1, _N):
        other = ids.clone()
        other[:, t] = (other[:, t] + 1) % _FILLER
        moved = (model(other) != before).any(dim=-1).any(dim=0)[:t].nonzero().flatten()
        if len(moved):
            return f"another token at place {t} changed the scores at place {moved[0].item()}."
    return None


def cache_is_full_pass(**parts: Part) -> str | None:
    """A text read in pieces, what was read being kept, gives the scores of one reading."""
    model, ids = patient(**parts), texts()
    cache: list = []
    pieces = [model(piece, cache=cache) for piece in ids.split([3, 2, 1, 1], dim=1)]
    return _differ(torch.cat(pieces, dim=1), model(ids), "one reading of the whole text gives")


def filler_is_unread(**parts: Part) -> str | None:
    """A text has the same scores alone and filled up, whatever the filler holds, even NaN."""
    model, ids, lengths = patient(**parts), texts(), [_N, 5, 2]
    for content in (0.0, 1e30, math.nan):
        with torch.no_grad():
            model.embedding.weight[_FILLER] = content
            real = torch.arange(_N) < torch.tensor(lengths).unsqueeze(-1)
            batch = model(ids.where(real, _FILLER), torch.tensor(lengths))
            for k, n in enumerate(lengths):
                told = f"with filler of {content:g}, the text alone gives"
                fault = _differ(batch[[k], :n, :_FILLER], model(ids[[k], :n])[..., :_FILLER], told)
                if fault:
                    return fault
    return None


def empty_text_is_harmless(**parts: Part) -> str | None:
    """An empty text in the batch leaves every gradient as it was."""
    gradients = []
    for rows, lengths in ([0, 1], [5, 4]), ([0, 1, 2], [5, 4, 0]):
        model = patient(**parts)
        text_loss(model, texts()[rows], torch.tensor(lengths))[0].backward()
        gradients.append(_gradient(model))
    return _differ(gradients[1], gradients[0], "without the empty text a gradient has")


def evaluation_repeats(**parts: Part) -> str | None:
    """Dropout works in training, where weights are right on average, and only there."""
    model, ids = patient(dropout=0.5, **parts), texts()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if not torch.equal(model(ids), model(ids)):
            return "in evaluation mode two readings of one text give different scores."
        if torch.equal(model.train()(ids), model(ids)):
            return "in training mode nothing is dropped."
        mean = model.parts.drop(torch.ones(10_000), 0.2, True).mean().item()
    return None if abs(mean - 1) < 0.05 else f"weights of 1 are {mean:.2f} on average in training."


def cut_means_zero(**parts: Part) -> str | None:
    """After top-k, k tokens of each row keep their odds, and the others have probability 0."""
    scores = torch.randn(5, 11, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    scores = scores * torch.tensor([[0.1], [1.0], [3.0], [1.0], [1.0]]) - torch.arange(5.0)[:, None]
    for k in (1, 3, 11):
        before = scores.softmax(-1)
        right = before * (before.argsort(-1, descending=True).argsort(-1) < k)
        left = (patient(**parts).parts.top_k(scores.clone(), k)).softmax(-1)
        leak = left[right == 0].sum().item()
        if leak > 0:
            return f"with k = {k}, tokens that were cut have probability {leak / 5:.2g} on average."
        fault = _differ(left, right / right.sum(-1, keepdim=True), f"with k = {k}, a token has")
        if fault:
            return fault
    return None


def parts_are_the_whole(**parts: Part) -> str | None:
    """Ragged parts of a batch, one after the other, give the gradient of the batch."""
    lengths, gradients = torch.tensor([_N, 6, 2]), []
    for cut in ([3], [2, 1]):
        model, ids = patient(**parts), texts()
        pieces = zip(ids.split(cut), lengths.split(cut), strict=True)
        losses, counts = zip(*(text_loss(model, *piece) for piece in pieces), strict=True)
        model.parts.total_loss(list(losses), list(counts)).backward()
        gradients.append(_gradient(model))
    return _differ(gradients[1], gradients[0], "in one piece a gradient has")


def one_table(**parts: Part) -> str | None:
    """A tied table is one: counted once, trained as one, copied as one."""
    model, ids = patient(**parts), texts()
    trained = sum(p.numel() for p in model.parameters())
    right = sum(p.numel() for p in patient().parameters())
    if trained != right:
        return f"the model has {trained:,} parameters; with one table it has {right:,}."
    for name, one in ("model", model), ("copy", deepcopy(model)):
        text_loss(one, ids, torch.full((_BATCH,), _N))[0].backward()
        torch.optim.SGD(one.parameters(), lr=0.1).step()
        if not torch.equal(one.embedding.weight, one.unembedding.weight):
            return f"after one step the two tables of the {name} differ."
    return None


def count_is_saving(**parts: Part) -> str | None:
    """The count of a pair is the number of tokens that joining it saves."""
    count = patient(**parts).parts.count_pairs
    for text in ("", "a", "abcab", "aaa", "aaaa", "aaabdaaabac", "aabbaabb", "hmmmmm", "aaaababab"):
        ids = list(text.encode())
        for pair, n in count(list(ids)).items():
            saved = len(ids) - len(merge_pair(ids, pair, 256))
            if n != saved:
                shown = bytes(pair).decode()
                return f"in “{text}”, {shown} is counted {n} times; joining it saves {saved}."
        if len(count(list(ids))) != len(set(pairwise(ids))):
            return f"in “{text}” some pairs are not counted."
    return None


SANITY: dict[str, Law] = {
    "shapes": right_shapes,
    "first loss": starts_at_chance,
    "loss falls": loss_falls,
}
"""What one looks at first."""

LAWS: dict[str, Law] = {
    "count = saving": count_is_saving,
    "parity": as_in_pytorch,
    "no look-ahead": no_look_ahead,
    "cache": cache_is_full_pass,
    "filler": filler_is_unread,
    "empty text": empty_text_is_harmless,
    "repeats": evaluation_repeats,
    "one table": one_table,
    "parts = whole": parts_are_the_whole,
    "cut is 0": cut_means_zero,
}
"""The laws, by short names."""


def broken_laws(**parts: Part) -> dict[str, str]:
    """Which laws the patient breaks with these parts, and how.

    Args:
        parts: Functions that stand in for those of ``PARTS``, by their names.

    Returns:
        What each broken law saw, by the law's name; empty for a healthy model.

    Chapter: bugs#the-verdict

    Example:
        >>> broken_laws()
        {}
    """
    faults = {name: law(**parts) for name, law in LAWS.items()}
    return {name: fault for name, fault in faults.items() if fault}


def patient(dropout: float = 0.0, **parts: Part) -> Patient:
    """The patient as the laws examine it: float64, evaluation mode, no weight at rest.

    Args:
        dropout: As in ``Patient``.
        parts: As in ``Patient``.

    Returns:
        A model whose gains and shifts are not 1 and 0, so that a forgotten one shows.

    Chapter: bugs#the-laws
    """
    size = {"d_model": _WIDTH, "n_heads": _HEADS}
    model = Patient(_VOCAB, **size, dropout=dropout, seed=1, **parts).double().eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(noise, alpha=0.3)
    return model


def texts() -> Tensor:
    """Three texts of seven tokens, none of them filler.

    Returns:
        Ids, (3, 7).

    Chapter: bugs#the-laws
    """
    return torch.randint(_FILLER, (_BATCH, _N), generator=torch.Generator().manual_seed(5))


def _differ(found: Tensor, right: Tensor, told: str, tolerance: float = 1e-10) -> str | None:
    """Where two tensors differ most, in words; None if they agree."""
    if torch.allclose(found, right, rtol=tolerance, atol=tolerance):
        return None
    gap = (found - right).abs().nan_to_num(math.inf).flatten()
    due, given = (tensor.flatten()[gap.argmax()] for tensor in (right, found))
    digits = 4 if gap.max() > 1e-3 else 12
    return f"{told} {due:.{digits}f} where the model gives {given:.{digits}f}."


def _gradient(model: nn.Module) -> Tensor:
    parameters = list(model.parameters())
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return torch.cat([grad.flatten() for grad in grads])


def _wave(n: int, d_model: int) -> Tensor:
    """Vaswani's formula, number by number: it shares no line with the library's."""
    waves = (math.sin, math.cos)
    return torch.tensor(
        [[waves[c % 2](t / 10000 ** ((c - c % 2) / d_model)) for c in range(d_model)]
         for t in range(n)],
        dtype=torch.float64,
    )  # fmt: skip


def _torch_block(block: nn.Module) -> nn.TransformerEncoderLayer:
    """PyTorch's layer with the weights of a block of the patient."""
    peer = nn.TransformerEncoderLayer(
        _WIDTH, _HEADS, 4 * _WIDTH, 0.0, batch_first=True, norm_first=True, dtype=torch.float64
    )
    three = (block.W_Q, block.W_K, block.W_V)
    peer.self_attn.in_proj_weight.copy_(torch.cat([W.weight for W in three]))
    peer.self_attn.in_proj_bias.copy_(torch.cat([W.bias for W in three]))
    pairs = [
        (peer.self_attn.out_proj, block.W_O.weight, block.W_O.bias),
        (peer.linear1, block.W_1.weight, block.W_1.bias),
        (peer.linear2, block.W_2.weight, block.W_2.bias),
        (peer.norm1, block.gain_1, block.shift_1),
        (peer.norm2, block.gain_2, block.shift_2),
    ]
    for layer, weight, bias in pairs:
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return peer
