"""Checks: perplexity, two steps, bits, texts, edges, smoothing, choice, three more."""

import itertools
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from softlookup.exercises.compare import advised, compare, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.language_models import (
    KneserNey,
    NGramModel,
    bits_per_byte,
    follower_counts,
    forward_algorithm,
    perplexity,
)

UNDERFLOW = (
    "Right for few tokens, wrong for 400: their product is too small for a float. Add logarithms."
)
PER_PIECE = "This is the perplexity of a piece. The mean goes over words: divide by their number."
TWO_BASES = "Logarithm and exponential must have one base: log₂ goes with 2 to the power."
NO_WORD = "Some texts have no word at all: what is missing from the sum of start is length 0."
ONLY_BEFORE = "This is what the words before the gap say. Those behind it speak, too."
ONLY_BEHIND = "This is as if the text began at the gap: the words before it are missing."
COUNTS_AGAIN = (
    "These are the count ratios. But what a frequent word keeps makes it frequent already."
)
PLACES_ONLY = (
    "These are the places: right if all give the same. Here one count gives more than another."
)
NO_COUNTS = "A row without counts gives 0/0. It must ask the shorter history alone."
ZEROS_KEPT = "A row without counts stays zero in yours. It must ask the shorter history alone."
BELOW_ZERO = (
    "Some of your counts fall below zero: take D only where there is a count, max(C − D, 0)."
)
HOW_OFTEN = "You share out by how often a word came. Ask after how many different words it came."
ONE_GIFT = "Your rows do not sum to one: each different word that followed gave D, not one for all."
NOTHING_BACK = "You took the discount and gave it to nobody: the rows sum to less than one."
EVEN_SHARES = "You share out evenly among all words. Which row do Kneser and Ney share out by?"
HONEST = "Return two numbers: the chosen weight and the perplexity to report."
LARGEST = (
    "The largest weight wins on the counted text, where the bigrams know every pair, and wherever "
    "probabilities are averaged and not their logarithms. Which of the two did you do?"
)
ON_TEST = "You chose on the test text. A choice that has seen the test is no longer tested by it."
TURNED = "Your weight is that of the unigrams: the second column of a table is the bigram model's."
REPORTED_DEVELOPMENT = (
    "The weight is right. But you report the perplexity on the text that it was chosen by."
)
WORST = "This weight has the highest perplexity of all on the development text. Lower is better."
KEPT_SHARES = "This shares out by what was kept. Who gave, and how much?"
ALL_ALIKE = "You let all rows count alike. A word before makes as many predictions as it occurs."
WORDS_WANTED = "Return a list of words: your function returned {}."
EDGES_KEPT = "Your text holds {}. The edges are no words: leave them out of what you return."
ALWAYS_ONE = "All your texts are alike. Draw each word; do not take the most frequent one."
NOT_AGAIN = "With the same seed your function writes another text: give the generator to each draw."
EVEN_DRAWS = (
    "After “{history}” you draw all words alike. But “{often}” followed it more often than "
    "“{seldom}”, and must be drawn more often."
)
OFF_DRAWS = (
    "After “{history}” you draw “{word}” in {found:.0%} of all cases. In the counted texts it came "
    "in {p:.0%}."
)
NEVER_BEGINS = "Your text begins with “{word}”, and no counted text does. What stands before it?"
NEVER_ENDS = "Your text “{text}” ends where no counted text did: draw the end like a word."
FROM_NEXT = (
    "Your text has “{history} {word}”: there one counted text ended and another began. Count "
    "within each text only."
)
NEVER_READ = (
    "With n = {n} your text has “{history} {word}”, which was never read. Draw from what followed "
    "the last {back}."
)
COPIES = (
    "With n = {n} you write nothing but counted texts. A shorter memory makes new ones: look back "
    "on the last {back} and no further."
)
WRITTEN = (
    (2, ["the cat sat", "the dog sat", "the dog barks", "the dog barks", "a cat barks"]),
    (3, ["the cat sat on the mat", "the dog sat on the mat", "a cat sat on the rug", "no"]),
    (3, ["no no no yes", "yes no no", "no yes"]),
    (1, ["no", "no yes", "no no"]),
)
"""What the learner's function is to write like: n, and the texts that are counted."""
CORPORA = (
    [["a", "b"], ["a", "a", "b"], ["b"]],
    [["the", "dog", "barks"], ["the", "dog"], []],
    [["no", "yes", "no"], ["yes"], ["maybe"]],
)


