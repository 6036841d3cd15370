"""The matrix microscope, used in Chromium as a reader would: its numbers are the library's.

The page is built from the object's text/html alone and opened as a file, so nothing else serves it.
"""

import math
import re

import pytest
import torch
from conftest import DARK, LIGHT, drag_by_finger

from softlookup.attention import attention, attention_scores, attention_weights
from softlookup.masks import causal_mask, padding_mask, window_mask
from softlookup.show import MatrixMicroscope, SoftLookup

pytestmark = pytest.mark.browser

TOKENS = ["the", "cat", "chased", "a", "mouse"]
X = torch.tensor([[0.4, 0.2], [1.6, 0.9], [-0.5, 1.7], [0.3, -0.3], [1.2, -1.1]]).double()
X = (10 * X).round() / 10
W_Q = torch.tensor([[0.8, 0.9], [-1.0, 0.7]]).double().mul(10).round() / 10
W_K = torch.tensor([[1.1, 0.0], [0.3, 0.9]]).double().mul(10).round() / 10
W_V = torch.tensor([[0.9, -0.4], [0.5, 1.0]]).double().mul(10).round() / 10
EYE = torch.eye(2).double()
N = len(TOKENS)


def microscope(**options) -> MatrixMicroscope:
    return MatrixMicroscope(TOKENS, X, W_Q, W_K, W_V, **options)


def example():
    return microscope(causal=True)


@pytest.fixture
def open_figure(open_figures):
    """Opens microscopes in one page, one in its first state if none is given, with both halves."""

    def open_page(*figures, whole=True, **options):
        page = open_figures(*(figures or (microscope(),)), ready=".mm-cell:visible", **options)
        page.evaluate("document.querySelectorAll('.mm-more').forEach((one) => (one.open = true))")
        if whole:
            page.evaluate("document.querySelectorAll('.mm-open').forEach((one) => one.click())")
        return page

    return open_page


def parse(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


def entry(page, name: str) -> str:
    return page.locator(f'[data-entry="{name}"]').inner_text()


def matrix(page, name: str, rows: int, columns: int) -> list[list[str]]:
    found = page.evaluate(
        """([name, rows, columns]) => Array.from({length: rows}, (_, i) => Array.from(
          {length: columns}, (_, j) =>
            document.querySelector(`[data-entry="${name}-${i}-${j}"]`).textContent))""",
        [name, rows, columns],
    )
    return found


def assert_printed(texts: list[list[str]], values: torch.Tensor) -> None:
    """Every text is its value, right to the last digit that it prints."""
    for row, line in zip(values.tolist(), texts, strict=True):
        for value, text in zip(row, line, strict=True):
            assert_right_to_last_digit(text, value)


def assert_right_to_last_digit(text: str, value: float) -> None:
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2]) - (parse(exponent) if exponent else 0)
    assert abs(parse(text) - value) <= 0.5 * 10**-decimals * (1 + 1e-9), (text, value)


def assert_four_digits(text: str, value: float) -> None:
    """The text is the value to four significant digits."""
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 3) if value else 1e-12
    assert abs(parse(text) - value) <= 0.5 * unit * (1 + 1e-6), (text, value)


def assert_shows(page, x=X, w_q=W_Q, w_k=W_K, w_v=W_V, mask=None, scale=True) -> None:
    """All matrices in the page equal the library's on these inputs."""
    mask = torch.ones(N, N, dtype=torch.bool) if mask is None else mask
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    weights = attention_weights(query, key, mask, scale=scale)
    out = attention(query, key, value, mask) if scale else weights @ value
    wanted = {"q": query, "k": key, "v": value, "z": out}
    for name, numbers in wanted.items():
        assert_printed(matrix(page, name, N, 2), numbers)
    assert_printed(matrix(page, "scores", N, N), attention_scores(query, key, scale=scale))
    texts = matrix(page, "weights", N, N)
    assert_printed(texts, weights)
    masked = [[text == "0" for text in row] for row in texts]
    assert masked == (~mask).tolist()


