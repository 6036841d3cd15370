"""From a text to its atoms: word tokens, spans, n-grams, and a vocabulary that numbers them."""

from collections.abc import Iterable, Sequence

import regex

from softlookup.checks import Size, checked, require, require_distinct, require_known_ids

# Letters, marks, digits, underscores; an apostrophe between two of them holds a word together.
WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}\p{M}\p{N}_]+)*")


@checked
def word_tokens(text: str, *, lowercase: bool = True) -> list[str]:
    """The words of a text, in order; punctuation and white space fall away.

    Args:
        text: Any text.
        lowercase: Write every word in lower case, so that "This" and "this" are one word.

    Returns:
        One string for each token; no token is empty.

    Raises:
        ValueError: ``text`` is not a string.

    Source: lecture 000, "NLP concepts". Chapter: counting_words#tokens.

    Example:
        >>> word_tokens("This isn't a sentence.")
        ['this', "isn't", 'a', 'sentence']
    """
    words = WORD.findall(text)
    return [word.lower() for word in words] if lowercase else words


@checked
def token_offsets(text: str) -> list[tuple[int, int]]:
    """Where each word token stands in the text: ``text[start:end]`` is the token.

    Args:
        text: Any text.

    Returns:
        One (start, end) pair of character positions a token, in the order of ``word_tokens``.

    Raises:
        ValueError: ``text`` is not a string.

    Source: lecture 000, "NLP concepts". Chapter: counting_words#tokens.

    Example:
        >>> token_offsets("Not yet!")
        [(0, 3), (4, 7)]
    """
    return [match.span() for match in WORD.finditer(text)]


@checked
def span_to_offsets(span: tuple[int, int], offsets: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The characters that a span of tokens covers, from its first token to its last.

    Args:
        span: A slice of tokens, (start, end), with at least one token in it.
        offsets: The tokens' places in the text, from ``token_offsets``.

    Returns:
        The slice of characters, (start, end).

    Raises:
        ValueError: The span is empty, or is not within the tokens.

    Source: lecture 000, "NLP concepts". Chapter: counting_words#tokens.

    Example:
        >>> span_to_offsets((1, 3), token_offsets("see Ada Lovelace today"))
        (4, 16)
    """
    start, end = span
    inside = 0 <= start < end <= len(offsets)
    require(inside, "span must be 0 <= start < end <= n_tokens", span=span, n_tokens=len(offsets))
    return offsets[start][0], offsets[end - 1][1]


@checked
def offsets_to_span(
    character_span: tuple[int, int], offsets: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """The span of all tokens that a slice of characters touches.

    Args:
        character_span: A slice of characters, (start, end).
        offsets: The tokens' places in the text, from ``token_offsets``.

    Returns:
        The slice of tokens, (start, end); it undoes ``span_to_offsets``.

    Raises:
        ValueError: The slice of characters is empty, or touches no token.

    Source: lecture 000, "NLP concepts". Chapter: counting_words#tokens.

    Example:
        >>> offsets_to_span((4, 16), token_offsets("see Ada Lovelace today"))
        (1, 3)
    """
    first, last = character_span
    in_order = 0 <= first < last
    require(in_order, "character_span must be 0 <= start < end", character_span=character_span)
    touched = [i for i, (start, end) in enumerate(offsets) if start < last and first < end]
    require(bool(touched), "character_span must touch a token", character_span=character_span)
    return touched[0], touched[-1] + 1


@checked
def ngrams(tokens: Sequence[str], n: Size) -> list[str]:
    """Every run of ``n`` neighbouring tokens, joined by one space.

    Args:
        tokens: The tokens of one text, in order.
        n: Tokens in each run, at least 1; with 1, the tokens themselves.

    Returns:
        The max(T - n + 1, 0) runs of a text of T tokens, in order.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or ``tokens`` is one string.

    Source: lecture 000, "N-Grams"; lecture 001, "Language Models". Chapter: counting_words#n-grams.

    Example:
        >>> ngrams(["this", "is", "a", "sentence"], 2)
        ['this is', 'is a', 'a sentence']
    """
    return [" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


@checked
class Vocabulary:
    """Numbers for tokens and back: token to id is a one-to-one map.

    Args:
        tokens: The tokens to number, each once.
        unknown: The token that stands for every other token. It gets id 0, and ``tokens`` follow
            in their order. With None there is no such token, and the ids of ``tokens`` start at 0.

    Raises:
        ValueError: A token comes twice, or is ``unknown``.

    Source: lecture 000, "NLP concepts". Chapter: counting_words#vocabulary.

    Example:
        >>> vocabulary = Vocabulary(["this", "is"])
        >>> vocabulary.encode(["is", "that", "this"])
        [2, 0, 1]
        >>> vocabulary.decode([2, 0, 1])
        ['is', '<unk>', 'this']
    """

    def __init__(self, tokens: Iterable[str], *, unknown: str | None = "<unk>") -> None:
        self.unknown = unknown
        self._tokens = [*([] if unknown is None else [unknown]), *tokens]
        require_distinct(tokens=self._tokens)
        self._ids = {token: id_ for id_, token in enumerate(self._tokens)}

    @property
    def tokens(self) -> list[str]:
        """All tokens, each at the place of its id, the unknown token included."""
        return list(self._tokens)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """The id of each token.

        Args:
            tokens: The tokens of one text.

        Returns:
            One id for each token; 0 for one that has no number, where there is an unknown token.

        Raises:
            ValueError: A token has no number and there is no unknown token.

        Example:
            >>> Vocabulary(["a", "b"], unknown=None).encode(["b", "a", "b"])
            [1, 0, 1]
        """
        missing = sorted({token for token in tokens if token not in self._ids})
        known = not missing or self.unknown is not None
        require(known, "without an unknown token, every token must be known", missing=missing)
        return [self._ids.get(token, 0) for token in tokens]

    def decode(self, ids: Sequence[int]) -> list[str]:
        """The token of each id.

        Args:
            ids: Ids from 0 to ``len(self) - 1``.

        Returns:
            One token an id.

        Raises:
            ValueError: An id stands for no token.

        Example:
            >>> Vocabulary(["a", "b"]).decode([2, 1])
            ['b', 'a']
        """
        require_known_ids(len(self), ids)
        return [self._tokens[id_] for id_ in ids]

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids
