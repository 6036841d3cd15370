"""One scale of colours for attention: the same in still figures and in those that answer."""

import re
from pathlib import Path

import pytest

from softlookup import show
from softlookup.show.draw import ink_on, share_colour

HOME = Path(show.__file__).parent
KIT = (HOME / "kit" / "colours.js").read_text(encoding="utf-8")
OTHER_SCALE = re.compile(
    r"cividis|viridis|magma"
    r"|fill-opacity\W+\S*(?:weight|share)|opacity\W+(?:row|weights?|map)\["
    r"|color-mix\([^;]*(?:weight|share)",
    re.I,
)


def test_the_kit_has_the_colours_of_the_still_figures():
    listed = "".join(re.findall(r'^  "([0-9a-f]+)",$', KIT, re.M))
    colours = [f"#{listed[at : at + 6]}" for at in range(0, len(listed), 6)]
    assert colours == [share_colour((k + 0.5) / 256) for k in range(256)]


@pytest.mark.parametrize("file", sorted(HOME.glob("figures/*/*.*s*")), ids=lambda f: f.parent.name)
def test_no_figure_has_a_scale_of_its_own_for_weights(file):
    assert OTHER_SCALE.findall(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("planted", ['"fill-opacity": weight.toFixed(3)', "const cividis = ["])
def test_a_planted_scale_is_found(planted):
    assert OTHER_SCALE.search(planted)


def test_the_ends_are_dark_and_bright():
    assert [ink_on(share_colour(share)) for share in (-1, 0, 1, 2)] == ["#ffffff"] * 2 + [
        "#000000"
    ] * 2
