"""The parts of the translators' experiment on real captions: texts, scores, ways to write."""

import pytest
import torch

from softlookup.language_models import beam_search, greedy, sample
from softlookup.recorded import recorded, seq2seq_multi30k
from softlookup.recorded.seq2seq_multi30k import (
    by_length,
    decode,
    known_only,
    scored,
    share_unknown,
    short_pairs,
)
from softlookup.translation import BOS, EOS, corpus_bleu, train_translator

PAIRS = [(["un", "chat", "dort"], ["a", "cat", "sleeps"]), (["un", "roi"], ["a", "king"])]


def test_captions_are_cut_and_the_long_ones_left_out():
    captions = {
        "fr": ["Un chat dort dans l'herbe.", " ".join(["chat"] * 13)],
        "en": ["A cat sleeps in the grass.", "cats"],
    }
    (pair,) = short_pairs(captions)
    assert pair[0] == ["un", "chat", "dort", "dans", "l'", "herbe", "."]
    assert pair[1] == ["a", "cat", "sleeps", "in", "the", "grass", "."]


def test_unknown_words_are_replaced():
    known = {"a", "c"}
    assert known_only(["a", "b"], known) == ["a", "⟨unk⟩"]
    assert share_unknown([["a", "b"], ["b", "d"]], known) == 0.75


def test_the_score_is_that_of_the_books_own_bleu():
    written = [["a", "cat", "sleeps", "on", "the", "mat", "."], ["two", "⟨unk⟩", "run", "."]]
    references = ["a cat sleeps on a mat .", "two dogs run ."]
    found = scored(written, references)
    own = corpus_bleu([" ".join(text) for text in written], references, lowercase=True)
    assert found["bleu"] == round(own.score, 1)
    assert found["precisions"] == [round(100 * share, 1) for share in own.precisions]
    assert found["ratio"] == 1
    assert found["exact"] == 0


def test_each_caption_is_in_one_group_by_length():
    sources = [["w"] * n for n in (3, 8, 9, 12)]
    rows = by_length([["a"]] * 4, ["a"] * 4, sources)
    assert [row[0] for row in rows.values()] == [2, 1, 1]


@pytest.fixture(scope="module")
def translator():
    generator = torch.Generator().manual_seed(1)
    return train_translator(PAIRS, generator=generator, d_model=4, d_hidden=6, n_steps=3)


def test_the_options_choose_the_way_to_write(translator):
    model, source = translator.model, PAIRS[0][0]
    state = model.start(torch.tensor([translator.source.encode(source)]), [3])
    bos, eos = translator.target.encode([BOS, EOS])
    given = (model.step, state, bos, eos, 40)

    def dice():
        return torch.Generator().manual_seed(7)

    expected = {
        (): greedy(*given)[0],
        (("width", 3),): beam_search(*given, width=3)[0],
        (("temperature", 1.0),): sample(*given, generator=dice(), temperature=1.0)[0],
    }
    for options, text in expected.items():
        assert decode(translator, source, dict(options), dice()) == text


def test_without_readers_only_the_texts_are_measured():
    captions = seq2seq_multi30k.SMALL
    found = seq2seq_multi30k.run({"train": captions, "test": captions}, readers=(), common=2)
    assert (found["train"], found["test"], found["readers"]) == (10, 10, {})


def test_the_best_reader_of_real_captions_has_attention():
    readers = recorded("seq2seq_multi30k").results["readers"]
    scores = {name: row["bleu"] for name, row in readers.items()}
    assert scores["summary alone"] == min(scores.values())