def field(page, label: str):
    return page.get_by_label(label, exact=True)


def switch(page, text: str):
    return page.locator("label.sl-check", has_text=re.compile(text))


# The arithmetic


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/matrix_microscope/maths.js")


def test_attention_equals_the_library_to_1e_12(maths, generator):
    for trial in range(11):
        n, d_model, d_k, d_v = 7, 5, 3, 2 + trial % 2
        x = torch.randn(n, d_model, generator=generator, dtype=torch.float64)
        w_q, w_k = torch.randn(2, d_model, d_k, generator=generator, dtype=torch.float64)
        w_v = torch.randn(d_model, d_v, generator=generator, dtype=torch.float64)
        mask = torch.rand(n, n, generator=generator) < 0.6
        mask[2] = False  # a query that may read nothing
        scale = trial % 3 > 0
        found = maths(
            "return maths.selfAttention(data)",
            {"x": x.tolist(), "W_Q": w_q.tolist(), "W_K": w_k.tolist(), "W_V": w_v.tolist(),
             "mask": mask.tolist(), "scale": scale},
        )  # fmt: skip
        weights = attention_weights(x @ w_q, x @ w_k, mask, scale=scale)
        wanted = {"Q": x @ w_q, "K": x @ w_k, "V": x @ w_v, "weights": weights}
        wanted["scores"] = attention_scores(x @ w_q, x @ w_k, scale=scale)
        wanted["out"] = weights @ (x @ w_v)
        for name, numbers in wanted.items():
            found_numbers = torch.tensor(found[name], dtype=torch.float64)
            torch.testing.assert_close(found_numbers, numbers, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("width", [0, 1, 3])
def test_masks_equal_the_library(maths, width):
    n = 5
    assert maths("return maths.causalMask(data)", n) == causal_mask(n).tolist()
    assert maths(f"return maths.windowMask(data, {width})", n) == window_mask(n, width).tolist()
    hidden = [False, False, False, True, True]
    padding = padding_mask([3], n)[0].expand(n, n)
    assert maths("return maths.hiddenKeysMask(data)", hidden) == padding.tolist()
    setting = {"causal": True, "window": True, "width": width, "hidden": hidden}
    wanted = causal_mask(n) & window_mask(n, width) & padding
    assert maths("return maths.maskOf(data)", setting) == wanted.tolist()


def test_scores_of_ten_thousand_do_not_overflow(maths):
    scores = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4 - 1], [1e4, 1e4 - 2, 1e4 - 3]])
    scores = scores.double()
    mask = torch.tensor([[True] * 3, [True] * 3, [False, True, True]])
    found = maths("return maths.maskedSoftmax(data[0], data[1])", [scores.tolist(), mask.tolist()])
    wanted = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), wanted, atol=1e-15, rtol=0)


def test_columns_form_is_the_rows_form_transposed(maths, generator):
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    w_q, w_k, w_v = torch.randn(3, 3, 2, generator=generator, dtype=torch.float64)
    data = {"x": x.tolist(), "W_Q": w_q.tolist(), "W_K": w_k.tolist(), "W_V": w_v.tolist(),
            "mask": causal_mask(5).tolist(), "scale": True}  # fmt: skip
    found = maths("return maths.columnsForm(data)", data)
    out = attention(x @ w_q, x @ w_k, x @ w_v, causal_mask(5))
    right = torch.tensor(found["right"]["out"], dtype=torch.float64)
    torch.testing.assert_close(right, out.mT, atol=1e-12, rtol=1e-12)
    wrong = (x @ w_q).mT @ (x @ w_k) / math.sqrt(2)
    wrong_scores = torch.tensor(found["wrong"]["scores"], dtype=torch.float64)
    torch.testing.assert_close(wrong_scores, wrong, atol=1e-12, rtol=1e-12)
    wrong_out = torch.tensor(found["wrong"]["out"], dtype=torch.float64)
    torch.testing.assert_close(wrong_out, wrong.softmax(-1) @ (x @ w_v).mT, atol=1e-12, rtol=1e-12)