@exercise("return a list of words.")
def check_text(my_text: Answer) -> str:
    """Check a function of (texts, n, generator): a new text, drawn by the counts of n-grams.

    Args:
        my_text: The learner's function; ``texts`` is a list of texts, each a list of words.

    Chapter: language_models#exercises
    """
    for n, lines in WRITTEN:
        texts = [line.split() for line in lines]
        twice = []
        for _ in range(2):
            again = torch.Generator().manual_seed(n)
            twice.append([_drawn(my_text, texts, n, again) for _ in range(20)])
        if twice[0] != twice[1]:
            raise Wrong(NOT_AGAIN)
        generator = torch.Generator().manual_seed(100 + n)
        _judge_texts([_drawn(my_text, texts, n, generator) for _ in range(400)], texts, n)
    return "Your texts begin, go on and end as often as the counted ones do."


@exercise("return the probability of the text.")
def check_edges(my_probability: Answer) -> str:
    """Check a function of (texts, text): the bigram probability of a text with both its edges.

    Args:
        my_probability: The learner's function; both arguments hold lists of words.

    Chapter: language_models#exercises
    """
    for texts in CORPORA:
        model = NGramModel(texts, 2)
        for length in range(4):
            for text in itertools.product(model.words[:-1], repeat=length):
                found = scalar(my_probability(texts, list(text)), "The probability")
                _same_probability(found, math.exp(model.log_probability(text)), text)
    return "All texts share one whole: with both edges, nothing is lost and nothing is made up."


@exercise("return the perplexity for each word.")
def check_perplexity(my_perplexity: Answer) -> str:
    """Check a function of words, each a list of its pieces' probabilities: perplexity per word.

    Args:
        my_perplexity: The learner's function.

    Chapter: language_models#exercises
    """
    for words in (
        [[0.2]] * 5,
        [[0.5, 0.5], [0.25]],
        [[0.9, 0.5, 0.3], [0.1]],
        [[0.1, 0.1], [0.2, 0.5]] * 200,
    ):
        logs = [math.log(p) for pieces in words for p in pieces]
        expected = perplexity(sum(logs), len(words))
        product = math.exp(sum(logs))
        try:
            found = scalar(my_perplexity(words), "The perplexity")
        except Wrong as wrong:
            if product > 0:
                raise
            raise Wrong(f"{UNDERFLOW} {wrong}") from wrong
        if math.isclose(found, expected, rel_tol=1e-6):
            continue
        mean = -sum(logs) / len(words)
        mistakes = [
            (math.exp(-sum(logs) / len(logs)), PER_PIECE),
            (mean, "This is the mean of −log p. Undo the logarithm."),
            (math.exp(mean / math.log(2)), TWO_BASES),
        ]
        aside = f"For {words} yours is {found:.6g}. Equal chances among V words must give V."
        raise Wrong(advised(found, mistakes, aside if product > 0 else UNDERFLOW))
    return "However a word is cut, its perplexity is one over the product of its pieces."


@exercise("return the table for two steps.")
def check_two_steps(my_two_steps: Answer) -> str:
    """Check a function of a bigram table that returns the table for the word after next.

    Args:
        my_two_steps: The learner's function.

    Chapter: language_models#exercises
    """
    for seed in (1, 2):
        P = _rows(3 + seed, 3 + seed, seed)
        mistakes = [
            (P**2, "You squared each entry: twice the same step. Sum over the word in between."),
            (2 * P, "Two steps are one after the other: probabilities along a way multiply."),
            (P @ P.mT, "The second step begins where the first ended: multiply rows by columns."),
            ((P @ P).mT, "Rows and columns are exchanged: a row is the first of the words."),
        ]
        otherwise = "Does each row of yours sum to one over the words two places on?"
        kept = "Your function changes the table that it was given."
        compare(my_two_steps(P, kept=kept), P @ P, "Your table", mistakes, otherwise)
    return "Each further place is one more product: after k places it is the k-th power."


