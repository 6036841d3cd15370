"""The planted language of the chapter on modern attention, its reader, and the small GPT."""

import math

import pytest
import torch
from second_device import Away, second_device
from torch.testing import assert_close

from softlookup.attention import KeyValueCache, attention_weights
from softlookup.exercises import modern_attention_models as models
from softlookup.masks import causal_mask
from softlookup.models import GPT, GPTConfig
from softlookup.ops import masked_softmax
from softlookup.training import Tier, train_model


@pytest.fixture
def language(generator):
    return models.EchoLanguage(generator)


def test_an_echo_letter_brings_back_the_letter_before(language):
    ids = language.write(300, 40)
    text = ["".join(models.LETTERS[k] for k in row) for row in ids]
    assert all(row[0] == "^" and "^" not in row[1:] for row in text)
    echoed = 0
    for row in text:
        for i in range(2, 40):
            if row[i] in models.ECHOES:
                assert row[i + 1] == row[i - 1]
                echoed += 1
    assert echoed > 300


def test_all_other_letters_follow_the_chances(language):
    ids = language.write(3000, 12)
    last, following = ids[:, 1:-1].flatten(), ids[:, 2:].flatten()
    for letter in ("b", "q"):
        k = models.LETTERS.index(letter)
        found = torch.bincount(following[last == k], minlength=27) / (last == k).sum()
        spread = (language.chances[k] / (last == k).sum()).sqrt()
        assert ((found - language.chances[k]).abs() < 5 * spread + 1e-9).all()
    assert_close(language.chances.sum(dim=-1), torch.ones(27))
    assert (language.chances[:, 0] == 0).all()


def test_the_best_loss_is_the_mean_surprise_of_one_who_knows(language):
    ids = language.write(7, 11)
    total = 0.0
    for row in ids.tolist():
        for i in range(1, 12):
            echoes = models.LETTERS[row[i - 1]] in models.ECHOES and i >= 2 and row[i - 2] > 0
            total -= 0.0 if echoes else math.log(language.chances[row[i - 1], row[i]])
    assert language.best_loss(ids) == pytest.approx(total / 77, rel=1e-5)


def test_the_reader_reads_through_its_mask_alone(generator):
    torch.manual_seed(0)
    reader = models.EchoReader(masked_softmax, 6).double()
    ids = torch.randint(27, (2, 9), generator=generator)
    kept = []
    reader.weights.register_forward_hook(lambda module, args, out: kept.append(out))
    scores = reader(ids, causal_mask(9))
    query, key, value = reader.head(ids)
    weights = attention_weights(query, key, causal_mask(9))
    assert_close(kept[0], weights)
    x = reader.letters(ids)
    assert_close(scores, reader.next(x + reader.W_O(weights @ value)))
    changed = ids.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % 27
    assert_close(reader(changed, causal_mask(9))[:, :6], scores[:, :6])
    assert not torch.equal(reader(changed, causal_mask(9))[:, 6:], scores[:, 6:])


def test_losses_are_those_of_the_next_letter(generator):
    torch.manual_seed(0)
    reader = models.EchoReader(masked_softmax, 6).double()
    ids = torch.randint(27, (2, 6), generator=generator)
    losses = models.reader_losses(reader, ids, causal_mask(5)).detach()
    chances = reader(ids[:, :-1], causal_mask(5)).softmax(dim=-1).detach()
    for b in range(2):
        for i in range(5):
            assert losses[b, i].item() == pytest.approx(-math.log(chances[b, i, ids[b, i + 1]]))


def test_training_learns_and_leaves_the_readers_seed_alone(language):
    texts = language.write(256, 16)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    reader = models.train_reader(masked_softmax, texts)
    assert torch.equal(torch.rand(1), expected)
    mean = models.reader_losses(reader, texts, causal_mask(16)).mean()
    assert mean < language.best_loss(texts) + 0.3 < math.log(26)
    assert not any(p.requires_grad for p in reader.parameters())


