"""Loaders of public data: real files where they are at hand, a server of our own for downloads."""

import gzip
import hashlib
import io
import logging
import os
import socket
import tempfile
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest

from softlookup.data import SOURCES, multi30k, sms_spam, tiny_shakespeare
from softlookup.data import downloads as cache_module
from softlookup.data import public as public_module
from softlookup.data.downloads import cache_folder
from softlookup.data.sources import MULTI30K_LANGUAGES, MULTI30K_SPLITS, RemoteFile

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_real_files = pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not here")

SETS = ("sms_spam", "tiny_shakespeare", "multi30k")

TEXT = b"ham\tAre you home?\nspam\tWIN now\twin\nham\tOne\x0bline & one\xc2\x85line\n"


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder, not yet made."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Whoever forgets to give a source an address on this machine fails at once."""
    connect = socket.socket.connect

    def only_here(self, address):
        assert not isinstance(address, tuple) or address[0] in ("127.0.0.1", "localhost")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_here)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Server:
    """Answers with the pages it is given, and remembers what it was asked for."""

    def __init__(self):
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.longest: int | None = None  # bytes after which it hangs up
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                owner.asked.append(self.path)
                page = owner.pages.get(self.path)
                self.send_response(404 if page is None else 200)
                self.send_header("Content-Length", str(len(page or b"")))
                self.end_headers()
                self.wfile.write((page or b"")[: owner.longest])

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}{path}"

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


def serve_sms(monkeypatch, server, *, paths=("/first.zip",), content=TEXT) -> RemoteFile:
    """Let the SMS collection be a small text that ``server`` may hold."""
    source = SOURCES["sms_spam"]
    file = replace(
        source.files["all"],
        sha256=hashlib.sha256(content).hexdigest(),
        addresses=tuple(server.address(path) for path in paths),
    )
    small = {**SOURCES, "sms_spam": replace(source, files={"all": file})}
    monkeypatch.setattr(public_module, "SOURCES", small)
    return file


def zipped(content: bytes, member: str = "SMSSpamCollection") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme", "about the collection")
        archive.writestr(member, content)
    return buffer.getvalue()


def printed(capsys) -> list[str]:
    """The lines on the standard output; the progress bar writes elsewhere."""
    return capsys.readouterr().out.splitlines()


NOT_IN_CACHE = (
    "SMS Spam Collection: not in the cache. sms_spam(download=True) fetches it. "
    "Until then the book keeps to its bundled messages."
)


class TestRealFiles:
    """The files as they are, where they are at hand."""

    pytestmark = needs_real_files

    @pytest.fixture(autouse=True)
    def real_cache(self, cache):
        """Links, never the folder itself: a loader deletes what has a wrong checksum."""
        cache.mkdir()
        for path in REAL.iterdir():
            (cache / path.name).symlink_to(path)

    def test_sms_spam(self, capsys):
        collection = sms_spam()
        assert len(collection) == 5574
        assert sum(message.spam for message in collection) == 747
        assert {message.kind for message in collection} == {""}
        assert collection[1].text == "Ok lar... Joking wif u oni..."
        assert not collection[1].spam
        assert collection[2].text.startswith("Free entry in 2 a wkly comp")
        assert collection[2].spam
        assert collection[-1].text == "Rofl. Its true to its name"
        assert printed(capsys) == []

    def test_sms_spam_keeps_every_character(self):
        lines = [f"{('ham', 'spam')[m.spam]}\t{m.text}\n" for m in sms_spam()]
        assert "".join(lines).encode() == (REAL / "SMSSpamCollection").read_bytes()

    def test_tiny_shakespeare(self):
        text = tiny_shakespeare()
        assert len(text) == 1_115_394
        assert text.count("\n") == 40_000
        assert len(set(text)) == 65
        assert text.startswith("First Citizen:\nBefore we proceed any further, hear me speak.\n")

    @pytest.mark.parametrize("language", MULTI30K_LANGUAGES)
    @pytest.mark.parametrize(
        ("split", "n_lines"), [("train", 29000), ("val", 1014), ("test", 1000)]
    )
    def test_multi30k(self, split, language, n_lines):
        self.need(SOURCES["multi30k"].files[f"{split}.{language}"])
        captions = multi30k(split, language)
        assert len(captions) == n_lines
        assert all(caption.strip() for caption in captions)

    def test_multi30k_lines_say_the_same(self):
        english, german, french = (
            multi30k("train", language)[0] for language in MULTI30K_LANGUAGES
        )
        assert english == "Two young, White males are outside near many bushes."
        assert german == "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
        assert french == "Deux jeunes hommes blancs sont dehors près de buissons."

    def test_multi30k_has_as_many_captions_as_it_says(self):
        n, n_test = (sum(len(multi30k(split, "en")) for split in splits) for splits in
                     (("train", "val"), ("test",)))  # fmt: skip
        holds = SOURCES["multi30k"].holds
        assert holds.startswith(f"{n:,} captions")
        assert f"and {n_test:,} to test on" in holds

    @pytest.mark.parametrize(
        ("name", "key"), [(name, key) for name in SETS for key in SOURCES[name].files]
    )
    def test_from_an_address_into_an_empty_cache(
        self, name, key, tmp_path, server, monkeypatch, capsys
    ):
        """The real bytes and the recorded checksum; the first address is dead."""
        source, load = SOURCES[name], getattr(public_module, name)
        file, asked = source.files[key], key.split(".") if name == "multi30k" else []
        self.need(file)
        content = (REAL / file.name).read_bytes()
        page = zipped(content, file.member) if file.member else content
        server.pages["/file"] = page
        known = load(*asked)
        moved = replace(file, addresses=("http://127.0.0.1:1/file", server.address("/file")))
        only = {name: replace(source, files={key: moved})}
        monkeypatch.setattr(public_module, "SOURCES", only)
        monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path / "empty"))
        assert load(*asked, download=True) == known
        assert [path.read_bytes() for path in (tmp_path / "empty").iterdir()] == [content]
        told = capsys.readouterr()
        assert told.out == ""
        assert "100%" in told.err

    def need(self, file: RemoteFile) -> None:
        if not (REAL / file.name).is_file():
            pytest.skip(f"{file.name} is not here")