@exercise("return the bits per byte.")
def check_bits(my_bits: Answer) -> str:
    """Check a function of (perplexity, n_tokens, n_bytes): the bits per byte.

    Args:
        my_bits: The learner's function of the perplexity of a token and of how many tokens and
            bytes the text has.

    Chapter: language_models#exercises
    """
    for given, n_tokens, n_bytes in ((8.0, 40, 120), (22.0, 1250, 5200), (2.2, 5000, 5200)):
        loss = math.log(given)
        bits = loss / math.log(2)
        expected = bits_per_byte(-loss * n_tokens, n_bytes)
        found = scalar(my_bits(given, n_tokens, n_bytes), "The bits")
        if math.isclose(found, expected, rel_tol=1e-6):
            continue
        mistakes = [
            (loss * n_tokens / n_bytes, "These are natural units. A bit has the base 2."),
            (bits, "These are the bits of a token. How many tokens has a byte?"),
            (bits * n_bytes / n_tokens, "The bytes share a token's bits: divide by n_bytes."),
            (bits * n_tokens, "These are the bits of the whole text."),
            (given * n_tokens / n_bytes, "First from the perplexity back to the loss per token."),
        ]
        case = f"a perplexity of {given:g}, {n_tokens} tokens and {n_bytes} bytes"
        aside = f"For {case} yours is {found:.6g}. Eight equal choices are 3 bits."
        raise Wrong(advised(found, mistakes, aside))
    return "B has by far the largest perplexity, and is the best of the three."


@exercise("return the table of smoothed probabilities.")
def check_smoothed(my_smoothed: Answer) -> str:
    """Check a function of (C, D): Kneser and Ney's smoothing of a table of bigram counts.

    Args:
        my_smoothed: The learner's function; ``C`` has a row for each word before.

    Chapter: language_models#exercises
    """
    cities = [["san", "jose"]] * 4 + [["my", "town"], ["my", "cup"], ["old", "town"]]
    for D, has_empty_row in ((0.75, False), (0.4, True)):
        C, expected = _counts_and_smoothed(cities, D)
        if has_empty_row:
            C = torch.cat([C, torch.zeros(1, C.shape[1])])
            expected = torch.cat([expected, _places(C)[None]])
        total = C.sum(dim=1, keepdim=True)
        kept = (C - D).clamp(min=0)
        taken = D * (C > 0).sum(dim=1, keepdim=True)
        undivided = kept + taken * _places(C)
        often, even = C.sum(dim=0) / C.sum(), torch.ones_like(C[0]) / C.shape[1]
        mistakes = [
            (_shared(kept, taken, often, total), HOW_OFTEN),
            (_shared(kept, taken, even, total), EVEN_SHARES),
            (_shared(kept, D * (total > 0), _places(C), total), ONE_GIFT),
            (_shared(C - D, taken, _places(C), total), BELOW_ZERO),
            (_shared(kept, 0 * taken, _places(C), total), NOTHING_BACK),
            (undivided / total, NO_COUNTS),
            (undivided / total.clamp(min=1), ZEROS_KEPT),
            (C / total, "These are the count ratios: nothing was taken, and zeros stay zero."),
        ]
        otherwise = "An unread history is answered by the shorter one. Do your rows sum to one?"
        unchanged = "Your function changes the table that it was given."
        compare(my_smoothed(C, D, kept=unchanged), expected, "Your table", mistakes, otherwise)
    return "Counts at the top, places below: your table is that of the library, row by row."


@exercise("return the chosen weight and the perplexity to report.")
def check_choice(my_choice: Answer) -> str:
    """Check a function of (counted, development, test, weights): which weight, and what to report.

    Args:
        my_choice: The learner's function. Each text is a table with a row for each token, and two
            columns: its probability in the unigram and in the bigram model.

    Chapter: language_models#exercises
    """
    weights = [0.1, 0.3, 0.5, 0.7, 0.9]
    for seed in (3, 5):
        counted, development, test = (_token_table(seed, part) for part in range(3))
        best = min(weights, key=lambda weight: _mixed(weight, development))
        worst = max(weights, key=lambda weight: _mixed(weight, development))
        found = my_choice.several(2, HONEST, counted, development, test, weights)
        weight = scalar(found[0], "The weight")
        reported = scalar(found[1], "The perplexity")
        if weight != 0.5 and math.isclose(reported, _mixed(1 - weight, test), rel_tol=1e-6):
            raise Wrong(TURNED)
        if not math.isclose(weight, best):
            mistakes = [
                (min(weights, key=lambda weight: _mixed(weight, counted)), LARGEST),
                (min(weights, key=lambda weight: _mixed(weight, test)), ON_TEST),
                (worst, WORST),
            ]
            otherwise = f"You chose {weight:g}; the development text prefers another weight."
            raise Wrong(advised(weight, mistakes, otherwise))
        if not math.isclose(reported, _mixed(best, test), rel_tol=1e-6):
            mistakes = [
                (_mixed(best, development), REPORTED_DEVELOPMENT),
                (_mixed(best, counted), "The weight is right. But you report the counted text."),
                (math.log(_mixed(best, test)), "The weight is right. Undo the logarithm."),
            ]
            otherwise = f"The weight is right. With it the test text has not {reported:.4g}."
            raise Wrong(advised(reported, mistakes, otherwise))
    return "Chosen on one text and judged on another, which had no part in the choice."


