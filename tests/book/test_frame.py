"""What every figure has beside itself: a reset, a link to its state, a height that holds."""

import pytest
import test_query_bars
import test_similarity_plane
import test_word2vec_stepper

pytestmark = pytest.mark.browser
STATE = """() => {
  const body = document.querySelector(".sl-body");
  const values = [...body.querySelectorAll("input, select")].map((one) => [one.value, one.checked]);
  return JSON.stringify([body.innerText, body.querySelector("svg")?.innerHTML, values]);
}"""
EXAMPLES = {
    "bars": test_query_bars,
    "plane": test_similarity_plane,
    "stepper": test_word2vec_stepper,
}


class OnTheSite:
    """A figure as it stands in a page of the book."""

    def __init__(self, figure):
        self.figure = figure

    def html(self):
        return f'<article class="bk-article">{self.figure.html()}</article>'


@pytest.fixture(params=EXAMPLES)
def page(request, open_figures):
    """A page with one figure."""
    figure = EXAMPLES[request.param].example()
    return open_figures(OnTheSite(figure), ready=".sl-foot", style="")


def play(page):
    """Move what there is: a slider, a handle by key and by mouse, buttons, a box to tick."""
    for slider in page.locator(".sl-body input[type=range]").all():
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
    for handle in page.locator(".sl-body [role=slider]").all()[:1]:
        handle.focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Shift+ArrowLeft")
        box = handle.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] - 20, box["y"] - 30, steps=3)
        page.mouse.up()
    for button in page.locator(".sl-body button").all()[:2]:
        if button.inner_text() not in ("Reset", "Reset the map"):
            button.click()


def test_reset_brings_back_what_was_there(page):
    before = page.evaluate(STATE)
    play(page)
    assert page.evaluate(STATE) != before
    page.get_by_role("button", name="Reset", exact=True).click()
    assert page.evaluate(STATE) == before
    assert page.evaluate("document.activeElement.textContent") == "Reset"


def test_a_link_carries_the_state(page):
    play(page)
    state = page.evaluate(STATE)
    page.locator(".sl-foot").get_by_role("button", name="Link to this state").click()
    page.wait_for_function("location.search !== ''")
    assert page.url.split("?")[1].startswith(page.locator("figure").get_attribute("id") + "=")
    page.reload()
    page.wait_for_selector(".sl-foot")
    assert page.evaluate(STATE) == state


@pytest.mark.parametrize("search", ["i99:4", "zz", "b0*9999", "d0:a:b", "i0:%E0", "~~"])
def test_a_broken_link_leaves_the_figure_whole(page, search):
    before = page.evaluate(STATE)
    name = page.locator("figure").get_attribute("id")
    page.goto(f"{page.url}?{name}={search}")
    page.wait_for_selector(".sl-foot")
    assert page.evaluate(STATE) == before


def test_a_figure_that_shrinks_keeps_its_height(page):
    body = page.locator(".sl-body")
    before = body.bounding_box()["height"]
    body.evaluate("one => { one.firstElementChild.style.paddingBottom = '300px'; }")
    page.wait_for_function(
        "h => document.querySelector('.sl-body').style.minHeight.slice(0, -2) >= h",
        arg=before + 250,
    )
    body.evaluate("one => { one.firstElementChild.style.paddingBottom = ''; }")
    assert body.bounding_box()["height"] >= before + 250