class TestSources:
    def test_every_file_has_an_own_name_and_checksum(self):
        stored = [file for source in SOURCES.values() for file in source.files.values()]
        assert len(stored) == 1 + 1 + 9 + 3 + 2
        assert len({file.name for file in stored}) == len(stored)
        assert len({file.sha256 for file in stored}) == len(stored)

    def test_test_set_is_that_of_2016(self):
        names = [SOURCES["multi30k"].files[f"test.{code}"].name for code in ("en", "de", "fr")]
        assert names == [f"multi30k.test_2016_flickr.{code}.gz" for code in ("en", "de", "fr")]

    def test_addresses_are_secure_and_name_their_file(self):
        for source in SOURCES.values():
            for file in source.files.values():
                assert file.addresses
                assert all(address.startswith("https://") for address in file.addresses)
        for split, part in MULTI30K_SPLITS.items():
            for language in MULTI30K_LANGUAGES:
                file = SOURCES["multi30k"].files[f"{split}.{language}"]
                for address in file.addresses:
                    assert address.endswith(f"/data/task1/raw/{part}.{language}.gz")
                assert file.name == f"multi30k.{part}.{language}.gz"

    def test_every_file_has_a_second_address_on_another_host(self):
        for source in SOURCES.values():
            for file in source.files.values():
                hosts = [address.split("/")[2] for address in file.addresses]
                assert len(set(hosts)) == len(hosts) == 2

    def test_words_that_a_reader_sees_are_there(self):
        for source in SOURCES.values():
            assert all((source.title, source.holds, source.makers, source.licence))
            assert source.home.startswith("https://")


class TestFolder:
    def test_follows_the_environment(self, cache):
        assert cache_folder() == cache

    @pytest.mark.parametrize("value", [None, ""])
    def test_otherwise_the_folder_of_the_system(self, monkeypatch, value):
        monkeypatch.delenv("SOFTLOOKUP_DATA", raising=False)
        if value is not None:
            monkeypatch.setenv("SOFTLOOKUP_DATA", value)
        assert cache_folder() == Path(pooch.os_cache("softlookup"))


