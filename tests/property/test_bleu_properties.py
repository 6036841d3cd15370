"""What holds for BLEU of any corpus."""

from hypothesis import given
from hypothesis import strategies as st

from softlookup.translation import bleu_tokens, corpus_bleu

words = st.sampled_from(["a", "b", "c", "pie", ",", "5-6"])
texts = st.lists(words, max_size=9).map(" ".join)
corpora = st.lists(st.tuples(texts, texts), min_size=1, max_size=5)


@given(corpora)
def test_a_score_lies_between_0_and_100(corpus):
    found = corpus_bleu(*zip(*corpus, strict=True))
    assert 0 <= found.score <= 100 + 1e-9
    assert all(m <= t for m, t in zip(found.matches, found.totals, strict=True))
    assert all(0 <= p <= 1 for p in (*found.precisions, found.brevity_penalty))


@given(corpora)
def test_the_order_of_the_texts_does_not_matter(corpus):
    forwards = corpus_bleu(*zip(*corpus, strict=True))
    assert corpus_bleu(*zip(*corpus[::-1], strict=True)) == forwards


@given(corpora, texts)
def test_a_further_reference_takes_no_match_away(corpus, other):
    hypotheses, references = zip(*corpus, strict=True)
    one = corpus_bleu(hypotheses, references)
    two = corpus_bleu(hypotheses, [[text, other] for text in references])
    assert all(a <= b for a, b in zip(one.matches, two.matches, strict=True))


@given(st.lists(texts, min_size=1, max_size=5))
def test_only_the_references_themselves_score_100(references):
    found = corpus_bleu(references, references)
    long_enough = any(len(bleu_tokens(text)) >= 4 for text in references)
    assert abs(found.score - 100 * long_enough) < 1e-9


@given(st.text(st.characters(exclude_characters="&<\n"), max_size=30))
def test_cutting_loses_white_space_alone(text):
    tokens = bleu_tokens(text)
    assert all(tokens)
    assert "".join(tokens) == "".join(text.split())
