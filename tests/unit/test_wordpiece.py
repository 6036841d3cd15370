"""WordPiece: worked numbers, a slower training as oracle, the marker, bad input."""

from collections import Counter
from itertools import pairwise

import pytest

from softlookup.data import book_prose, messages
from softlookup.tokenization import WordPieceTokenizer, split_words


def longest_first(word, pieces):
    """The cut that takes the longest piece at each place, found among all cuts of the word."""
    cuts = [[]]
    for i, character in enumerate(word):
        longer = [[*cut[:-1], cut[-1] + character] for cut in cuts] if i else []
        cuts = [*longer, *([*cut, "##" * (i > 0) + character] for cut in cuts)]
    possible = [cut for cut in cuts if all(piece in pieces for piece in cut)]
    return max(possible, key=lambda cut: [len(piece) for piece in cut], default=None)


def test_pieces_are_the_longest_from_the_left():
    tokenizer = WordPieceTokenizer(["un", "u", "##n", "##nd", "##do", "##d", "##o", "##one", "##e"])
    ids = tokenizer.encode("undone undo")
    assert [tokenizer.tokens[id_] for id_ in ids] == ["un", "##do", "##n", "##e", "un", "##do"]
    assert tokenizer.decode(ids) == "undone undo"


def test_longest_first_may_fail_where_another_cut_would_not():
    tokenizer = WordPieceTokenizer(["ab", "a", "##bc"])
    assert tokenizer.encode("abc") == [0]  # "a" + "##bc" would do; the rule does not look back
    assert tokenizer.encode("a abc ab") == [2, 0, 1]


@pytest.mark.parametrize("word", ["hugs", "hug", "gugs", "sugh", "pugging", "h", "ughhhh", "xug"])
def test_the_longest_pieces_by_search(word):
    pieces = ["h", "hu", "hug", "p", "pu", "s", "su", "##u", "##g", "##gs", "##ug", "##s", "##h",
              "##i", "##n", "##hh", "##ing", "##ging"]  # fmt: skip
    tokenizer = WordPieceTokenizer(pieces)
    greedy = [tokenizer.tokens[id_] for id_ in tokenizer.encode(word)]
    assert greedy == (longest_first(word, pieces) or ["[UNK]"])


def train_by_rescan(texts, size, min_count):
    """The same training, all counts taken anew before each join, on strings alone."""
    words = Counter(word for text in texts for word in text.split())
    cut = {word: [word[0], *("##" + c for c in word[1:])] for word in words}
    alphabet = sorted({c for word in words for c in word})
    tokens = [*alphabet, *("##" + c for c in alphabet)]
    while len(tokens) < size - 1:
        singles, pairs = Counter(), Counter()
        for word, pieces in cut.items():
            for piece in pieces:
                singles[piece] += words[word]
            used = None
            for i, pair in enumerate(pairwise(pieces)):
                if pair[0] == pair[1] and used == i:
                    continue
                used = i + 1 if pair[0] == pair[1] else None
                pairs[pair] += words[word]
        pairs = {pair: n for pair, n in pairs.items() if n >= min_count}
        if not pairs:
            break

        def rank(pair, pairs=pairs, singles=singles):
            left, right = pair
            score = pairs[pair] / (singles[left] * singles[right])
            return score, pairs[pair], -tokens.index(left), -tokens.index(right)

        left, right = max(pairs, key=rank)
        both = left + right.removeprefix("##")
        if both not in tokens:
            tokens.append(both)
        for word, pieces in cut.items():
            joined = []
            for piece in pieces:
                if joined and (joined[-1], piece) == (left, right):
                    joined[-1] = both
                else:
                    joined.append(piece)
            cut[word] = joined
    return ["[UNK]", *tokens]


@pytest.mark.parametrize("min_count", [1, 2, 3])
@pytest.mark.parametrize("size", [60, 97, 160])
def test_training_agrees_with_a_rescan(size, min_count):
    texts = [
        "hug pug hugs bug pun bun hugs hug hug aaa aaaa aaaaa",
        "low lower newest widest newer",
    ]
    ours = WordPieceTokenizer.train(texts, size, min_count=min_count)
    assert ours.tokens == train_by_rescan(texts, size, min_count)


def test_training_on_messages_agrees_with_a_rescan():
    texts = [message.text for message in messages()[:40]]
    assert WordPieceTokenizer.train(texts, 211).tokens == train_by_rescan(texts, 211, 2)


