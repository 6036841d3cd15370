"""BLEU: how many short pieces of a translation also stand in a reference (Papineni et al. 2002)."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from softlookup.checks import Size, checked, require

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_SPLITS = (
    (re.compile(r"([ -&(-+/:-@\[-`{-~])"), r" \1 "),  # every sign of ASCII but ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # . and , stay between digits alone
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # a dash behind a digit; "well-known" stays whole
)


class BLEU(NamedTuple):
    r"""The score of a corpus, and all that it is made of.

    Attributes:
        score: From 0 to 100.
        precisions: For n = 1, 2, ...: the share of the n-grams that stand in a reference, after
            smoothing.
        brevity_penalty: $\min(1, e^{1 - r/c})$, where $c$ counts the tokens and $r$ those of the
            references.
        matches: For each n, how many n-grams stand in a reference.
        totals: For each n, how many there are.
        length: $c$.
        reference_length: $r$: of each text the reference of the nearest length, of two the shorter.

    Chapter: transformer#bleu

    Example:
        >>> BLEU(50.0, (1.0, 0.25), 1.0, (4, 1), (4, 4), 5, 5).score
        50.0
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    matches: tuple[int, ...]
    totals: tuple[int, ...]
    length: int
    reference_length: int


@checked
def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str | Sequence[str]],
    *,
    max_order: Size = 4,
    smoothing: Literal["exp", "none"] = "exp",
    lowercase: bool = False,
    tokenized: bool = False,
) -> BLEU:
    r"""BLEU of a whole corpus: $\mathrm{BP}\cdot(p_1 p_2 p_3 p_4)^{1/4}$, times 100.

    $p_n$ is the share of all n-grams of the hypotheses that stand in the reference of their own
    text. An n-gram counts at most as often as the one reference that has it most often. All counts
    are summed over the corpus first; BLEU is no mean of texts.

    Args:
        hypotheses: What was written.
        references: What should have been written: for each text one string, or several.
        max_order: The longest n-gram that counts.
        smoothing: What becomes of an n without a match: "none" makes the score 0; with "exp" the
            k-th such n counts as $2^{-k}$ matches. An n longer than every hypothesis gives 0.
        lowercase: Whether case is ignored.
        tokenized: Whether the texts are tokens already, with spaces between; otherwise
            ``bleu_tokens`` cuts them.

    Returns:
        The score and its parts: 100 if each text is its reference (and one has ``max_order``
        tokens), 0 if no token is right.

    Raises:
        ValueError: There is no text, not as many references as hypotheses, a text without a
            reference, something that is no string, ``max_order`` is no integer of at least 1, or
            ``smoothing`` is unknown.

    Source: Papineni et al. 2002, section 2; the same numbers as sacrebleu (Post 2018). Lectures
    003, "Abstract", and 004, "Learning Position Embeddings". Chapter: transformer#bleu.

    Example:
        >>> found = corpus_bleu(["he hit me with a pie"], ["he hit me with the pie"])
        >>> found.matches, found.totals
        ((5, 3, 2, 1), (6, 5, 4, 3))
        >>> round(found.score, 2)  # the fourth root of 5/6 * 3/5 * 2/4 * 1/3
        53.73
    """
    texts = _with_references(hypotheses, references)
    matches, totals = [0] * max_order, [0] * max_order
    length = reference_length = 0
    for hypothesis, own in texts:
        written, *wanted = (_cut(text, lowercase, tokenized) for text in (hypothesis, *own))
        length += len(written)
        reference_length += min((abs(len(r) - len(written)), len(r)) for r in wanted)[1]
        for n in range(1, max_order + 1):
            matches[n - 1] += matched_ngrams(written, wanted, n)
            totals[n - 1] += max(len(written) - n + 1, 0)
    precisions = _precisions(matches, totals, smoothing)
    penalty = _brevity_penalty(length, reference_length)
    mean = math.prod(p ** (1 / max_order) for p in precisions)
    parts = tuple(precisions), penalty, tuple(matches), tuple(totals), length, reference_length
    return BLEU(100 * penalty * mean, *parts)


@checked
def bleu_tokens(text: str) -> list[str]:
    """Cut a text as the translation contests do, under the name "13a".

    Signs of ASCII become tokens of their own, except apostrophes, ``.`` and ``,`` between digits,
    and ``-`` unless it follows a digit. All other signs, of whatever language, count as letters.

    Args:
        text: Any text.

    Returns:
        The tokens; none is empty.

    Raises:
        ValueError: ``text`` is no string.

    Source: Post 2018, section 3.1 (mteval-v13a, as in sacrebleu). Chapter: transformer#bleu.

    Example:
        >>> bleu_tokens("A well-known pie, for $1.50!")
        ['A', 'well-known', 'pie', ',', 'for', '$', '1.50', '!']
    """
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    text = f" {text} "
    for pattern, spaced in _SPLITS:
        text = pattern.sub(spaced, text)
    return text.split()


@checked
def matched_ngrams(written: Sequence[str], references: Sequence[Sequence[str]], n: Size) -> int:
    """How many n-grams of a text stand in a reference, each at most as often as there.

    Args:
        written: The tokens of the text.
        references: The tokens of each reference.
        n: How many tokens a piece has.

    Returns:
        From 0 to the number of n-grams written.

    Raises:
        ValueError: ``n`` is no integer of at least 1.

    Source: Papineni et al. 2002, section 2.1. Chapter: transformer#bleu.

    Example:
        >>> matched_ngrams(["the", "the", "the"], [["the", "cat", "saw", "the", "dog"]], 1)
        2
    """
    allowed: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        allowed |= Counter(_ngrams(reference, n))
    return (Counter(_ngrams(written, n)) & allowed).total()


def _ngrams(tokens: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    return (tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def _cut(text: str, lowercase: bool, tokenized: bool) -> list[str]:
    text = text.lower() if lowercase else text
    return text.split() if tokenized else bleu_tokens(text)


def _precisions(matches: list[int], totals: list[int], smoothing: str) -> list[float]:
    """The share of each n; once there is no match, or no n-gram at all, what smoothing makes of it.

    Without a single right token nothing is smoothed: the score is 0.
    """
    precisions, stand_in = [], 1.0
    for match, total in zip(matches, totals, strict=True):
        if match == 0 and smoothing == "exp" and any(matches):
            stand_in /= 2
            match = stand_in
        precisions.append(match / total if total else 0.0)
    return precisions


def _brevity_penalty(length: int, reference_length: int) -> float:
    if length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / length) if length else 0.0


def _with_references(
    hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]
) -> list[tuple[str, list[str]]]:
    """Each hypothesis with its references."""
    sizes = {"hypotheses": len(hypotheses), "references": len(references)}
    rule = "there must be at least one text, and references for each"
    require(sizes["hypotheses"] == sizes["references"] > 0, rule, **sizes)
    texts = []
    for i, (text, own) in enumerate(zip(hypotheses, references, strict=True)):
        own = [own] if isinstance(own, str) else list(own)
        require(len(own) > 0, f"references[{i}] must hold at least one text", n_texts=len(own))
        texts.append((text, own))
    return texts
