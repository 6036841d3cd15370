"""The figures that compute with the engine, in Firefox: they write and train as in Chromium."""

import time

import pytest
from conftest import FIGURE_PAGE, LIGHT
from test_training_ground import example as ground
from test_workshop import TEXT, captured, changed, greedy, mean_bits, small, without_head
from test_workshop import example as workshop

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


def opened(shown, bench):
    """The workshop with its model, at one of its benches."""
    page = shown(workshop())
    page.click(".wk-fetch")
    wait(page, "document.querySelector('.wk-live').textContent.includes('Uncertainty')")
    page.evaluate(f"() => document.querySelector('[name=bench][value={bench}]').click()")
    return page


def test_a_head_is_looked_at_and_switched_off(shown):
    page = opened(shown, "look")
    wait(page, "document.querySelectorAll('.wk-stages tbody tr').length === 5")
    page.evaluate("() => document.querySelector('[name=bench][value=change]').click()")
    page.evaluate(
        """() => [["layer", 1], ["head", 0]].forEach(([name, value]) => {
        document.querySelector(`[name=${name}]`).value = value; })"""
    )
    page.click(".wk-changing .wk-row button")
    ids = small()[2].encode(TEXT)
    off, on = (changed(changes, lambda model: mean_bits(model, ids))
               for changes in (without_head(1, 0), {}))  # fmt: skip
    said = "document.querySelector('.wk-changing .sl-live').textContent"
    wait(page, f"{said}.includes('costs {off:.2f} bits a token, {on:.2f} as it is')")


def test_the_head_that_reads_one_back_is_found(shown):
    page = opened(shown, "try")
    page.click(".wk-experiment .wk-row button:nth-of-type(2)")
    seen = captured(small()[2].encode(TEXT))
    shares = [seen[f"blocks.{layer}.self_attention.layer.weights"][0, head].diagonal(-1).mean()
              for layer in range(2) for head in range(2)]  # fmt: skip
    layer, head = divmod(shares.index(max(shares)), 2)
    said = "document.querySelector('.wk-experiment .sl-live').textContent"
    wait(page, f"{said}.startsWith('Head {head + 1} of layer {layer + 1}: ')")


def test_the_training_ground_steps_and_races(shown):
    page = shown(ground())
    page.click(".tg-buttons button:nth-of-type(2)")
    wait(page, "document.querySelectorAll('.tg-tensors tbody tr').length > 10")
    page.evaluate("() => { document.querySelector('[name=seconds]').value = 5; }")
    page.click(".tg-race button")
    wait(page, "document.querySelector('.tg-verdict').textContent.startsWith('On held-out text')")
    kept = "Object.keys(JSON.parse(localStorage.getItem('softlookup.race'))).length"
    assert page.evaluate(f"() => {kept}") == 1


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