# What the page shows


def test_it_starts_with_the_librarys_numbers(open_figure):
    assert_shows(open_figure())


@pytest.mark.parametrize(
    ("options", "mask", "scale"),
    [
        ({"scale": False}, None, False),
        ({"causal": True}, causal_mask(N), True),
        ({"window": 0}, window_mask(N, 0), True),
        ({"window": 2, "causal": True}, window_mask(N, 2) & causal_mask(N), True),
    ],
)
def test_it_starts_as_python_asks(open_figure, options, mask, scale):
    assert_shows(open_figure(microscope(**options)), mask=mask, scale=scale)


def test_switches(open_figure):
    page = open_figure()
    switch(page, "divide by").click()
    assert_shows(page, scale=False)
    switch(page, "causal mask").click()
    assert_shows(page, scale=False, mask=causal_mask(N))
    switch(page, "divide by").click()
    switch(page, "window").click()
    assert_shows(page, mask=causal_mask(N) & window_mask(N, 1))
    field(page, "Width of the window").focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, mask=causal_mask(N) & window_mask(N, 2))
    switch(page, "causal mask").click()
    assert_shows(page, mask=window_mask(N, 2))
    page.get_by_role("button", name="Reset").click()
    assert_shows(page)


def test_same_matrix_makes_scores_symmetric_and_not_weights(open_figure):
    page = open_figure()
    scores, weights = attention_scores(X @ W_Q, X @ W_K), attention_weights(X @ W_Q, X @ W_K)
    assert_four_digits(entry(page, "asymmetry-S"), (scores - scores.mT).abs().max().item())
    assert_four_digits(entry(page, "asymmetry-A"), (weights - weights.mT).abs().max().item())
    switch(page, r"W\s*K\s*=\s*W\s*Q").click()
    assert_shows(page, w_k=W_Q)
    weights = attention_weights(X @ W_Q, X @ W_Q)
    assert entry(page, "asymmetry-S") == "0"
    assert_four_digits(entry(page, "asymmetry-A"), (weights - weights.mT).abs().max().item())
    assert "the scores are symmetric, the weights are not" in page.inner_text(".mm-symmetry")
    assert field(page, "W K, row 0, column 0").is_disabled()
    assert float(field(page, "W K, row 0, column 0").input_value()) == W_Q[0, 0]


def test_a_query_that_may_read_nothing_gets_zeros_and_a_word(open_figure):
    page = open_figure(microscope(causal=True))
    page.get_by_role("button", name="Hide key the").click()
    mask = causal_mask(N) & torch.tensor([False, True, True, True, True])
    assert_shows(page, mask=mask)
    assert "“the” may read no key" in page.inner_text(".mm-empty")
    page.locator('[data-entry="weights-0-0"]').click()
    assert "may read no key" in page.inner_text(".mm-steps")
    assert entry(page, "step-weight") == "0"
    page.get_by_role("button", name="Hide key the").click()
    assert_shows(page, mask=causal_mask(N))
    assert page.inner_text(".mm-empty") == ""


