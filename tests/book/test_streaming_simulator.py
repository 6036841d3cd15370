"""The streaming simulator, moved in Chromium as a reader would: its numbers are the library's."""

import json
import re

import pytest
import torch
from conftest import LIGHT

from softlookup.attention import attention, attention_weights
from softlookup.attention.efficient import stream_attention, streaming_mask
from softlookup.masks import causal_mask
from softlookup.show import StreamingSimulator

TEXT = "^hallofrowaves"
N = len(TEXT)


def random_head():
    generator = torch.Generator().manual_seed(18)
    query, key, value = torch.randn(3, N, 5, dtype=torch.float64, generator=generator)
    key[0] = 3 * query.mean(dim=0) + key[0]  # something like a sink
    return 2 * query, key, value


@pytest.fixture(scope="module")
def head():
    return random_head()


def example():
    return StreamingSimulator(list(TEXT), *random_head(), width=4, n_sinks=1)


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/streaming_simulator/maths.js")


@pytest.fixture
def open_figure(open_figures, head):
    def open_page(style=LIGHT, width=1280, **options):
        given = {"width": 4, **options}
        figure = StreamingSimulator(list(TEXT), *head, **given)
        return open_figures(figure, ready=".st-form", style=style, width=width)

    return open_page


def data(head):
    figure = StreamingSimulator(list(TEXT), *head, width=4)
    return json.loads(figure.data)


def expected(head, i, width, sinks):
    whole = attention_weights(*head[:2], causal_mask(N))[i]
    step = stream_attention(*head, width, n_sinks=sinks)[i]
    error = (step.out - attention(*head, causal_mask(N))[i]).norm().item()
    lost = 1 - whole[step.positions].sum().item()
    return step, whole[: i + 1], lost, error


# The arithmetic


@pytest.mark.parametrize(("width", "sinks"), [(1, 0), (4, 0), (4, 1), (3, 4), (N, 2)])
def test_every_step_is_the_librarys(maths, head, width, sinks):
    given = data(head)
    for i in range(N):
        found = maths(
            "return maths.step(data.scores, data.values, data.at, data.w, data.s)",
            {**given, "at": i, "w": width, "s": sinks},
        )
        step, whole, lost, error = expected(head, i, width, sinks)
        assert found["positions"] == step.positions
        assert found["full"] == pytest.approx(whole.tolist(), abs=1e-12)
        by_position = torch.zeros(i + 1, dtype=torch.float64)
        by_position[step.positions] = step.weights
        assert found["weights"] == pytest.approx(by_position.tolist(), abs=1e-12)
        assert found["out"] == pytest.approx(step.out.tolist(), abs=1e-12)
        assert found["lost"] == pytest.approx(lost, abs=1e-12)
        assert found["error"] == pytest.approx(error, abs=1e-12)


def test_errors_at_all_positions(maths, head):
    given = {**data(head), "w": 3, "s": 1}
    found = maths("return maths.errors(data.scores, data.values, data.w, data.s)", given)
    streamed = attention(*head, streaming_mask(N, 3, 1))
    off = (streamed - attention(*head, causal_mask(N))).norm(dim=-1)
    assert found == pytest.approx(off.tolist(), abs=1e-12)


# What the page shows


def assert_shows(page, head, i, width, sinks):
    step, whole, lost, error = expected(head, i, width, sinks)
    columns = page.locator(".st-column")
    assert columns.count() == N
    states = columns.evaluate_all("(all) => all.map((node) => node.className)")
    for j, state in enumerate(states):
        kind = "later" if j > i else "gone"
        if j in step.positions:
            kind = "sink" if j < sinks else "recent"
        assert f"st-{kind}" in state
        assert ("st-now" in state) == (j == i)
    signs = page.locator(".st-mark").all_inner_texts()
    wanted = {"gone": "×", "sink": "■", "recent": "●", "later": ""}
    assert [sign.strip() for sign in signs] == [
        wanted[re.search(r"st-(gone|sink|recent|later)", state)[1]] for state in states
    ]
    heights = {}
    for kind in ("full", "weight"):
        read = "(all) => all.map((node) => parseFloat(node.style.height))"
        heights[kind] = page.locator(f".st-{kind}").evaluate_all(read)
    assert heights["full"] == pytest.approx([*(100 * whole).tolist(), *[0] * (N - 1 - i)], abs=1e-3)
    kept = dict(zip(step.positions, (100 * step.weights).tolist(), strict=True))
    assert heights["weight"] == pytest.approx([kept.get(j, 0) for j in range(N)], abs=1e-3)
    said, many = page.inner_text(".st-live"), len(step.positions)
    keys = "1 key" if many == 1 else f"{many} keys"
    assert said.startswith(f"Position {i}, {TEXT[i]}: {keys} in the cache.")
    gone = i + 1 - many
    left = f"The {gone} evicted held {100 * lost:.0f}% of the weight." if gone else "None has left."
    assert f"{left} Error: {error:.2f}." in said
    streamed = attention(*head, streaming_mask(N, width, sinks))
    mean = (streamed - attention(*head, causal_mask(N))).norm(dim=-1).mean().item()
    assert f"positions: {mean:.2f}, with" in page.inner_text(".st-mean")
    assert f"at most {min(N, width + sinks)} keys" in page.inner_text(".st-mean")
    label = page.locator(".st-chart").get_attribute("aria-label")
    assert f"at {i} it is {error:.2f}, on average {mean:.2f}" in label
    points = page.locator(".st-line").get_attribute("points").split()
    assert len(points) == N
    read = "(all) => all.map((input) => input.ariaValueText)"
    values = page.locator("input").evaluate_all(read)
    assert values == [str(width), str(sinks), f"{i} ({TEXT[i]})"]


@pytest.mark.parametrize(("i", "width", "sinks"), [(N - 1, 4, 1), (7, 3, 0), (0, 1, 0), (9, N, 4)])
def test_the_cache_follows_the_sliders(open_figure, head, i, width, sinks):
    page = open_figure()
    assert_shows(page, head, N - 1, 4, 0)
    for name, value in (("width", width), ("sinks", sinks), ("i", i)):
        page.locator(f'input[name="{name}"]').fill(str(value))
    assert_shows(page, head, i, width, sinks)
    assert_shows(open_figure(width=1280, n_sinks=sinks, position=i), head, i, 4, sinks)


def test_the_buttons_step_and_stop_at_both_ends(open_figure, head):
    page = open_figure(position=N - 3, n_sinks=1)
    forth, back = (page.get_by_role("button", name=name) for name in ("Next token", "Back"))
    for i in (N - 2, N - 1, N - 1):
        forth.click()
        assert_shows(page, head, i, 4, 1)
    back.click()
    assert_shows(page, head, N - 2, 4, 1)
    page = open_figure(position=0)
    page.get_by_role("button", name="Back").click()
    assert_shows(page, head, 0, 4, 0)


def test_the_keyboard_moves_the_sliders(open_figure, head):
    page = open_figure(position=8)
    page.locator('input[name="sinks"]').focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, head, 8, 4, 1)
    page.locator('input[name="i"]').focus()
    page.keyboard.press("Home")
    assert_shows(page, head, 0, 4, 1)
