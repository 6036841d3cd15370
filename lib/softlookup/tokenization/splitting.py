"""Where a text may be cut before its bytes are merged: the split patterns of GPT-2 and GPT-4."""

import regex

from softlookup.checks import checked, require, require_text

GPT2_PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)"  # the end of a short form: it's, we'll
    r"| ?\p{L}+"  # letters, with the space before them
    r"| ?\p{N}+"  # digits, with the space before them
    r"| ?[^\s\p{L}\p{N}]+"  # other signs, with the space before them
    r"|\s+(?!\S)"  # white space, but for the last sign of it if a word follows
    r"|\s+"
)
"""The pattern of GPT-2: words, numbers and signs are never merged with each other."""

GPT4_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)"  # capitals too: IT'S
    r"|[^\r\n\p{L}\p{N}]?\p{L}+"  # letters, with the space or other sign before them
    r"|\p{N}{1,3}"  # digits, at most three
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*"  # other signs, with the line feeds after them
    r"|\s+(?![\s\S])"  # white space at the end of the text
    r"|\s*[\r\n]+"  # white space up to the last line feed
    r"|\s+(?!\S)"  # white space, but for the last sign of it if a word follows
    r"|\s+"
)
"""The pattern of GPT-4's encoding cl100k_base."""


@checked
def split_chunks(text: str, pattern: str = GPT4_PATTERN) -> list[str]:
    """Cut a text into chunks by a pattern; nothing is lost, and no merge will cross a cut.

    Args:
        text: Any text that can be written as bytes.
        pattern: A regular expression of the package ``regex`` that matches every part of the text.

    Returns:
        The chunks, none empty; joined, they are the text.

    Raises:
        ValueError: The text holds a lone surrogate, which no bytes stand for; or the pattern has a
            capturing group, is no regular expression, or passes over a part of the text.

    Source: Radford et al. 2019, section 2.2. Chapter: tokenization#where-to-cut

    Example:
        >>> split_chunks("It's 2024, isn't it?")
        ['It', "'s", ' ', '202', '4', ',', ' isn', "'t", ' it', '?']
    """
    require_writable(text)
    chunks = compiled(pattern).findall(text)
    if "".join(chunks) != text:
        _refuse_gap(text, pattern)
    return [chunk for chunk in chunks if chunk] if "" in chunks else chunks


@checked
def compiled(pattern: str) -> regex.Pattern:
    """A split pattern, ready to use.

    Args:
        pattern: A regular expression of the package ``regex`` without capturing groups.

    Returns:
        The compiled pattern.

    Raises:
        ValueError: The pattern is no regular expression, or has a capturing group.

    Chapter: tokenization#where-to-cut

    Example:
        >>> compiled(GPT2_PATTERN).findall("not yet")
        ['not', ' yet']
    """
    try:
        result = regex.compile(pattern)
    except regex.error as error:
        rule = f"pattern must be a regular expression ({error})"
        raise ValueError(f"{rule}; got pattern={pattern!r}") from None
    no_groups = result.groups == 0
    require(no_groups, "pattern must not capture: write (?:...) for (...)", pattern=pattern)
    return result


def require_writable(text: str) -> None:
    """Raise a ``ValueError`` unless ``text`` is a string that UTF-8 can write.

    Args:
        text: What the caller passed.

    Raises:
        ValueError: It is no string, or holds a lone surrogate, half of a pair of UTF-16.

    Chapter: tokenization#bytes

    Example:
        >>> require_writable("a\\ud800")
        Traceback (most recent call last):
        ValueError: text must hold no lone surrogate; got position=1, character='\\ud800'
    """
    require_text(text=text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        rule = "text must hold no lone surrogate"
        require(False, rule, position=error.start, character=text[error.start])


def _refuse_gap(text: str, pattern: str) -> None:
    """Say where the first part stands that no chunk covers."""
    end = 0
    for match in compiled(pattern).finditer(text):
        if match.start() > end:
            break
        end = match.end()
    rule = "pattern must match every part of the text"
    require(False, rule, position=end, passed_over=text[end : end + 20])
