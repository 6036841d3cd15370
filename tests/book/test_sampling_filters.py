"""Sampling filters, moved in Chromium as a reader would: the weights are the library's."""

import json
import math

import pytest
import torch

from softlookup.language_models import min_p_filter, sampling_weights, top_k_filter, top_p_filter
from softlookup.ops import entropy
from softlookup.show import SamplingFilters

PROMPTS = ["The value of the expr", "An object that is <b>not</b>", "x"]
TOKENS = ["<i>", " ", *[f"t{i}" for i in range(2, 23)]]
SCORES = 2 * torch.randn(3, 23, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
KS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, None]


def example():
    return SamplingFilters(PROMPTS, SCORES, TOKENS)


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/sampling_filters/maths.js", "kit/maths.js", "kit/entropy.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(**options):
        figure = SamplingFilters(PROMPTS, SCORES, TOKENS)
        return open_figures(figure, ready=".sf-row", **options)

    return open_page


def rounded(row):
    return torch.tensor([float(f"{score:.6g}") for score in row.tolist()], dtype=torch.float64)


# The arithmetic


@pytest.mark.parametrize("temperature", [0.05, 0.7, 1.0, 2.0])
@pytest.mark.parametrize(
    ("k", "p", "least"),
    [(None, None, None), (5, None, None), (None, 0.6, None), (None, None, 0.15), (8, 0.9, 0.02),
     (1, 0.01, 1.0), (23, 1.0, None), (30, 0.999, 0.001)],
)  # fmt: skip
def test_weights_are_the_librarys(maths, temperature, k, p, least):
    setting = {"temperature": temperature, "k": k, "p": p, "least": least}
    for row in SCORES:
        found = maths("return maths.samplingWeights(...data)", [row.tolist(), setting])
        expected = sampling_weights(row, temperature=temperature, top_k=k, top_p=p, min_p=least)
        torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), expected)
        assert [weight == 0 for weight in found] == (expected == 0).tolist()


@pytest.mark.parametrize(
    ("name", "cut", "limits"),
    [("k", top_k_filter, [1, 3, 22, 40]), ("p", top_p_filter, [0.01, 0.5, 0.93, 1.0]),
     ("least", min_p_filter, [0.001, 0.1, 1.0])],
)  # fmt: skip
def test_each_filter_is_the_librarys(maths, name, cut, limits):
    equal = torch.tensor([1.0, 2.0, 2.0, 0.5, 2.0, 1.0], dtype=torch.float64)
    for row in [*SCORES, equal]:
        for limit in limits:
            alone = {"temperature": 1, "k": None, "p": None, "least": None, name: limit}
            found = maths("return maths.samplingWeights(...data)", [row.tolist(), alone])
            assert [weight > 0 for weight in found] == (cut(row, limit) > -math.inf).tolist()


def test_uncertainty_is_in_bits(maths):
    for row in SCORES.softmax(dim=-1):
        found = maths("return maths.bits(data)", row.tolist())
        assert found == pytest.approx(entropy(row).item() / math.log(2))
    assert maths("return maths.bits([0, 1, 0])") == 0


def test_draws_come_as_often_as_they_are_probable(maths):
    code = """const next = maths.random(3);
        return Array.from({length: 20000}, () => maths.drawn(data, next()))"""
    p = [0.0, 0.5, 0.0, 0.2, 0.3, 0.0]
    ids = maths(code, p)
    for id_, probability in enumerate(p):
        spread = 4 * (probability * (1 - probability) / 20_000) ** 0.5
        assert abs(ids.count(id_) / 20_000 - probability) <= spread


# What the page shows

ROWS = """(rows) => rows.map((row) => {
    const part = (name) => row.querySelector(`.sf-${name}`);
    const width = (name) => parseFloat(part(name).style.width);
    return {token: part("token").innerText, value: part("value").innerText,
            cut: row.classList.contains("sf-cut"), before: width("before"), now: width("now")};
})"""


