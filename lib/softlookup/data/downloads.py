"""The cache of fetched files: every file is checked by SHA-256 before anybody reads it.

Nothing here ever raises for want of a file or of the network: the answer is then None, and one
printed line says why. The lines name neither paths nor addresses, so that a page of the book
reads the same wherever it was made.
"""

import hashlib
import logging
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pooch
from requests.exceptions import RequestException

from softlookup.data.sources import RemoteFile, Source

CACHE_VARIABLE = "SOFTLOOKUP_DATA"

# What can go wrong, in the words that are printed.
MISSING = "not in the cache"
DAMAGED = "the copy in the cache was damaged and has been deleted"
STUCK = "the copy in the cache is damaged and could not be deleted"
UNREADABLE = "the cache cannot be read"
UNREACHABLE = "no address answered"
WRONG = "what arrived was not the file we know (wrong SHA-256) and has been deleted"
READ_ONLY = "the cache folder cannot be written"


def cache_folder() -> Path:
    """The folder that holds fetched files: ``$SOFTLOOKUP_DATA``, or the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else Path(pooch.os_cache("softlookup"))


def fetch(source: Source, file: RemoteFile, *, call: str, download: bool) -> bytes | None:
    """The bytes of one file: from the cache, or from the network where that is allowed.

    A cached file whose checksum is wrong is deleted, never returned. The network is tried only
    with ``download=True``, and only when the cache has no sound copy.

    Args:
        source: The data set, for the words of the printed line.
        file: Which of its files.
        call: How the reader asks for the download, "sms_spam(download=True)".
        download: Whether the network may be used.

    Returns:
        The file's bytes, whose SHA-256 is the recorded one, or None.

    Chapter: data_card#public-data-sets
    """
    content, problem = _read(file)
    if content is None and download:
        if problem != MISSING:
            print(f"{source.title}: {problem}. Fetching it again.")
        problem = _download(file)
        content, problem = (None, problem) if problem else _read(file)
    if content is None:
        advice = "" if download else f" {call} fetches it."
        print(f"{source.title}: {problem}.{advice} Until then {source.stand_in}.")
    return content


def _read(file: RemoteFile) -> tuple[bytes | None, str]:
    path = cache_folder() / file.name
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None, MISSING
    except OSError:
        return None, UNREADABLE
    if hashlib.sha256(content).hexdigest() == file.sha256:
        return content, ""
    try:
        path.unlink()
    except OSError:
        return None, STUCK
    return None, DAMAGED


def _download(file: RemoteFile) -> str:
    """Fetch ``file`` into the cache; returns what went wrong, or "" when all is well."""
    problems = []
    for address in file.addresses:
        problem = _download_from(address, file)
        if not problem:
            return ""
        if problem == READ_ONLY:
            return problem
        problems.append(problem)
    return WRONG if WRONG in problems else UNREACHABLE


def _download_from(address: str, file: RemoteFile) -> str:
    try:
        with _quiet_pooch():
            pooch.retrieve(
                address,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=cache_folder(),
                downloader=_Downloader(file.member),
            )
    except RequestException:
        return UNREACHABLE
    except ValueError:
        return WRONG
    except OSError:
        return READ_ONLY
    return ""


class _Downloader:
    """Fetches over HTTP with a progress bar, and takes one member out of a zip archive.

    pooch calls it with a temporary file, checks that file's SHA-256 and only then moves it into
    the cache: an archive's member is therefore checked, not the archive, which may be packed anew.
    """

    def __init__(self, member: str) -> None:
        self.member = member
        self.over_http = pooch.HTTPDownloader(progressbar=True)

    def __call__(self, url: str, output_file: str, pooch_object: object) -> None:
        self.over_http(url, output_file, pooch_object)
        if not self.member:
            return
        try:
            with zipfile.ZipFile(output_file) as archive:
                content = archive.read(self.member)
        except (zipfile.BadZipFile, zlib.error, KeyError):
            return  # no such archive: pooch finds the wrong checksum
        Path(output_file).write_bytes(content)


@contextmanager
def _quiet_pooch() -> Iterator[None]:
    """pooch announces addresses and paths; the book's own line says what matters."""
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
