"""The parts of the experiment with two translators of real captions: pieces, scores, looks."""

import pytest
import torch
from sacrebleu.metrics import BLEU

from softlookup.recorded import recorded, transformer_multi30k
from softlookup.recorded.transformer_multi30k import (
    SMALL,
    by_length,
    cut,
    joined,
    looks,
    mean_length,
    scored,
    short_ones,
    trained,
)
from softlookup.tokenization import BytePairTokenizer

TOKENIZER = BytePairTokenizer.train([*SMALL["en"], *SMALL["de"]], 300)


def test_pieces_make_the_text_again_and_marks_are_left_out():
    (ids,) = cut(["Ein weißer Hund läuft."], TOKENIZER)
    assert joined(ids, TOKENIZER) == "Ein weißer Hund läuft."
    assert joined(["<bos>", *ids, "<pad>"], TOKENIZER) == "Ein weißer Hund läuft."
    assert all(int(piece) < 300 for piece in ids)


def test_the_mean_length_is_that_of_all_texts():
    assert mean_length([["1"], ["2", "3"], ["4"]]) == 1.3


def test_the_books_bleu_is_that_of_sacrebleu():
    written = ["Ein Hund schläft auf der Bank.", "Zwei Hunde laufen."]
    references = ["Ein Hund schläft auf einer Bank.", "Zwei Hunde laufen."]
    found, other = scored(written, references), BLEU().corpus_score(written, [references])
    assert found["bleu"] == found["sacrebleu"] == round(other.score, 1)
    assert found["precisions"] == [round(share, 1) for share in other.precisions]
    assert found["exact"] == 1
    assert "case:mixed" in found["signature"]


def test_each_caption_is_in_one_group_by_length():
    sources = [" ".join(["w"] * n) for n in (3, 8, 9, 10, 11, 12)]
    rows = by_length(["a b c d"] * 6, ["a b c d"] * 6, sources)
    assert [row[0] for row in rows.values()] == [2, 2, 2]
    assert by_length(["a"], ["a"], ["w"])["11 and 12"] == [0, None]


def test_long_captions_are_left_out_in_both_languages():
    captions = {"en": ["A cat sleeps.", " ".join(["cat"] * 13)], "de": ["Eine Katze.", "Katzen"]}
    assert short_ones(captions) == {"en": ["A cat sleeps."], "de": ["Eine Katze."]}


@pytest.mark.parametrize("name", ["Transformer", "recurrent"])
def test_a_name_chooses_the_model_and_its_looks_are_shares(name):
    pairs = list(zip(*(cut(SMALL[side], TOKENIZER) for side in ("en", "de")), strict=True))
    size = {"d_model": 8, "n_steps": 2, "batch_size": 4, "learning_rate": 0.01}
    translator = trained(name, pairs, size, 300)
    assert type(translator.model).__name__ == {"recurrent": "Seq2Seq"}.get(name, name)
    assert (translator.source is translator.target) == (name == "Transformer")
    found = looks(translator, *pairs[0], TOKENIZER)
    assert "".join(found["read"]) == SMALL["en"][0]
    shares = torch.tensor(found["shares"], dtype=torch.float64)
    assert shares.shape == (len(found["written"]), len(found["read"]))
    rounding = 0.005 * shares.shape[1]
    torch.testing.assert_close(
        shares.sum(1), torch.ones(len(shares)).double(), rtol=0, atol=rounding
    )


def test_without_models_only_the_texts_are_measured():
    found = transformer_multi30k.run(
        {"train": SMALL, "test": SMALL}, sizes={}, n_pieces=300, shown=()
    )
    assert (found["train"], found["test"]) == (10, 10)
    assert found["models"] == {}
    assert found["weights"] == []


def test_of_the_recorded_models_the_sizes_agree_and_so_do_the_two_bleus():
    models = recorded("transformer_multi30k").results["models"]
    sizes = [row["parameters"] for row in models.values()]
    assert max(sizes) < 1.05 * min(sizes)
    assert all(row["bleu"] == row["sacrebleu"] for row in models.values())
