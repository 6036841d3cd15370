"""Neural language models: loops over units, gradients, padding, what a window cannot see."""

import copy
import itertools
import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.language_models import (
    FeedForwardLM,
    RecurrentLM,
    decoding,
    train_lm,
    train_side_by_side,
)
from softlookup.language_models.language_model import EOS
from softlookup.layers import RNNCell

WORDS = ["a", "b", "c", "d"]
TEXTS = [text.split() for text in ("a b c", "d", "b b a d c", "", "c a")]


@pytest.fixture(autouse=True)
def _seed():
    """The models draw their weights from the global generator."""
    torch.manual_seed(5)


@pytest.fixture(params=["window", "direct", "state"])
def model(request):
    match request.param:
        case "window":
            return FeedForwardLM(WORDS, n=3, d_model=5, d_hidden=7).double()
        case "direct":
            return FeedForwardLM(WORDS, n=3, d_model=5, d_hidden=7, direct=True).double()
        case "state":
            return RecurrentLM(WORDS, d_model=5, d_hidden=7).double()


def linear(layer, vector):
    bias = [0.0] * layer.out_features if layer.bias is None else layer.bias.tolist()
    rows = zip(layer.weight.tolist(), bias, strict=True)
    return [b + sum(w * x for w, x in zip(row, vector, strict=True)) for row, b in rows]


@pytest.mark.parametrize("direct", [False, True])
def test_bengios_formula_by_loops(direct):
    model = FeedForwardLM(WORDS, n=3, d_model=5, d_hidden=7, direct=direct).double()
    table = model.embedding.weight.tolist()
    for ids in [(5, 5), (5, 2), (3, 0)]:
        x = table[ids[0]] + table[ids[1]]
        logits = linear(model.output, [math.tanh(a) for a in linear(model.hidden, x)])
        if direct:
            logits = [a + b for a, b in zip(logits, linear(model.direct, x), strict=True)]
        assert model(torch.tensor(ids)).tolist() == pytest.approx(logits, rel=1e-12)


def test_the_state_is_read_step_by_step():
    model = RecurrentLM(WORDS, d_model=5, d_hidden=7).double()
    ids, state = [model.bos, 2, 0, 3], None
    logits = model(torch.tensor([ids]))
    for t, id_ in enumerate(ids):
        row, state = model.step(torch.tensor([id_]), state)
        assert_close(row, logits[:, t].detach())


def test_rows_sum_to_one(model):
    for history in [], ["a"], list("abcd"):
        row = model.next_word(history)
        assert row.sum().item() == pytest.approx(1, abs=1e-12)
        assert bool((row > 0).all())


def test_losses_are_the_chain_rule_of_next_words(model):
    expected = [
        -math.log(model.probability(word, text[:i]))
        for text in TEXTS
        for i, word in enumerate([*text, EOS])
    ]
    assert model.losses(TEXTS).tolist() == pytest.approx(expected, rel=1e-10)
    assert model.log_probability(TEXTS[2]) == pytest.approx(-sum(expected[6:12]), rel=1e-10)


def test_texts_in_a_batch_are_as_alone(model):
    alone = torch.cat([model.losses([text]) for text in TEXTS])
    assert_close(model.losses(TEXTS), alone, rtol=1e-10, atol=1e-12)


def test_all_texts_sum_to_one(model):
    total, texts = 0.0, []
    for length in range(4):
        texts += itertools.product(WORDS, repeat=length)
    total = sum(math.exp(model.log_probability(text)) for text in texts)
    for text in itertools.product(WORDS, repeat=4):
        total += math.prod(model.probability(word, text[:i]) for i, word in enumerate(text))
    assert total == pytest.approx(1, abs=1e-10)


def test_gradient(model):
    names, values = zip(*model.named_parameters(), strict=True)

    def loss(*parameters):
        batch = [model.ids(text) for text in TEXTS]
        named = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(_Loss(model), {f"m.{n}": p for n, p in named.items()},
                                          (batch,))  # fmt: skip

    inputs = tuple(value.detach().clone().requires_grad_() for value in values)
    assert torch.autograd.gradcheck(loss, inputs)


class _Loss(torch.nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, batch):
        return self.m.losses_of_ids(batch).mean()


def test_a_window_sees_its_words_and_no_more():
    model = FeedForwardLM(WORDS, n=3, d_model=5, d_hidden=7)
    row = model.next_word(["a", "b", "c"])
    assert row.equal(model.next_word(["d", "b", "c"]))
    assert not row.equal(model.next_word(["a", "d", "c"]))
    assert not row.equal(model.next_word(["a", "b", "d"]))


def test_a_state_sees_every_word():
    model = RecurrentLM(WORDS, d_model=5, d_hidden=7)
    rows = [model.next_word([first, *"bcab"]) for first in "ad"]
    assert not rows[0].equal(rows[1])


