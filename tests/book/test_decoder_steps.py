"""The decoder step, used in Chromium as a reader would: its numbers are the library's."""

import json
import re

import pytest
import torch
from conftest import LIGHT
from torch.testing import assert_close

from softlookup.attention import AdditiveAttention, MultiplicativeAttention
from softlookup.show import DecoderSteps
from softlookup.translation import BOS, EOS, PAD, Decoder, Encoder, Seq2Seq, Translator
from softlookup.words import Vocabulary

SOURCE, TARGET = ["un", "<b>roi</b>", "a", "dort"], ["a", "<i>king</i>", "a", "sleeps", "now"]
VOCABULARY = ["a", "<i>king</i>", "sleeps", "now", "queen", "cat", "dog", "never"]
SHOWN = ["⟨filler⟩", "⟨start⟩", "⟨end⟩", *VOCABULARY]
STEPS = [*TARGET, "⟨end⟩"]
FRAMES = 12
OVERWRITTEN = [[5.0, -3.5, 0.2, 0.0], [0.0] * 4, [-6.0, 6.0, 1.3, 6.0]]


def translator(kind="additive", seed=1):
    """A translator with weights as they come, large enough that no two words are alike."""
    source = Vocabulary([PAD, *SOURCE], unknown=None)
    target = Vocabulary([PAD, BOS, EOS, *VOCABULARY], unknown=None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = Encoder(len(source), 5, 6)
        attention = {
            "additive": lambda: AdditiveAttention(6, 11, 7),
            "multiplicative": lambda: MultiplicativeAttention(6, 11),
        }[kind]()
        model = Seq2Seq(encoder, Decoder(len(target), 5, 6, attention))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter *= 2.5
    return Translator(source, target, model)


def library(model, scores=None):
    """All steps at once by the library: its own scores, or others put in their place."""
    decoder, seen = model.model.decoder, {}
    named = {"weights": decoder.attention.weights, "context": decoder.attention,
             "before_tanh": decoder.combine}  # fmt: skip
    handles = [
        module.register_forward_hook(lambda m, given, out, name=name: seen.update({name: out[0]}))
        for name, module in named.items()
    ]
    handles.append(decoder.combine.register_forward_hook(
        lambda m, given, out: seen.update(joined=given[0][0])))  # fmt: skip
    own = decoder.attention.scores
    asked = lambda query, context: seen.setdefault("s", own(query, context))  # noqa: E731
    other = lambda query, context: torch.tensor(scores)[None]  # noqa: E731
    decoder.attention.scores = asked if scores is None else other
    try:
        with torch.no_grad():
            source = torch.tensor([model.source.encode(SOURCE)])
            before = torch.tensor([model.target.encode([BOS, *TARGET])])
            out = model.model(source, [len(SOURCE)], before)[0]
    finally:
        del decoder.attention.scores
        for handle in handles:
            handle.remove()
    seen["scores"] = seen.pop("s")[0] if scores is None else torch.tensor(scores)
    return {**seen, "mixed": seen["before_tanh"].tanh(), "probabilities": out.softmax(dim=-1)}


MODEL = translator()
OWN = library(MODEL)


def example():
    return DecoderSteps(MODEL, SOURCE, TARGET)


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/decoder_steps/maths.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens the figure on the translator that all tests share."""

    def open_page(*, n=1, model=MODEL, **options):
        figures = [DecoderSteps(model, SOURCE, TARGET, name=f"fig-{k}") for k in range(n)]
        return open_figures(*figures, ready=".ds-steps", **options)

    return open_page


def choose(page, t):
    page.locator('input[name="word"]').nth(t).check()


def to(page, frame):
    """To a frame, counted from 1 as the reader sees them."""
    page.get_by_label("Frame", exact=True).fill(str(frame))


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def overwrite(page, scores):
    sliders = page.locator(".ds-score input")
    for j, score in enumerate(scores):
        sliders.nth(j).fill(f"{score:g}")


def shown_numbers(page, part):
    texts = page.locator(f"{part} .ds-number").all_inner_texts()
    return [float(text.replace("−", "-")) for text in texts]


def strip(page, selector):
    """The sign and the strength of each cell of a strip."""
    return (
        page.locator(selector)
        .locator("rect")
        .evaluate_all(
            """(cells) => cells.map((c) => Number(c.getAttribute("fill-opacity"))
             * (c.getAttribute("class") === "ds-minus" ? -1 : 1))"""
        )
    )


def grid(page):
    """The cells of the matrix A, row by row."""
    script = "(cells) => cells.map((cell) => Number(cell.dataset.weight))"
    return page.locator(".ds-grid .ds-cell").evaluate_all(script)


def near(values, wanted, places=3):
    wanted = torch.as_tensor(wanted, dtype=torch.float64)
    found = torch.tensor(values, dtype=torch.float64)
    assert_close(found, wanted, rtol=0, atol=0.6 * 10**-places)


def assert_step(page, t, expected):
    """All parts of step t in the last frame: those of the library."""
    near(shown_numbers(page, ".ds-score"), expected["scores"][t], 2)
    near(shown_numbers(page, ".ds-row"), interleaved(expected, t), 2)
    near(strip(page, '[data-part="context"]'), expected["context"][t].clamp(-1, 1))
    near(strip(page, '[data-part="joined"]'), expected["joined"][t].clamp(-1, 1))
    near(strip(page, '[data-part="mixed"]'), expected["mixed"][t])
    chances, places = expected["probabilities"][t].topk(5)
    near(shown_numbers(page, ".ds-guess"), chances)
    words = page.locator(".ds-guess .ds-word").all_inner_texts()
    assert words == [SHOWN[place] for place in places]
    said = f"It writes “{words[0]}”, with probability {chances[0]:.3f}."
    assert page.inner_text(".ds-live").startswith(said)


def interleaved(expected, t):
    return torch.stack([expected["scores"][t], expected["weights"][t]], dim=1).flatten()


# The arithmetic


@pytest.mark.parametrize("kind", ["additive", "multiplicative"])
def test_step_k_equals_row_k_of_the_whole(maths, kind):
    """`seq2seq-attention-steps`: each part of each step, in the browser and in one go here."""
    model = translator(kind)
    expected = library(model)
    data = json.loads(DecoderSteps(model, SOURCE, TARGET).data)
    call = """const all = maths.unpacked(data);
              return all.scores.map((row, t) => maths.stepParts(all, t, row));"""
    found = maths(call, data)
    assert len(found) == len(STEPS)
    assert_parts(found, expected)
    aligned = model.align([SOURCE], [TARGET])[0]
    weights = torch.tensor([parts["weights"] for parts in found[:-1]])
    assert_close(weights, aligned)


def test_a_step_equals_the_librarys_own_step(maths):
    """The words before being given, `step` after `step`."""
    data = json.loads(DecoderSteps(MODEL, SOURCE, TARGET).data)
    state = MODEL.model.start(torch.tensor([MODEL.source.encode(SOURCE)]), [len(SOURCE)])
    for t, word in enumerate([BOS, *TARGET]):
        with torch.no_grad():
            out, state = MODEL.model.step(torch.tensor(MODEL.target.encode([word])), state)
        call = f"""const all = maths.unpacked(data);
                   return maths.stepParts(all, {t}, all.scores[{t}]).probabilities;"""
        assert_close(torch.tensor(maths(call, data)), out[0].softmax(dim=-1))


@pytest.mark.parametrize("row", OVERWRITTEN)
def test_overwritten_scores_give_what_the_library_makes_of_them(maths, row):
    expected = library(MODEL, [row] * len(STEPS))
    data = json.loads(DecoderSteps(MODEL, SOURCE, TARGET).data)
    call = """const all = maths.unpacked(data.data);
              return all.scores.map((_, t) => maths.stepParts(all, t, data.row));"""
    found = maths(call, {"data": data, "row": row})
    assert_parts(found, expected)


def assert_parts(steps, expected):
    for t, parts in enumerate(steps):
        scores = expected["scores"][t]
        wanted = {"exponentials": (scores - scores.max()).exp(),
                  **{name: expected[name][t] for name in ("weights", "context", "joined",
                                                          "mixed", "probabilities")}}  # fmt: skip
        for name, numbers in wanted.items():
            found = torch.tensor(parts[name], dtype=torch.float32)
            assert_close(found, numbers, msg=lambda m, n=name: f"{n}: {m}")
        summed = torch.tensor(parts["weighted"]).sum(dim=0)
        assert_close(summed, wanted["context"])


def test_large_scores_stay_finite(maths):
    assert maths("return maths.exponentials([1000, 999])") == [1, pytest.approx(0.36787944)]
    assert maths("return maths.largest([0.2, 0.5, -1, 0.5], 3)") == [1, 3, 0]


# What the page shows


@pytest.mark.parametrize("t", range(len(STEPS)))
def test_every_word_in_the_last_frame(open_figure, t):
    page = open_figure()
    choose(page, t)
    to(page, FRAMES)
    assert_step(page, t, OWN)


def test_twelve_frames_come_one_by_one(open_figure):
    page = open_figure()
    parts = {".ds-score >> nth=0": 4, ".ds-score >> nth=1": 5, ".ds-bar >> nth=0": 6,
             ".ds-row .ds-strip >> nth=1": 8, '[data-part="before"]': 2, '[data-part="state"]': 3,
             '[data-part="context"]': 9, '[data-part="joined"]': 10, '[data-part="mixed"]': 11,
             ".ds-guesses": 12, ".ds-presets button >> nth=1": 5}  # fmt: skip
    titles = []
    for frame in range(1, FRAMES + 1):
        titles.append(page.inner_text(".ds-title b"))
        assert page.get_by_label("Frame", exact=True).input_value() == str(frame)
        for part, first in parts.items():
            assert page.locator(part).is_visible() == (frame >= first), (part, frame)
        assert page.locator(".ds-score input").first.is_disabled() == (frame < 5)
        if frame < FRAMES:
            press(page, "Next")
    assert [title.split(". ")[0] for title in titles] == [str(k + 1) for k in range(FRAMES)]
    assert len(set(titles)) == FRAMES
    press(page, "Back")
    assert page.inner_text(".ds-title b") == titles[-2]


def test_bars_show_exponentials_and_then_weights(open_figure):
    page = open_figure()
    choose(page, 2)
    to(page, 6)
    scores = OWN["scores"][2]
    near(shown_numbers(page, ".ds-row .ds-bar"), (scores - scores.max()).exp())
    assert page.inner_text(".ds-head-weight") == "exponential e"
    near(strip(page, ".ds-row .ds-strip >> nth=4"), key(2).clamp(-1, 1))
    for frame in (7, 8):
        to(page, frame)
        near(shown_numbers(page, ".ds-row .ds-bar"), OWN["weights"][2])
        assert page.inner_text(".ds-head-weight") == "weight a"
    near(strip(page, ".ds-row .ds-strip >> nth=5"), (OWN["weights"][2][2] * key(2)).clamp(-1, 1))


def key(j):
    ids = torch.tensor([MODEL.source.encode(SOURCE)])
    return MODEL.model.encoder(ids, [len(SOURCE)]).context[0, j].detach()


def test_states_are_those_of_the_recurrence(open_figure):
    page = open_figure()
    to(page, 3)
    states = [OWN["joined"][t, 11:] for t in range(len(STEPS))]
    for t in range(len(STEPS)):
        choose(page, t)
        near(strip(page, '[data-part="state"]'), states[t].clamp(-1, 1))
        assert page.inner_text('[data-part="before"]').endswith(["⟨start⟩", *TARGET][t])
        if t > 0:
            near(strip(page, '[data-part="before"]'), states[t - 1].clamp(-1, 1))


@pytest.mark.parametrize("row", OVERWRITTEN)
def test_overwritten_scores_change_all_that_follows(open_figure, row):
    page = open_figure()
    choose(page, 3)
    to(page, 5)
    overwrite(page, row)
    changed = [own if t != 3 else row for t, own in enumerate(OWN["scores"].tolist())]
    expected = library(MODEL, changed)
    chance, place = expected["probabilities"][3].max(dim=0)
    own, own_place = OWN["probabilities"][3].max(dim=0)
    said = page.inner_text(".ds-live")
    mine, its = f"“{SHOWN[place]}”, {chance:.3f}", f"“{SHOWN[own_place]}”, {own:.3f}"
    assert said.endswith(f"You make it write {mine}; by itself {its}.")
    to(page, FRAMES)
    assert_step(page, 3, expected)
    near(grid(page), expected["weights"].flatten())
    assert page.inner_text(".ds-live").endswith(f" With its own scores: {its}.")
    choose(page, 2)
    assert_step(page, 2, OWN)  # other steps keep their own
    choose(page, 3)
    assert_step(page, 3, expected)
    press(page, "The model's own scores")
    assert_step(page, 3, OWN)
    assert page.get_by_role("button", name="The model's own scores").is_disabled()
    overwrite(page, row)
    assert_step(page, 3, expected)
    press(page, "The model's own scores")
    assert_step(page, 3, OWN)
    assert "its own scores" not in page.inner_text(".ds-live")


def test_equal_scores_give_the_plain_mean(open_figure):
    page = open_figure()
    to(page, 9)
    press(page, "All equal")
    near(shown_numbers(page, ".ds-row .ds-bar"), torch.full((4,), 0.25))
    mean = sum(key(j) for j in range(4)) / 4
    near(strip(page, '[data-part="context"]'), mean.clamp(-1, 1))
    assert page.locator(".ds-over").count() == 4


def test_the_row_of_the_matrix_waits_for_its_weights(open_figure):
    page = open_figure()
    choose(page, 1)
    cells = OWN["weights"].clone()
    to(page, 7)
    near(grid(page), cells.flatten())
    to(page, 6)
    cells[1] = 0
    near(grid(page), cells.flatten())
    assert page.locator(".ds-grid").get_attribute("aria-label").endswith("row 1 is open.")


def test_the_next_word_begins_at_the_word_before(open_figure):
    page = open_figure()
    for t in range(len(STEPS) - 1):
        to(page, FRAMES)
        press(page, "Next word")
        assert page.locator('input[name="word"]:checked').input_value() == str(t + 1)
        assert page.inner_text(".ds-title b") == "2. The step before"
    to(page, FRAMES)
    assert page.get_by_role("button", name="Next", exact=True).is_disabled()


def test_the_numbers_of_a_frame_can_be_read(open_figure):
    page = open_figure()
    page.locator(".ds-details summary").click()
    to(page, 9)
    numbers = [float(n.replace("−", "-")) for n in page.inner_text(".ds-numbers").split()]
    near(numbers, OWN["context"][0])
    to(page, 8)
    lines = page.inner_text(".ds-numbers").split("\n")
    assert [line.split(": ")[0] for line in lines] == SOURCE
    numbers = [float(n.replace("−", "-")) for n in lines[2].split(": ")[1].split()]
    near(numbers, OWN["weights"][0][2] * key(2))
    to(page, 12)
    assert len(page.inner_text(".ds-numbers").split("\n")) == len(SHOWN)


# Controls


def test_play_runs_to_the_end_and_stops(open_figure):
    page = open_figure()
    page.clock.install()
    press(page, "Play")
    assert page.inner_text(".ds-title b").startswith("2.")
    page.clock.run_for(2300)
    assert page.inner_text(".ds-title b").startswith("3.")
    press(page, "Pause")
    page.clock.run_for(10_000)
    assert page.inner_text(".ds-title b").startswith("3.")
    press(page, "Play")
    page.clock.run_for(30_000)
    assert page.inner_text(".ds-title b").startswith("12.")
    assert page.get_by_role("button", name="Play").is_visible()
    press(page, "Play")
    assert page.inner_text(".ds-title b").startswith("1.")


@pytest.mark.parametrize("act", ["slider", "score", "word", "Back"])
def test_the_readers_hand_stops_it(open_figure, act):
    page = open_figure()
    page.clock.install()
    to(page, 6)
    press(page, "Play")
    acts = {"slider": lambda: to(page, 7), "word": lambda: choose(page, 1),
            "score": lambda: overwrite(page, [1.0]),
            "Back": lambda: press(page, "Back")}  # fmt: skip
    acts[act]()
    title = page.inner_text(".ds-title b")
    page.clock.run_for(10_000)
    assert page.inner_text(".ds-title b") == title


def test_a_run_stops_when_the_reader_asks_for_stillness(open_figure):
    page = open_figure()
    page.clock.install()
    press(page, "Play")
    page.emulate_media(reduced_motion="reduce")
    page.locator(".ds-controls button").nth(2).wait_for(state="hidden")
    title = page.inner_text(".ds-title b")
    page.clock.run_for(10_000)
    assert page.inner_text(".ds-title b") == title


def test_the_keyboard_does_it_all(open_figure):
    page = open_figure()
    page.locator('input[name="word"]').first.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Next").focus()
    for _ in range(4):
        page.keyboard.press("Enter")
    assert page.inner_text(".ds-title b").startswith("5.")
    slider = page.locator(".ds-score input").nth(2)
    slider.focus()
    page.keyboard.press("End")
    bound = json.loads(DecoderSteps(MODEL, SOURCE, TARGET).data)["bound"]
    assert shown_numbers(page, ".ds-score")[2] == bound
    assert slider.get_attribute("aria-valuetext") == f"{bound:.2f}, overwritten"
    page.keyboard.press("ArrowLeft")
    near(shown_numbers(page, ".ds-score")[2:3], [bound - 0.1], 2)
    page.get_by_label("Frame", exact=True).focus()
    page.keyboard.press("End")
    scores = OWN["scores"].clone()
    scores[1, 2] = bound - 0.1
    assert_step(page, 1, library(MODEL, scores.tolist()))


def test_strips_keep_their_height_on_the_site(open_figure):
    """The site's `height: auto` for pictures makes a strip of 200 numbers a hair's line."""
    page = open_figure(style=LIGHT + ".cell_output svg { height: auto; }")
    page.evaluate("document.querySelector('main').className = 'cell_output'")
    heights = page.locator(".ds-strip").evaluate_all("(all) => all.map((s) => s.clientHeight)")
    assert set(heights) == {11}


def test_the_controls_stay_in_sight(open_figure):
    page = open_figure(width=390)
    page.set_viewport_size({"width": 390, "height": 600})
    to(page, FRAMES)
    for y in (0, 300, 600):
        page.evaluate(f"window.scrollTo(0, {y})")
        box = page.get_by_role("button", name="Next word").bounding_box()
        assert 0 < box["y"] <= 600 - box["height"]


def test_the_formula_names_the_score(open_figure):
    page = open_figure(model=translator("multiplicative"))
    to(page, 5)
    assert re.sub(r"\s", "", page.inner_text(".ds-formula >> nth=0")) == "stj=ht⊤Wkj"


def test_who_wants_stillness_goes_step_by_step(open_figure):
    page = open_figure(reduced_motion="reduce")
    assert page.get_by_role("button", name="Play").count() == 0
    press(page, "Next")
    assert page.inner_text(".ds-title b").startswith("2.")
