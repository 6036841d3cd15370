"""The next words, typed and drawn in Chromium as a reader would: the numbers are the library's."""

import json

import pytest
import torch

from softlookup.language_models import FeedForwardLM, RecurrentLM, known_words, train_lm
from softlookup.show.figures.next_words import NextWords, counting_models

TEXTS = ["the cat sat on the mat", "the dog sat on the mat", "a cat sat on the rug", "", "the dog"]
TEXTS = [text.split() for text in TEXTS] + [["<b>x</b>", "barks"]]
PREFIXES = [[], ["the"], ["on", "the"], ["the", "cat", "sat"], ["rug", "rug"], ["barks"]]


def untrained():
    torch.manual_seed(3)
    return [
        FeedForwardLM(known_words(TEXTS), n=4, d_model=3, d_hidden=5).double(),
        RecurrentLM(known_words(TEXTS), d_model=3, d_hidden=5).double(),
    ]


def example():
    return NextWords(TEXTS, *untrained(), ("the", "cat"))


@pytest.fixture(scope="module")
def networks():
    models = untrained()
    for model in models:
        train_lm(model, TEXTS, generator=torch.Generator().manual_seed(3), n_steps=30)
    return models


@pytest.fixture
def open_figure(open_figures, networks):
    """Opens one figure, with a beginning of its own."""

    def open_page(prefix=("the", "cat"), **options):
        return open_figures(NextWords(TEXTS, *networks, prefix), ready=".sl-meter", **options)

    return open_page


@pytest.fixture
def maths(functions_of):
    """Runs JavaScript that may use the figure's functions."""
    return functions_of("figures/next_words/maths.js", "kit/maths.js")


def expected(networks, prefix):
    """Each model's row by the library, or None where it refuses."""
    rows = {}
    window, state = networks
    models = {**counting_models(TEXTS), "window of vectors": window, "recurrent state": state}
    for name, model in models.items():
        try:
            rows[name] = model.next_word(prefix).tolist()
        except ValueError:
            rows[name] = None
    return rows


def assert_shows(page, networks, prefix):
    """Every panel holds the library's five most probable words and their numbers."""
    words = [*networks[0].words[:-1], "(end)"]
    for name, row in expected(networks, prefix).items():
        panel = page.locator(f'.nw-panel[aria-label="{name}"]')
        if row is None:
            assert "never seen" in panel.inner_text()
            continue
        best = sorted(range(len(row)), key=lambda id_: (-row[id_], id_))[:5]
        numbers = [float(text) for text in panel.locator(".sl-meter .sl-number").all_inner_texts()]
        assert numbers == pytest.approx([row[id_] for id_ in best], abs=0.0005 + 1e-9)
        shown = dict(zip(panel.locator(".sl-meter-name").all_inner_texts(), numbers, strict=True))
        for word, value in shown.items():
            assert value == pytest.approx(row[words.index(word)], abs=0.0005 + 1e-9)


def test_every_model_is_the_librarys(maths, networks):
    figure = NextWords(TEXTS, *networks)
    cases = [networks[0].ids(prefix) for prefix in PREFIXES]
    code = """const models = maths.modelsOf(data.figure);
        return data.cases.map((ids) => Object.fromEntries(
            Object.entries(models).map(([name, model]) => [name, model(ids)])));"""
    found = maths(code, {"figure": json.loads(figure.data), "cases": cases})
    for prefix, rows in zip(PREFIXES, found, strict=True):
        wanted = expected(networks, prefix)
        assert list(rows) == list(wanted)
        for name, row in wanted.items():
            if row is None:
                assert rows[name] is None
            else:
                assert rows[name] == pytest.approx(row, abs=1e-12)
    assert expected(networks, ["rug", "rug"])["trigram"] is None


def test_draws_come_as_often_as_they_are_probable(maths):
    code = """const next = maths.random(data.seed);
        return Array.from({length: data.n}, () => maths.drawn(data.p, next()));"""
    p, n = [0.0, 0.5, 0.0, 0.2, 0.3, 0.0], 20_000
    ids = maths(code, {"seed": 7, "n": n, "p": p})
    for id_, probability in enumerate(p):
        spread = 4 * (probability * (1 - probability) / n) ** 0.5
        assert abs(ids.count(id_) / n - probability) <= spread
    assert maths(code, {"seed": 7, "n": 50, "p": p}) == ids[:50]
    assert maths(code, {"seed": 8, "n": 50, "p": p}) != ids[:50]