@pytest.mark.parametrize("cell", ["weights-2-1", "scores-4-3"])
def test_a_cell_tells_where_it_comes_from(open_figure, cell):
    page = open_figure()
    page.locator(f'[data-entry="{cell}"]').click()
    i, j = (int(part) for part in cell.split("-")[1:])
    query, key, value = X @ W_Q, X @ W_K, X @ W_V
    scores, weights = attention_scores(query, key), attention_weights(query, key)
    exps = (scores[i] - scores[i].max()).exp()
    assert_four_digits(entry(page, "step-product"), (query[i] @ key[j]).item())
    assert_four_digits(entry(page, "step-score"), scores[i, j].item())
    assert_four_digits(entry(page, "step-exp"), exps[j].item())
    assert_four_digits(entry(page, "step-sum"), exps.sum().item())
    assert_four_digits(entry(page, "step-weight"), weights[i, j].item())
    share = entry(page, "step-share").strip("()").split(", ")
    for text, number in zip(share, weights[i, j] * value[j], strict=True):
        assert_four_digits(text, number.item())
    told = page.inner_text(".mm-steps")
    for number in [*query[i].tolist(), *key[j].tolist()]:
        assert f"{number:.4g}".replace("-", "−") in told
    assert page.inner_text(".mm-origin .mm-title").endswith(f"{TOKENS[i]} reads {TOKENS[j]}")


def test_a_masked_cell_says_that_it_may_not_be_read(open_figure):
    page = open_figure(microscope(causal=True))
    page.locator('[data-entry="weights-1-3"]').click()
    told = page.inner_text(".mm-steps")
    assert "the score counts as −∞" in told
    assert entry(page, "step-weight") == "0"
    assert_sum_of_readable_keys(page, 1)
    page.locator('[data-entry="weights-2-0"]').click()
    assert_sum_of_readable_keys(page, 2)


def assert_sum_of_readable_keys(page, i: int) -> None:
    scores = attention_scores(X @ W_Q, X @ W_K)[i, : i + 1]
    assert_four_digits(entry(page, "step-sum"), (scores - scores.max()).exp().sum().item())


def test_the_choice_is_marked_everywhere(open_figure):
    page = open_figure()
    page.locator('[data-entry="scores-2-1"]').click()
    for name in ("scores", "weights"):
        pressed = page.locator(f'[data-entry^="{name}-"][aria-pressed="true"]')
        assert pressed.evaluate_all("(all) => all.map((one) => one.dataset.entry)") == [
            f"{name}-2-1"
        ]
    assert page.locator(".mm-heatmap tr.mm-is-query th").all_inner_texts() == ["chased"] * 2
    assert page.locator(".mm-heatmap thead th.mm-is-key").all_inner_texts() == ["cat"] * 2
    assert page.locator(".mm-table tr.mm-is-query th").all_inner_texts() == ["chased"] * 3
    assert page.locator(".mm-table tr.mm-is-key th").all_inner_texts() == ["cat"] * 3
    told = page.get_by_role("img", name=re.compile("^Query chased")).get_attribute("aria-label")
    assert "With key cat (2.03, 0.81) the dot product is −3.664" in told


# Moving and typing


@pytest.mark.parametrize("has_touch", [False, True])
def test_dragging_a_token(open_figure, has_touch):
    page = open_figure(has_touch=has_touch)
    dot = page.get_by_role("slider", name=re.compile("^Token cat")).locator(".mm-dot")
    box = dot.bounding_box()
    plane = page.locator(".mm-plane").first.bounding_box()
    start = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    unit = plane["width"] / 6
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] - unit, start[1] + 0.2 * unit)
    page.mouse.move(start[0] - 2 * unit, start[1] + unit)
    page.mouse.up()
    page.mouse.move(start[0] - 2 * unit + 11, start[1] + unit)  # let go: it stays
    moved = [float(field(page, f"X, cat, column {c}").input_value()) for c in range(2)]
    assert moved == pytest.approx([-0.4, -0.1], abs=0.06)
    x = X.clone()
    x[1] = torch.tensor(moved).double()
    assert_shows(page, x=x)


def test_a_finger_drags_a_token_on_a_phone(open_figure):
    page = open_figure(width=390, has_touch=True, is_mobile=True)
    dot = page.get_by_role("slider", name=re.compile("^Token cat")).locator(".mm-dot")
    dot.scroll_into_view_if_needed()
    unit = page.locator(".mm-plane").first.bounding_box()["width"] / 6
    drag_by_finger(page, dot, -2 * unit, unit)
    moved = [float(field(page, f"X, cat, column {c}").input_value()) for c in range(2)]
    assert moved == pytest.approx([-0.4, -0.1], abs=0.06)