def test_training_learns_what_a_window_can_and_a_state_must(generator):
    """The last word repeats the first: three words back, too far for n = 3."""
    texts = [[first, *middle, first] for first in "ab" for middle in itertools.product("cd", "cd")]
    rights = {}
    for name, model in {
        "n = 3": FeedForwardLM(WORDS, n=3, d_model=5, d_hidden=17),
        "n = 4": FeedForwardLM(WORDS, n=4, d_model=5, d_hidden=17),
        "state": RecurrentLM(WORDS, d_model=5, d_hidden=17),
    }.items():
        losses = train_lm(model, texts, generator=generator, n_steps=200, learning_rate=1e-2)
        assert losses[-1] < losses[0]
        rights[name] = min(model.probability(text[-1], text[:-1]) for text in texts)
    assert rights["n = 3"] < 0.6
    assert min(rights["n = 4"], rights["state"]) > 0.9


def test_training_repeats_itself():
    losses = []
    for _ in range(2):
        torch.manual_seed(5)
        model = FeedForwardLM(WORDS, n=3, d_model=5, d_hidden=7)
        generator = torch.Generator().manual_seed(3)
        losses.append(train_lm(model, TEXTS, generator=generator, n_steps=5))
    assert losses[0] == losses[1]


def three_of(cell):
    """Three networks of one form, from three random starts."""
    models = []
    for _ in range(3):
        model = RecurrentLM(WORDS, d_model=5, d_hidden=7)
        if cell == "plain":
            model.cell = RNNCell(5, 7)
        models.append(model.double())
    return models


@pytest.mark.parametrize("cell", ["gated", "plain"])
def test_side_by_side_each_becomes_what_it_becomes_alone(cell):
    plan = {"n_steps": 7, "batch_size": 3, "learning_rate": 0.02}
    together = three_of(cell)
    alone = copy.deepcopy(together)
    losses = train_side_by_side(together, TEXTS, generator=torch.Generator().manual_seed(3), **plan)
    expected = [
        train_lm(model, TEXTS, generator=torch.Generator().manual_seed(3), **plan)
        for model in alone
    ]
    assert_close(torch.tensor(losses), torch.tensor(expected).mean(dim=0))
    for one, other in zip(together, alone, strict=True):
        for weight, again in zip(one.parameters(), other.parameters(), strict=True):
            assert_close(weight, again, rtol=1e-9, atol=1e-9)


def test_generation_feeds_back(model):
    text = model.greedy(max_length=6)
    for i, word in enumerate(text):
        assert word == model.words[model.next_word(text[:i]).argmax()]
    assert model.greedy(text[:2], max_length=4) == text


def test_a_state_can_be_decoded_in_a_batch():
    model = RecurrentLM(WORDS, d_model=5, d_hidden=7)
    found = decoding.greedy(model.step, torch.zeros(3, 7), model.bos, model.eos, max_length=5)
    assert [model.vocabulary.decode(text.ids) for text in found] == [model.greedy(max_length=5)] * 3


def test_unknown_words_have_a_row():
    model = RecurrentLM(["a"], 3, 5, unknown=True)
    assert model.words == ["<unk>", "a", "</s>"]
    assert model.next_word(["zebra"]).equal(model.next_word(["<unk>"]))


@pytest.mark.parametrize("id_", [-1, 6])
def test_ids_must_have_a_row(id_):
    window, state = FeedForwardLM(WORDS, 3, 3, 5), RecurrentLM(WORDS, 3, 5)
    with pytest.raises(ValueError, match="histories must be from 0 to 5; got smallest="):
        window(torch.tensor([[0, id_]]))
    with pytest.raises(ValueError, match="ids must be from 0 to 5; got smallest="):
        state(torch.tensor([[0, id_]]))


def test_a_history_must_have_the_windows_length():
    with pytest.raises(ValueError, match=r"histories must have .* with .*n-1 = 2; got histories"):
        FeedForwardLM(WORDS, 3, 3, 5)(torch.tensor([[0, 1, 2]]))


@pytest.mark.bad_input
def test_training_needs_texts(model, generator):
    with pytest.raises(ValueError, match="at least one text; got n_texts=0"):
        train_lm(model, [], generator=generator)
    with pytest.raises(ValueError, match="at least one text; got n_texts=0"):
        model.losses([])
    with pytest.raises(ValueError, match="must be known"):
        train_lm(model, [["zebra"]], generator=generator)


@pytest.mark.bad_input
def test_side_by_side_needs_models_of_one_form(generator):
    models = three_of("gated")
    with pytest.raises(ValueError, match="at least one model; got n_models=0"):
        train_side_by_side([], TEXTS, generator=generator)
    with pytest.raises(ValueError, match="at least one text; got n_texts=0"):
        train_side_by_side(models, [], generator=generator)
    with pytest.raises(ValueError, match="must be known"):
        train_side_by_side(models, [["zebra"]], generator=generator)
    wider = RecurrentLM(WORDS, d_model=5, d_hidden=11).double()
    others = RecurrentLM([*WORDS[:-1], "e"], d_model=5, d_hidden=7).double()
    for odd in (wider, others, three_of("plain")[0]):
        with pytest.raises(ValueError, match="must be of one form; got n_forms=2"):
            train_side_by_side([models[0], odd], TEXTS, generator=generator)
