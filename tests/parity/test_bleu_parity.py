"""BLEU against sacrebleu, the reference implementation: score and all parts, on many corpora."""

import random

import pytest
from sacrebleu import metrics
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from softlookup.translation import bleu_tokens, corpus_bleu

EXACT = {"rel": 0, "abs": 1e-10}
WORDS = ["a", "the", "pie", "The", "he", "1,000", "3.5", "it's", "a-b", "5-6", "(x)", "&amp;lt;",
         "!", "é", "«q»", "", "<skipped>", "x-\ny", "\n", "\t", "A.", "...", "/", ",b", "\u00a0",
         "&quot;", "日本", "ß", "'", "7."]  # fmt: skip


def corpora(n, *, seed):
    """Some texts with one to three references each, more or less like them."""
    chance = random.Random(seed)
    for _ in range(n):
        words = WORDS[: chance.choice((5, len(WORDS)))]
        n_texts, n_references = chance.randint(1, 5), chance.randint(1, 3)
        texts = [" ".join(chance.choices(words, k=chance.randint(0, 13))) for _ in range(n_texts)]
        yield texts, [[changed(text, words, chance) for _ in range(n_references)] for text in texts]


def changed(text, words, chance):
    """A text with some words left out, and some others behind."""
    kept = [word for word in text.split(" ") if chance.random() < 0.8]
    return " ".join(kept + chance.choices(words, k=chance.randint(0, 4)))


@pytest.mark.parametrize("smoothing", ["exp", "none"])
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("tokenized", [True, False])
@pytest.mark.parametrize("max_order", [1, 2, 4, 5])
def test_score_and_parts(smoothing, lowercase, tokenized, max_order):
    theirs = metrics.BLEU(smooth_method=smoothing, lowercase=lowercase, max_ngram_order=max_order,
                       tokenize="none" if tokenized else "13a", force=True)  # fmt: skip
    scores = []
    for texts, references in corpora(150, seed=max_order):
        wanted = theirs.corpus_score(texts, [list(one) for one in zip(*references, strict=True)])
        found = corpus_bleu(texts, references, smoothing=smoothing, lowercase=lowercase,
                            tokenized=tokenized, max_order=max_order)  # fmt: skip
        assert found.score == pytest.approx(wanted.score, **EXACT)
        assert [100 * p for p in found.precisions] == pytest.approx(wanted.precisions, **EXACT)
        assert found.brevity_penalty == pytest.approx(wanted.bp, **EXACT)
        assert list(found.matches) == list(wanted.counts)
        assert list(found.totals) == list(wanted.totals)
        assert (found.length, found.reference_length) == (wanted.sys_len, wanted.ref_len)
        scores.append(found.score)
    assert len({round(score, 6) for score in scores if score > 0}) > 50  # not all alike


def test_cutting():
    cut, chance = Tokenizer13a(), random.Random(3)
    signs = [chr(k) for k in range(32, 127)] + ["é", "œ", "«", "—", "’", "日", "\n", "\t", "12"]
    for _ in range(2000):
        text = "".join(chance.choices([*signs, "a", "b", "9", " ", ".", ",", "-"] * 2, k=25))
        assert " ".join(bleu_tokens(text)) == cut(text.rstrip())
