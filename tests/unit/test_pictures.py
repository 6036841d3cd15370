"""Planted pictures: what a story draws, captions that lie by a coin, and bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.data import SCENE_WORDS, captioned_digits, planted_scenes
from softlookup.tokenization import patchify
from softlookup.words import similarity


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_each_word_lights_its_own_patch_as_often_as_it_is_said():
    stories, scenes = planted_scenes(31, generator(), noise=0.0)
    assert stories.shape == (31, len(SCENE_WORDS)) == (31, 6)
    assert scenes.shape == (31, 1, 8, 12)
    for story, scene in zip(stories, scenes, strict=True):
        assert_close(patchify(scene, 4).norm(dim=1), story)


def test_pictures_are_as_far_apart_as_their_stories():
    stories, scenes = planted_scenes(31, generator(), noise=0.0)
    between = [-similarity(z, z, measure="euclidean") for z in (scenes.flatten(1), stories)]
    assert_close(*between)


def test_stories_are_distinct_and_say_a_word_at_most_three_times():
    stories, _ = planted_scenes(4096, generator())
    assert len(stories.unique(dim=0)) == 4096
    assert set(stories.flatten().tolist()) == {0, 1, 2, 3}


def test_noise_has_the_size_that_was_asked_for():
    quiet, loud = (planted_scenes(101, generator(), noise=noise)[1] for noise in (0.0, 0.5))
    assert (loud - quiet).std().item() == pytest.approx(0.5, rel=0.05)


def test_the_same_seed_draws_the_same():
    assert all(map(torch.equal, planted_scenes(7, generator(3)), planted_scenes(7, generator(3))))
    assert captioned_digits(generator(3))[0] == captioned_digits(generator(3))[0]


def test_captions_lie_by_the_toss_of_a_coin():
    captions, pictures, lies = captioned_digits(generator())
    assert len(captions) == len(pictures) == len(lies) == 360
    assert pictures.shape[1:] == (1, 8, 8)
    assert pictures.min() == 0
    assert pictures.max() == 1
    assert 0.4 < lies.double().mean() < 0.6
    says_one = torch.tensor(["one" in caption for caption in captions])
    middle = pictures[:, 0, 2:6, 3:5].mean(dim=(1, 2))  # a zero is hollow, a one is not
    shows_one = middle > 0.5
    assert (lies == (says_one != shows_one)).double().mean() > 0.95
    for half in says_one, shows_one:  # neither half knows
        assert abs(lies[half].double().mean() - 0.5) < 0.1


@pytest.mark.parametrize(
    ("n", "noise", "message"),
    [
        (0, 0.0, "n must be an integer of at least 1; got n=0"),
        (4097, 0.0, "n must be at most 4096, the number of stories; got n=4097"),
        (2, -1.0, "noise must not be negative or NaN; got noise=-1"),
        (2, math.nan, "noise must not be negative or NaN; got noise=nan"),
    ],
)
def test_bad_input(n, noise, message):
    with pytest.raises(ValueError, match=message):
        planted_scenes(n, generator(), noise=noise)
