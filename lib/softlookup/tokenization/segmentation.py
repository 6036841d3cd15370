"""Probabilities of pieces, and what they say about a word: its best cut, and the average cut.

A place is a gap between two characters; a piece leads from one place to a later one; a way to cut
a word is a path from its first place to its last. Both questions are answered place by place.
"""

import math
from collections.abc import Iterable, Mapping

from softlookup.checks import Count, checked, require

UNKNOWN_PENALTY = 10.0
"""An unknown character is e^10 times less probable than the rarest piece, as in SentencePiece."""

Arc = tuple[int, int, float]


@checked
class UnigramModel:
    r"""Each piece has a probability, and a row of pieces the product $\prod_i p(\text{piece}_i)$.

    Args:
        log_probabilities: The natural logarithm of each piece's probability.

    Attributes:
        log_probabilities: As given.

    Raises:
        ValueError: There is no piece, one is empty, or a logarithm is not finite and at most 0.

    Source: Kudo 2018; lecture 004, "Vocabulary Size". Chapter: tokenization#unigram

    Example:
        >>> model = UnigramModel({"a": -1.0, "b": -1.0, "ab": -1.5})
        >>> model.best_pieces("aab")
        (['a', 'ab'], -2.5)
    """

    def __init__(self, log_probabilities: Mapping[str, float]) -> None:
        require(len(log_probabilities) > 0, "log_probabilities must hold at least one piece")
        require("" not in log_probabilities, "a piece must hold at least one character")
        wrong = {p: score for p, score in log_probabilities.items() if not -math.inf < score <= 0}
        rule = "every logarithm of a probability must be finite and at most 0"
        require(not wrong, rule, wrong=wrong)
        self.log_probabilities = dict(log_probabilities)
        self._longest = max(map(len, log_probabilities))
        self._unknown = min(log_probabilities.values()) - UNKNOWN_PENALTY

    def best_pieces(self, word: str, *, divided: bool = False) -> tuple[list[str], float]:
        r"""The cut with the largest $\sum_i \log p(\text{piece}_i)$, by the Viterbi algorithm.

        Of cuts with one sum, the one whose last piece is longest is taken, and so on to the left. A
        character that is no piece stands alone, ``UNKNOWN_PENALTY`` below the rarest piece.

        Args:
            word: The characters to cut.
            divided: Leave out the cut that is the whole word in one piece.

        Returns:
            The pieces, and the sum of their logarithms; no pieces and 0 for the empty word.

        Raises:
            ValueError: A word of less than two characters is to be divided.

        Example:
            >>> UnigramModel({"a": -1.0, "b": -1.0, "ab": -1.5}).best_pieces("ab", divided=True)
            (['a', 'b'], -2.0)
        """
        rule = "a word that is to be divided must have at least two characters"
        require(not divided or len(word) > 1, rule, word=word)
        best = [0.0] + [-math.inf] * len(word)  # of the characters before each place
        cut = [0] * (len(word) + 1)  # where the last piece of the best begins
        for start, end, score in self._arcs(word, unknown=True):
            whole = end - start == len(word)
            if best[start] + score > best[end] and not (divided and whole):
                best[end], cut[end] = best[start] + score, start
        pieces = []
        end = len(word)
        while end > 0:
            pieces.append(word[cut[end] : end])
            end = cut[end]
        return pieces[::-1], best[-1]

    def expected_counts(self, words: Mapping[str, Count]) -> tuple[dict[str, float], float]:
        """The E-step of EM: how often each piece is used, on average over all cuts of each word.

        A cut counts with its probability among the cuts of its word.

        Args:
            words: How often each word occurs.

        Returns:
            The expected count of each piece, and the log-likelihood of the words. The shares of
            the counts are the next probabilities (the M-step); they never make it smaller.

        Raises:
            ValueError: A word cannot be made of pieces.

        Example:
            >>> model = UnigramModel({"a": math.log(0.5), "aa": math.log(0.25)})
            >>> model.expected_counts({"aa": 3})[0]
            {'a': 3.0, 'aa': 1.5}
        """
        counts = dict.fromkeys(self.log_probabilities, 0.0)
        log_likelihood = 0.0
        for word, weight in words.items():
            n, arcs = len(word), list(self._arcs(word, unknown=False))
            forward = _path_sums(arcs, n)
            turned = ((n - end, n - start, score) for start, end, score in reversed(arcs))
            backward = _path_sums(turned, n)[::-1]
            require(forward[n] > -math.inf, "every word must be made of pieces", word=word)
            log_likelihood += weight * forward[n]
            for start, end, score in arcs:
                share = math.exp(forward[start] + score + backward[end] - forward[n])
                counts[word[start:end]] += weight * share
        return counts, log_likelihood

    def _arcs(self, word: str, *, unknown: bool) -> Iterable[Arc]:
        """Each piece in the word: start, end, logarithm; by end, then by start."""
        scores = self.log_probabilities
        for end in range(1, len(word) + 1):
            for start in range(max(0, end - self._longest), end):
                score = scores.get(word[start:end])
                if score is not None:
                    yield start, end, score
                elif unknown and end - start == 1:
                    yield start, end, self._unknown


def _path_sums(arcs: Iterable[Arc], n: int) -> list[float]:
    """At each place, the logarithm of the summed probability of all paths that lead there."""
    sums = [0.0] + [-math.inf] * n
    for start, end, score in arcs:  # every arc into ``start`` comes before those out of it
        low, high = sums[end], sums[start] + score
        if low > high:
            low, high = high, low
        if high > -math.inf:
            sums[end] = high + math.log1p(math.exp(low - high))
    return sums