@exercise("return the row q.")
def check_shares(my_shares: Answer) -> str:
    """Check a function of (C, taken): how what was taken from counts must be shared out.

    Args:
        my_shares: The learner's function of two tables with a row for each word before: the counts
            of each next word, and what was taken from them. It returns a share for each next word.

    Chapter: language_models#exercises
    """
    for seed, is_even in ((1, False), (2, False), (3, True)):
        generator = torch.Generator().manual_seed(seed)
        C = torch.randint(4, (4, 5), generator=generator).double()
        C[0] = 1 + torch.arange(5)  # each next word was seen
        C[:, 0] += 1  # and each word before has something after it
        shares = torch.rand(C.shape, generator=generator).double()
        part = 0.6 if is_even else 0.1 + 0.8 * shares
        taken = part * (C > 0)
        expected = taken.sum(dim=0) / taken.sum()
        rows = taken / C.sum(dim=1, keepdim=True)
        kept = C - taken
        mistakes = [
            (C.sum(dim=0) / C.sum(), COUNTS_AGAIN),
            ((C > 0).sum(dim=0) / (C > 0).sum(), PLACES_ONLY),
            (kept.sum(dim=0) / kept.sum(), KEPT_SHARES),
            (rows.sum(dim=0) / rows.sum(), ALL_ALIKE),
            (taken.sum(dim=0), "Your row does not sum to one: divide by all that was taken."),
        ]
        shapes = {(4,): "One number for each next word, which is a column; yours are for the rows."}
        otherwise = "With your row the model expects some word more often, or less, than it came."
        answer = my_shares(C.clone(), taken.clone())
        compare(answer, expected, "Your row", mistakes, otherwise, shapes=shapes)
    return "Each word gets back what was taken from it; with one D for all these are its places."


@exercise("return the mean number of words.")
def check_mean_length(my_mean_length: Answer) -> str:
    """Check a function of (start, P): the mean length of the texts of a bigram model.

    Args:
        my_mean_length: The learner's function. ``start`` and the rows of ``P`` may sum to less
            than 1: the rest is the probability of the end.

    Chapter: language_models#exercises
    """
    for n_words, seed in ((3, 6), (1, 5), (6, 7)):
        rows = _rows(
            n_words + 1, n_words + 1, seed
        )  # the last column is the end, the last row the start
        start, P = rows[-1, :-1], rows[:-1, :-1]
        steps = torch.linalg.inv(torch.eye(n_words, dtype=P.dtype) - P)
        expected = (start @ steps).sum().item()
        found = scalar(my_mean_length(start, P), "The mean length")
        if math.isclose(found, expected, rel_tol=1e-9):
            continue
        mistakes = [
            (expected + 1, "One too many: the end is no word."),
            (expected / start.sum().item(), NO_WORD),
            (steps.sum(dim=1).mean(), "The first word is not drawn evenly: use start."),
        ]
        if math.isclose(found, expected, rel_tol=0.05):
            near = f"Close, but not exact: {found:.6g}, and it is {expected:.6g}."
            raise Wrong(f"{near} Do you simulate, or stop at some length? Solve the equations.")
        aside = f"With {n_words} words yours is {found:.4g}, and it is {expected:.4g}."
        raise Wrong(advised(found, mistakes, aside, rel_tol=1e-9))
    return (
        "And for count ratios it is exactly the mean length of the counted texts: what flows into "
        "a word in the model flows as it did in the text."
    )


