"""The Vision Transformer: exact counts, a loop oracle, places, digits, bad input."""

import copy
import math
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from loops import (
    added,
    attention_by_hand,
    feed_forward_by_hand,
    layer_norm_by_hand,
    linear_by_hand,
)
from sklearn.datasets import load_digits
from torch import nn
from torch.testing import assert_close
from whole_models import count, randomised

from softlookup.analysis import capture
from softlookup.attention import MultiHeadAttention
from softlookup.models import ViT, ViTConfig
from softlookup.models.vit import parameter_count
from softlookup.ops import cross_entropy

SMALL = ViTConfig(
    11, image_size=(4, 6), patch_size=2, channels=3, d_model=10, n_heads=5, n_layers=2, d_ff=7
)


@pytest.fixture(autouse=True)
def _seed():
    """The model draws its weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def images(generator):
    return torch.randn(5, 3, 4, 6, dtype=torch.float64, generator=generator)


def built(config=SMALL, **options):
    return randomised(ViT(replace(config, **options)).double())


# counts


def test_parameters_of_the_base_model():
    """86M in the paper. A block: 4 (768² + 768) + 2 · 768 · 3072 + 3072 + 768 + 4 · 768."""
    embeddings = (768 + 1) * 768 + 198 * 768
    assert ViTConfig.base().n_patches == 196
    expected = embeddings + 12 * 7_087_872 + 2 * 768 + 769 * 1000
    assert parameter_count(ViTConfig.base()) == expected == 86_567_656
    with torch.device("meta"):
        assert count(ViT(ViTConfig.base(21))) == parameter_count(ViTConfig.base(21))


@pytest.mark.parametrize(
    "options",
    [{}, {"d_ff": None}, {"channels": 1}, {"patch_size": 1}, {"n_layers": 1}, {"n_classes": 2}],
)
def test_the_formula_counts_every_choice(options):
    config = replace(SMALL, **options)
    assert count(ViT(config)) == parameter_count(config)


# what it computes


def vit_by_hand(model, image):
    """One image, pixel by pixel: patches, rows, blocks in pre-norm, the class token's scores."""
    size = model.config.patch_size
    height, width = model.config.image_size
    rows = [model.class_token.tolist()]
    for top in range(0, height, size):
        for left in range(0, width, size):
            pixels = [
                image[channel][top + a][left + b]
                for channel in range(model.config.channels)
                for a in range(size)
                for b in range(size)
            ]
            rows.append(linear_by_hand(pixels, model.patch_embedding))
    rows = added(rows, model.position_embedding.embedding.weight.tolist())
    for block in model.blocks:
        read, thought = block.self_attention, block.feed_forward
        ready = [layer_norm_by_hand(row, read.norm) for row in rows]
        rows = added(rows, attention_by_hand(ready, read.layer))
        ready = [layer_norm_by_hand(row, thought.norm) for row in rows]
        rows = added(rows, [feed_forward_by_hand(row, thought.layer) for row in ready])
    rows = [layer_norm_by_hand(row, model.norm) for row in rows]
    return rows, linear_by_hand(rows[0], model.head)


def test_against_loops(images):
    model = built()
    rows, scores = model.read(images), model(images)
    for b, image in enumerate(images.tolist()):
        wanted_rows, wanted = vit_by_hand(model, image)
        assert_close(rows[b], torch.tensor(wanted_rows, dtype=torch.float64))
        assert_close(scores[b], torch.tensor(wanted, dtype=torch.float64))


def test_grey_images_need_no_axis_of_channels(generator):
    model = built(channels=1)
    images = torch.randn(5, 4, 6, dtype=torch.float64, generator=generator)
    assert_close(model(images), model(images.unsqueeze(1)))


def test_what_enters_the_first_block(images):
    """The class token first, then the patches from left to right and from top to bottom."""
    model = built()
    with capture(model, "rows") as seen:
        model(images)
    rows = seen["rows"] - model.position_embedding.embedding.weight
    assert_close(rows[:, 0], model.class_token.expand(5, -1))
    corner = images[:, :, 2:4, 2:4].reshape(5, 12)  # second line, second column
    assert_close(rows[:, 1 + 3 + 1], model.patch_embedding(corner))


def test_a_batch_is_its_images_one_by_one(images):
    model = built()
    assert_close(model(images), torch.cat([model(image.unsqueeze(0)) for image in images]))


def test_every_patch_reaches_the_answer(images):
    model = built()
    images = images.requires_grad_()
    (grad,) = torch.autograd.grad(model(images)[:, 0].sum(), images)
    assert grad.ne(0).all()


def test_only_the_positions_tell_where_a_patch_stands(images):
    """Two patches change places: another answer, unless the places' rows change with them."""
    model, other = built(), built()
    other.load_state_dict(model.state_dict())
    swapped = images.clone()
    swapped[..., 0:2, 0:2], swapped[..., 2:4, 4:6] = images[..., 2:4, 4:6], images[..., 0:2, 0:2]
    assert not torch.allclose(model(swapped), model(images))
    with torch.no_grad():
        other.position_embedding.embedding.weight[[1, 6]] = (
            model.position_embedding.embedding.weight[[6, 1]]
        )
    assert_close(other(swapped), model(images))


# the start and the first steps


def test_loss_at_the_start(images):
    """All classes score 0: exactly log 11."""
    scores = ViT(SMALL)(images.float())
    assert scores.eq(0).all()
    assert cross_entropy(scores, torch.arange(5)).item() == pytest.approx(math.log(11))