def test_dragging_out_of_the_picture_stops_at_its_edge(open_figure):
    page = open_figure()
    handle = page.get_by_role("slider", name=re.compile("^Token mouse"))
    handle.locator(".mm-dot").hover()
    page.mouse.down()
    edge = page.locator(".mm-plane").first.locator(".mm-tick")
    page.mouse.move(5, 5)
    assert edge.text_content() == "3"  # it grows when the token is let go
    page.mouse.up()
    assert edge.text_content() == "4"
    assert handle.get_attribute("aria-valuetext") == "(−3, 3)"


def test_arrow_keys_move_a_token_and_nothing_else(open_figure):
    page = open_figure()
    handle = page.get_by_role("slider", name=re.compile("^Token a,"))
    handle.focus()
    for key in ["ArrowRight", "ArrowUp", "ArrowUp", "Shift+ArrowLeft"]:
        page.keyboard.press(key)
    assert handle.get_attribute("aria-valuetext") == "(−0.1, −0.1)"
    assert handle.get_attribute("aria-valuenow") == "-0.1"
    x = X.clone()
    x[3] = torch.tensor([-0.1, -0.1]).double()
    assert_shows(page, x=(100 * x).round() / 100)
    assert page.evaluate("scrollY") == 0


def test_typed_numbers(open_figure):
    page = open_figure()
    field(page, "X, chased, column 1").fill("-2.25")
    field(page, "W V, row 1, column 0").fill("1.5")
    x, w_v = X.clone(), W_V.clone()
    x[2, 1], w_v[1, 0] = -2.25, 1.5
    assert_shows(page, x=x, w_v=w_v)
    field(page, "X, the, column 0").fill("100")  # scores of ten thousand
    field(page, "X, cat, column 0").fill("-100")
    x[0, 0], x[1, 0] = 100, -100
    assert_shows(page, x=x, w_v=w_v)
    assert "NaN" not in page.inner_text("main")


@pytest.mark.parametrize("bad", ["", "e", "-", "1e999", "1001", "-1e9"])
def test_a_bad_number_is_marked_and_the_last_good_one_stays(open_figure, bad):
    page = open_figure()
    box = field(page, "X, cat, column 0")
    box.fill("")
    box.press_sequentially(bad)
    assert box.get_attribute("aria-invalid") == "true"
    problem = page.inner_text(".mm-problems")
    assert problem.startswith("X, cat, column 0: type a number from −1000 to 1000. ")
    assert box.get_attribute("aria-describedby") == page.locator(".mm-problems").get_attribute("id")
    x = X.clone()
    typed = {"1001": 100, "-1e9": -1, "1e999": 1}  # good on the way
    x[1, 0] = typed.get(bad, x[1, 0].item())
    switch(page, "causal mask").click()
    assert_shows(page, x=x, mask=causal_mask(N))
    assert box.get_attribute("aria-invalid") == "true"
    box.fill("0.7")
    assert box.get_attribute("aria-invalid") == "false"
    assert page.inner_text(".mm-problems") == ""


def test_reset_brings_everything_back(open_figure):
    page = open_figure()
    field(page, "X, cat, column 0").fill("")
    field(page, "W Q, row 0, column 0").fill("5")
    switch(page, "causal mask").click()
    page.get_by_role("button", name="Hide key cat").click()
    page.get_by_role("button", name="Reset").click()
    assert_shows(page)
    assert field(page, "X, cat, column 0").input_value() == "1.6"
    assert page.inner_text(".mm-problems") == ""
    assert page.locator("select").input_value() == "given"