@exercise("return the probabilities of the missing word.")
def check_gap(my_gap: Answer) -> str:
    """Check a function of (words, gap, initial, A, B): which word is missing from a text.

    Args:
        my_gap: The learner's function; ``words`` is a list of ids, ``gap`` the place of the one
            that cannot be read; the rest are the tensors of a hidden Markov model.

    Chapter: language_models#exercises
    """
    sizes = (2, 1, 0), (2, 3, 1), (3, 4, 3), (2, 5, 0), (3, 60, 31)
    for seed, (n_states, n, gap) in enumerate(sizes):
        initial = _rows(1, n_states, 40 + seed)[0]
        A, B = _rows(n_states, n_states, seed), _rows(n_states, 4, 70 + seed)
        words = torch.randint(4, (n,), generator=torch.Generator().manual_seed(seed)).tolist()
        expected = _with_each_word(words, gap, initial, A, B)
        before = _with_each_word(words[: gap + 1], gap, initial, A, B)
        mistakes = [(before, ONLY_BEFORE)]
        if gap + 1 < n:
            mistakes += [(_with_each_word(words[gap:], 0, initial, A, B), ONLY_BEHIND)]
        place = f"With {n} words and a gap at place {gap} it is wrong."

        def otherwise(found: Tensor, right: Tensor, place: str = place) -> str:
            total = found.sum().item()
            if abs(total - 1) > 1e-6:
                return f"{place} Your numbers sum to {total:.4g}; something must fill the gap."
            return f"{place} Compare with the sum over all ways through a short text."

        states = {(n_states,): "One number for each word, not for each state: what do they say?"}
        answer = my_gap(words, gap, initial, A, B)
        compare(answer, expected, "Your answer", mistakes, otherwise, shapes=states)
        other = [*words[:gap], (words[gap] + 1) % 4, *words[gap + 1 :]]
        unread = "What stands at the gap cannot be read: your answer must not depend on it."
        compare(my_gap(other, gap, initial, A, B), expected, "Your answer", (), unread)
    return "Words on both sides speak, and 60 words took no more than 60 steps."


def _drawn(my_text: Answer, texts: list[list[str]], n: int, generator: torch.Generator) -> list:
    """One text of the learner's function: a list of words without the edges."""
    found = my_text(texts, n, generator)
    if not isinstance(found, list | tuple) or not all(isinstance(word, str) for word in found):
        raise Wrong(WORDS_WANTED.format(f"{found!r}"[:60]))
    edges = [word for word in found if word in ("<s>", "</s>")]
    if edges:
        raise Wrong(EDGES_KEPT.format(edges[0]))
    return list(found)


def _judge_texts(drawn: list[list[str]], texts: list[list[str]], n: int) -> None:
    """Each step of the texts was counted, and is drawn as often as it was counted."""
    edged = [[["<s>"] * (n - 1) + text + ["</s>"] for text in some] for some in (texts, drawn)]
    counted, found = (follower_counts(some, n) for some in edged)
    back = {1: "0 words", 2: "word"}.get(n, f"{n - 1} words")
    for text in drawn:
        for history, words in follower_counts([["<s>"] * (n - 1) + text + ["</s>"]], n).items():
            for word in words:
                if word not in counted.get(history, ()):
                    raise Wrong(_never_read(history, word, text, texts, n, back))
    if len(set(map(tuple, drawn))) == 1:
        raise Wrong(ALWAYS_ONE)
    for history, words in counted.items():
        _judge_draws(" ".join(history), words, found.get(history, {}))
    if n > 1 and all(text in texts for text in drawn):
        raise Wrong(COPIES.format(n=n, back=back))


def _judge_draws(history: str, words: Mapping, found: Mapping) -> None:
    """After this history each word comes as often as chance allows for its count."""
    n_drawn = sum(found.values())
    for word, count in words.items():
        p = count / sum(words.values())
        if _is_by_chance(found.get(word, 0), n_drawn, p):
            continue
        is_even = all(_is_by_chance(found.get(w, 0), n_drawn, 1 / len(words)) for w in words)
        if is_even:
            often, seldom = max(words, key=words.get), min(words, key=words.get)
            raise Wrong(EVEN_DRAWS.format(history=history, often=often, seldom=seldom))
        share = found.get(word, 0) / max(n_drawn, 1)
        raise Wrong(OFF_DRAWS.format(history=history, word=word, found=share, p=p))