def test_the_prose_model_reads_letters_it_has_not_seen(monkeypatch, generator):
    read = []

    def watched(model, loss, batches, *, n_steps, **options):
        read.extend(batch for batch, _ in zip(batches, range(n_steps), strict=False))
        return train_model(model, loss, iter(read), n_steps=n_steps, **options)

    monkeypatch.setattr(models, "train_model", watched)
    model, ids = models.train_prose_gpt(generator, n_steps=2)
    assert [batch.shape for batch in read] == [(16, 65)] * 2
    assert ids.shape == (128, 256)
    assert (ids[:, 0] == 0).all()
    assert (ids[:, 1:] > 0).all()
    losses = models.gpt_losses(model, ids[:3])
    scores = model(ids[:3, :-1]).log_softmax(dim=-1)
    assert_close(losses, -scores.gather(-1, ids[:3, 1:, None]).squeeze(-1))
    prose = models.book_prose()
    known = [None, *sorted(set(prose))]
    lines = prose.splitlines(keepends=True)
    held_out, seen = "".join(lines[::10]), "".join(x for i, x in enumerate(lines) if i % 10)
    for part, rows in ((held_out, ids), (seen, torch.cat(read))):
        texts = ["".join(known[k] for k in row[1:].tolist()) for row in rows]
        assert all(text in part for text in texts)


def test_the_prose_model_learns_elsewhere_in_the_sizes_that_are_asked_for(monkeypatch):
    seen = []

    def watched(model, loss, batches, *, optimizers, **options):
        batches = list(batches)
        seen.append((batches, optimizers.defaults["lr"], options["dtype"]))
        options["dtype"] = None  # the numbers can then be compared
        return train_model(model, loss, batches, optimizers=optimizers, **options)

    def trained(tier):
        sizes = {"n_steps": 3, "batch_size": 5, "d_model": 12, "n_heads": 3, "n_layers": 1}
        return models.train_prose_gpt(torch.Generator().manual_seed(7), tier, **sizes)

    monkeypatch.setattr(models, "train_model", watched)
    expected, texts = trained(None)
    with second_device() as away:
        model, ids = trained(Tier("gpu", away, torch.bfloat16))
    (here, rate, whole), (there, _, rounded) = seen
    assert all(isinstance(batch, Away) for batch in there)
    assert [batch.shape for batch in here] == [(5, 65)] * 3
    assert (rate, whole, rounded) == (0.012, None, torch.bfloat16)  # a quarter as wide, twice it
    for weight, wanted in zip(model.parameters(), expected.parameters(), strict=True):
        assert not isinstance(weight.data, Away)
        assert_close(weight, wanted)
    assert_close(ids, texts)
    config = model.config
    assert (config.d_model, config.n_heads, config.n_layers) == (12, 3, 1)


def test_the_prose_model_drops_nothing_once_it_has_learned(generator):
    sizes = {"n_steps": 1, "batch_size": 1, "d_model": 4, "n_heads": 1, "n_layers": 1}
    model, ids = models.train_prose_gpt(generator, dropout=0.9, **sizes)
    assert model.config.dropout == 0.9
    assert_close(model(ids[:2, :9]), model(ids[:2, :9]))


def test_token_by_token_the_losses_are_the_same_until_a_key_is_dropped(generator):
    """Afterwards they are those of the sink and the last three tokens as a text of their own."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(7, 11, 8, 2, n_layers=1, positions="rotary")).double()
    ids = torch.randint(7, (3, 12), generator=generator)
    whole = models.gpt_losses(model, ids).detach()
    found = models.stream_losses(model, ids, KeyValueCache(1, window=3, n_sinks=1))
    assert found.shape == (3, 11)
    assert_close(found[:, :4], whole[:, :4])
    for i in range(4, 11):
        short = torch.cat([ids[:, :1], ids[:, i - 2 : i + 2]], dim=1)
        assert_close(found[:, i], models.gpt_losses(model, short)[:, -1].detach())
    assert (found[:, 4:] - whole[:, 4:]).abs().min() > 0
