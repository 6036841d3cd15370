"""Firefox without a window, driven by its own protocol: what Debian ships needs no other program.

Playwright drives only a Firefox of its own making. The one that distributions package speaks
Marionette: messages `length:[type, number, command, arguments]` in JSON through a socket.
"""

import json
import math
import shutil
import socket
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PROGRAMS = ("firefox-esr", "firefox")
SECONDS = 120
ODD = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
RUN = """const [code, text, done] = arguments;
const run = window.eval(`(code, text) => {
    const odd = ["NaN", "Infinity", "-Infinity"];
    const asText = (_, one) => ArrayBuffer.isView(one) ? Array.from(one)
        : typeof one === "number" && !Number.isFinite(one) ? {odd: String(one)} : one;
    const asNumber = (_, one) => odd.includes(one?.odd) ? Number(one.odd) : one;
    return (async () => {
        const found = await window.eval(code)(JSON.parse(text, asNumber));
        return JSON.stringify([found ?? null], asText);
    })();
}`);
run(code, text).then((said) => done(["found", said]), (error) => done(["error", String(error)]));"""
"""Runs a function in the page. Numbers that JSON does not know go to and fro as their names."""


def program() -> str | None:
    """Where Firefox is, if it is anywhere."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Firefox:
    """A running Firefox with one tab; `close` ends it."""

    def __init__(self, path: str) -> None:
        self.profile = TemporaryDirectory()
        port = _free_port()
        settings = f'user_pref("marionette.port", {port});\n'
        Path(self.profile.name, "user.js").write_text(settings, encoding="utf-8")
        command = [path, "--headless", "--marionette", "--no-remote"]
        self.process = subprocess.Popen(
            [*command, "--profile", self.profile.name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self.socket = _connected(port, self.process)
            self.stream = self.socket.makefile("rb")
            self.n_sent = 0
            self._read()  # who is there
            self.ask("WebDriver:NewSession")
            self.ask("WebDriver:SetTimeouts", script=1000 * SECONDS)
            blank = Path(self.profile.name, "blank.html")  # the first page would forbid `eval`
            blank.write_text("<!doctype html><title>Blank</title>", encoding="utf-8")
            self.open(blank.as_uri())
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def open(self, address: str) -> None:
        """Load a page."""
        self.ask("WebDriver:Navigate", url=address)

    def evaluate(self, function: str, data: object = None) -> Any:
        """What a function of JavaScript returns or promises, given some data."""
        text = json.dumps(_without_odd(data))
        kind, said = self.ask("WebDriver:ExecuteAsyncScript", script=RUN, args=[function, text])
        if kind == "error":
            raise RuntimeError(said)
        return json.loads(said, object_hook=_with_odd)[0]

    def click(self, selector: str) -> None:
        """Click as a reader does: scripts see an event that they may trust."""
        using = {"using": "css selector", "value": selector}
        (element,) = self.ask("WebDriver:FindElement", **using).values()
        self.ask("WebDriver:ElementClick", id=element)

    def ask(self, command: str, **arguments: object) -> Any:
        """Send a command, and wait for its answer."""
        self.n_sent += 1
        message = json.dumps([0, self.n_sent, command, arguments]).encode()
        self.socket.sendall(f"{len(message)}:".encode() + message)
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return result["value"] if isinstance(result, dict) and "value" in result else result

    def close(self) -> None:
        """End the program."""
        self.stream.close()
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def _read(self) -> Any:
        length = b""
        while (digit := self.stream.read(1)) != b":":
            if digit == b"":
                raise RuntimeError("Firefox has ended")
            length += digit
        return json.loads(self.stream.read(int(length)))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _connected(port: int, process: subprocess.Popen) -> socket.socket:
    end = time.monotonic() + SECONDS
    while True:
        try:
            found = socket.create_connection(("127.0.0.1", port))
        except OSError:
            if time.monotonic() > end or process.poll() is not None:
                raise
            time.sleep(0.2)
        else:
            found.settimeout(2 * SECONDS)
            return found


def _without_odd(data: object) -> object:
    if isinstance(data, dict):
        return {name: _without_odd(one) for name, one in data.items()}
    if isinstance(data, list | tuple):
        return [_without_odd(one) for one in data]
    if isinstance(data, float) and not math.isfinite(data):
        return {"odd": next(name for name, one in ODD.items() if repr(one) == repr(data))}
    return data


def _with_odd(found: dict) -> object:
    return ODD[found["odd"]] if list(found) == ["odd"] else found
