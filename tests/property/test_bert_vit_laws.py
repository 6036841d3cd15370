"""Laws of BERT, ViT and GPT-2's tokenizer: sizes, texts, filler and seeds drawn."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.layers import ACTIVATIONS
from softlookup.models import BERT, BERTConfig, ViT, ViTConfig
from softlookup.models.bert import parameter_count as bert_count
from softlookup.models.pretrained import GPT2Tokenizer
from softlookup.models.pretrained.gpt2_tokenizer import byte_characters
from softlookup.models.vit import parameter_count as vit_count

sizes = st.integers(1, 5)
seeds = st.integers(0, 2**31)
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=3)
EXACT = {"rtol": 1e-11, "atol": 1e-11}
CHARACTERS = byte_characters()


def seeded(model, seed):
    generator = torch.Generator().manual_seed(seed)
    model = model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            numbers = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
            parameter.copy_(numbers / math.sqrt(parameter.shape[-1]))
    return model


def sides(n_heads, d_k, d_ff, n_layers, activation):
    return {"d_model": n_heads * d_k, "n_heads": n_heads, "n_layers": n_layers, "d_ff": d_ff,
            "activation": activation}  # fmt: skip


blocks = st.builds(sides, sizes, sizes, sizes, st.integers(1, 2), st.sampled_from([*ACTIVATIONS]))


@st.composite
def berts(draw):
    """What builds a model: type checks draw at random, and must not do it in here."""
    options = draw(blocks) | {
        "vocab_size": draw(st.integers(1, 11)),
        "context": draw(st.integers(9, 11)),
        "n_segments": draw(st.integers(1, 3)),
        "head": draw(st.booleans()),
    }
    seed = draw(seeds)
    return lambda: seeded(BERT(BERTConfig(**options)), seed)


@st.composite
def vits(draw):
    size = draw(st.integers(1, 3))
    options = draw(blocks) | {
        "n_classes": draw(sizes),
        "image_size": (size * draw(st.integers(1, 3)), size * draw(st.integers(1, 3))),
        "patch_size": size,
        "channels": draw(st.integers(1, 3)),
    }
    seed = draw(seeds)
    return lambda: seeded(ViT(ViTConfig(**options)), seed)


@settings(max_examples=60)
@given(berts(), lengths, seeds)
def test_a_batch_of_texts_is_its_texts_one_by_one(build, lengths, seed):
    """Whatever tokens the filler is made of, and whatever segments it is said to be of."""
    model, n = build(), max(lengths) + 2
    generator = torch.Generator().manual_seed(seed)
    config, shape = model.config, (len(lengths), n)
    ids = torch.randint(config.vocab_size, shape, generator=generator)
    segments = torch.randint(config.n_segments, shape, generator=generator)
    rows = model(ids, lengths, segments)
    for b, length in enumerate(lengths):
        alone = model(ids[b : b + 1, :length], segments=segments[b : b + 1, :length])
        assert_close(rows[b : b + 1, :length], alone, **EXACT)
        if config.head:
            assert_close(model.mlm_scores(rows)[b, :length], model.mlm_scores(alone)[0], **EXACT)


@settings(max_examples=60)
@given(berts())
def test_the_formula_counts_bert_exactly(build):
    model = build()
    assert sum(p.numel() for p in model.parameters()) == bert_count(model.config)


@settings(max_examples=60)
@given(vits(), st.integers(1, 3), seeds)
def test_a_batch_of_images_is_its_images_one_by_one(build, n, seed):
    model = build()
    generator = torch.Generator().manual_seed(seed)
    shape = (n, model.config.channels, *model.config.image_size)
    images = torch.randn(shape, dtype=torch.float64, generator=generator)
    rows = model.read(images)
    assert rows.shape == (n, 1 + model.config.n_patches, model.config.d_model)
    for b in range(n):
        assert_close(rows[b : b + 1], model.read(images[b : b + 1]), **EXACT)


@settings(max_examples=60)
@given(vits(), seeds)
def test_patches_may_be_dealt_in_any_order_with_their_places(build, seed):
    """A shuffled image gives the same scores, if the rows of the places are shuffled with it."""
    model, generator = build(), torch.Generator().manual_seed(seed)
    config, size = model.config, model.config.patch_size
    rows, columns = (side // size for side in config.image_size)
    order = torch.randperm(rows * columns, generator=generator)
    shape = (1, config.channels, *config.image_size)
    image = torch.randn(shape, dtype=torch.float64, generator=generator)
    shuffled = torch.zeros_like(image)
    for new, old in enumerate(order.tolist()):
        (r, c), (s, t) = (divmod(place, columns) for place in (new, old))
        patch = image[..., s * size : (s + 1) * size, t * size : (t + 1) * size]
        shuffled[..., r * size : (r + 1) * size, c * size : (c + 1) * size] = patch
    expected = model(image)
    table = model.position_embedding.embedding.weight
    with torch.no_grad():
        table[1:] = table[1:][order].clone()
    assert_close(model(shuffled), expected, **EXACT)


@settings(max_examples=60)
@given(vits())
def test_the_formula_counts_vit_exactly(build):
    model = build()
    assert sum(p.numel() for p in model.parameters()) == vit_count(model.config)


@st.composite
def published(draw):
    """Merges at random, a numbering at random."""
    tokens, merges = list(CHARACTERS), []
    for _ in range(draw(st.integers(0, 9))):
        pair = tuple(draw(st.sampled_from([*"abĠĊÃ©", *tokens[256:]])) for _ in range(2))
        if "".join(pair) not in tokens:
            merges.append(pair)
            tokens.append("".join(pair))
    tokens.append("<end>")
    numbers = draw(st.permutations(range(len(tokens))))
    return dict(zip(tokens, numbers, strict=True)), merges


@given(published(), st.text(st.sampled_from("ab \né€<end>"), max_size=20) | st.text(max_size=20))
def test_what_is_encoded_is_decoded(files, text):
    ids, merges = files
    tokenizer = GPT2Tokenizer(ids, merges, ["<end>"])
    found = tokenizer.encode(text)
    assert tokenizer.decode(found) == text
    assert ids["<end>"] not in found
    assert tokenizer.decode(tokenizer.encode(text, allowed_special="all")) == text
    names = {id_: name for name, id_ in ids.items()}
    spelled = "".join(CHARACTERS[byte] for byte in text.encode())
    assert "".join(names[id_] for id_ in found) == spelled
