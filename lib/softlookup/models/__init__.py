"""Whole models, put together from the layers and from attention.

Read in this order:

- ``blocks``: attention and feed-forward, each with a norm and a residual connection
- ``encoder_decoder``: the Transformer of 2017
- ``gpt``: the decoder alone
- ``bert``: the encoder alone, trained to fill gaps
- ``vit``: the encoder over the patches of an image
- ``pretrained``: GPT-2 and BERT as others have trained them
"""

from softlookup.models.bert import BERT, BERTConfig
from softlookup.models.blocks import Block, DecoderBlock, EncoderBlock, Sublayer, make_norm
from softlookup.models.encoder_decoder import Transformer, TransformerConfig
from softlookup.models.gpt import GPT, GPTConfig, load_gpt, save_gpt
from softlookup.models.vit import ViT, ViTConfig

__all__ = [
    "BERT",
    "GPT",
    "BERTConfig",
    "Block",
    "DecoderBlock",
    "EncoderBlock",
    "GPTConfig",
    "Sublayer",
    "Transformer",
    "TransformerConfig",
    "ViT",
    "ViTConfig",
    "load_gpt",
    "make_norm",
    "save_gpt",
]
