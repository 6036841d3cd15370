"""The sinusoid explorer in Chromium: its numbers are the library's."""

import math
import re

import pytest
import torch

from softlookup.attention.positions import frequencies, period, sinusoidal_at
from softlookup.show import SinusoidExplorer

F64 = torch.float64
PRINTED = {
    "p0 to p3, d = 50": "0.818 −0.061 −0.635 0.991 0.576 0.998 −0.773 0.134 "
    "0.615 −0.918 0.473 0.838 0.789 −0.396 −0.881 0.546",
    "I am a robot, d = 4": "0.00 0.84 0.91 0.14 1.00 0.54 −0.42 −0.99 "
    "0.00 0.10 0.20 0.30 1.00 1.00 0.98 0.96",
}
"""The slides' numbers, read row by row."""


def example():
    return SinusoidExplorer()


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/sinusoid_explorer/maths.js")


@pytest.fixture
def explorer(open_figures):
    """Opens one explorer."""
    return lambda **options: open_figures(example(), ready=".se-table td", **options)


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def slide(page, name, value):
    page.get_by_role("slider", name=re.compile(f"^{name}: ")).fill(str(value))


def choose(page, text):
    page.locator(".sl-choice").filter(has_text=text).locator("input").check()


# The arithmetic


@pytest.mark.parametrize(("d", "base"), [(2, 10000.0), (14, 10000.0), (50, 100.0), (512, 1.5)])
def test_codes_and_periods_are_the_librarys(maths, d, base):
    positions = [0, 1, 2, 13, 50, 1009]
    found = maths(
        "return data.positions.map((t) => maths.codeOf(t, data.d, data.base));",
        {"positions": positions, "d": d, "base": base},
    )
    expected = sinusoidal_at(torch.tensor(positions), d, base=base, dtype=F64)
    torch.testing.assert_close(torch.tensor(found, dtype=F64), expected, rtol=0, atol=1e-12)
    found = maths("return maths.frequencies(data.d, data.base);", {"d": d, "base": base})
    assert found == pytest.approx(frequencies(d, base=base).tolist(), rel=1e-13)
    found = maths("return maths.periodOf(data.i, data.d, data.base);",
                  {"i": d // 2 - 1, "d": d, "base": base})  # fmt: skip
    assert found == pytest.approx(period(d // 2 - 1, d, base=base), rel=1e-13)


def test_a_number_agrees_at_its_printed_digits(maths):
    cases = [[0.8176, 0.818, 3], [0.8174, 0.818, 3], [0.8175, 0.818, 3], [-0.061, 0.061, 3],
             [0.995, 1.0, 2], [0.994, 1.0, 2]]  # fmt: skip
    found = maths("return data.map((one) => maths.agrees(...one));", cases)
    assert found == [True, False, True, False, True, False]


# The explorer


def table(page):
    """The live numbers and the slide's, row by row; which of them are marked as equal."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".se-table tbody td")].map((cell) => ({
             live: cell.firstChild.textContent,
             slide: cell.querySelector(".se-slide")?.childNodes[1].textContent.trim() ?? null,
             hit: cell.classList.contains("se-hit")}))"""
    )


def assert_explores(page, d, base, first, positions, digits):
    """Table, dots and sentence say what the library says."""
    codes = sinusoidal_at(torch.tensor(positions), d, base=base, dtype=F64)[:, first : first + 4]
    cells = table(page)
    for shown, value in zip(cells, codes.T.flatten().tolist(), strict=True):
        assert re.fullmatch(rf"−?\d\.\d{{{digits}}}", shown["live"])
        assert abs(number(shown["live"]) - value) <= 0.5 * 10**-digits + 1e-9
        if shown["slide"]:
            equal = abs(number(shown["slide"]) - value) <= 0.5 * 10**-digits + 1e-9
            assert shown["hit"] == equal
    heads = page.locator(".se-table tbody th").all_inner_texts()
    assert [int(head.split()[0]) for head in heads] == list(range(first, first + 4))
    pairs = [first // 2, first // 2 + 1]
    said = page.inner_text(".sl-live")
    for pair in pairs:
        shown = re.search(rf"pair {pair} every ([\d.,]+) positions", said)[1]
        assert number(shown) == pytest.approx(period(pair, d, base=base), rel=6e-4)
    hits = sum(shown["hit"] for shown in cells)
    assert (f" {hits} of the slide’s 16 numbers agree." in said) == bool(cells[0]["slide"])
    assert_dots(page, codes, positions)


def assert_dots(page, codes, positions):
    """Each dot stands at its position and at its value, measured against the grid's lines."""
    grid = page.locator(".se-grid").evaluate_all(
        """(all) => all.map((one) => { const box = one.getBoundingClientRect();
             return [box.left, box.right, box.top]; })"""
    )
    left, right = grid[0][:2]
    centres = page.locator(".se-dot").evaluate_all(
        """(all) => all.map((one) => { const at = one.getCTM(), box = one.ownerSVGElement
             .getBoundingClientRect(); return [box.x + at.e, box.y + at.f]; })"""
    )
    expected = [
        (
            left + (right - left) * t / 50,
            grid[3 * row + 1][2] + (grid[3 * row][2] - grid[3 * row + 1][2]) * code[2 * row + c],
        )
        for row in (0, 1)
        for code, t in zip(codes.tolist(), positions, strict=True)
        for c in (0, 1)
    ]
    for got, wanted in zip(centres, expected, strict=True):
        assert got == pytest.approx(wanted, abs=0.6)


def test_it_starts_as_the_slides_table(explorer):
    page = explorer()
    assert_explores(page, 50, 10000.0, 4, [2, 13, 8, 3], 3)
    cells = table(page)
    assert [cell["slide"] for cell in cells] == PRINTED["p0 to p3, d = 50"].split()
    assert [cell["live"] for cell in cells] == [cell["slide"] for cell in cells]
    assert "16 of the slide’s 16 numbers agree." in page.inner_text(".sl-live")
    for name, value in {"Width d": "50", "Base": "10,000", "Columns": "4 to 7", "p0": "2",
                        "p1": "13", "p2": "8", "p3": "3"}.items():  # fmt: skip
        found = page.get_by_role("slider", name=f"{name}: {value}", exact=True)
        assert found.get_attribute("aria-valuetext") == value


def test_the_robot_table(explorer):
    page = explorer()
    choose(page, "I am a robot")
    assert_explores(page, 4, 100.0, 0, [0, 1, 2, 3], 2)
    cells = table(page)
    assert [cell["slide"] for cell in cells] == PRINTED["I am a robot, d = 4"].split()
    assert all(cell["hit"] for cell in cells)


def test_the_last_columns_hardly_move(explorer):
    page = explorer()
    choose(page, "the last columns")
    assert_explores(page, 50, 10000.0, 46, [2, 13, 8, 50], 5)
    shown = [cell["live"] for cell in table(page)]
    assert (shown[11], shown[15]) == ("0.00723", "0.99997")
    assert "pair 24 every 43,469 positions." in page.inner_text(".sl-live")
    choose(page, "p0 to p3")
    assert_explores(page, 50, 10000.0, 4, [2, 13, 8, 3], 3)


def test_every_slider_moves_what_it_names(explorer):
    page = explorer()
    slide(page, "Width d", 128)
    assert_explores(page, 128, 10000.0, 4, [2, 13, 8, 3], 3)
    slide(page, "Base", 6)
    assert_explores(page, 128, 200.0, 4, [2, 13, 8, 3], 3)
    slide(page, "Columns", 0)
    assert_explores(page, 128, 200.0, 0, [2, 13, 8, 3], 3)
    for k, t in enumerate((50, 0, 49, 25)):
        slide(page, f"p{k}", t)
    assert_explores(page, 128, 200.0, 0, [50, 0, 49, 25], 3)
    assert "0 of the slide’s 16 numbers agree." in page.inner_text(".sl-live")


def test_columns_stay_within_the_width(explorer):
    page = explorer()
    slide(page, "Columns", 46)
    slide(page, "Width d", 6)
    assert_explores(page, 6, 10000.0, 2, [2, 13, 8, 3], 3)
    slide(page, "Width d", 4)
    assert_explores(page, 4, 10000.0, 0, [2, 13, 8, 3], 3)
    slide(page, "Width d", 512)
    slide(page, "Columns", 508)
    assert_explores(page, 512, 10000.0, 508, [2, 13, 8, 3], 3)


def test_arrow_keys_step(explorer):
    page = explorer()
    page.get_by_role("slider", name="p1: 13").focus()
    page.keyboard.press("ArrowRight")
    assert_explores(page, 50, 10000.0, 4, [2, 14, 8, 3], 3)
    assert "12 of the slide’s 16 numbers agree." in page.inner_text(".sl-live")
    page.get_by_role("slider", name="Width d: 50").focus()
    page.keyboard.press("ArrowLeft")
    assert_explores(page, 48, 10000.0, 4, [2, 14, 8, 3], 3)


def test_a_slider_can_be_dragged(explorer):
    page = explorer()
    box = page.get_by_role("slider", name="p3: 3").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8 + (box["width"] - 16) * 3 / 50, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, middle, steps=5)
    page.mouse.up()
    assert_explores(page, 50, 10000.0, 4, [2, 13, 8, 50], 3)


def test_curves_are_the_columns(explorer):
    """Each curve passes where the library says, at all of its points."""
    page = explorer()
    slide(page, "Columns", 6)
    curves = page.locator(".se-chart .se-curve").evaluate_all(
        """(all) => all.map((one) => [...one.points].map(({x, y}) => [x, y]))"""
    )
    grid = page.locator(".se-grid").evaluate_all(
        """(all) => all.map((one) => ["x1", "x2", "y1"].map((k) => Number(one.getAttribute(k))))"""
    )
    omega = frequencies(50)
    for k, points in enumerate(curves):
        (left, right, top), (_, _, zero) = grid[3 * (k // 2)], grid[3 * (k // 2) + 1]
        function = math.cos if k % 2 else math.sin
        for x, y in points:
            t = 50 * (x - left) / (right - left)
            expected = zero + (top - zero) * function(omega[3 + k // 2].item() * t)
            assert y == pytest.approx(expected, abs=0.1)
        assert len(points) > 100


def test_nothing_of_the_table_is_out_of_sight_on_a_phone(explorer):
    page = explorer(width=390)
    for text in ("the last columns", "I am a robot", "p0 to p3"):
        choose(page, text)
        wide = page.locator(".se-table").evaluate(
            "(one) => one.scrollWidth - one.parentElement.clientWidth"
        )
        assert wide <= 0
