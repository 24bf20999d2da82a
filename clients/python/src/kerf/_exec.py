"""Turns as processes: kerf exec --json."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack, cast

from .events import Event, Item, Usage

# How long a program that was told to end may take before it is killed, in seconds;
# Kerf's own bound is 10.
GRACE = 12.0

# How much of a program's error stream is kept, in bytes.
TAIL = 8 << 10

# How long a line may be, in bytes: a whole output, or a picture.
LINE = 256 << 20


class KerfError(Exception):
    """What went wrong with Kerf."""


class TurnError(KerfError):
    """The turn failed; the message says why. turn has what was done until then."""

    def __init__(self, message: str, turn: Turn) -> None:
        super().__init__(message)
        self.turn = turn


class ExitError(KerfError):
    """There was no turn. code is 1, or 2 for usage and configuration; below 0 it is a signal."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"kerf ended with code {code}")
        self.code = code


@dataclass
class Turn:
    """A turn: its last message, its items, and what it took (None before it is over)."""

    text: str = ""
    items: list[Item] = field(default_factory=list[Item])
    usage: Usage | None = None


def _hear(turn: Turn, event: Event) -> None:
    """Adds to a turn what an event tells of it."""
    if event["type"] == "item.completed":
        item = event["item"]
        turn.items.append(item)
        if item["type"] == "agent_message":
            turn.text = item["text"]
    elif event["type"] == "turn.completed":
        turn.usage = event["usage"]


Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
Approval = Literal["untrusted", "on-request", "never", "auto-edit", "plan"]
Path = str | os.PathLike[str]


class ThreadOptions(TypedDict, total=False):
    """How the turns of a thread run; see Thread."""

    cwd: Path | None
    add_dirs: Sequence[Path]
    model: str | None
    effort: str | None
    sandbox: Sandbox | None
    approval: Approval | None
    skip_git_check: bool
    ephemeral: bool
    max_turns: int | None
    timeout: float | None


@dataclass(frozen=True)
class Kerf:
    """Where the program is. env is its whole environment, None that of this process; config
    are settings that win over the files, "key.path=value" with values in TOML."""

    program: str = "kerf"
    env: Mapping[str, str] | None = None
    config: Sequence[str] = ()

    def start(self, **options: Unpack[ThreadOptions]) -> Thread:
        """A thread whose first turn begins a new session. The options are those of Thread."""
        return Thread(self, **options)

    def resume(self, id: str, **options: Unpack[ThreadOptions]) -> Thread:
        """A thread that goes on with a session, named by its id or the beginning of it."""
        return Thread(self, id=id, **options)

    def fork(self, id: str, **options: Unpack[ThreadOptions]) -> Thread:
        """A thread that begins a new session with the history of another."""
        return Thread(self, _fork=id, **options)