def test_presets(open_figure):
    page = open_figure()
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]]).double()
    wanted = {"identity": EYE, "opposite": -EYE, "turn": turn}
    for name, w_q in wanted.items():
        page.locator("select").select_option(name)
        assert_shows(page, w_q=w_q, w_k=EYE, w_v=EYE)
    turned = (X @ turn)[1]  # a quarter turn to the left: (a, b) becomes (-b, a)
    assert turned.tolist() == [-X[1, 1], X[1, 0]]
    page.locator("select").select_option("given")
    assert_shows(page)
    field(page, "W Q, row 0, column 0").fill("5")
    assert page.locator("select").input_value() == "own"


def test_random_matrices_are_new_each_time_and_the_same_in_every_page(open_figure):
    def draws(page) -> list[list[str]]:
        fields = page.get_by_label(re.compile("^W [QKV], row"))
        found = []
        for _ in range(2):
            page.get_by_role("button", name="New random").click()
            found.append(fields.evaluate_all("(all) => all.map((one) => one.value)"))
        return found

    page = open_figure()
    first, second = draws(page)
    assert first != second
    w_q, w_k, w_v = torch.tensor([float(text) for text in second]).double().view(3, 2, 2)
    clean = [(10 * w).round() / 10 for w in (w_q, w_k, w_v)]
    assert_shows(page, w_q=clean[0], w_k=clean[1], w_v=clean[2])
    assert draws(open_figure()) == [first, second]


# Rows and columns


def test_tokens_in_columns_show_the_shape_error_and_the_repair(open_figure):
    page = open_figure()
    assert "(5 × 2)(2 × 5) = 5 × 5" in page.inner_text(".mm-panel")
    page.get_by_label("columns of X").check()
    wrong, right = page.inner_text(".mm-wrong"), page.inner_text(".mm-right")
    assert "(2 × 5)(5 × 2) = 2 × 2" in wrong
    assert "not 5 × 5" in wrong
    assert "(5 × 2)(2 × 5) = 5 × 5" in right
    query, key, value = X @ W_Q, X @ W_K, X @ W_V
    features = query.mT @ key / math.sqrt(2)
    assert_printed(matrix(page, "wrong-scores", 2, 2), features)
    out = attention(query, key, value)
    assert_printed(matrix(page, "right-out", 2, N), out.mT)
    off = (features.softmax(dim=-1) @ value.mT - out.mT).abs().max().item()
    assert_four_digits(entry(page, "wrong-by"), off)
    assert parse(entry(page, "right-by")) < 1e-12
    page.get_by_label("rows of X").check()
    assert page.locator(".mm-card").count() == 0


# Everybody can use it, everywhere


def test_the_keyboard_alone_reaches_and_uses_every_control(open_figure):
    page = open_figure()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement?.getAttribute('aria-label') ?? "
                                  "document.activeElement?.innerText ?? ''"))  # fmt: skip
        if page.evaluate("document.activeElement?.dataset?.entry === 'weights-0-0'"):
            for key in ["ArrowDown", "ArrowRight", "ArrowRight", "Enter"]:
                page.keyboard.press(key)
    assert entry(page, "step-weight") == page.evaluate(
        "document.querySelector('.mm-steps li:nth-child(5) .mm-step-value').textContent"
    )
    heading = page.inner_text(".mm-origin .mm-title")
    assert heading.endswith("cat reads chased")
    assert page.locator('[data-entry="weights-1-2"]').get_attribute("tabindex") == "0"
    wanted = {"Width of the window", "Reset", "New random", "W V, row 1, column 1", "Hide key a"}
    assert wanted <= reached
    assert {f"Token {token}, arrow keys move it" for token in TOKENS} <= reached


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_numbers_on_coloured_cells_can_be_read(open_figure, style):
    page = open_figure(style=style)
    contrasts = page.evaluate(CONTRASTS, style == DARK)
    assert len(contrasts) == 2 * N * N
    assert min(contrasts) >= 4.5


