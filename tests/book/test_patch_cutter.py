"""The patch cutter, used in Chromium as a reader would: its rows are those of ``patchify``."""

import pytest
import torch

from softlookup.show import PatchCutter
from softlookup.tokenization import patchify


def image(channels: int = 3, height: int = 12, width: int = 18) -> torch.Tensor:
    """Pixels that are whole in 255ths, each another one."""
    n = channels * height * width
    generator = torch.Generator().manual_seed(6)
    return torch.randint(0, 256, (n,), generator=generator).reshape(channels, height, width) / 255


def example():
    return PatchCutter(image(), 6)


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/patch_cutter/maths.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens a cutter, with an image of 12 by 18 pixels if none is given."""

    def open_page(figure=None, **options):
        return open_figures(figure or PatchCutter(image(), 6), ready=".pt-cutter", **options)

    return open_page


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_rows_are_the_librarys(maths, channels, size):
    pixels = (255 * image(channels)).round().long()
    rows = maths("return window.maths.patchify(...data);", [pixels.tolist(), size])
    assert rows == patchify(pixels, size).tolist()


def test_sides_are_the_common_divisors_and_places_count_along_the_rows(maths):
    for height, width in (12, 18), (56, 56), (7, 5), (1, 4), (64, 16):
        expected = [s for s in range(1, 65) if height % s == 0 == width % s]
        assert maths("return window.maths.sidesFor(...data);", [height, width]) == expected
    places = maths("return [...Array(7).keys()].map((i) => window.maths.placeOf(i, 3));")
    assert places == [[i // 3, i % 3] for i in range(7)]


def move(page, which: int, value: int) -> None:
    """Move a slider as a reader does."""
    page.locator(".sl-slider").nth(which).evaluate(
        "(one, v) => { one.value = v; one.dispatchEvent(new Event('input', {bubbles: true})); }",
        value,
    )


def test_it_tells_tokens_numbers_and_pairs_for_every_side(open_figure):
    page = open_figure()
    for place, size in enumerate([1, 2, 3, 6]):
        move(page, 0, place)
        rows = patchify(image(), size)
        n = len(rows)
        assert page.inner_text(".pt-sums") == (
            f"{n} tokens = {12 // size} × {18 // size} patches, each a row of {rows.shape[1]} "
            f"numbers (3 × {size}²). If every token reads every token: {n * n:,} pairs."
        )
        assert page.locator("canvas.pt-picture").get_attribute("aria-label") == (
            f"The image, cut into {n} patches of {size} by {size} pixels"
        )
        for i in {0, n // 2, n - 1}:
            move(page, 1, i)
            row, column = divmod(i, 18 // size)
            numbers = [f"{value:.2f}" for value in rows[i, :4].tolist()]
            more = " …" if rows.shape[1] > 4 else ""
            told = f"Patch {i}: row {row}, column {column}. Its numbers: {' '.join(numbers)}{more}"
            assert page.inner_text(".pt-line") == told
            assert page.inner_text(".pt-chosen") == str(i)
            strip = [int(one) for one in page.locator(".pt-strip li").all_inner_texts()]
            assert len(strip) == min(9, n)
            assert strip == list(range(strip[0], strip[0] + len(strip)))


READ = """(canvas) => [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
  .data].filter((_, k) => k % 4 < 3)"""


@pytest.mark.parametrize("channels", [1, 3])
def test_the_strip_shows_the_pixels_of_the_patch(open_figure, channels):
    page = open_figure(PatchCutter(image(channels), 3))
    for i in 0, 7, 23:
        move(page, 1, i)
        shown = page.locator(".pt-chosen canvas").evaluate(READ)
        patch = (255 * patchify(image(channels), 3)[i]).round().long().reshape(channels, 9)
        assert shown == patch.expand(3, 9).T.flatten().tolist()


def test_the_picture_shows_the_whole_image_when_it_is_one_patch(open_figure):
    page = open_figure(PatchCutter(torch.full((3, 8, 8), 0.2), 8))
    assert page.inner_text(".pt-sums").startswith("1 token = 1 × 1 patches")
    assert page.inner_text(".pt-sums").endswith("If every token reads every token: 1 pair.")
    assert page.locator(".sl-slider").nth(1).is_disabled()
    middle = page.locator("canvas.pt-picture").evaluate(
        "(c) => [...c.getContext('2d').getImageData(c.width / 2, c.height / 2, 1, 1).data]"
    )
    assert middle == [51, 51, 51, 255]


def test_it_works_by_keyboard_and_keeps_its_place(open_figure):
    page = open_figure()
    page.locator(".sl-slider").first.focus()
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".pt-sums").startswith("24 tokens")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert page.inner_text(".pt-line").startswith("Patch 23: row 3, column 5")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".pt-line").startswith("Patch 53: row 5, column 8")
    shortcuts = page.locator("input").evaluate_all(
        "(all) => all.map((one) => one.dataset.lmSuppressShortcuts)"
    )
    assert shortcuts == ["true", "true"]


@pytest.mark.parametrize(
    ("pixels", "size", "message"),
    [
        (torch.zeros(3, 8, 8), 3, "size must divide height and width; got size=3, image=.3, 8, 8"),
        (torch.zeros(3, 8, 12), 12, "size must divide height and width"),
        (torch.zeros(3, 8, 8), 0, "size must be an integer of at least 1"),
        (torch.zeros(2, 8, 8), 2, "channels .1 or 3., height, width; got image=.2, 8, 8"),
        (torch.zeros(3, 0, 8), 2, "channels .1 or 3., height, width"),
        (torch.zeros(3, 65, 5), 5, "at most 64 pixels a side"),
        (torch.full((3, 8, 8), 1.1), 2, "numbers from 0 to 1; got low=1.1.*high=1.1"),
        (torch.full((3, 8, 8), -0.1), 2, "numbers from 0 to 1"),
        (torch.full((3, 8, 8), torch.nan), 2, "numbers from 0 to 1; got low=nan"),
    ],
)
def test_bad_input(pixels, size, message):
    with pytest.raises(ValueError, match=message):
        PatchCutter(pixels, size)


@pytest.mark.bad_input
def test_pixels_must_be_floating_point_in_three_axes():
    with pytest.raises(ValueError, match="image must hold floating-point numbers"):
        PatchCutter(torch.zeros(3, 8, 8, dtype=torch.uint8), 2)
    with pytest.raises(ValueError, match=r"height, width; got image=.8, 8"):
        PatchCutter(torch.zeros(8, 8), 2)


def test_the_largest_is_small():
    assert len(PatchCutter(torch.rand(3, 64, 64), 16).html().encode()) < 120_000