def test_a_draw_never_takes_what_is_impossible(maths):
    code = "return data.map((u) => maths.drawn([0, 0.25, 0, 0.75 - 1e-12, 0], u));"
    assert maths(code, [0, 0.2499, 0.25, 0.9, 1 - 1e-15]) == [1, 1, 3, 3, 3]


@pytest.mark.parametrize("prefix", PREFIXES, ids=" ".join)
def test_typing_moves_the_bars(open_figure, networks, prefix):
    page = open_figure()
    page.locator(".nw-line").fill(" ".join(prefix).upper())
    assert_shows(page, networks, prefix)


def test_it_starts_with_its_beginning(open_figure, networks):
    assert_shows(open_figure(), networks, ["the", "cat"])


def test_a_seed_repeats_itself(open_figure, networks):
    page, lines = open_figure(prefix=("the",)), []
    for seed in ("5", "5", "6", "7", "8"):
        page.locator(".nw-seed").fill(seed)
        page.locator(".nw-restart").click()
        for _ in range(6):
            page.locator(".nw-draw").click()
        lines.append(page.locator(".nw-line").input_value())
    assert lines[0] == lines[1]
    assert len(set(lines)) > 1
    assert all(line.startswith("the") for line in lines)
    assert_shows(page, networks, lines[-1].split())


def test_only_what_the_chosen_model_allows_is_drawn(open_figure):
    page = open_figure(prefix=("the", "cat"))
    page.locator(".nw-model").select_option("bigram")
    page.locator(".nw-draw").click()
    assert page.locator(".nw-line").input_value() == "the cat sat"
    assert page.locator(".sl-live").inner_text() == "The bigram drew “sat” (1)."


def test_what_no_model_read_is_said(open_figure):
    page = open_figure()
    page.locator(".nw-line").fill("the zebra")
    assert page.locator(".sl-live").inner_text() == "No model has read “zebra”."
    assert page.locator(".nw-line").get_attribute("aria-invalid") == "true"
    assert page.locator(".nw-draw").is_disabled()
    page.locator(".nw-line").fill("rug rug")
    page.locator(".nw-model").select_option("trigram")
    page.locator(".nw-draw").click()
    assert "never saw these words" in page.locator(".sl-live").inner_text()
    page.locator(".nw-line").fill("the " * 31)
    assert page.locator(".sl-live").inner_text() == "At most 30 words, please."
    page.locator(".nw-seed").fill("-2")
    assert "whole number" in page.locator(".sl-live").inner_text()


def test_the_keyboard_draws(open_figure):
    page = open_figure()
    page.locator(".nw-draw").focus()
    page.keyboard.press("Enter")
    assert "drew" in page.locator(".sl-live").inner_text()


def test_bad_input_is_refused(networks):
    with pytest.raises(ValueError, match="just the words of the texts"):
        NextWords([*TEXTS, ["zebra"]], *networks)
    with pytest.raises(ValueError, match="at most 400"):
        NextWords(TEXTS * 70, *networks)
    with pytest.raises(ValueError, match="at most 60 different words"):
        NextWords([*TEXTS, [str(i) for i in range(30)], [str(i) for i in range(30, 60)]], *networks)
    window, state = networks
    direct = FeedForwardLM(window.words[:-1], n=3, d_model=2, d_hidden=3, direct=True)
    with pytest.raises(ValueError, match="window must have no direct connections"):
        NextWords(TEXTS, direct, state)
    fewer = RecurrentLM(["the"], d_model=2, d_hidden=3)
    with pytest.raises(ValueError, match=r"just the words of the texts; .*state=2"):
        NextWords(TEXTS, window, fewer)
    with pytest.raises(ValueError, match="every token must be known"):
        NextWords(TEXTS, *networks, ["zebra"])