def test_where_the_weights_start():
    config = ViTConfig(7, (16, 16), 1, d_model=96, n_heads=4, n_layers=1)
    model = ViT(config)
    for module in model.modules():
        if isinstance(module, nn.Linear) and module is not model.head:
            limit = math.sqrt(6 / (module.in_features + module.out_features))
            assert 0.95 * limit < module.weight.abs().max().item() <= limit
            assert module.bias.eq(0).all()
    assert model.position_embedding.embedding.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.class_token.eq(0).all()
    assert model.head.bias.eq(0).all()


def test_every_parameter_gets_a_gradient(images):
    model = built()
    cross_entropy(model(images), torch.arange(5)).backward()
    without = [n for n, p in model.named_parameters() if p.grad is None or p.grad.eq(0).all()]
    # a bias of the keys adds the same to all scores of a query: the softmax does not see it
    assert [name for name in without if not name.endswith("W_K.bias")] == []


def test_one_batch_is_learnt_by_heart(images):
    model = ViT(SMALL).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        cross_entropy(model(images), torch.arange(5)).backward()
        optimizer.step()
    scores = model(images)
    assert cross_entropy(scores, torch.arange(5)).item() < 0.05
    assert scores.argmax(-1).equal(torch.arange(5))


def test_evaluation_switches_every_dropout_off(images):
    dropped, same = built(dropout=0.4), built()
    same.load_state_dict(dropped.state_dict())
    rates = [m.p for m in dropped.modules() if isinstance(m, nn.Dropout)]
    assert rates == [0.4] * (1 + 2 * 4)
    assert not torch.allclose(dropped(images), dropped(images))
    dropped.eval()
    for fused in (True, False):
        for layer in dropped.modules():
            if isinstance(layer, MultiHeadAttention):
                layer.fused = fused
        assert dropped(images).equal(dropped(images))
        assert_close(dropped(images), same(images))


def test_dropout_behind_the_embeddings(images):
    model = built(dropout=0.75, d_model=100)
    with capture(model, "rows") as seen:
        model(images)
    assert 0.2 < (seen["rows"] != 0).double().mean() < 0.3


def test_a_copy_is_the_same_model(images):
    model = built()
    other = ViT(SMALL).double()
    other.load_state_dict(model.state_dict())
    assert other(images).equal(model(images))
    assert copy.deepcopy(model)(images).equal(model(images))


def test_digits(generator):
    """`vision-transformer`: at least 95% of unseen digits, after a few seconds."""
    pictures, classes = load_digits(return_X_y=True)
    pictures = torch.tensor(pictures, dtype=torch.float32).reshape(-1, 8, 8) / 16
    classes = torch.tensor(classes)
    order = torch.randperm(len(pictures), generator=generator)
    train, test = order[:1297], order[1297:]
    model = ViT(ViTConfig(10, image_size=(8, 8), patch_size=2, d_model=32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=0.05)
    n_steps = 20 * 20
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, n_steps, pct_start=0.1)
    for _ in range(20):
        for batch in train[torch.randperm(1297, generator=generator)[:1280]].split(64):
            noise = 0.1 * torch.randn(64, 8, 8, generator=generator)
            optimizer.zero_grad()
            cross_entropy(model(pictures[batch] + noise), classes[batch]).backward()
            optimizer.step()
            schedule.step()
    right = model.eval()(pictures[test]).argmax(-1) == classes[test]
    assert len(right) == 500
    assert right.double().mean().item() >= 0.95


# the config


def test_the_config_is_frozen_and_fills_in_what_follows():
    with pytest.raises(FrozenInstanceError):
        SMALL.d_model = 8
    assert (SMALL.n_patches, SMALL.patch_width, SMALL.width_inside) == (6, 12, 7)
    assert replace(SMALL, d_ff=None).width_inside == 40
    base = ViTConfig.base()
    assert (base.n_classes, base.d_model, base.n_heads, base.n_layers) == (1000, 768, 12, 12)
    assert (base.image_size, base.patch_size, base.channels) == ((224, 224), 16, 3)


def test_all_options_reach_the_parts():
    model = ViT(replace(SMALL, activation="relu", eps=0.1))
    norms = [model.norm]
    for block in model.blocks:
        assert block.feed_forward.layer.activation == "relu"
        assert block.self_attention.norm_first
        assert block.feed_forward.norm_first
        norms += [block.self_attention.norm, block.feed_forward.norm]
    assert [norm.eps for norm in norms] == [0.1] * 5


@pytest.mark.parametrize(
    "name",
    [
        "n_classes",
        "patch_size",
        "channels",
        "d_model",
        "n_heads",
        "n_layers",
    ],
)
def test_sizes_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got {name}=0"):
        replace(SMALL, **{name: 0})


def test_bad_choices():
    with pytest.raises(ValueError, match="n_heads must divide d_model; got d_model=10, n_heads=4"):
        replace(SMALL, n_heads=4)
    rule = r"patch_size must divide height and width; got patch_size=4, image_size=\(4, 6\)"
    with pytest.raises(ValueError, match=rule):
        replace(SMALL, patch_size=4)
    rule = r"dropout must be at least 0 and less than 1; got dropout=1\.0"
    with pytest.raises(ValueError, match=rule):
        replace(SMALL, dropout=1.0)
    with pytest.raises(ValueError, match=r"eps must be positive and finite; got eps=0\.0"):
        replace(SMALL, eps=0.0)
    with pytest.raises(ValueError, match=r"activation must be one of .*; got activation='swish'"):
        replace(SMALL, activation="swish")


# bad input


@pytest.mark.parametrize("shape", [(5, 3, 6, 4), (5, 1, 4, 6), (5, 4, 6), (3, 4, 6)])
def test_images_of_another_size(shape):
    rule = r"images must be of the size \(3, 4, 6\); got images=\(\d, .*\)"
    with pytest.raises(ValueError, match=rule):
        ViT(SMALL)(torch.zeros(shape))