@dataclass
class Thread:
    """One session, whose turns run one after the other. What is None is left to the
    configuration; what would need an approval is refused.

    timeout bounds a turn, in seconds.
    """

    kerf: Kerf
    id: str | None = None  # once the first turn has begun
    cwd: Path | None = None
    add_dirs: Sequence[Path] = ()
    model: str | None = None
    effort: str | None = None
    sandbox: Sandbox | None = None
    approval: Approval | None = None
    skip_git_check: bool = False
    ephemeral: bool = False
    max_turns: int | None = None
    timeout: float | None = None
    _fork: str | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def run(self, prompt: str, *, images: Sequence[Path] = (), schema: Any = None) -> Turn:
        """Runs a turn to its end. images are paths; schema is the JSON schema that the last
        message must follow. Raises TurnError or ExitError."""
        turn = Turn()
        for event in self._events(prompt, images, schema, turn):
            _hear(turn, event)
        return turn

    def stream(self, prompt: str, *, images: Sequence[Path] = (), schema: Any = None) -> Generator[Event, None, None]:
        """Runs a turn and yields its events as they come. The turn is interrupted when the
        iterator is closed: by close(), or when nothing refers to it any more."""
        return self._events(prompt, images, schema, Turn())

    async def arun(self, prompt: str, *, images: Sequence[Path] = (), schema: Any = None) -> Turn:
        """run for asyncio. Cancelling it interrupts the turn."""
        turn = Turn()
        async with contextlib.aclosing(self._aevents(prompt, images, schema, turn)) as events:
            async for event in events:
                _hear(turn, event)
        return turn

    def astream(self, prompt: str, *, images: Sequence[Path] = (), schema: Any = None) -> AsyncGenerator[Event, None]:
        """stream for asyncio. Who leaves the loop early closes it, with contextlib.aclosing."""
        return self._aevents(prompt, images, schema, Turn())

    def _events(self, prompt: str, images: Sequence[Path], schema: Any, turn: Turn) -> Generator[Event, None, None]:
        with self._turn, contextlib.ExitStack() as stack:
            args = self._args(images, schema, stack)
            process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=self._env())
            assert process.stdin and process.stdout and process.stderr
            said = _Tail()
            # Both streams are served beside the events: neither may hold up the other.
            helpers = [threading.Thread(target=said.read, args=(process.stderr,), daemon=True),
                       threading.Thread(target=_feed, args=(process.stdin, prompt), daemon=True)]
            for helper in helpers:
                helper.start()
            failure = None
            try:
                for line in process.stdout:
                    event = self._event(line)
                    if event is None:
                        continue
                    failure = _failure(event) or failure
                    yield event
                process.wait()
            finally:
                _end(process)
                for helper in helpers:
                    helper.join()
                process.stdout.close()
                process.stderr.close()
            _judge(process.returncode, failure, said.text(), turn)

    async def _aevents(self, prompt: str, images: Sequence[Path], schema: Any, turn: Turn) -> AsyncGenerator[Event, None]:
        while not self._turn.acquire(blocking=False):
            await asyncio.sleep(0.01)
        with contextlib.ExitStack() as stack:
            stack.callback(self._turn.release)
            args = self._args(images, schema, stack)
            process = await asyncio.create_subprocess_exec(
                *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self._env(), limit=LINE)
            assert process.stdin and process.stdout and process.stderr
            said = _Tail()
            helpers = asyncio.gather(said.aread(process.stderr), _afeed(process.stdin, prompt))
            failure = None
            try:
                async for line in process.stdout:
                    event = self._event(line)
                    if event is None:
                        continue
                    failure = _failure(event) or failure
                    yield event
                await process.wait()
            finally:
                # A task that is cancelled again while the program ends leaves it to the system.
                await asyncio.shield(_aend(process, helpers))
            _judge(process.returncode, failure, said.text(), turn)

    def _event(self, line: bytes) -> Event | None:
        if not line.strip():
            return None
        event: dict[str, Any] | list[Any] = json.loads(line)
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise KerfError(f"kerf printed a line that is no event: {line[:200]!r}")
        if event["type"] == "thread.started":
            self.id = event["thread_id"]
        return cast(Event, event)

    def _env(self) -> dict[str, str] | None:
        return None if self.kerf.env is None else dict(self.kerf.env)

    def _args(self, images: Sequence[Path], schema: Any, stack: contextlib.ExitStack) -> list[str]:
        args = [self.kerf.program]
        for setting in self.kerf.config:
            args += ["--config", setting]
        args += ["exec", "--json"]
        for flag, value in (("--cd", self.cwd), ("--model", self.model), ("--sandbox", self.sandbox),
                            ("--ask-for-approval", self.approval), ("--max-turns", self.max_turns)):
            if value is not None:
                args += [flag, os.fspath(value) if not isinstance(value, int) else str(value)]
        for directory in self.add_dirs:
            args += ["--add-dir", os.fspath(directory)]
        if self.effort is not None:
            args += ["--config", "model_reasoning_effort=" + json.dumps(self.effort)]
        if self.timeout is not None:
            args += ["--timeout", f"{self.timeout:.3f}s"]
        if self.skip_git_check:
            args.append("--skip-git-repo-check")
        if self.ephemeral:
            args.append("--ephemeral")
        for image in images:
            path = os.fspath(image)
            if any(c in path for c in ',"\n'):  # the flag takes a list
                path = '"' + path.replace('"', '""') + '"'
            args += ["--image", path]
        if schema is not None:
            place = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="kerf-")), "schema.json")
            with open(place, "w", encoding="utf-8") as f:
                json.dump(schema, f)
            args += ["--output-schema", place]
        if self.id is not None:
            args += ["resume", "--", self.id]
        elif self._fork is not None:
            args += ["fork", "--", self._fork]
        return args + ["-"]  # the prompt goes through the standard input, so that no text is taken for a flag


class _Tail:
    """The end of what a program says of errors."""

    def __init__(self) -> None:
        self.kept = b""

    def put(self, part: bytes) -> None:
        self.kept = (self.kept + part)[-TAIL:]

    def read(self, stream: Any) -> None:
        while part := stream.read1(TAIL):
            self.put(part)

    async def aread(self, stream: asyncio.StreamReader) -> None:
        while part := await stream.read(TAIL):
            self.put(part)

    def text(self) -> str:
        return self.kept.decode("utf-8", "replace").strip()


def _feed(stream: Any, prompt: str) -> None:
    with contextlib.suppress(OSError):  # it ended before it read all
        stream.write(prompt.encode("utf-8", "surrogateescape"))
    with contextlib.suppress(OSError):
        stream.close()


async def _afeed(stream: asyncio.StreamWriter, prompt: str) -> None:
    with contextlib.suppress(OSError):
        stream.write(prompt.encode("utf-8", "surrogateescape"))
        await stream.drain()
    stream.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupts a program that still runs, and kills it if it does not end in time."""
    if process.poll() is not None:
        return
    if os.name == "posix":
        process.send_signal(signal.SIGINT)
        # What it still says is read: it must not wait for us.
        threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
            return
    process.kill()
    process.wait()


def _drain(stream: Any) -> None:
    with contextlib.suppress(OSError, ValueError):
        while stream.read1(TAIL):
            pass


async def _aend(process: asyncio.subprocess.Process, helpers: asyncio.Future[Any]) -> None:
    if process.returncode is None and os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        assert process.stdout
        drain = asyncio.ensure_future(_adrain(process.stdout))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE)
        drain.cancel()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    await helpers


async def _adrain(stream: asyncio.StreamReader) -> None:
    while await stream.read(TAIL):
        pass


def _failure(event: Event) -> str | None:
    return event["error"]["message"] if event["type"] == "turn.failed" else None


def _judge(code: int | None, failure: str | None, said: str, turn: Turn) -> None:
    if failure is not None:
        raise TurnError(failure, turn)
    if code:
        raise ExitError(code, said)