CONTRASTS = """(dark) => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
  const brush = canvas.getContext('2d', {willReadFrequently: true});
  const paint = (...colours) => {
    brush.clearRect(0, 0, 1, 1);
    for (const colour of colours) { brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1); }
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => rgb.map((value) => value / 255).map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, c) => sum + part * [0.2126, 0.7152, 0.0722][c], 0);
  const paper = getComputedStyle(document.body).backgroundColor;
  return [...document.querySelectorAll('.mm-cell')].map((cell) => {
    const style = getComputedStyle(cell);
    const [a, b] = [paint(paper, style.backgroundColor), paint(style.color)].map(luminance);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
}"""


def test_words_that_come_twice_or_hold_markup_stay_words(open_figure):
    tokens = ["<b>a</b>", "the", "the", "</script>", "*i*_k"]
    page = open_figure(MatrixMicroscope(tokens, X, W_Q, W_K, W_V))
    heads = page.locator(".mm-heatmap").first.locator("thead th").all_inner_texts()
    assert heads == ["<b>a</b>", "the₁", "the₂", "</script>", "*i*_k"]
    page.locator('[data-entry="weights-0-4"]').click()
    assert page.inner_text(".mm-origin .mm-title").endswith("<b>a</b> reads *i*_k")


def test_eight_tokens_fit_a_phone_and_only_their_matrices_scroll(open_figure):
    words = ["the", "chicken", "crossed", "the", "road", "because", "it", "was"]
    x = torch.arange(16).reshape(8, 2).double() / 10
    page = open_figure(MatrixMicroscope(words, x, W_Q, W_K, W_V), width=390)
    picture = page.locator(".sl-picture")
    assert picture.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    scrolls = page.locator(".mm-matrix .sl-scroll").first  # the weights
    assert scrolls.evaluate("(box) => box.scrollWidth > box.clientWidth")


def test_a_phone_shows_tokens_and_weights_and_one_part_of_the_rest(open_figure):
    parts = {"this weight": "weight", "scores": "scores", "query and keys": "keys",
             "values": "values", "masks": "masks"}  # fmt: skip
    page = open_figure(width=390)
    page.evaluate("document.querySelectorAll('.mm-more').forEach((one) => (one.open = false))")
    for words, shown in parts.items():
        page.get_by_role("radio", name=words, exact=True).check()
        visible = [view for view in parts.values() if page.locator(f".mm-part-{view}").is_visible()]
        assert visible == [shown]
        assert page.get_by_role("slider", name=re.compile("^Token cat")).is_visible()
        assert page.locator('[data-entry="weights-0-0"]').is_visible()
    assert page.locator(".mm").evaluate("(figure) => figure.offsetHeight") < 1300
    page.get_by_role("button", name="Reset").click()
    assert page.locator(".mm-part-weight").is_visible()


def test_a_wide_page_shows_the_steps_of_one_query_and_a_button_the_rest(open_figure):
    page = open_figure(whole=False)
    shown = {name: page.locator(f".mm-part-{name}") for name in ("keys", "weight", "values")}
    folded = {name: page.locator(f".mm-part-{name}") for name in ("scores", "masks")}
    assert all(one.is_visible() for one in shown.values())
    assert page.locator('[data-entry="weights-0-0"]').is_visible()
    assert not any(one.is_visible() for one in [*folded.values(), page.locator(".mm-symmetry")])
    page.get_by_role("button", name="Show all scores", expanded=False).click()
    assert all(one.is_visible() for one in page.locator(".mm-part").all())
    assert page.locator(".mm-symmetry").is_visible()
    assert not page.locator(".mm-views").is_visible()
    page.get_by_role("button", name="Reset").click()
    assert folded["scores"].is_visible()
    page.get_by_role("button", name="Hide all scores", expanded=True).click()
    assert not folded["scores"].is_visible()


def test_a_figure_below_changes_nothing_of_its_look(open_figures):
    """Each brings the kit's style with it, and what comes later wins where rules are equal."""
    page = open_figures(microscope(), SoftLookup(), ready=".mm-cell:visible")
    assert not page.locator(".mm-views").is_visible()