def assert_shows(page, prompt=0, *, temperature=1.0, k=None, p=None, least=None):
    row = rounded(SCORES[prompt])
    plain = row.softmax(dim=-1)
    now = sampling_weights(row, temperature=temperature, top_k=k, top_p=p, min_p=least)
    order = row.argsort(descending=True).tolist()
    rows = page.locator(".sf-row").evaluate_all(ROWS)
    assert len(rows) == 12
    largest = max(plain.max().item(), now.max().item())
    for id_, line in zip(order, rows, strict=False):
        assert line["token"] == TOKENS[id_]
        cut = f"cut ({plain[id_]:.3f})"
        assert line["value"].split(" · ")[0] == (cut if now[id_] == 0 else f"{now[id_]:.3f}")
        assert line["cut"] == (now[id_] == 0).item()
        for part, weights in ("before", plain), ("now", now):
            width = 100 * weights[id_].item() / largest
            assert line[part] == pytest.approx(width, abs=1e-3)
    left = now > 0
    said = page.inner_text(".sf-live")
    assert said.startswith(f"{left.sum()} of 23 tokens left; the model gave them "
                           f"{plain[left].sum():.3f}.")  # fmt: skip
    bits = [entropy(weights).item() / math.log(2) for weights in (plain, now)]
    assert f"{bits[0]:.2f} bits before, {bits[1]:.2f} now." in said
    tail = order[12:]
    rest = page.inner_text(".sf-rest")
    assert rest.startswith(f"The other 11: {plain[tail].sum():.3f} before, {now[tail].sum():.3f} "
                           f"now; {(now[tail] > 0).sum()} of them left")  # fmt: skip


def test_at_first_all_is_as_the_model_said(open_figure):
    page = open_figure()
    assert_shows(page)
    assert page.inner_text(".sf-quote") == "The value of the expr …"


@pytest.mark.parametrize("temperature", [0.05, 0.6, 2.0])
@pytest.mark.parametrize(
    ("k", "p", "least"), [(None, None, None), (6, None, None), (None, 0.7, None),
                          (None, None, 0.12), (10, 0.9, 0.05)],
)  # fmt: skip
def test_every_slider(open_figure, temperature, k, p, least):
    page = open_figure()
    page.locator('input[name="temperature"]').fill(str(round(100 * temperature)))
    page.locator('input[name="k"]').fill(str(KS.index(k)))
    page.locator('input[name="p"]').fill(str(100 if p is None else round(100 * p)))
    page.locator('input[name="least"]').fill(str(0 if least is None else round(100 * least)))
    setting = {"temperature": temperature, "k": k, "p": p, "least": least}
    assert_shows(page, **setting)
    words = [f"{temperature:.2f}", *("off" if value is None else str(value) if name == "k"
             else f"{value:.2f}" for name, value in list(setting.items())[1:])]  # fmt: skip
    assert page.locator(".sl-number").all_inner_texts() == words
    values = page.locator(".sl-slider").evaluate_all("(all) => all.map((i) => i.ariaValueText)")
    assert values == words
    page.locator('label.sl-choice:has(input[name="prompt"])').nth(1).click()
    assert_shows(page, 1, **setting)
    page.locator(".sf-reset").click()
    assert_shows(page, 1, temperature=temperature)


def test_draws_are_counted_and_forgotten(open_figure):
    page = open_figure()
    page.locator('input[name="k"]').fill(str(KS.index(4)))
    page.locator(".sf-draw").click()
    values = page.locator(".sf-value").all_inner_texts()
    times = [int(value.split(" · ")[1].rstrip("×")) for value in values if "·" in value]
    assert len(times) == 4
    assert sum(times) == 100
    page.locator('input[name="temperature"]').fill("50")
    assert not any("×" in value for value in page.locator(".sf-value").all_inner_texts())
    page.locator('input[name="k"]').fill("12")
    page.locator('input[name="temperature"]').fill("200")
    page.locator(".sf-draw").click()
    rest = page.inner_text(".sf-rest")
    tail = int(rest.split("drawn ")[1].split("×")[0])
    values = page.locator(".sf-value").all_inner_texts()
    assert tail + sum(int(value.split(" · ")[1].rstrip("×")) for value in values) == 100


@pytest.mark.parametrize(("n_tokens", "others"), [(6, ""), (12, ""), (13, "The other 1: ")])
def test_a_row_that_is_shown_whole_has_no_others(open_figures, n_tokens, others):
    figure = SamplingFilters(["x"], SCORES[:1, :n_tokens], TOKENS[:n_tokens])
    page = open_figures(figure, ready=".sf-row")
    for _ in range(2):
        rest = page.locator(".sf-rest")
        assert rest.is_visible() == bool(others)
        assert rest.inner_text().startswith(others)
        page.locator(".sf-draw").click()


def test_the_keyboard_moves_a_slider(open_figure):
    page = open_figure()
    page.locator('input[name="p"]').focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    assert_shows(page, p=0.8)
    page.locator('input[name="prompt"]').first.focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, 1, p=0.8)


def test_the_html_is_small():
    tokens = [f"token {i}" for i in range(2000)]
    figure = SamplingFilters(["a" * 20] * 6, torch.randn(6, 2000), tokens)
    assert len(figure.html().encode()) < 200_000
    assert len(json.loads(figure.data)["scores"]) == 6