def test_the_score_is_a_ratio_not_a_count():
    # "ab" 4 times of 4 and 8; "xy" 3 times of 3 and 3: 4 / 32 < 3 / 9
    text = "ab ab ab ab cb cb cb cb xy xy xy"
    assert WordPieceTokenizer.train([text], 12).tokens[-1] == "xy"


def test_training_stops_where_no_pair_is_frequent_enough():
    assert WordPieceTokenizer.train(["ab cd"], 100).tokens[-1] == "##d"
    assert WordPieceTokenizer.train(["ab cd"], 100, min_count=1).tokens[-2:] == ["ab", "cd"]
    assert WordPieceTokenizer.train([], 100).tokens == ["[UNK]"]
    assert WordPieceTokenizer.train([], 100).encode("a b") == [0, 0]


def test_known_characters_are_never_unknown():
    train = [message.text for message in messages()[:300]]
    tokenizer = WordPieceTokenizer.train(train, 700)
    known = set("".join(train))
    texts = [m.text for m in messages()[300:] if set(m.text) <= known]
    assert len(texts) > 200
    for text in texts:
        ids = tokenizer.encode(text)
        assert 0 not in ids
        assert tokenizer.decode(ids) == " ".join(text.split())
    assert tokenizer.decode(tokenizer.encode(" q \n\tx")) == "q x"


def test_pieces_of_prose():
    text = book_prose()[:50_000]
    tokenizer = WordPieceTokenizer.train([text], 600)
    assert len(tokenizer) == 600 == len(set(tokenizer.tokens))
    ids = tokenizer.encode(text)
    assert len(text.split()) < len(ids) < len(text)


def test_marks_in_the_text_itself():
    text = "## # ##ing a##b ### [UNK] x[UNK]"
    tokenizer = WordPieceTokenizer.train([f"{text} ing {text}"], 200, min_count=1)
    ids = tokenizer.encode(text)
    assert 0 not in ids
    assert tokenizer.decode(ids) == text
    assert not any(token.startswith("##") and len(token) == 2 for token in tokenizer.tokens)
    tokenizer = WordPieceTokenizer(["a", "##ing", "#", "###"])
    assert tokenizer.encode("a ##ing") == [1, 3, 4, 2]  # [1, 2] would be "aing"
    assert tokenizer.decode([1, 3, 4, 2]) == "a ##ing"


def test_only_the_first_two_signs_are_the_mark():
    tokenizer = WordPieceTokenizer.train(["a## a## a## ax ay aq az aw"], 100, min_count=3)
    assert tokenizer.tokens[15:] == ["####", "a##"]
    assert tokenizer.decode([16, 15]) == "a####"


def test_unknown_words():
    tokenizer = WordPieceTokenizer.train(["abc abc"], 8, unknown="<?>")
    assert tokenizer.tokens[0] == "<?>"
    assert tokenizer.decode(tokenizer.encode("abc abd cab ")) == "abc <?> cab"
    assert tokenizer.encode("") == tokenizer.encode(" \n") == []
    assert tokenizer.decode([]) == ""


def test_words_are_cut_at_white_space():
    assert split_words(" a\u00a0b\u2028c \n d.\x1fe") == ["a", "b", "c", "d.\x1fe"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: WordPieceTokenizer(["a", "a"]), r"must be distinct; got repeated=\['a'\]"),
        (lambda: WordPieceTokenizer(["[UNK]"]), r"must be distinct; got repeated=\['\[UNK\]'\]"),
        (lambda: WordPieceTokenizer(["a", "##"]), r"at least one character; got empty=\['##'\]"),
        (lambda: WordPieceTokenizer([""]), r"at least one character; got empty=\[''\]"),
        (lambda: WordPieceTokenizer.train(["abc"], 6), "vocab_size must be at least 7"),
        (lambda: WordPieceTokenizer.train(["\ud800"], 9), "lone surrogate; got position=0"),
        (lambda: WordPieceTokenizer(["a"]).encode("a\ud800"), "lone surrogate; got position=1"),
        (lambda: WordPieceTokenizer(["a"]).decode([2]), "ids must be integers from 0 to 1"),
        (lambda: WordPieceTokenizer(["a"]).decode([-1]), "ids must be integers from 0 to 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
