"""Where the public data sets come from: addresses, checksums, licences, in one table."""

from collections.abc import Mapping
from dataclasses import dataclass

MULTI30K_SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}
MULTI30K_LANGUAGES = ("en", "de", "fr")


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set, as it lies in the cache.

    Attributes:
        name: The file's name in the cache.
        sha256: The checksum of its bytes; anything else is refused.
        addresses: Where to fetch it, tried in this order.
        member: The file's name inside the zip archive at those addresses, "" for a plain file.
    """

    name: str
    sha256: str
    addresses: tuple[str, ...]
    member: str = ""


@dataclass(frozen=True)
class Source:
    """A public data set: what it holds, who made it, what its licence allows.

    Attributes:
        title: The name people know it by.
        holds: Its content in one phrase.
        makers: Who made it.
        licence: What its makers allow.
        home: The page that describes it.
        stand_in: What the book uses while the data set is absent.
        files: Its files, by a short key.
    """

    title: str
    holds: str
    makers: str
    licence: str
    home: str
    stand_in: str
    files: Mapping[str, RemoteFile]


_UCI = "https://archive.ics.uci.edu"
_SHAKESPEARE = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare"
_TENSORFLOW = "https://storage.googleapis.com/download.tensorflow.org/data"
_BACKUP = "https://f001.backblazeb2.com/file/LLMs-from-scratch"
_MULTI30K = (
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw",
    "https://cdn.jsdelivr.net/gh/multi30k/dataset@master/data/task1/raw",
)
_OPENAI = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main"
_HUBS = "https://huggingface.co", "https://hf-mirror.com"
_GPT2 = "openai-community/gpt2/resolve/607a30d783dfa663caf39e06633721c8d4cfcd7e"
_BERT = "google-bert/bert-base-uncased/resolve/86b5e0934494bd15c9632b12f734a8a67f723594"

_MULTI30K_SHA256 = {
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test.de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test.fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}


def _multi30k_file(split: str, language: str) -> RemoteFile:
    name = f"{MULTI30K_SPLITS[split]}.{language}.gz"
    return RemoteFile(
        name=f"multi30k.{name}",
        sha256=_MULTI30K_SHA256[f"{split}.{language}"],
        addresses=tuple(f"{folder}/{name}" for folder in _MULTI30K),
    )


SOURCES: Mapping[str, Source] = {
    "sms_spam": Source(
        title="SMS Spam Collection",
        holds="5,574 English text messages, 747 of them spam",
        makers="Tiago A. Almeida and José María Gómez Hidalgo, 2011",
        licence="CC BY 4.0",
        home="https://archive.ics.uci.edu/dataset/228/sms+spam+collection",
        stand_in="the book keeps to its bundled messages",
        files={
            "all": RemoteFile(
                name="SMSSpamCollection",
                sha256="7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
                addresses=(
                    f"{_UCI}/static/public/228/sms+spam+collection.zip",
                    f"{_BACKUP}/sms%2Bspam%2Bcollection.zip",
                ),
                member="SMSSpamCollection",
            )
        },
    ),
    "tiny_shakespeare": Source(
        title="Tiny Shakespeare",
        holds="40,000 lines from Shakespeare's plays, 1,115,394 characters",
        makers="William Shakespeare; the selection by Andrej Karpathy, 2015",
        licence="public domain (the plays)",
        home="https://github.com/karpathy/char-rnn",
        stand_in="text that comes with the book stands in for it",
        files={
            "all": RemoteFile(
                name="tinyshakespeare.txt",
                sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
                addresses=(f"{_SHAKESPEARE}/input.txt", f"{_TENSORFLOW}/shakespeare.txt"),
            )
        },
    ),
    "multi30k": Source(
        title="Multi30k",
        holds="30,014 captions of photographs in English, German and French, "
        "and 1,000 to test on (2016)",
        makers="Desmond Elliott, Stella Frank, Khalil Sima'an and Lucia Specia, 2016; "
        "French added for the WMT shared task of 2017",
        licence="none stated in its repository; offered for research",
        home="https://github.com/multi30k/dataset",
        stand_in="sentence pairs that come with the book stand in for it",
        files={
            f"{split}.{language}": _multi30k_file(split, language)
            for split in MULTI30K_SPLITS
            for language in MULTI30K_LANGUAGES
        },
    ),
    "gpt2": Source(
        title="GPT-2, small",
        holds="a language model of 124,439,808 parameters, and its tokenizer of 50,257 tokens",
        makers="Alec Radford, Jeffrey Wu, Rewon Child, David Luan, Dario Amodei and "
        "Ilya Sutskever, 2019",
        licence="modified MIT",
        home="https://github.com/openai/gpt-2",
        stand_in="the book keeps to the models that it trains",
        files={
            "weights": RemoteFile(
                name="gpt2.model.safetensors",
                sha256="248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
                addresses=tuple(f"{hub}/{_GPT2}/model.safetensors" for hub in _HUBS),
            ),
            "vocabulary": RemoteFile(
                name="gpt2.vocab.json",
                sha256="196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
                addresses=(f"{_HUBS[0]}/{_GPT2}/vocab.json", f"{_OPENAI}/encoder.json"),
            ),
            "merges": RemoteFile(
                name="gpt2.merges.txt",
                sha256="1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
                addresses=(f"{_HUBS[0]}/{_GPT2}/merges.txt", f"{_OPENAI}/vocab.bpe"),
            ),
        },
    ),
    "bert-base-uncased": Source(
        title="BERT, base, without capitals",
        holds="an encoder of 109,514,298 parameters, and its tokenizer of 30,522 pieces",
        makers="Jacob Devlin, Ming-Wei Chang, Kenton Lee and Kristina Toutanova, 2019",
        licence="Apache 2.0",
        home="https://github.com/google-research/bert",
        stand_in="the book keeps to the models that it trains",
        files={
            "weights": RemoteFile(
                name="bert-base-uncased.model.safetensors",
                sha256="68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
                addresses=tuple(f"{hub}/{_BERT}/model.safetensors" for hub in _HUBS),
            ),
            "vocabulary": RemoteFile(
                name="bert-base-uncased.vocab.txt",
                sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                addresses=tuple(f"{hub}/{_BERT}/vocab.txt" for hub in _HUBS),
            ),
        },
    ),
}
