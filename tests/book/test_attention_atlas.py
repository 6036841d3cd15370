"""The attention atlas, used in Chromium as a reader would: its numbers are the library's."""

import json

import pytest
import torch

from softlookup.analysis import (
    attention_rollout,
    induction_pattern,
    key_pattern,
    offset_pattern,
    pattern_scores,
)
from softlookup.masks import causal_mask
from softlookup.show import AttentionAtlas

f64 = torch.float64
WORDS = ["a", "<b>", "c", "a", "<b>", "longer-word", "a"]
OTHER = ["x", "x", "y", "z", "y"]
PATTERNS = ["the token before", "itself", "the first token", "what followed the same token"]


def random_maps(seed, layers, heads, n, *, causal):
    """Weights that the page can hold exactly: units of 1/10000, each row 10000 in all."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(layers, heads, n, n, generator=generator, dtype=f64) * 2
    if causal:
        scores = scores.masked_fill(~causal_mask(n), -torch.inf)
    units = (scores.softmax(dim=-1) * 10_000).floor()
    units[..., 0] += 10_000 - units.sum(dim=-1)
    return units / 10_000


MODELS = {
    "trained": [
        (WORDS, random_maps(1, 2, 3, 7, causal=True)),
        (OTHER, random_maps(2, 2, 3, 5, causal=True)),
    ],
    "<i>images</i>": [(list("pqrs"), random_maps(3, 1, 2, 4, causal=False))],
}


def example():
    return AttentionAtlas(MODELS)


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/attention_atlas/maths.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(figure=None, **options):
        return open_figures(figure or AttentionAtlas(MODELS), ready=".aa-atlas", **options)

    return open_page


def choose(page, name, value):
    page.locator(f'input[name="{name}"][value="{value}"]').locator("..").click()


def numbered(tokens):
    return torch.tensor([sorted(set(tokens)).index(token) for token in tokens])


def expected_scores(head, tokens, *, causal):
    """By the library; None where no row can follow a pattern and could do otherwise."""
    n, mask = len(tokens), causal_mask(len(tokens)) if causal else None
    wanted = [offset_pattern(n, -1), offset_pattern(n, 0), key_pattern(n, [0])]
    found = []
    for pattern in [*wanted, induction_pattern(numbered(tokens))]:
        try:
            found.append(pattern_scores(head[None], pattern, mask).item())
        except ValueError:
            found.append(None)
    return found


def even(n, *, causal):
    mask = (causal_mask(n) if causal else torch.ones(n, n)).double()
    return mask / mask.sum(dim=-1, keepdim=True)


def drawn(svg, n):
    """A map as it is drawn, from the places and the weights of its cells."""
    cells = svg.locator(".aa-cell").evaluate_all(
        "(all) => all.map((c) => [c.dataset.at, Number(c.dataset.weight),"
        " ...['x', 'y', 'width'].map((name) => Number(c.getAttribute(name)))])"
    )
    found, corner = torch.zeros(n, n, dtype=f64), svg.locator(".aa-frame").first
    left, top = (float(corner.get_attribute(name)) for name in ("x", "y"))
    for at, opacity, x, y, width in cells:
        i, j = map(int, at.split(","))
        assert [x, y] == pytest.approx([left + j * width, top + i * width])  # queries down
        found[i, j] = opacity
    return found


def assert_draws(svg, expected):
    seen = torch.where(expected < 0.01, 0.0, expected)
    torch.testing.assert_close(drawn(svg, len(expected)), seen, rtol=0, atol=0.51e-3)


# The arithmetic


@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("residual", [0.5, 0.2])
def test_rollout_equals_the_library(maths, layers, residual):
    maps = random_maps(5, layers, 3, 6, causal=layers != 2)
    data = {"maps": maps.tolist(), "residual": residual}
    found = torch.tensor(maths("return maths.rollout(data.maps, data.residual)", data), dtype=f64)
    expected = attention_rollout(maps, residual=residual)[-1]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("tokens", [WORDS, OTHER, list("pqrs"), ["u", "u"]])
def test_scores_equal_the_library(maths, tokens, causal):
    n = len(tokens)
    head = random_maps(7, 1, 1, n, causal=causal)[0, 0]
    data = {"map": head.tolist(), "tokens": tokens, "causal": causal}
    found = maths(
        "return Object.values(maths.PATTERNS).map((wants) =>"
        " maths.patternScore(data.map, data.tokens, wants, data.causal))",
        data,
    )
    for one, other in zip(found, expected_scores(head, tokens, causal=causal), strict=True):
        assert (one is None) == (other is None)
        assert one is None or one == pytest.approx(other, abs=1e-12)
    assert maths("return Object.keys(maths.PATTERNS)") == PATTERNS
    flat = torch.tensor(maths("return maths.evenMap(data[0], data[1])", [n, causal]), dtype=f64)
    torch.testing.assert_close(flat, even(n, causal=causal))


def test_whole_numbers_become_weights_that_sum_to_1(maths):
    found = maths("return maths.weightsOf(data, 10)", [[5, 4], [0, 10], [0, 0]])
    assert found[0] == pytest.approx([5 / 9, 4 / 9])
    assert found[1:] == [[0, 1], [0, 0]]


def test_what_is_read_most(maths):
    found = maths("return maths.mostRead(data, 3)", [0.1, 0.4, 0.1, 0.3, 0.1])
    assert [entry["j"] for entry in found] == [1, 3, 0]


def test_the_data_hold_the_weights_to_four_digits():
    weights = torch.rand(1, 1, 3, 3, generator=torch.Generator().manual_seed(1)).softmax(-1)
    text = json.loads(AttentionAtlas({"m": [(list("abc"), weights)]}).data)["models"][0]
    found = torch.tensor(text["texts"][0]["maps"]) / 10_000
    torch.testing.assert_close(found, weights, rtol=0, atol=0.51e-4)
    assert text["causal"] is False


# What the page shows


def test_the_maps_are_the_weights(open_figure):
    page = open_figure()
    for m, (_, texts) in enumerate(MODELS.items()):
        choose(page, "model", m)
        for t, (tokens, weights) in enumerate(texts):
            choose(page, "text", t)
            small = page.locator(".aa-small").all()
            heads = [head for layer in weights for head in layer]
            assert len(small) == len(heads) + 1
            for svg, head in zip(small, [*heads, attention_rollout(weights)[-1]], strict=True):
                assert_draws(svg, head)
            for layer in range(weights.shape[0]):
                for head in range(weights.shape[1]):
                    choose(page, "head", f"{layer}.{head}")
                    assert_draws(page.locator(".aa-map svg"), weights[layer, head])
            choose(page, "head", "rollout")
            assert_draws(page.locator(".aa-map svg"), attention_rollout(weights)[-1])
            labels = page.locator(".aa-map text").all_text_contents()
            short = [word if len(word) < 7 else word[:5] + "…" for word in tokens]
            assert labels == [word for word in short for _ in range(2)]


def shown_scores(page):
    return page.locator(".aa-scores tbody tr").evaluate_all(
        "(all) => all.map((row) => [...row.querySelectorAll('td')].map((c) => c.textContent))"
    )


@pytest.mark.parametrize("head", ["0.0", "1.2", "rollout"])
def test_the_scores_are_the_librarys_beside_even_reading(open_figure, head):
    page, (tokens, weights) = open_figure(), MODELS["trained"][0]
    choose(page, "head", head)
    chosen = (
        attention_rollout(weights)[-1] if head == "rollout" else weights[int(head[0]), int(head[2])]
    )
    rows = [expected_scores(one, tokens, causal=True) for one in (chosen, even(7, causal=True))]
    assert shown_scores(page) == [[f"{score:.2f}" for score in row] for row in rows]
    names = page.locator(".aa-scores th").all_text_contents()
    which = "the rollout" if head == "rollout" else "this head"
    assert names == ["share that goes to", *PATTERNS, which, "even reading"]


def test_a_pattern_that_cannot_be_followed_is_a_dash(open_figure):
    page = open_figure()
    choose(page, "model", 1)
    assert [row[3] for row in shown_scores(page)] == ["–", "–"]


def test_a_token_tells_what_it_reads(open_figure):
    page, (tokens, weights) = open_figure(), MODELS["trained"][0]
    for i in (6, 0, 4):
        page.locator(".aa-word").nth(i).click()
        row = weights[0, 0, i]
        shades = page.locator(".aa-shade").evaluate_all(
            "(all) => all.map((shade) => parseFloat(shade.style.width))"
        )
        assert shades == pytest.approx((100 * row).tolist(), abs=0.51e-2)
        pressed = page.locator(".aa-word").evaluate_all(
            "(all) => all.map((word) => word.getAttribute('aria-pressed') === 'true')"
        )
        assert pressed == [k == i for k in range(7)]
        order = sorted(range(7), key=lambda j: (-row[j].item(), j))[:3]
        reads = [f"{tokens[j]} at place {j} ({row[j]:.2f})" for j in order if row[j] >= 0.005]
        said = f"Layer 0, head 0: {tokens[i]} at place {i} reads {', '.join(reads)}."
        assert page.inner_text(".aa-live") == said
        frame = page.locator(".aa-map .aa-row")
        cell = float(frame.get_attribute("height"))
        top = float(page.locator(".aa-map .aa-frame").get_attribute("y"))
        assert float(frame.get_attribute("y")) == pytest.approx(top + i * cell)


def test_a_click_on_the_map_asks_the_row(open_figure):
    page = open_figure()
    box = page.locator(".aa-map .aa-frame").bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + box["height"] * 2.5 / 7)
    assert page.locator(".aa-word").nth(2).get_attribute("aria-pressed") == "true"
    assert "c at place 2 reads" in page.inner_text(".aa-live")


def test_another_model_keeps_the_head_where_it_has_one(open_figure):
    page = open_figure()
    choose(page, "head", "0.1")
    choose(page, "model", 1)
    assert page.locator('input[name="head"]:checked').get_attribute("value") == "0.1"
    choose(page, "model", 0)
    choose(page, "head", "1.2")
    choose(page, "model", 1)
    assert page.locator('input[name="head"]:checked').get_attribute("value") == "0.0"
    assert page.locator(".aa-word").all_inner_texts() == list("pqrs")
    names = page.locator('input[name="model"] + span').all_inner_texts()
    assert names == ["trained", "<i>images</i>"]
    choose(page, "head", "rollout")
    choose(page, "model", 0)
    assert page.inner_text(".aa-live").startswith("Rollout: a at place 6 reads")


def test_the_keyboard_does_it_all(open_figure):
    page = open_figure()
    page.locator('input[name="model"]').first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.locator(".aa-word").all_inner_texts() == OTHER
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".aa-live").startswith("Layer 0, head 1: y at place 4 reads")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text(".aa-live").startswith("Layer 0, head 1: x at place 1 reads")


def test_it_stays_small_with_five_models():
    texts = [(list("abcdefghijklmnopqrstuvwx"), random_maps(1, 2, 2, 24, causal=True))] * 3
    figure = AttentionAtlas({str(m): texts for m in range(5)})
    assert len(figure.html().encode()) < 200_000
