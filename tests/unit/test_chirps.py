"""Chirps: their pitches, read back from the samples, and their kinds."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.data.chirps import CHIRP_KINDS, chirps


def pitches(sounds):
    """Cycles a sample in each of 16 frames: the largest peak of a long spectrum."""
    frames = sounds.double().view(len(sounds), 16, 16) * torch.hann_window(16).double()
    return torch.fft.rfft(frames, n=4096).abs().argmax(dim=-1) / 4096


def test_the_pitch_goes_where_the_kind_says():
    sounds, kinds = chirps(200, torch.Generator().manual_seed(3), noise=0.0)
    for pitch, kind in zip(pitches(sounds), kinds, strict=True):
        rises = pitch.diff() > 0
        if kind < 2:
            assert rises.tolist() == [kind.item() == 0] * 15
            slope = (pitch[13] - pitch[3]).abs() / 160  # low pitches are read less exactly
            assert slope.item() == pytest.approx(0.2 / 256, rel=0.03)
        else:
            assert rises[:7].tolist() == [kind.item() == 2] * 7
            assert rises[8:].tolist() == [kind.item() == 3] * 7
        assert 0.25 < pitch.max() + 0.0125 < 0.32


def test_a_fall_is_a_rise_played_backwards():
    """Both kinds hold the same pitches: without an order they cannot be told apart."""
    sounds, kinds = chirps(400, torch.Generator().manual_seed(3), noise=0.0)
    spread = pitches(sounds).sort(dim=1).values
    spread = spread - spread[:, :1]
    means = [spread[kinds == kind].mean(dim=0) for kind in range(2)]
    assert_close(means[0], means[1], rtol=0, atol=0.004)


def test_kinds_are_as_likely_and_the_noise_is_as_said():
    sounds, kinds = chirps(2000, torch.Generator().manual_seed(3))
    assert kinds.bincount(minlength=4).min() > 420
    assert len(CHIRP_KINDS) == 4
    still, same = chirps(2000, torch.Generator().manual_seed(3), noise=0.0)
    assert torch.equal(kinds, same)
    assert (sounds - still).std().item() == pytest.approx(0.5, abs=0.005)
    assert still.square().mean().item() == pytest.approx(0.5, abs=0.01)
    assert sounds.shape == (2000, 256)


def test_the_same_generator_draws_the_same():
    first, again = (chirps(5, torch.Generator().manual_seed(3)) for _ in range(2))
    assert all(map(torch.equal, first, again))


@pytest.mark.parametrize(
    ("n", "noise", "message"),
    [
        (0, 0.5, "n must be an integer of at least 1; got n=0"),
        (3, -0.1, "noise must not be negative or NaN; got noise=-0.1"),
        (3, math.nan, "noise must not be negative or NaN; got noise=nan"),
    ],
)
def test_bad_input(n, noise, message, generator):
    with pytest.raises(ValueError, match=message):
        chirps(n, generator, noise=noise)
