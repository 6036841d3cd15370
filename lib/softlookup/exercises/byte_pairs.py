"""Checks of exercises on choosing sub-words: one merge of counted words, and better pieces."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from softlookup.data import messages, split
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.tokenization import (
    BytePairTokenizer,
    UnigramModel,
    learn_merges,
    split_chunks,
)

Counted = Mapping[tuple[str, ...], int]

MERGE_COUNTS: tuple[dict[str, int], ...] = (
    {"low": 5, "lower": 2, "newest": 6, "widest": 3},
    {"banana": 2, "bandana": 3, "ban": 1},
    {"aaab": 4, "aab": 1, "baaa": 2},
    {"wet": 2, "ate": 2},  # all pairs equal: the first is not that of the alphabet
)
MERGE_RESULT = "Return two things: the best pair and the dictionary of new chunks."

N_WORDS = 300
N_PIECES = 40
AIM = 0.95
"""What is left of BPE's tokens at most."""


@exercise("return the best pair and the new chunks with their counts.")
def check_merge(answer: Answer) -> str:
    """Check a function of (counts) that makes one merge of chunks that occur several times.

    Args:
        answer: The learner's function. It gets a dictionary from chunks, tuples of tokens, to how
            often they occur, and returns the best pair and the same dictionary after the merge.

    Chapter: tokenization#exercises
    """
    for text in MERGE_COUNTS:
        counts = {tuple(word): n for word, n in text.items()}
        for _ in range(4):
            given = dict(counts)
            pair, merged = answer.several(2, MERGE_RESULT, given)
            if given != counts:
                raise Wrong("Your function changes the dictionary that it was given.")
            best = best_pair(counts)
            _same_pair(pair, best, counts)
            expected = {joined(chunk, best): n for chunk, n in counts.items()}
            _same_chunks(merged, expected, best)
            counts = expected
    return "Four merges on each of four lists of words, with their counts kept."


@exercise("return the pieces that you choose.")
def check_pieces(answer: Answer) -> str:
    """Check a function of (words, n) that returns n pieces, better ones than BPE's.

    Args:
        answer: The learner's function. It gets the words with their counts and how many pieces it
            may choose besides the single characters.

    Chapter: tokenization#exercises
    """
    words = frequent_words()
    pieces = _chosen(answer(dict(words), N_PIECES))
    base = byte_pair_pieces(words, N_PIECES)
    yours, theirs = (fewest_tokens(words, found) for found in (pieces, base))
    new = new_words()
    share = fewest_tokens(new, pieces) / fewest_tokens(new, base)
    if yours > AIM * theirs:
        if set(pieces) == set(base):
            raise Wrong(f"These are BPE's own pieces, stepping stones and all: {theirs:,} tokens.")
        raise Wrong(
            f"Your pieces leave {yours:,} tokens, BPE's {theirs:,}. The aim is {AIM:.0%} of that, "
            f"{int(AIM * theirs):,} at most."
        )
    return (
        f"{yours:,} tokens, where BPE's pieces leave {theirs:,}: {1 - yours / theirs:.1%} fewer. "
        f"On the words of new messages it is {share:.1%} of BPE's."
    )


@cache
def frequent_words() -> dict[str, int]:
    """The most frequent chunks of the training messages, with their counts."""
    train, _ = split(messages())
    counts = Counter(chunk for message in train for chunk in split_chunks(message.text))
    return dict(counts.most_common(N_WORDS))


@cache
def new_words() -> dict[str, int]:
    """The chunks of the test messages, with their counts."""
    _, test = split(messages())
    return dict(Counter(chunk for message in test for chunk in split_chunks(message.text)))


def byte_pair_pieces(words: Mapping[str, int], n: int) -> list[str]:
    """The tokens that n merges of byte-pair encoding make."""
    merges = learn_merges({word.encode(): k for word, k in words.items()}, n)
    learned = BytePairTokenizer(merges).token_bytes[256:]
    return [part.decode(errors="replace") for part in learned]


def fewest_tokens(words: Mapping[str, int], pieces: Sequence[str]) -> int:
    """How many tokens all words are, each cut in the best way for these pieces."""
    tokens = [*"".join(words), *pieces]
    model = UnigramModel(dict.fromkeys(tokens, -1.0))  # all alike: the best cut has the fewest
    return sum(count * len(model.best_pieces(word)[0]) for word, count in words.items())


def pair_counts(counts: Counted) -> Counter:
    """How often each pair occurs, a chunk counted as often as it does."""
    found: Counter = Counter()
    for chunk, n in counts.items():
        for pair in pairwise(chunk):
            found[pair] += n
    return found


def best_pair(counts: Counted) -> tuple[str, str]:
    """The most frequent pair; of equals, the first."""
    found = pair_counts(counts)
    return max(found, key=found.get)


def joined(chunk: Sequence[str], pair: tuple[str, str]) -> tuple[str, ...]:
    """A chunk after one merge, from left to right."""
    tokens: list[str] = []
    for token in chunk:
        if tokens and (tokens[-1], token) == pair:
            tokens[-1] += token
        else:
            tokens.append(token)
    return tuple(tokens)


def _same_pair(found: object, best: tuple[str, str], counts: Counted) -> None:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Wrong(f"The pair should be two tokens, such as {best!r}; yours is {found!r}.")
    yours, often = tuple(found), pair_counts(counts)
    if yours == best:
        return
    once = pair_counts(dict.fromkeys(counts, 1))
    if often[yours] == often[best]:
        raise Wrong(
            f"{yours!r} occurs {often[yours]} times, but so does {best!r}, which stands earlier: "
            "of equals, take the first."
        )
    told = f"{best!r} occurs {often[best]} times, your {yours!r} {often[yours]} times."
    if yours == max(once, key=once.get):
        told += " A chunk that occurs five times counts five times."
    raise Wrong(told)


def _same_chunks(found: object, expected: Counted, pair: tuple[str, str]) -> None:
    try:
        yours = {tuple(chunk): n for chunk, n in found.items()}
    except (AttributeError, TypeError):
        raise Wrong("The new chunks should be a dictionary from tuples to counts.") from None
    if yours == dict(expected):
        return
    if set(yours) == set(expected):
        raise Wrong("The chunks are right, but not their counts: a merge leaves them alone.")
    missing = next((chunk for chunk in expected if chunk not in yours), None)
    if missing is None:
        raise Wrong("There are chunks too many: each old chunk becomes one new one.")
    raise Wrong(
        f"With {pair!r} joined, one chunk should be {missing}, and yours has none like it. Walk "
        "from left to right, and join every occurrence."
    )


def _chosen(found: object) -> list[str]:
    try:
        pieces = list(found)
    except TypeError:
        raise Wrong(f"Return a list of pieces; you returned {found!r}.") from None
    odd = [piece for piece in pieces if not isinstance(piece, str) or len(piece) < 2]
    if odd:
        raise Wrong(
            f"A piece is a string of two characters or more; {odd[0]!r} is none. The single "
            "characters are there in any case."
        )
    if len(set(pieces)) != len(pieces):
        raise Wrong("One of your pieces comes twice, which is a place wasted.")
    if len(pieces) != N_PIECES:
        raise Wrong(f"You were asked for {N_PIECES} pieces; these are {len(pieces)}.")
    return pieces
