"""The spectral sliders in Chromium: their numbers are the library's."""

import re

import pytest
import torch

from softlookup.layers import hidden_gradients, rnn_step
from softlookup.show import SpectralSliders


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def random(*shapes, seed=5):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def lengths(W, start, radius, n, tanh):
    """The lengths of states and gradients by the library, from step 0 on."""
    W, states = radius * W, [start]
    zeros = torch.zeros_like(start)
    for _ in range(n):
        state = rnn_step(zeros, states[-1], torch.zeros_like(W), W, zeros)
        states.append(state if tanh else W @ states[-1])
    states, direct = torch.stack(states), torch.zeros(n + 1, len(start), dtype=torch.float64)
    direct[-1, 0] = 1
    slopes = 1 - states**2 if tanh else torch.ones_like(states)
    return states.norm(dim=1), hidden_gradients(direct, slopes, W).norm(dim=1)


def radius_one(W):
    return W / torch.linalg.eigvals(W).abs().max()


ROTATION, SKEWED = random((3, 3), (3, 3), seed=7)
START = tensor([0.5, -0.25, 0.125])


def example():
    return SpectralSliders({"one": ROTATION, "<b>other</b>": SKEWED}, START)


# The arithmetic


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/spectral_sliders/maths.js")


@pytest.mark.parametrize("tanh", [True, False])
@pytest.mark.parametrize(("radius", "n"), [(0.9, 50), (1.0, 1), (1.3, 23)])
def test_waves_equal_the_library(maths, tanh, radius, n):
    W, start = random((3, 3), (3,))
    found = maths("return maths.waves(data.W, data.start, data.radius, data.n, data.tanh)",
                  {"W": W.tolist(), "start": start.tolist(), "radius": radius, "n": n,
                   "tanh": tanh})  # fmt: skip
    states, gradients = lengths(W, start, radius, n, tanh)
    torch.testing.assert_close(tensor(found["states"]), states, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(tensor(found["gradients"]), gradients, rtol=1e-9, atol=1e-12)


# The sliders


@pytest.fixture
def open_sliders(open_figures):
    return lambda **options: open_figures(example(), ready=".sc-chart", **options)


def drawn(page, name):
    """The lengths that a line of the chart shows, read back from its points."""
    points = page.locator(f"polyline.{name}").get_attribute("points").split()
    heights = tensor([float(point.split(",")[1]) for point in points])
    return 8 - (heights - 8) * 16 / (220 - 8 - 34)  # log10


def assert_shows(page, W, radius, n, tanh):
    states, gradients = lengths(radius_one(W), START, radius, n, tanh)
    for name, values in (("sc-forward", states), ("sc-backward", gradients)):
        expected = values.log10().clamp(-8, 8)
        torch.testing.assert_close(drawn(page, name), expected, rtol=0, atol=1e-3)
    said = page.inner_text(".sl-live")
    for value in (states[-1], states[0], gradients[0]):
        found = [float(text.replace("−", "-")) for text in re.findall(r"[\d.]+(?:e−?\d+)?", said)
                 for text in [text.rstrip(".")] if text]  # fmt: skip
        assert any(abs(number / value.item() - 1) < 6e-3 for number in found)
    outside = bool((torch.cat([states, gradients]).log10().abs() > 8).any())
    assert said.endswith("drawn at its edge.") == outside


def test_every_control_of_the_sliders(open_sliders):
    page = open_sliders()
    assert_shows(page, ROTATION, 1.0, 50, False)
    for radius in (0.5, 0.93, 1.5):
        page.locator('input[name="radius"]').fill(str(radius))
        assert_shows(page, ROTATION, radius, 50, False)
    page.get_by_role("radio", name="tanh").check()
    assert_shows(page, ROTATION, 1.5, 50, True)
    page.get_by_role("radio", name="<b>other</b>").check()
    assert_shows(page, SKEWED, 1.5, 50, True)
    page.locator('input[name="n"]').fill("1")
    assert_shows(page, SKEWED, 1.5, 1, True)
    page.locator('input[name="n"]').fill("100")
    page.get_by_role("radio", name="none").check()
    assert_shows(page, SKEWED, 1.5, 100, False)


def test_sliders_by_keyboard(open_sliders):
    page = open_sliders()
    page.locator('input[name="radius"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".sl-number").first.inner_text() == "1.01"
    assert_shows(page, ROTATION, 1.01, 50, False)
