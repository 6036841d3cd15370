"""Laws of the instruments for looking inside, on whatever hypothesis comes up with."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.analysis import (
    attention_maps,
    attention_rollout,
    best_cosines,
    capture,
    composition_score,
    copying_score,
    induction_pattern,
    induction_scores,
    logit_attribution,
    logit_lens,
    patch,
    patching_effects,
    repeating_texts,
)
from softlookup.masks import causal_mask
from softlookup.models import GPT, GPTConfig

seeds = st.integers(0, 2**32 - 1)
f64 = torch.float64


def weights(seed, *shape, causal=False):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(shape, dtype=f64, generator=generator) * 3
    if causal:
        scores = scores.masked_fill(~causal_mask(shape[-1]), -torch.inf)
    return scores.softmax(dim=-1)


def gpt(seed, **options):
    torch.manual_seed(seed)
    model = GPT(GPTConfig(7, 11, 12, 3, 2, 5, **options)).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.4 * torch.randn_like(p))
    return model


@given(seeds, st.integers(1, 4), st.integers(1, 3), st.integers(1, 6), st.floats(0, 1))
def test_rollout_gives_distributions(seed, layers, heads, n, residual):
    found = attention_rollout(weights(seed, layers, heads, n, n), residual=residual)
    assert (found >= 0).all()
    assert_close(found.sum(dim=-1), torch.ones(layers, n, dtype=f64))


@given(seeds, st.integers(1, 4), st.integers(2, 6))
def test_rollout_is_causal_where_the_maps_are(seed, layers, n):
    found = attention_rollout(weights(seed, layers, 2, n, n, causal=True))
    assert torch.equal(found.triu(1), torch.zeros_like(found))


@given(seeds, st.integers(2, 6))
def test_rollout_follows_a_new_order_of_the_tokens(seed, n):
    maps = weights(seed, 3, 2, n, n)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    found = attention_rollout(maps[..., order, :][..., order])
    assert_close(found, attention_rollout(maps)[..., order, :][..., order])


@given(seeds, st.integers(1, 3))
def test_a_layer_that_keeps_everything_changes_no_rollout(seed, n_more):
    maps = weights(seed, 2, 3, 5, 5)
    idle = torch.eye(5, dtype=f64).expand(n_more, 3, 5, 5)
    found = attention_rollout(torch.cat([maps, idle]))
    for layer in range(2, 2 + n_more):
        assert_close(found[layer], attention_rollout(maps)[-1])


@settings(max_examples=20)
@given(seeds, st.sampled_from(["learned", "rotary", "none"]))
def test_the_lens_ends_with_the_model_and_looking_changes_nothing(seed, positions):
    model = gpt(seed, positions=positions)
    ids = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(seed))
    expected = model(ids)
    assert_close(logit_lens(model, ids)[-1], expected)
    attention_maps(model, ids)
    assert_close(model(ids), expected, rtol=0, atol=0)


@settings(max_examples=20)
@given(seeds, st.integers(0, 4))
def test_what_is_patched_at_a_place_is_felt_there_and_later_only(seed, place):
    model = gpt(seed)
    ids = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(seed))

    def louder(rows):
        changed = rows.clone()
        changed[:, place] += torch.linspace(-1, 2, rows.shape[-1], dtype=f64)
        return changed

    with patch(model, {"rows": louder}):
        found = model(ids)
    felt = (found - model(ids)).abs().amax(dim=(0, 2)) > 1e-9
    assert felt.tolist() == [k >= place for k in range(5)]


@settings(max_examples=20)
@given(seeds)
def test_all_of_the_input_brings_the_whole_score_back(seed):
    """One text's rows at all places: what the patched run says is what the clean one said."""
    model = gpt(seed)
    clean, corrupted = torch.randint(7, (2, 1, 5), generator=torch.Generator().manual_seed(seed))
    with capture(model, "rows") as seen:
        expected = model(clean)
    with patch(model, {"rows": seen["rows"]}):
        assert_close(model(corrupted), expected)


@settings(max_examples=20)
@given(seeds, st.integers(0, 4))
def test_where_the_texts_agree_the_input_has_no_effect(seed, place):
    model = gpt(seed)
    clean = torch.randint(7, (1, 5), generator=torch.Generator().manual_seed(seed))
    corrupted = clean.clone()
    corrupted[0, place] = (clean[0, place] + 1) % 7
    found = patching_effects(model, clean, corrupted, lambda s: s[0, -1, 0], ["rows"])[0]
    expected = torch.zeros(5, dtype=f64)
    expected[place] = 1
    assert_close(found, expected)


@given(seeds, st.integers(1, 4), st.integers(2, 9))
def test_induction_looks_behind_an_equal_token_and_never_ahead(seed, vocab_size, n):
    ids = torch.randint(vocab_size, (3, n), generator=torch.Generator().manual_seed(seed))
    pattern = induction_pattern(ids)
    assert not pattern.triu(1).any()
    assert not pattern[..., 0].any()
    text, i, j = pattern.nonzero(as_tuple=True)
    assert torch.equal(ids[text, i], ids[text, j - 1])
    renamed = torch.randperm(vocab_size, generator=torch.Generator().manual_seed(seed))[ids]
    assert torch.equal(induction_pattern(renamed), pattern)


@given(seeds)
def test_scores_are_shares(seed):
    generator = torch.Generator().manual_seed(seed)
    ids = repeating_texts(3, 11, 5, periods=(2, 4), generator=generator)
    found = induction_scores(weights(seed, 3, 2, 11, 11, causal=True), ids)
    assert ((found >= 0) & (found <= 1)).all()


@settings(max_examples=20)
@given(seeds, st.sampled_from(["learned", "rotary", "none"]), st.sampled_from(["layer", "rms"]))
def test_the_parts_of_a_score_sum_to_it(seed, positions, norm):
    model = gpt(seed, positions=positions, norm=norm)
    ids = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(seed))
    assert_close(sum(logit_attribution(model, ids).values()), model(ids))


def matrices(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=f64, generator=generator) for shape in shapes]


@given(seeds, st.floats(0.01, 100))
def test_composition_is_a_share_and_knows_no_scale(seed, factor):
    write, read = matrices(seed, (3, 5), (5, 2))
    found = composition_score(write, read)
    assert 0 <= found <= 1
    assert_close(composition_score(factor * write, -read), found)
    turn = torch.linalg.qr(matrices(seed, (5, 5))[0]).Q
    assert_close(composition_score(write @ turn, turn.mT @ read), found)


@given(seeds, st.floats(0.01, 100))
def test_copying_knows_no_scale_and_no_basis(seed, factor):
    circuit, basis = matrices(seed, (5, 5), (5, 5))
    found = copying_score(circuit)
    assert -1 <= found <= 1
    assert_close(copying_score(factor * circuit), found)
    assert_close(copying_score(-circuit), -found)
    turn = torch.linalg.qr(basis).Q
    assert_close(copying_score(turn.mT @ circuit @ turn), found)
    assert_close(copying_score(circuit @ circuit.mT), torch.tensor(1.0, dtype=f64))


@given(seeds)
def test_best_cosines_know_no_order_and_more_directions_never_hurt(seed):
    planted, found, more = matrices(seed, (3, 4), (5, 4), (2, 4))
    best = best_cosines(planted, found)
    assert_close(best_cosines(planted, found.flip(0)), best)
    assert (best_cosines(planted, torch.cat([found, more])) >= best).all()