class TestWithoutDownload:
    def test_missing(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        assert sms_spam() is None
        assert printed(capsys) == [NOT_IN_CACHE]
        assert server.asked == []
        assert not cache.exists()

    def test_other_sets_name_their_own_call(self, cache, capsys):
        assert tiny_shakespeare() is None
        assert multi30k("val", "de") is None
        first, second = printed(capsys)
        assert first == (
            "Tiny Shakespeare: not in the cache. tiny_shakespeare(download=True) fetches it. "
            "Until then text that comes with the book stands in for it."
        )
        assert 'multi30k("val", "de", download=True) fetches it.' in second

    def test_cached_file_is_read(self, cache, server, monkeypatch, capsys):
        cache.mkdir()
        (cache / "SMSSpamCollection").write_bytes(TEXT)
        serve_sms(monkeypatch, server)
        texts = ["Are you home?", "WIN now\twin", "One\x0bline & one\x85line"]
        assert [message.text for message in sms_spam()] == texts
        assert [message.spam for message in sms_spam()] == [False, True, False]
        assert printed(capsys) == []

    def test_damaged_file_is_deleted(self, cache, capsys):
        cache.mkdir()
        (cache / "tinyshakespeare.txt").write_bytes(b"To be, or")
        assert tiny_shakespeare() is None
        assert printed(capsys) == [
            "Tiny Shakespeare: the copy in the cache was damaged and has been deleted. "
            "tiny_shakespeare(download=True) fetches it. "
            "Until then text that comes with the book stands in for it."
        ]
        assert not list(cache.iterdir())

    def test_damaged_file_that_cannot_be_deleted_is_still_refused(self, cache, monkeypatch, capsys):
        cache.mkdir()
        (cache / "tinyshakespeare.txt").write_bytes(b"To be, or")
        monkeypatch.setattr(Path, "unlink", deny)
        assert tiny_shakespeare() is None
        (line,) = printed(capsys)
        assert "the copy in the cache is damaged and could not be deleted." in line

    def test_unreadable_cache(self, cache, capsys):
        (cache / "tinyshakespeare.txt").mkdir(parents=True)
        assert tiny_shakespeare() is None
        (line,) = printed(capsys)
        assert line.startswith("Tiny Shakespeare: the cache cannot be read.")

    @pytest.mark.parametrize("place", ["file", "file/cache"])
    def test_a_plain_file_for_a_folder(self, tmp_path, monkeypatch, capsys, place):
        (tmp_path / "file").write_text("no folder")
        monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path / place))
        assert sms_spam() is None
        assert printed(capsys) == [NOT_IN_CACHE]


