"""Checks of chapter 6 on byte-pair encoding: one merge, and encoding by rank."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

from softlookup.data import messages
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.tokenization import BytePairTokenizer, split_chunks

Merges = list[tuple[str, str]]

MERGE_TEXTS = (
    "the best gradient descent method is still grad student descent",
    "aaab aaab aab",
    "banana bandana",
)

MERGE_RESULT = "Return two things: the best pair and the new chunks."


@exercise("return the best pair and the new chunks.")
def check_merge(answer: Answer) -> str:
    """Check a function of (chunks) that returns the most frequent pair and the chunks after it.

    Args:
        answer: The learner's function; a chunk is a list of tokens, a token a string.

    Chapter: tokenization#exercises
    """
    for text in MERGE_TEXTS:
        chunks = [list(chunk) for chunk in split_chunks(text)]
        for _ in range(5):
            pair, joined = answer.several(2, MERGE_RESULT, chunks)
            best = _best_pair(chunks)
            _same_pair(pair, best, chunks)
            merged = [_joined(chunk, best) for chunk in chunks]
            _same_chunks(joined, merged, chunks, best)
            chunks = merged
    return "Five merges on each of three texts; on the ten words: e+n, en+t, e+s, t+h, _+g."


@exercise("return the tokens of the chunk.")
def check_encode(answer: Answer) -> str:
    """Check a function of (chunk, merges) that encodes by rank, as the library does.

    Args:
        answer: The learner's function; a merge is a pair of strings, the result a list of strings.

    Chapter: tokenization#exercises
    """
    cases = encode_cases()
    answers = [_tokens_of(answer(chunk, merges)) for chunk, merges in cases]
    for (chunk, merges), tokens in zip(cases, answers, strict=True):
        if tokens != (expected := encode_by_rank(chunk, merges)):
            case = f"{chunk!r} becomes {expected}; yours is {tokens}."
            if "".join(map(str, tokens)) != chunk:
                raise Wrong(f"{case} Your tokens do not join to the chunk.")
            raise Wrong(f"{case} {_encode_advice(cases, answers)}")
    return f"The library's tokens on all {len(cases)} chunks."


def _counts(chunks: list[list[str]]) -> Counter:
    return Counter(pair for chunk in chunks for pair in pairwise(chunk))


def _best_pair(chunks: list[list[str]]) -> tuple[str, str]:
    counts = _counts(chunks)
    return max(counts, key=counts.get)


def _joined(chunk: Sequence[str], pair: tuple[str, str]) -> list[str]:
    tokens: list[str] = []
    for token in chunk:
        if tokens and (tokens[-1], token) == pair:
            tokens[-1] += token
        else:
            tokens.append(token)
    return tokens


def _same_pair(found: object, best: tuple[str, str], chunks: list[list[str]]) -> None:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Wrong(f"The pair should be two tokens, such as {best!r}; yours is {found!r}.")
    yours, counts = tuple(found), _counts(chunks)
    if yours == best:
        return
    across = Counter(pairwise(token for chunk in chunks for token in chunk))
    if yours not in counts and yours in across:
        raise Wrong(f"{yours!r} reaches from one chunk into the next: count pairs within a chunk.")
    if counts[yours] == counts[best]:
        raise Wrong(f"{yours!r} occurs {counts[yours]} times, but so does {best!r}, which stands "
                    "earlier in the text: of equals, take the first.")  # fmt: skip
    raise Wrong(f"{best!r} occurs {counts[best]} times, your {yours!r} {counts[yours]} times.")


def _same_chunks(
    found: object, merged: list[list[str]], before: list[list[str]], pair: tuple[str, str]
) -> None:
    try:
        yours = [list(chunk) for chunk in found]
    except TypeError:
        raise Wrong("The new chunks should be a list of lists of tokens.") from None
    if yours == merged:
        return
    if yours == before:
        raise Wrong("The pair is right, but the chunks are as they were: join it everywhere.")
    if len(yours) != len(merged):
        raise Wrong(f"There are {len(merged)} chunks; you returned {len(yours)}.")
    place = next(k for k, chunk in enumerate(merged) if yours[k] != chunk)
    if "".join(map(str, yours[place])) != "".join(merged[place]):
        raise Wrong(f"Letters got lost or doubled: {merged[place]} has become {yours[place]}.")
    raise Wrong(f"With {pair!r} joined, {before[place]} becomes {merged[place]}; yours is "
                f"{yours[place]}. Walk from left to right, and join every occurrence.")  # fmt: skip


def _tokens_of(yours: object) -> list:
    if isinstance(yours, str):
        raise Wrong(f"Return a list of tokens; you returned the string {yours!r}.")
    try:
        return list(yours)
    except TypeError:
        raise Wrong(f"Return a list of tokens; you returned {yours!r}.") from None


@cache
def encode_cases() -> list[tuple[str, Merges]]:
    """Chunks of the messages, and made-up ones of two letters, each with learned merges."""
    draw = random.Random(6)
    texts = [message.text for message in messages()]
    chunks = sorted({chunk for text in texts for chunk in split_chunks(text)})
    real = _merges_of(BytePairTokenizer.train(texts, 656))
    cases = [(" the", real), *((chunk, real) for chunk in draw.sample(chunks, 299))]
    made = ["".join(draw.choices("aab", k=draw.randrange(1, 12))) for _ in range(100)]
    letters = _merges_of(BytePairTokenizer.train(made, 268))
    return cases + [(chunk, letters) for chunk in made]


def _merges_of(tokenizer: BytePairTokenizer) -> Merges:
    names = [part.decode(errors="replace") for part in tokenizer.token_bytes]
    return [(names[left], names[right]) for left, right in tokenizer.merges]


def encode_by_rank(chunk: str, merges: Merges) -> list[str]:
    """The tokens of a chunk: always the merge that was learned first."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    tokens = list(chunk)
    while possible := [ranks[pair] for pair in pairwise(tokens) if pair in ranks]:
        tokens = _joined(tokens, merges[min(possible)])
    return tokens