def _is_by_chance(count: int, n_drawn: int, p: float) -> bool:
    return abs(count - n_drawn * p) <= 5 * math.sqrt(n_drawn * p * (1 - p)) + 1e-9


def _never_read(
    history: tuple, word: str, text: list[str], texts: list[list[str]], n: int, back: str
) -> str:
    """What to say of a step that no counted text has."""
    shown = " ".join(text)
    if not text or word == "</s>":
        return NEVER_ENDS.format(text=shown)
    if history and set(history) == {"<s>"}:
        return NEVER_BEGINS.format(word=word)
    ends, begins = {one[-1] for one in texts}, {one[0] for one in texts}
    if history and history[-1] in ends and word in begins:
        return FROM_NEXT.format(history=history[-1], word=word)
    read = " ".join(one for one in history if one != "<s>")
    return NEVER_READ.format(n=n, history=read, word=word, back=back)


def _with_each_word(words: list[int], gap: int, initial: Tensor, A: Tensor, B: Tensor) -> Tensor:
    """The probability of each word at the gap: the text with it, over the sum of all such texts."""
    logs = []
    for word in range(B.shape[1]):
        text = torch.tensor([*words[:gap], word, *words[gap + 1 :]])
        logs.append(forward_algorithm(text, initial, A, B)[1])
    return torch.tensor(logs, dtype=torch.float64).softmax(dim=0)


def _counts_and_smoothed(texts: Sequence[Sequence[str]], D: float) -> tuple[Tensor, Tensor]:
    """The bigram counts of texts, with a row for each word before, and the smoothed table."""
    model = KneserNey(texts, 2, discount=D)
    C = torch.zeros(len(model.followers), len(model.words), dtype=torch.float64)
    expected = []
    for row, ((before,), followers) in enumerate(sorted(model.followers.items())):
        for word, count in followers.items():
            C[row, word] = count
        expected.append(model.next_word([] if before == model.bos else [model.words[before]]))
    return C, torch.stack(expected)


def _shared(kept: Tensor, taken: Tensor, short: Tensor, total: Tensor) -> Tensor:
    """What is kept and a share of what was taken; a row without counts is the shorter history's."""
    return torch.where(total > 0, (kept + taken * short) / total.clamp(min=1), short)


def _places(C: Tensor) -> Tensor:
    """For each next word its share of the different pairs."""
    return (C > 0).sum(dim=0) / (C > 0).sum()


def _token_table(seed: int, part: int) -> Tensor:
    """What a unigram and a bigram model gave to the tokens of the counted text, or of a new one."""
    generator = torch.Generator().manual_seed(100 * seed + part)
    unigram, bigram, is_new = torch.rand(3, 60, generator=generator, dtype=torch.float64)
    share_of_new = (0.0, 0.3, 0.5)[part]  # of pairs that the bigram model has never read
    bigram = torch.where(is_new < share_of_new, 0.0, 0.2 + 0.8 * bigram)
    return torch.stack([0.02 + 0.1 * unigram, bigram], dim=1)


def _mixed(weight: float, table: Tensor) -> float:
    """The perplexity of a text, with this weight of the bigram model."""
    mixed = (1 - weight) * table[:, 0] + weight * table[:, 1]
    return perplexity(mixed.log().sum().item(), len(table))


def _rows(n: int, width: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand(n, width, generator=generator, dtype=torch.float64) + 0.1
    return rows / rows.sum(dim=1, keepdim=True)


def _same_probability(found: float, expected: float, text: Sequence[str]) -> None:
    if abs(found - expected) <= 1e-9:
        return
    shown = " ".join(text) or "the empty text"
    if not text:
        raise Wrong(
            "For the empty text yours is not right: it begins and ends at once, so its only factor "
            "is that of </s> after <s>. Did you leave out the factor of </s>?"
        )
    if found > expected:
        raise Wrong(f"Too much for “{shown}”: {found:.4g}. Did you ask that the text begins with "
                    "its first word, and that it ends after the last?")  # fmt: skip
    raise Wrong(f"Too little for “{shown}”: {found:.4g}, and it is {expected:.4g}. Count the "
                "pairs within each text, never from one into the next.")  # fmt: skip