class TestDownload:
    def test_member_of_an_archive(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = zipped(TEXT)
        assert len(sms_spam(download=True)) == 3
        assert printed(capsys) == []
        assert (cache / "SMSSpamCollection").read_bytes() == TEXT
        assert [path.name for path in cache.iterdir()] == ["SMSSpamCollection"]

    def test_is_done_once(self, cache, server, monkeypatch):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = zipped(TEXT)
        assert sms_spam(download=True) == sms_spam(download=True) == sms_spam()
        assert server.asked == ["/first.zip"]

    def test_progress_bar_and_silence_about_places(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = zipped(TEXT)
        sms_spam(download=True)
        errors = capsys.readouterr().err
        assert "100%" in errors
        assert "127.0.0.1" not in errors
        assert str(cache) not in errors

    def test_pooch_announces_no_address(self, cache, server, monkeypatch):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = zipped(TEXT)
        announced = []
        handler = logging.Handler()
        handler.emit = announced.append
        pooch.get_logger().addHandler(handler)
        sms_spam(download=True)
        pooch.get_logger().removeHandler(handler)
        assert announced == []

    def test_loudness_of_pooch_is_given_back(self, cache, server, monkeypatch):
        serve_sms(monkeypatch, server)
        pooch.get_logger().setLevel(logging.INFO)
        sms_spam(download=True)
        assert pooch.get_logger().level == logging.INFO

    def test_second_address(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server, paths=("/first.zip", "/second.zip"))
        server.pages["/second.zip"] = zipped(TEXT)
        assert len(sms_spam(download=True)) == 3
        assert server.asked == ["/first.zip", "/second.zip"]
        assert printed(capsys) == []

    def test_second_address_after_a_wrong_file(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server, paths=("/first.zip", "/second.zip"))
        server.pages["/first.zip"] = zipped(b"ham\tsomething else\n")
        server.pages["/second.zip"] = zipped(TEXT)
        assert len(sms_spam(download=True)) == 3
        assert printed(capsys) == []

    def test_no_address_answers(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server, paths=("/first.zip", "/second.zip"))
        assert sms_spam(download=True) is None
        assert printed(capsys) == [
            "SMS Spam Collection: no address answered. "
            "Until then the book keeps to its bundled messages."
        ]

    def test_a_connection_that_breaks(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server, paths=("/first.zip", "/second.zip"))
        server.pages["/first.zip"] = server.pages["/second.zip"] = zipped(TEXT)
        server.longest = 30
        assert sms_spam(download=True) is None
        assert server.asked == ["/first.zip", "/second.zip"]
        (line,) = printed(capsys)
        assert line.startswith("SMS Spam Collection: no address answered.")
        assert not list(cache.iterdir())

    def test_no_connection(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        server.http.shutdown()
        server.http.server_close()
        assert sms_spam(download=True) is None
        (line,) = printed(capsys)
        assert line.startswith("SMS Spam Collection: no address answered.")

    @pytest.mark.parametrize(
        "page",
        [
            pytest.param(zipped(b"ham\tsomething else\n"), id="other bytes"),
            pytest.param(zipped(TEXT, member="README"), id="no such member"),
            pytest.param(b"<html>log in first</html>", id="no archive"),
            pytest.param(zipped(TEXT)[:-30], id="half an archive"),
        ],
    )
    def test_wrong_file_is_refused(self, cache, server, monkeypatch, capsys, page):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = page
        assert sms_spam(download=True) is None
        assert printed(capsys) == [
            "SMS Spam Collection: what arrived was not the file we know (wrong SHA-256) and has "
            "been deleted. Until then the book keeps to its bundled messages."
        ]
        assert not list(cache.iterdir())

    def test_damaged_member_is_refused(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = zipped(TEXT).replace(b"Are you home?", b"Are you hope?")
        assert sms_spam(download=True) is None
        (line,) = printed(capsys)
        assert "wrong SHA-256" in line
        assert not list(cache.iterdir())

    def test_damaged_file_is_fetched_again(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = zipped(TEXT)
        cache.mkdir()
        (cache / "SMSSpamCollection").write_bytes(TEXT[:-1])
        assert len(sms_spam(download=True)) == 3
        assert printed(capsys) == [
            "SMS Spam Collection: the copy in the cache was damaged and has been deleted. "
            "Fetching it again."
        ]

    def test_plain_file(self, cache, server, monkeypatch):
        content = "Où est le chat ?\nIl dort\u2028là.\n".encode()
        packed = gzip.compress(content, mtime=0)
        source = SOURCES["multi30k"]
        file = replace(
            source.files["val.fr"],
            sha256=hashlib.sha256(packed).hexdigest(),
            addresses=(server.address("/val.fr.gz"),),
        )
        small = {"multi30k": replace(source, files={"val.fr": file})}
        monkeypatch.setattr(public_module, "SOURCES", small)
        server.pages["/val.fr.gz"] = packed
        assert multi30k("val", "fr", download=True) == ["Où est le chat ?", "Il dort\u2028là."]


class TestReadOnlyCache:
    """One line each, no traceback: with a folder that cannot be made, and with one that is shut."""

    LINE = (
        "SMS Spam Collection: the cache folder cannot be written. "
        "Until then the book keeps to its bundled messages."
    )

    @pytest.mark.parametrize("place", ["file", "file/cache"])
    def test_folder_cannot_be_made(self, tmp_path, server, monkeypatch, capsys, place):
        serve_sms(monkeypatch, server, paths=("/first.zip", "/second.zip"))
        (tmp_path / "file").write_text("no folder")
        monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path / place))
        assert sms_spam(download=True) is None
        assert printed(capsys) == [self.LINE]
        assert server.asked == []

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owner here")
    def test_folder_is_shut(self, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        server.pages["/first.zip"] = zipped(TEXT)
        with tempfile.TemporaryDirectory() as outer:
            cache = Path(outer) / "cache"
            monkeypatch.setenv("SOFTLOOKUP_DATA", str(cache))
            os.chmod(outer, 0o755)
            cache.mkdir(mode=0o555)
            with as_nobody():
                assert sms_spam(download=True) is None
            assert not list(cache.iterdir())
        assert printed(capsys) == [self.LINE]

    def test_writing_is_denied(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        monkeypatch.setattr(cache_module.pooch, "retrieve", deny)
        assert sms_spam(download=True) is None
        assert printed(capsys) == [self.LINE]


class TestPrintedLines:
    def test_name_no_place(self, cache, server, monkeypatch, capsys):
        serve_sms(monkeypatch, server)
        sms_spam(), sms_spam(download=True), tiny_shakespeare(), multi30k("train", "en")
        lines = printed(capsys)
        assert len(lines) == 4
        assert not any("/" in line or "\\" in line or "127.0.0.1" in line for line in lines)


class TestBadInput:
    def test_unknown_split(self):
        rule = "split must be one of 'train', 'val', 'test'; got split='test_2016'"
        with pytest.raises(ValueError, match=rule):
            multi30k("test_2016", "en")

    def test_unknown_language(self):
        rule = "language must be one of 'en', 'de', 'fr'; got language='cs'"
        with pytest.raises(ValueError, match=rule):
            multi30k("train", "cs")

    def test_unknown_language_is_refused_before_any_download(self, cache, capsys):
        with pytest.raises(ValueError, match="language must be one of"):
            multi30k("val", "xx", download=True)
        assert printed(capsys) == []


@contextmanager
def as_nobody():
    """Root may write everywhere; nobody may not."""
    owner = os.geteuid()
    if owner == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(owner)


def deny(*args, **kwargs):
    raise PermissionError("not here")
