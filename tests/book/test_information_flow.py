"""The information flow, stepped through in Chromium: its lines are the weights it was given."""

import pytest
import torch

from softlookup.masks import causal_mask
from softlookup.ops import masked_softmax
from softlookup.show import InformationFlow

SOURCE, TARGET = ["we", "saw", "<i>the</i>", "bank"], ["nous", "avons", "vu"]
LAYERS, LEAST = 2, 0.03
FRAMES = LAYERS + len(TARGET)


def weights():
    generator = torch.Generator().manual_seed(7)

    def scores(*shape):
        return 2 * torch.randn(shape, generator=generator, dtype=torch.float64)

    own = masked_softmax(scores(3, 3), causal_mask(3))
    return scores(LAYERS, 4, 4).softmax(-1), scores(3, 4).softmax(-1), own


ENCODER, CROSS, OWN = weights()


def example():
    return InformationFlow(SOURCE, TARGET, ENCODER, CROSS, OWN)


@pytest.fixture
def open_figure(open_figures):
    def open_page(**options):
        figure = InformationFlow(SOURCE, TARGET, ENCODER, CROSS, OWN)
        return open_figures(figure, ready=".if-flow", **options)

    return open_page


def expected_widths(kind, frame):
    """Stroke widths of a kind's lines in a frame: those of the frame, and those drawn before."""
    t = frame - LAYERS
    groups = {
        "encoder": [(k, ENCODER[k].flatten()) for k in range(min(frame + 1, LAYERS))],
        "cross": [(LAYERS + k, CROSS[k]) for k in range(t + 1)],
        "own": [(LAYERS + k, OWN[k, : k + 1]) for k in range(t + 1)],
    }[kind]
    shown = [(when == frame, w) for when, row in groups for w in row.tolist() if w >= LEAST]
    return [[now, round(0.6 + 6 * w, 2)] for now, w in shown]


def assert_shows(page, frame):
    for kind in ("encoder", "cross", "own"):
        lines = page.locator(f".if-{kind}").evaluate_all(
            "(all) => all.map((l) => [l.classList.contains('if-now'),"
            " Number(l.getAttribute('stroke-width'))])"
        )
        wanted = expected_widths(kind, frame)
        assert [now for now, _ in lines] == [now for now, _ in wanted]
        assert [w for _, w in lines] == pytest.approx([w for _, w in wanted], abs=0.0101)
    t = frame - LAYERS
    assert page.locator(".if-written").all_text_contents() == TARGET[: max(t + 1, 0)]
    assert page.locator(".if-input").all_text_contents() == ["start", *TARGET][: max(t + 1, 0)]
    assert page.locator(".if-half").all_text_contents() == ["encoder", "decoder"]
    said = page.inner_text(".if-live")
    if t < 0:
        i, j = divmod(ENCODER[frame].argmax().item(), 4)
        assert said.startswith(f"Encoder, layer {frame + 1} of {LAYERS}: all words read at once.")
        assert said.endswith(f"“{SOURCE[i]}” reads “{SOURCE[j]}”, {ENCODER[frame, i, j]:.2f}.")
    else:
        j, k = CROSS[t].argmax().item(), OWN[t].argmax().item()
        assert said.startswith(f"Decoder, step {t + 1} of {len(TARGET)}: it writes “{TARGET[t]}”.")
        assert f"Of the source it reads mostly “{SOURCE[j]}”, {CROSS[t, j]:.2f}." in said
        if t == 0:
            assert said.endswith("Nothing is written yet but the start.")
        else:
            name = f"“{TARGET[k - 1]}”" if k else "the start"
            assert said.endswith(f"it reads mostly {name}, {OWN[t, k]:.2f}.")
    assert page.inner_text(".sl-number") == f"{frame + 1} of {FRAMES}"
    assert page.get_by_role("button", name="Back").is_disabled() == (frame == 0)
    assert page.get_by_role("button", name="Next").is_disabled() == (frame == FRAMES - 1)
    done = page.locator(".if-dot:not(.if-empty)").count()
    assert done == 4 * (min(frame, LAYERS - 1) + 2) + 2 * max(t + 1, 0)


def test_there_is_a_frame_for_each_layer_and_each_target_word(open_figure):
    page = open_figure()
    for frame in range(FRAMES):
        assert_shows(page, frame)
        if frame < FRAMES - 1:
            page.get_by_role("button", name="Next").click()
    for frame in reversed(range(FRAMES - 1)):
        page.get_by_role("button", name="Back").click()
        assert_shows(page, frame)


def test_the_slider_reaches_every_frame(open_figure):
    page = open_figure()
    slider = page.locator('input[name="frame"]')
    for frame in (3, 0, FRAMES - 1, 1):
        slider.fill(str(frame + 1))
        assert_shows(page, frame)
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, 2)


def test_it_plays_to_the_end_and_stops(open_figure):
    page = open_figure()
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    for frame in range(1, FRAMES):
        assert page.get_by_role("button", name="Pause").count() == 1
        page.clock.run_for(1300)
        assert_shows(page, frame)
    assert page.get_by_role("button", name="Play").count() == 1
    page.clock.run_for(5000)
    assert_shows(page, FRAMES - 1)
    page.get_by_role("button", name="Play").click()  # again, from the start
    assert_shows(page, 0)


@pytest.mark.parametrize("name", ["Pause", "Next"])
def test_a_press_stops_the_playing(open_figure, name):
    page = open_figure()
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1300)
    page.get_by_role("button", name=name).click()
    page.clock.run_for(10_000)
    assert_shows(page, 1 if name == "Pause" else 2)
    assert page.get_by_role("button", name="Play").count() == 1
