"""The engine without a part: the library, changed from outside, computes the same, both ways."""

import dataclasses
from itertools import combinations

import pytest
import torch
from test_engine import (
    LENGTHS,
    MODERN,
    PLAIN,
    QUICK,
    SETUP,
    close,
    model_of,
    texts_for,
    written,
)

from softlookup.language_models import next_token_loss
from softlookup.models import GPT

BROWSERS = ("chromium", "firefox")

PARTS = ("mask", "residual", "positions")
SETS = [some for n in (1, 2, 3) for some in combinations(PARTS, n)]
CONFIGS = {
    "plain": PLAIN,
    "post-norm": dataclasses.replace(PLAIN, norm_first=False),
    "modern": MODERN,
    "quick": QUICK,
}
each_config = pytest.mark.parametrize("name", CONFIGS)


class Unmasked(GPT):
    """Each token reads all that there are, the later ones too, and a window is gone."""

    def _readings(self, ids, lengths, cache):
        places, mask, readings = super()._readings(ids, lengths, cache)
        return places, torch.ones_like(mask), readings

    def new_cache(self):
        cache = super().new_cache()
        cache.window, cache.n_sinks = None, 0
        return cache


def changed(model, without):
    """A model of the library, with some parts taken out."""
    if "mask" in without:
        model.__class__ = Unmasked
    if "positions" in without:
        model.position_embedding = model.rotary = None
    if "residual" in without:
        for block in model.blocks:
            for sublayer in (block.self_attention, block.feed_forward):
                sublayer.add = lambda x, write: write
    return model


@pytest.fixture(scope="module")
def engine(functions_of):
    """Runs JavaScript on the page that holds the engine; `lesser` is a model without some parts."""
    call = functions_of("engine/engine.js")
    head = """const lesser = (kind) => {
        const twin = model(data.model, kind);
        twin.without = new Set(data.without);
        return twin;
    };"""
    return lambda code, data: call(SETUP + head + code, data)


@each_config
@pytest.mark.parametrize("without", SETS, ids=" and ".join)
def test_scores_and_gradients_are_those_of_the_changed_library(engine, name, without):
    config = CONFIGS[name]
    data = {"model": written(model_of(config)), "without": sorted(without), "lengths": LENGTHS}
    model, ids = changed(model_of(config), without), texts_for(config)
    scores = model(ids)
    loss = next_token_loss(scores, ids, LENGTHS)
    loss.backward()
    found, found_loss, found_grads = engine(
        """const twin = lesser();
        const [loss, backward] = engine.nextTokenLoss(twin, data.ids, data.lengths);
        backward();
        return [Array.from(twin.forward(data.ids)[0]), loss, grads(twin)];""",
        {**data, "ids": ids.tolist()},
    )
    assert close(found, scores.detach(), 1e-12)
    assert found_loss == pytest.approx(loss.item(), abs=1e-11)
    expected = {part: parameter.grad for part, parameter in model.named_parameters()}
    for part, gradient in found_grads.items():
        grad = expected.get(part)
        if grad is None or grad.abs().max() < 1e-12:
            assert max(map(abs, gradient)) < 1e-11, part
        else:
            assert close(gradient, grad, 1e-10), part


@each_config
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_gone_is_missed(engine, name, part):
    model, ids = model_of(CONFIGS[name]), texts_for(CONFIGS[name])
    data = {"model": written(model), "without": [part], "ids": ids.tolist()}
    found = engine("return Array.from(lesser().forward(data.ids)[0])", data)
    assert not close(found, model(ids).detach(), 1e-3)


@each_config
@pytest.mark.parametrize("without", SETS, ids=" and ".join)
def test_a_text_goes_on_from_the_cache_as_in_the_changed_library(engine, name, without):
    config = CONFIGS[name]
    model = changed(model_of(config), without)
    data = {"model": written(model_of(config)), "without": sorted(without)}
    prompt, tokens = [[3, 1, 4, 1, 5, 0, 2]], [6, 5, 3]
    cache, expected = model.start(torch.tensor(prompt)), []
    for token in tokens:
        scores, cache = model.step(torch.tensor([token]), cache)
        expected.append(scores)
    found = engine(
        """const twin = lesser();
        let cache = twin.start(data.prompt);
        return data.tokens.flatMap((token) => {
            const [scores, next] = twin.step([token], cache);
            cache = next;
            return Array.from(scores);
        });""",
        {**data, "prompt": prompt, "tokens": tokens},
    )
    assert close(found, torch.cat(expected), 1e-12)


def test_without_nothing_it_is_the_whole_model_again(engine):
    model, ids = model_of(PLAIN), texts_for(PLAIN)
    found = engine(
        """const twin = lesser();
        twin.forward(data.ids);
        twin.without.clear();
        return Array.from(twin.forward(data.ids)[0]);""",
        {"model": written(model), "without": list(PARTS), "ids": ids.tolist()},
    )
    assert close(found, model(ids).detach(), 1e-12)


def test_there_is_nothing_else_to_leave_out(engine):
    message = engine(
        "try { lesser().forward([[1]]); } catch (error) { return error.message; }",
        {"model": written(model_of(PLAIN)), "without": ["mask", "masks"]},
    )
    assert message == 'without must be some of mask, residual, positions; got unknown=["masks"]'
