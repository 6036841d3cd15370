"""The parts of the experiment with a Transformer on real captions: texts, score, and looks."""

import torch

from softlookup.recorded import recorded, transformer_multi30k
from softlookup.recorded.seq2seq_multi30k import SMALL
from softlookup.recorded.transformer_multi30k import example
from softlookup.translation import corpus_bleu, train_transformer

PAIRS = [(["un", "chat", "dort"], ["a", "cat", "sleeps"]), (["un", "roi"], ["a", "king"])]


def test_an_example_keeps_where_the_model_looked():
    generator = torch.Generator().manual_seed(1)
    translator = train_transformer(PAIRS, generator=generator, d_model=8, d_ff=8, n_steps=2)
    source, written = PAIRS[0]
    found = example(translator, source, written, (["Un", "chat", "dort"], written))
    assert (found["source"], found["read"]) == (["Un", "chat", "dort"], source)
    shares = torch.tensor(found["weights"], dtype=torch.float64)
    (exact,) = translator.align([source], [written])
    torch.testing.assert_close(shares, exact.double(), rtol=0, atol=0.00501)
    assert example(translator, source, [], PAIRS[0])["weights"] == []


def test_without_steps_only_the_texts_are_measured():
    data = {"train": SMALL, "test": SMALL}
    found = transformer_multi30k.run(data, common=2, n_steps=0)
    assert found == {"train": 10, "test": 10, "words": found["words"]}
    before = recorded("seq2seq_multi30k").results
    assert {key: recorded("transformer_multi30k").results[key] for key in found} == {
        key: before[key] for key in found
    }


def test_the_recorded_score_is_that_of_the_books_own_bleu():
    found = recorded("transformer_multi30k").results
    own = corpus_bleu(found["all_written"], found["all_references"], lowercase=True)
    assert round(own.score, 1) == found["own_bleu"] == found["bleu"]
    assert "case:lc" in found["signature"]
    for k, shown in enumerate(found["examples"]):
        assert " ".join(shown["written"]) == found["all_written"][k]
