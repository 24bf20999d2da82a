"""Live sessions: kerf serve, over its unix socket."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, Unpack, cast

from . import words
from ._exec import KerfError

VERSION = 1
LIMIT = 64 << 20  # of a message, in bytes


class ServerError(KerfError):
    """The server refused. The codes are those of doc/serve.md."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class LostError(KerfError):
    """No server runs, or the connection to it broke."""


def text(value: words.Text | None) -> str:
    """A text as a str. What is not UTF-8 comes with surrogates, as os.fsdecode makes them; a
    text that was left out (None) is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return base64.b64decode(value["b64"]).decode("utf-8", "surrogateescape")


class Server:
    """The server of a Kerf home; None means that of KERF_HOME, or ~/.kerf. Each call and each
    session has a connection of its own, so it may be used by several threads."""

    def __init__(self, home: str | os.PathLike[str] | None = None) -> None:
        if home is None:
            home = os.environ.get("KERF_HOME") or pathlib.Path.home() / ".kerf"
        self.home = pathlib.Path(home)

    def hello(self) -> words.HelloResult:
        """What the server says of itself."""
        with dial(self.home) as line:
            return cast(words.HelloResult, line.hello)

    def sessions(self) -> list[words.Session]:
        """The live sessions, the oldest first."""
        return cast(list[words.Session], self._once("kerf/sessions", {}).get("sessions", []))

    def open(self, options: words.OpenOptions | None = None, **more: Unpack[words.OpenOptions]) -> Session:
        """Opens a session, such as with settings={"cwd": …}, or joins the live one that
        options mean with resume or last."""
        return self._follow("kerf/open", {"options": {**(options or {}), **more}})

    def attach(self, id: str, *, since: int | None = None) -> Session:
        """Attaches to a live session: behind the event since, or, without, at its running turn."""
        params: dict[str, Any] = {"session": id}
        if since is None:
            params["join"] = True
        else:
            params["since"] = since
        return self._follow("kerf/attach", params)

    def submit(self, id: str, op: words.Op, *, submission: str = "") -> None:
        """Hands an op to a live session."""
        self._once("kerf/submit", {"session": id, "id": submission, "op": op})

    def end(self, id: str) -> None:
        """Ends a live session for all; its record stays."""
        self._once("kerf/end", {"session": id})

    def stop(self) -> None:
        """Ends the server. What runs is interrupted."""
        self._once("kerf/stop", {})

    def _once(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        with dial(self.home) as line:
            return line.call(method, params)

    def _follow(self, method: str, params: Mapping[str, Any]) -> Session:
        line = dial(self.home)
        try:
            return Session(self, line, cast(words.AttachResult, line.call(method, params)))
        except BaseException:
            line.close()
            raise


def dial(home: pathlib.Path) -> _Line:
    """A connection to the server of a home, after the hello."""
    place = home / "run" / "serve.json"
    try:
        told = json.loads(place.read_bytes())
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(told["socket"])
        except BaseException:
            connection.close()
            raise
    except FileNotFoundError:
        raise LostError(f"no kerf serve is running in {home}; kerf serve --detach starts one") from None
    except (OSError, ValueError, KeyError) as e:
        raise LostError(f"no kerf serve answers in {home}: {e}") from e
    line = _Line(connection)
    try:
        line.hello = line.call("kerf/hello", {"version": VERSION, "token": told["token"]})
    except BaseException:
        line.close()
        raise
    return line


class Session:
    """A live session, and an iterator of its events. When the connection breaks it is made
    again, and goes on behind the last event. Closing it, or leaving its with, leaves the
    session running in the server. One thread takes the events; any may call the rest."""

    def __init__(self, server: Server, line: _Line, attached: words.AttachResult) -> None:
        self.server = server
        self.id = text(attached["session"])
        #: The turn that ran when it was attached, or "".
        self.running = text(attached.get("running"))
        #: The number of the newest event that was taken.
        self.last = 0
        self._life = attached.get("life", "")
        self._line = line
        self._closed = threading.Event()

    def submit(self, op: words.Op, *, submission: str = "") -> None:
        """Hands an op to the session."""
        self.server.submit(self.id, op, submission=submission)

    def say(self, prompt: str, *, queue: bool = False) -> None:
        """Says something: it starts a turn, or joins the running one; with queue it waits for
        that one to be over."""
        self.submit({"type": "user_input", "items": [{"text": prompt}], "queue": queue})

    def interrupt(self) -> None:
        """Ends the running turn."""
        self.submit({"type": "interrupt"})

    def answer(self, approval: words.Text, decision: Literal["once", "session", "always", "deny", "abort"] = "once", *,
               words: str = "", content: Any = None) -> None:
        """Answers a question. The first answer counts, whoever gives it. words are told to the
        model with a denial; content answers a question that is no approval."""
        op: dict[str, Any] = {"type": "answer", "approval": approval, "decision": decision, "words": words}
        if content is not None:
            op["content"] = content
        self.submit(cast(Any, op))

    def close(self) -> None:
        """Leaves the session."""
        self._closed.set()
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[words.Event]:
        return self

    def __next__(self) -> words.Event:
        while not self._closed.is_set():
            try:
                frame = self._line.read()
            except LostError:
                if self._closed.is_set():
                    break
                self._again()
                continue
            if frame.get("method") == "kerf/left":
                self.close()
            elif frame.get("method") == "kerf/event":
                event = frame["params"]["event"]
                if event["seq"] > self.last:
                    self.last = event["seq"]
                    return cast(words.Event, event)
        raise StopIteration

    def _again(self) -> None:
        """Connects anew."""
        self._line.close()
        for wait in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, None):
            try:
                line = dial(self.server.home)
                try:
                    line.call("kerf/attach", {"session": self.id, "since": self.last, "life": self._life})
                except BaseException:
                    line.close()
                    raise
                self._line = line
                if self._closed.is_set():
                    line.close()
                return
            except ServerError:
                raise
            except LostError:
                if wait is None:
                    raise
            time.sleep(wait)


class _Line:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.stream = connection.makefile("rb")
        self.count = 0
        self.hello: dict[str, Any] = {}
        self.waiting: list[dict[str, Any]] = []  # events that came before an answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.connection.shutdown(socket.SHUT_RDWR)  # who reads it stops waiting
        except OSError:
            pass
        self.connection.close()

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.count += 1
        message = json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}, default=_raw)
        data = message.encode() + b"\n"
        if len(data) > LIMIT:
            raise KerfError(f"the message has {len(data)} bytes, more than {LIMIT}")
        try:
            self.connection.sendall(data)
        except OSError as e:
            raise LostError(f"the connection to kerf serve broke: {e}") from e
        while True:
            frame = self._frame()
            if frame.get("id", 0) not in (self.count, None):
                self.waiting.append(frame)
            elif "error" in frame:
                raise ServerError(frame["error"]["code"], frame["error"]["message"])
            else:
                return cast(dict[str, Any], frame.get("result", {}))

    def read(self) -> dict[str, Any]:
        return self.waiting.pop(0) if self.waiting else self._frame()

    def _frame(self) -> dict[str, Any]:
        try:
            line = self.stream.readline()
        except (OSError, ValueError) as e:
            raise LostError(f"the connection to kerf serve broke: {e}") from e
        if not line.endswith(b"\n"):
            raise LostError("the connection to kerf serve broke")
        return cast(dict[str, Any], json.loads(line))


def _raw(value: object) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return {"b64": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} is not JSON")
