"""Byte-pair merges: count pairs, join one, learn a list of merges, apply it.

``count_pairs``, ``merge_pair`` and ``learn_merges`` say what is computed.
``learn_merges_incrementally`` and ``apply_merges`` compute it without reading the text again after
each merge: they know where each pair stands.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf

from softlookup.checks import Count, Size, checked

BYTES = 256
"""The ids 0 to 255 are the bytes themselves; the first merge makes id 256."""

SHORT = 64
"""Up to so many bytes, joining one pair at a time is the faster way to apply merges."""

Pair = tuple[int, int]

_BREAK = -1  # stands between two chunks: no pair reaches over it
_GONE = -2  # the right half of a pair that was joined


@checked
def count_pairs(ids: Sequence[int]) -> dict[Pair, int]:
    """How often each pair of neighbours can be joined, in the order of first occurrence.

    Two joins cannot share an id: three equal ids in a row hold one pair to be joined, not two.

    Args:
        ids: The ids of one chunk, in order.

    Returns:
        A count of at least 1 for each pair.

    Source: Sennrich, Haddow and Birch 2016, section 3.2. Chapter: tokenization#byte-pair-encoding

    Example:
        >>> count_pairs([1, 2, 3, 1, 2])
        {(1, 2): 2, (2, 3): 1, (3, 1): 1}
        >>> count_pairs([7, 7, 7])
        {(7, 7): 1}
    """
    counts: dict[Pair, int] = {}
    used = -1  # the place of the right half of a pair of equal ids that was counted
    for i, pair in enumerate(pairwise(ids)):
        if pair[0] == pair[1]:
            if i == used:
                continue
            used = i + 1
        counts[pair] = counts.get(pair, 0) + 1
    return counts


@checked
def merge_pair(ids: Sequence[int], pair: Pair, new_id: Count) -> list[int]:
    """Write one id for each occurrence of a pair, from left to right.

    Args:
        ids: The ids of one chunk, in order; they stay as they are.
        pair: The two ids to join.
        new_id: The id that stands for both.

    Returns:
        A new list; it is shorter by the number of joins.

    Raises:
        ValueError: ``new_id`` is no integer of at least 0.

    Source: Sennrich, Haddow and Birch 2016, section 3.2. Chapter: tokenization#byte-pair-encoding

    Example:
        >>> merge_pair([1, 2, 3, 1, 2], (1, 2), 9)
        [9, 3, 9]
        >>> merge_pair([7, 7, 7], (7, 7), 9)
        [9, 7]
    """
    merged, i = [], 0
    while i < len(ids):
        joins = tuple(ids[i : i + 2]) == pair
        merged.append(new_id if joins else ids[i])
        i += 2 if joins else 1
    return merged


@checked
def learn_merges(chunks: Mapping[bytes, Size], n_merges: Count) -> list[Pair]:
    """The merges of byte-pair encoding: again and again, the most frequent pair becomes one id.

    Among pairs of the same count, the one that stands first is taken: the chunks are read in order,
    as they are at that moment.

    Args:
        chunks: How often each distinct chunk occurs, in the order of first occurrence.
        n_merges: How many merges to learn. Where no pair is left, there are fewer.

    Returns:
        Pairs of ids; merge k, counted from 0, makes id 256 + k.

    Raises:
        ValueError: ``n_merges`` is no integer of at least 0, or a count is below 1.

    Source: Sennrich, Haddow and Birch 2016, section 3.2. Chapter: tokenization#byte-pair-encoding

    Example:
        >>> learn_merges({b"low": 2, b"lower": 1, b"newer": 3}, 2)
        [(119, 101), (256, 114)]
    """
    words = [(list(chunk), count) for chunk, count in chunks.items()]
    merges: list[Pair] = []
    while len(merges) < n_merges:
        totals: Counter[Pair] = Counter()
        for ids, count in words:
            for pair, times in count_pairs(ids).items():
                totals[pair] += times * count
        if not totals:
            break
        best = max(totals, key=totals.get)  # the first of the largest
        words = [(merge_pair(ids, best, BYTES + len(merges)), count) for ids, count in words]
        merges.append(best)
    return merges


@checked
def learn_merges_incrementally(chunks: Mapping[bytes, Size], n_merges: Count) -> list[Pair]:
    """The same merges as ``learn_merges``, for large texts: only what a merge changes is read.

    A pair's count only falls once the pair exists, and its first place only moves to the right. So
    a queue in which some entries are out of date still shows no pair too late: the entry on top is
    brought up to date, and is the best one if it did not change.

    Args:
        chunks: As in ``learn_merges``.
        n_merges: As in ``learn_merges``.

    Returns:
        The list that ``learn_merges`` gives.

    Raises:
        ValueError: As in ``learn_merges``.

    Source: Sennrich, Haddow and Birch 2016, section 3.2. Chapter: tokenization#byte-pair-encoding

    Example:
        >>> learn_merges_incrementally({b"low": 2, b"lower": 1, b"newer": 3}, 2)
        [(119, 101), (256, 114)]
    """
    row = _Row(chunks)
    weights = [n for chunk, n in chunks.items() for _ in range(len(chunk) + 1)]

    def entry(pair: Pair) -> tuple[int, int, Pair]:
        joins = row.joins(pair, places[pair])
        return -sum(weights[i] for i in joins), joins[0], pair

    places = row.pairs()
    queue = [entry(pair) for pair in places]
    heapify(queue)
    merges: list[Pair] = []
    while queue and len(merges) < n_merges:
        known = heappop(queue)
        pair = known[-1]
        places[pair] = row.standing(pair, places[pair])
        if not places[pair]:
            continue
        if entry(pair) != known:
            heappush(queue, entry(pair))
            continue
        found = row.join(row.joins(pair, places.pop(pair)), BYTES + len(merges))
        places.update(found)
        merges.append(pair)
        for new_pair in found:
            heappush(queue, entry(new_pair))
    return merges


@checked
def apply_merges(chunk: bytes, new_ids: Mapping[Pair, int]) -> list[int]:
    """The ids of one chunk: of all merges that are possible, the one learned first comes first.

    A merge makes pairs that only later merges can join, so it makes no difference whether one join
    is made at a time, from the left, or each merge at all its places together. Short chunks, such
    as words, take the first way, which is simple; long ones the second: a chunk of a million bytes
    takes seconds, not days.

    Args:
        chunk: The bytes of one chunk.
        new_ids: The id that each merge makes, by its pair; the merge learned first makes the least.

    Returns:
        The ids; none for an empty chunk.

    Source: Sennrich, Haddow and Birch 2016, section 3.2. Chapter: tokenization#encode

    Example:
        >>> apply_merges(b"lower", {(119, 101): 256, (256, 114): 257})
        [108, 111, 257]
    """
    return _join_singly(chunk, new_ids) if len(chunk) <= SHORT else _join_together(chunk, new_ids)


def _join_singly(chunk: bytes, new_ids: Mapping[Pair, int]) -> list[int]:
    """Join the earliest merge's leftmost pair, and look again; quadratic in the chunk's length."""
    ids = list(chunk)
    made = [new_ids.get(pair, inf) for pair in pairwise(ids)]  # what each pair would become
    while (new_id := min(made, default=inf)) < inf:
        i = made.index(new_id)
        ids[i : i + 2] = [new_id]
        del made[i]
        if i > 0:
            made[i - 1] = new_ids.get((ids[i - 1], new_id), inf)
        if i < len(made):
            made[i] = new_ids.get((new_id, ids[i + 1]), inf)
    return ids


def _join_together(chunk: bytes, new_ids: Mapping[Pair, int]) -> list[int]:
    """Join each merge at all its places, which a linked row remembers."""
    row = _Row([chunk])
    queue = [(new_ids[pair], pair, at) for pair, at in row.pairs().items() if pair in new_ids]
    heapify(queue)
    while queue:
        new_id, pair, places = heappop(queue)
        found = row.join(row.joins(pair, row.standing(pair, places)), new_id)
        for new_pair in found.keys() & new_ids.keys():
            heappush(queue, (new_ids[new_pair], new_pair, found[new_pair]))
    return [id_ for id_ in row.ids if id_ >= 0]


class _Row:
    """The bytes of all chunks in one row, linked to their neighbours; after each chunk a break."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.ids: list[int] = []
        for chunk in chunks:
            self.ids.extend(chunk)
            self.ids.append(_BREAK)  # the last break is also what place -1 shows
        self.before = list(range(-1, len(self.ids) - 1))
        self.after = list(range(1, len(self.ids) + 1))

    def pairs(self) -> dict[Pair, list[int]]:
        """Where each pair stands at the start: the place of its left half, ascending."""
        places = defaultdict(list)
        for i, pair in enumerate(zip(self.ids, self.ids[1:], strict=False)):
            places[pair].append(i)
        return {pair: at for pair, at in places.items() if _BREAK not in pair}

    def standing(self, pair: Pair, places: list[int]) -> list[int]:
        """Those places at which the pair still stands."""
        ids, after = self.ids, self.after
        left, right = pair
        return [i for i in places if ids[i] == left and ids[after[i]] == right]

    def joins(self, pair: Pair, places: list[int]) -> list[int]:
        """Those places at which the pair can be joined, from the left: of two that overlap, one."""
        if pair[0] != pair[1]:
            return places
        apart: list[int] = []
        for i in places:
            if not apart or self.after[apart[-1]] != i:
                apart.append(i)
        return apart

    def join(self, places: list[int], new_id: int) -> dict[Pair, list[int]]:
        """Join the pair at these places; where the pairs with the new id stand, ascending."""
        ids, before, after = self.ids, self.before, self.after
        for i in places:
            right = after[i]
            ids[i], ids[right] = new_id, _GONE
            after[i] = after[right]
            before[after[i]] = i
        found = defaultdict(list)
        for i in places:
            left, right = before[i], after[i]
            if ids[left] not in (_BREAK, new_id):  # new_id: found there, as the pair to its right
                found[ids[left], new_id].append(left)
            if ids[right] != _BREAK:
                found[new_id, ids[right]].append(i)
        return found
