"""Checks of chapter 18: counting parameters, printed sizes, what reaches what, BLEU."""

import math
from collections import Counter
from dataclasses import replace

import torch
from torch import Tensor, nn

from softlookup.exercises.compare import advised, integers, numbers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.models import Transformer, TransformerConfig
from softlookup.models.encoder_decoder import parameter_counts
from softlookup.translation import corpus_bleu

_VOCAB = 37_000
BIASES_OR_NORMS = (
    "30,720 are missing: the biases of all feed-forward layers or, as chance will have it, the "
    "gains and shifts of all norms. Which did you leave out?"
)
NORM_OR_BIASES = (
    "6,144 are missing: the third norm of all decoder blocks or, as chance will have it, the "
    "outer bias (512) of all feed-forward layers. Which did you leave out?"
)


@exercise("count the parameters of the base model.")
def check_base_count(count: Answer) -> str:
    """Check how many parameters the base model has with 37,000 shared tokens.

    Args:
        count: The learner's number, exact.

    Chapter: transformer#exercises
    """
    config = TransformerConfig.base(_VOCAB)
    right, core = parameter_counts(config).total, parameter_counts(config).core
    d, d_ff, table = 512, 2048, _VOCAB * 512
    mistakes = [
        (core, "That is the core, without any embedding."),
        (core + 2 * table, "Source, target and output are one matrix: count it once, not twice."),
        (core + 3 * table, "Source, target and output are one matrix: count it once, not 3 times."),
        (right + 18 * 4 * d, "The projections of attention have no biases here."),
        (right + 2 * 2 * d, "Behind the last post-norm block there is no further norm."),
        (right + 18 * 4 * d + 2 * 2 * d, "That is PyTorch's core: it has biases and final norms."),
        (right - 12 * (d_ff + d), BIASES_OR_NORMS),
        (right - 30 * d, "A LayerNorm has a gain and a shift: 1,024 numbers, not 512."),
        (right - 6 * 2 * d, NORM_OR_BIASES),
        (right - 12 * d_ff, "A feed-forward layer has two biases: one of 2,048, and one of 512."),
        (table + core // 6, "That is one block of each kind. There are six."),
        (right - 6 * 4 * d * d, "A decoder block has two attentions: one reads the encoder."),
        (right - 6 * (4 * d * d + 2 * d), "A decoder block reads the encoder: one more sub-layer."),
        (right - 18 * d * d, "An attention has four matrices: queries, keys, values, and output."),
        (65_000_000, "That is what the paper prints. Count."),
    ]
    found = one_number(count.value, "The count")
    if found != right:
        aside = (
            f"{found:,.0f} is not right. Start with one attention: four matrices of 512 times 512."
        )
        raise Wrong(advised(found, mistakes, aside, rel_tol=0))
    return "63,045,632: the core has 44,101,632, the shared table 18,944,000."


@exercise(
    "give the smallest and the largest vocabulary for base.",
    "give the smallest and the largest vocabulary for big.",
)
def check_vocabularies(base: Answer, big: Answer) -> str:
    """Check which vocabularies would make the printed sizes true, 65 and 213 million.

    Args:
        base: The smallest and the largest vocabulary for which the base model has, rounded to
            millions, 65.
        big: The same for the big model and 213.

    Chapter: transformer#exercises
    """
    for name, answer, make, printed in (
        ("base", base, TransformerConfig.base, 65),
        ("big", big, TransformerConfig.big, 213),
    ):
        found = numbers(answer.value, torch.zeros(2), f"The two vocabularies for {name}").tolist()
        if not all(value.is_integer() for value in found):  # infinity is no integer, either
            raise Wrong(f"For {name}: tokens are whole numbers. Which way must you round?")
        _same_vocabularies(name, found, make(_VOCAB), printed)
    return "39,841 to 41,793 for base, 35,368 to 36,344 for big: no number is in both."


@exercise("return the number of parameters.")
def check_pytorch_count(answer: Answer) -> str:
    """Check a function of (d_model, d_ff, n_layers): the parameters of ``nn.Transformer``.

    Args:
        answer: The learner's function; as many blocks read as write.

    Chapter: transformer#exercises
    """
    for d, d_ff, n_layers in ((512, 2048, 6), (64, 48, 1), (64, 48, 3), (32, 128, 2)):
        with torch.device("meta"):
            peer = nn.Transformer(d, 8, n_layers, n_layers, d_ff, batch_first=True)
        right = sum(p.numel() for p in peer.parameters())
        found = one_number(answer(d, d_ff, n_layers), "The count")
        biases, norms = 3 * n_layers * 4 * d, 2 * 2 * d
        mistakes = [
            (biases + norms,
             "PyTorch's attention has four biases, and each stack ends with a norm."),
            (biases, "PyTorch's projections of attention have biases: four of d_model."),
            (norms, "PyTorch puts one more LayerNorm behind each of the two stacks."),
            (norms // 2, "Both stacks end with a LayerNorm, not one of them."),
        ]  # fmt: skip
        if found != right:
            asked = f"nn.Transformer({d}, 8, {n_layers}, {n_layers}, {d_ff})"
            gap = f"{abs(found - right):,.0f} too {'many' if found > right else 'few'}"
            plain = f"it has {right:,} parameters, you count {found:,.0f}, {gap}."
            raise Wrong(f"{asked}: {advised(right - found, mistakes, plain, rel_tol=0)}")
    return "44,140,544 for the base size: 36,864 biases and 2,048 of final norms above our core."


@exercise("return a list of places of the target.")
def check_changed(answer: Answer) -> str:
    """Check a function of (model, source, length, target, j): which scores source token j moves.

    Args:
        answer: The learner's function. ``source`` holds the ids of one text, (1, n_k), of which
            the first ``length`` are tokens and the others filler; ``target`` those of another,
            (1, n_q). It returns the places of the target whose scores change when another token
            stands at place j of the source.

    Chapter: transformer#exercises
    """
    generator = torch.Generator().manual_seed(15)
    for model in _models():
        for length, n_q, j in ((5, 4, 0), (5, 4, 4), (3, 6, 4), (3, 6, 1), (1, 1, 0)):
            source = torch.randint(11, (1, 5), generator=generator)
            target = torch.randint(11, (1, n_q), generator=generator)
            right = _moved(model, source, length, target, j)
            found = _places(answer(model, source, length, target, j))
            _same_places(found, right, n_q, length, j)
    return "One token of the source moves every score; filler moves none. Nothing is masked here."


@exercise("return one score for the whole corpus.")
def check_bleu(answer: Answer) -> str:
    """Check a function of (hypotheses, references): BLEU of a corpus, from 0 to 100.

    Args:
        answer: The learner's function. Both arguments are lists of texts, a text is a list of
            words, and each has one reference. Nothing is smoothed.

    Chapter: transformer#exercises
    """
    for corpus in _CORPORA:
        written, wanted = ([text.split() for text in side] for side in zip(*corpus, strict=True))
        right = corpus_bleu(*zip(*corpus, strict=True), smoothing="none", tokenized=True).score
        found = one_number(answer(written, wanted), "The score")
        if not math.isclose(found, right, rel_tol=1e-6, abs_tol=1e-6):
            shown = "; ".join(f"“{h}” for “{r}”" for h, r in corpus)
            mistakes = _bleu_slips(written, wanted)
            aside = f"BLEU is {right:.2f}, you have {found:.2f}."
            raise Wrong(f"{shown}: {advised(found, mistakes, aside, abs_tol=1e-6)}")
    return "Clipped counts of the whole corpus, a geometric mean, and a price for what is short."


def _same_vocabularies(
    name: str, found: list[float], config: TransformerConfig, millions: int
) -> None:
    right = _fitting(config, millions - 0.5, millions + 0.5)
    if found == right:
        return
    mistakes = [
        (right[::-1], "The smaller one comes first."),
        (_fitting(config, millions, millions + 1), "Rounded, not cut off: 64.6 is printed as 65."),
        (_fitting(replace(config, tie="none"), millions - 0.5, millions + 0.5),
         "One matrix serves source, target and output: a token costs one row, not three."),
        (_fitting(replace(config, attention_bias=True), millions - 0.5, millions + 0.5),
         "The projections of attention have no biases here."),
    ]  # fmt: skip
    for mistaken, advice in mistakes:
        if found == mistaken:
            raise Wrong(f"For {name}: {advice}")
    for value, end, wanted in zip(found, ("smallest", "largest"), right, strict=True):
        if value != wanted:
            total = parameter_counts(replace(config, vocab_size=max(int(value), 1))).total
            if abs(value - wanted) <= 2:
                raise Wrong(f"For {name}: nearly. With {value:,.0f} tokens it has {total:,}; is "
                            f"that the {end} that rounds to {millions} million?")  # fmt: skip
            raise Wrong(
                f"For {name}, with {value:,.0f} tokens it has {total:,} parameters, and that is "
                f"not the {end} that rounds to {millions} million."
            )


def _fitting(config: TransformerConfig, low: float, high: float) -> list[float]:
    """The smallest and largest vocabulary with a total from ``low`` up to below ``high``."""
    core = parameter_counts(config).core
    row = config.d_model * {"all": 1, "none": 3}[config.tie]
    return [float(math.ceil((low * 1e6 - core) / row)),
            float(math.ceil((high * 1e6 - core) / row) - 1)]  # fmt: skip


def _same_places(found: set[int], right: set[int], n_q: int, length: int, j: int) -> None:
    if found == right:
        return
    asked = f"With {length} source tokens, {n_q} target tokens and j = {j}"
    if not right and j >= length:
        raise Wrong(f"{asked}: place {j} is filler, no score moves. You list {sorted(found)}. "
                    "Do you pass the length to the model?")  # fmt: skip
    if not right:
        raise Wrong(f"{asked}: this model reads nothing of the source, so no score moves. Compare "
                    "the scores before and after, instead of thinking.")  # fmt: skip
    if found == set(range(j, n_q)) or found == set(range(j + 1, n_q)):
        raise Wrong(f"{asked}: the causal mask is for the target's own tokens. Every place reads "
                    "the whole source.")  # fmt: skip
    raise Wrong(f"{asked}: {sorted(right)} move; you list {sorted(found)}.")


def _places(answer: object) -> set[int]:
    return set(integers(answer, f"Return a list of places, like [0, 1]; you returned {answer!r}."))


def _moved(model: Transformer, source: Tensor, length: int, target: Tensor, j: int) -> set[int]:
    other = source.clone()
    other[0, j] = (other[0, j] + 1) % 11
    with torch.no_grad():
        before, after = (model(ids, [length], target)[0] for ids in (source, other))
    return set((before != after).any(dim=-1).nonzero().flatten().tolist())


def _models() -> list[Transformer]:
    """A model, and one whose decoder makes nothing of what it reads."""
    config = TransformerConfig(11, d_model=8, n_heads=2, d_ff=16, n_encoder_layers=2,
                               n_decoder_layers=2, dropout=0.0)  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(15)
        model, deaf = (Transformer(config).double().eval() for _ in range(2))
    for block in deaf.decoder:
        nn.init.zeros_(block.cross_attention.layer.W_O.weight)
    return [model, deaf]


_CORPORA = (
    [("he hit me with a pie", "he hit me with a pie")],
    [("he hit me with the pie", "he hit me with a pie")],
    [("he hit me with", "he hit me with a pie")],
    [("he hit me with a big red pie", "he hit me with a pie")],
    [("the cat on the mat the cat on the mat", "the cat on the mat saw the dog")],
    [("she sings a song in the garden", "she sings a song in a garden"), ("he sleeps", "he slept")],
    [("a b c d e", "a b c d e f g h"), ("a b c d e f g h", "a b c d e")],
    [("a b c", "a b c")],
)


def _bleu_slips(written: list[list[str]], wanted: list[list[str]]) -> list[tuple[float, str]]:
    """Known wrong scores of a corpus, with what to say about each."""
    c, r = sum(map(len, written)), sum(map(len, wanted))
    penalty = min(1.0, math.exp(1 - r / c))
    clipped, loose = _shares(written, wanted), _shares(written, wanted, clip=False)
    recalled = _shares(written, wanted, of_reference=True)
    singles = [
        min(1.0, math.exp(1 - len(b) / len(a))) * _geometric(_shares([a], [b]))
        for a, b in zip(written, wanted, strict=True)
    ]
    return [
        (penalty * _geometric(clipped), "The scale goes from 0 to 100."),
        (100 * _geometric(clipped), "It is too short: where is the brevity penalty?"),
        (100 * math.exp(1 - r / c) * _geometric(clipped),
         "What is longer than the reference is not rewarded: the penalty is at most 1."),
        (100 * penalty * _geometric(loose),
         "An n-gram counts at most as often as it stands in the reference."),
        (100 * penalty * _geometric(recalled),
         "Divide by the n-grams written, not by those wanted."),
        (100 * penalty * sum(clipped) / 4, "The mean over n is geometric: the fourth root."),
        (100 * penalty * clipped[0], "Those are single words. BLEU takes n = 1, 2, 3 and 4."),
        (100 * sum(singles) / len(singles), "Sum all counts first; BLEU is no mean of texts."),
    ]  # fmt: skip


def _shares(
    written: list[list[str]],
    wanted: list[list[str]],
    *,
    clip: bool = True,
    of_reference: bool = False,
) -> list[float]:
    """Precisions of n = 1 to 4, right or with a known slip."""
    shares = []
    for n in range(1, 5):
        matches = total = 0
        for text, reference in zip(written, wanted, strict=True):
            mine, theirs = (Counter(zip(*(t[k:] for k in range(n)), strict=False))
                            for t in (text, reference))  # fmt: skip
            matches += sum(
                min(k, theirs[g]) if clip else k * (g in theirs) for g, k in mine.items()
            )
            total += (theirs if of_reference else mine).total()
        shares.append(matches / total if total else 0.0)
    return shares


def _geometric(shares: list[float]) -> float:
    return math.prod(shares) ** 0.25
