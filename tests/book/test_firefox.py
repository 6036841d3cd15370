"""The figures that compute with the engine, in Firefox: they write and train as in Chromium."""

import time

import pytest
from conftest import FIGURE_PAGE, LIGHT
from test_training_ground import example as ground
from test_workshop import example as workshop
from test_workshop import greedy, small

pytestmark = pytest.mark.firefox
SECONDS = 120


@pytest.fixture
def shown(firefox, tmp_path):
    """Opens a figure in a page of its own; `wait` waits until an expression is true."""

    def show(figure):
        path = tmp_path / "figure.html"
        path.write_text(FIGURE_PAGE.format(style=LIGHT, figures=figure.html()), encoding="utf-8")
        firefox.open(path.as_uri())
        return firefox

    return show


def wait(page, expression):
    end = time.monotonic() + SECONDS
    while not page.evaluate(f"() => Boolean({expression})"):
        assert time.monotonic() < end, expression
        time.sleep(0.1)


def text_of(page, selector):
    return page.evaluate(f"() => document.querySelector({selector!r}).textContent")


def test_the_workshop_writes_what_pytorch_writes(shown):
    page = shown(workshop())
    page.click(".wk-fetch")
    said = "document.querySelector('.wk-live').textContent"
    wait(page, f"{said}.includes('Uncertainty')")
    begun = small()[2].encode(text_of(page, ".wk-text"))
    page.click(".wk-writing button:nth-of-type(2)")
    wait(page, f"{said}.includes('Written')")
    assert text_of(page, ".wk-text") == small()[2].decode(greedy(begun, 30))


def test_the_training_ground_trains(shown):
    page = shown(ground())
    for name, value in {"d_model": "16", "n_layers": "1", "nSteps": "50"}.items():
        page.evaluate(
            f"""() => {{
            const select = document.querySelector("select[name={name}]");
            select.value = "{value}";
            select.dispatchEvent(new Event("change"));
        }}"""
        )
    page.click(".tg-go")
    wait(page, "document.querySelector('.tg-status').textContent.startsWith('Step 50 of 50')")
    losses = text_of(page, ".tg-status")
    assert "no number" not in losses
    assert page.evaluate("() => document.querySelectorAll('.tg-samples li').length") == 4