def _as_found(chunk: str, merges: Merges) -> list[str]:
    known, tokens, i = set(merges), list(chunk), 0
    while i < len(tokens) - 1:
        if (tokens[i], tokens[i + 1]) in known:
            tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
            i = -1
        i += 1
    return tokens


def _longest_first(chunk: str, merges: Merges) -> list[str]:
    known, tokens = {left + right for left, right in merges}, []
    while chunk:
        ends = (end for end in range(len(chunk), 1, -1) if chunk[:end] in known)
        end = next(ends, 1)
        tokens.append(chunk[:end])
        chunk = chunk[end:]
    return tokens


def _by_order(chunk: str, merges: Merges) -> list[str]:
    tokens = list(chunk)
    for pair in merges:
        tokens = _joined(tokens, pair)
    return tokens


BACKWARDS = "You apply the merges from the last learned to the first."
SHORTCUTS: tuple[tuple[str, Callable[[str, Merges], list[str]]], ...] = (
    ("You join the first pair that has a merge, from left to right. The earliest merge goes first, "
     "wherever it stands.", _as_found),
    ("You take the longest known token from the left, as WordPiece does. Repeat the merges "
     "instead.", _longest_first),
    (BACKWARDS, lambda chunk, merges: encode_by_rank(chunk, merges[::-1])),
    (BACKWARDS, lambda chunk, merges: _by_order(chunk, merges[::-1])),
    ("Nothing was joined.", lambda chunk, merges: list(chunk)),
)  # fmt: skip


def _encode_advice(cases: list[tuple[str, Merges]], answers: list[list]) -> str:
    """The advice for the shortcut that would give these answers to all cases."""
    for advice, shortcut in SHORTCUTS:
        pairs = zip(cases, answers, strict=True)
        if all(tokens == shortcut(chunk, merges) for (chunk, merges), tokens in pairs):
            return advice
    return "Is the earliest merge first, and is it applied at all its places, from left to right?"
