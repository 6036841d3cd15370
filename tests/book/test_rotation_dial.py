"""The rotation dial in Chromium: its numbers are the library's."""

import math
import re

import pytest
import torch

from softlookup.attention.positions import frequencies, shift_rotation
from softlookup.show import RotationDial

F64 = torch.float64


def example():
    return RotationDial()


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/rotation_dial/maths.js")


@pytest.fixture
def dial(open_figures):
    """Opens one dial, or that given."""
    return lambda figure=None, **options: open_figures(
        figure or example(), ready=".rd-face", **options
    )


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def slide(page, name, value):
    page.get_by_role("slider", name=re.compile(f"^{name}: ")).fill(str(value))


def choose(page, text):
    page.locator(".sl-choice").filter(has_text=text).locator("input").check()


# The arithmetic


@pytest.mark.parametrize("t", [0, 5, 29])
@pytest.mark.parametrize("offset", [-7, 0, 2, 30])
def test_hands_are_turned_as_the_library_turns(maths, t, offset):
    d, base = 10, 100.0
    for printed in (False, True):
        found = maths(
            "return maths.hands(data.t, data.offset, data.d, data.base, data.printed);",
            {"t": t, "offset": offset, "d": d, "base": base, "printed": printed},
        )
        omega = frequencies(d, base=base)
        before = torch.stack([(omega * t).sin(), (omega * t).cos()], dim=1)
        after = omega * (t + offset)
        target = torch.stack([after.sin(), after.cos()], dim=1)
        if printed:
            moved = before @ shift_rotation(offset, 2, dtype=F64).mT
        else:
            moved = shift_rotation(offset, d, base=base, dtype=F64) @ before.flatten()
            moved = moved.reshape(-1, 2)
        expected = {
            "omega": omega,
            "angle": omega * offset if not printed else torch.full((5,), float(offset)).double(),
            "before": before,
            "moved": moved,
            "target": target,
            "miss": (moved - target).norm(dim=1),
        }
        for key, values in expected.items():
            got = torch.tensor([hand[key] for hand in found], dtype=F64)
            torch.testing.assert_close(got, values, rtol=0, atol=1e-12)


# The dial


def notes(page):
    return [text.split("\n") for text in page.locator(".rd-notes").all_inner_texts()]


def assert_turns(page, t, offset, printed=False, d=8, base=100.0):
    """Notes, hands, rings and sentence say what the library says."""
    omega = frequencies(d, base=base).tolist()
    misses = []
    for i, (speed, turn, verdict) in enumerate(notes(page)):
        angle = offset if printed else omega[i] * offset
        miss = 2 * abs(math.sin((angle - omega[i] * offset) / 2))  # a chord of the circle
        misses.append(miss)
        assert number(speed.split(" = ")[1]) == pytest.approx(omega[i], rel=6e-4)
        assert number(turn.split(" ")[1]) == pytest.approx(angle, abs=5.1e-4)
        if miss < 1e-9:
            assert verdict == "hits"
        else:
            assert number(verdict.removeprefix("misses by ")) == pytest.approx(miss, abs=5.1e-4)
    said, n_missing = page.inner_text(".sl-live"), sum(miss > 1e-9 for miss in misses)
    if n_missing:
        start = f"{n_missing} of {d // 2} hands miss PE({t + offset}), the worst by "
        assert said.replace("−", "-").startswith(start)
        assert number(said.removesuffix(".").split()[-1]) == pytest.approx(max(misses), abs=6e-4)
    else:
        start = f"R({offset}) PE({t}) = PE({t + offset}): every hand lands on its ring."
        assert said.replace("−", "-") == start
    rotation = shift_rotation(offset, d, base=base, dtype=F64)
    before, later = (code_of(at, d, base) for at in (t, t + offset))
    moved = (before.reshape(-1, 2) @ shift_rotation(offset, 2, dtype=F64).mT).flatten()
    moved = moved if printed else rotation @ before
    for kind, code in ((".rd-before", before), (".rd-moved", moved)):
        ends = attributes(page, f".rd-face {kind}", "x2", "y2")
        assert ends == pytest.approx(torch.stack([code[0::2], -code[1::2]], 1).flatten().tolist())
    rings = attributes(page, ".rd-face .rd-target", "cx", "cy")
    expected = torch.stack([later[0::2], -later[1::2]], 1).flatten().tolist()
    assert rings == pytest.approx(expected, abs=1e-9)


def code_of(t, d, base):
    """The code of any integer, also of one below 0."""
    code = torch.zeros(d, dtype=F64)
    code[1::2] = 1
    return shift_rotation(t, d, base=base, dtype=F64) @ code


def attributes(page, selector, *names):
    script = "(all, names) => all.flatMap((one) => names.map((n) => Number(one.getAttribute(n))))"
    return page.locator(selector).evaluate_all(script, list(names))


def test_every_hand_lands_when_it_turns_by_its_own_angle(dial):
    page = dial()
    assert_turns(page, 5, 2)
    for t, offset in ((0, 0), (30, 30), (7, -3), (0, -30), (11, 1)):
        slide(page, "Position t", t)
        slide(page, "Offset Δ", offset)
        assert_turns(page, t, offset)


def test_the_slides_turn_misses_but_for_the_fastest_hand(dial):
    page = dial()
    choose(page, "as the slide prints")
    assert_turns(page, 5, 2, printed=True)
    assert [verdict == "hits" for *_, verdict in notes(page)] == [True, False, False, False]
    assert page.inner_text(".sl-live").startswith("3 of 4 hands miss PE(7)")
    slide(page, "Offset Δ", -11)
    assert_turns(page, 5, -11, printed=True)
    slide(page, "Offset Δ", 0)
    assert_turns(page, 5, 0, printed=True)
    assert "every hand lands" in page.inner_text(".sl-live")
    choose(page, "its own angle")
    slide(page, "Offset Δ", 9)
    assert_turns(page, 5, 9)


def test_a_screen_reader_hears_each_hand(dial):
    page = dial()
    names = page.locator(".rd-face").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('aria-label'))"
    )
    assert names[1] == "Pair 1: the hand turns by 0.632 radians and lands on its ring"
    choose(page, "as the slide prints")
    assert page.locator(".rd-face").nth(1).get_attribute("aria-label") == (
        "Pair 1: the hand turns by 2.000 radians and misses by 1.263"
    )


def test_other_dials(dial):
    page = dial(RotationDial(12, base=10000.0, t=3, offset=-1))
    assert_turns(page, 3, -1, d=12, base=10000.0)
    page.get_by_role("slider", name="Offset Δ: −1").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert_turns(page, 3, 1, d=12, base=10000.0)
