"""Connection: one client of the server.

Requests go in batches, one batch at a time: whatever is asked for while one is on its way travels together
in the next. A batch has a number, and the server keeps its last answer, so a batch whose answer was lost
on the wire is sent again and not done again. A second connection waits for the bell.

=======  ==============================================================================
batch    the requests that travel together, done by the server as one step
bell     a message from the server: "ask again, it was your turn"
tick     once a second, from every client: I am alive, and let end whatever is over
lane     requests that may need memory travel apart from those that give it back,
         so that a server whose memory is full can still be emptied
=======  ==============================================================================
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from hashlib import sha1
from importlib.resources import files
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import msgpack
from redis import asyncio as client
from redis import exceptions as errors
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from tutorial_lib.board import SpaceClosed
from tutorial_lib.unreal_loop import UnrealLoop

__all__ = ["Answer", "Command", "Connection", "ServerUnavailable"]

Command = dict[str, Any]
Answer = list[Any]

PATIENCE: Final = 30.0  # seconds for an operation without a timeout of its own, while no server answers
FIRST_CONTACT: Final = 3.0  # seconds until it is clear that there is no server at all
LEAST_PATIENCE: Final = 1.0  # seconds that an answer may take, also with a shorter timeout
STEP: Final = 0.25  # seconds: what one wait for an answer counts at most, however late it ends
SOCKET_TIMEOUT: Final = 5.0  # seconds of silence after which a connection counts as dead
PAUSES: Final = (0.02, 1.0)  # seconds between attempts: the first, doubled each time up to the last
LISTEN: Final = 1  # whole seconds that a wait for the bell lasts on the server
TICK: Final = 0.9  # seconds
LARGEST_BATCH: Final = 200  # requests
PAUSE_WHEN_FULL: Final = 0.1  # seconds until a server whose memory is full is asked again
OUT_OF_MEMORY: Final = "command not allowed when used memory"  # the server's words, among others
REFUSALS: Final = (errors.AuthenticationError, errors.AuthorizationError, errors.NoPermissionError)
PASSING: Final = (
    errors.ConnectionError,  # also while a restarted server still loads its file
    errors.TimeoutError,
    errors.ReadOnlyError,
    errors.InvalidResponse,
    OSError,
)
"""What is worth another attempt."""

HARMLESS: Final = frozenset({"look", "read_all", "count", "stats", "waiters"})
"""Commands that may be done twice, so their answers need not be kept."""

SCRIPT: Final = "\n".join(
    (files(__package__) / "scripts" / name).read_text(encoding="utf-8")
    for name in ("1_tuples.lua", "2_waiting.lua", "3_writing.lua", "4_commands.lua")
)
SCRIPT_HASH: Final = sha1(SCRIPT.encode("utf-8"), usedforsecurity=False).hexdigest()

UNCERTAIN: Final = "Whether it did what was asked for is not known. Is it running, and can it be reached?"
HOW_TO_GET_A_SERVER: Final = (
    "Start one: `redis-server` or `valkey-server` (Debian and Ubuntu: sudo apt install redis-server; "
    "macOS: brew install redis; anywhere: docker run -p 6379:6379 redis). "
    "Without a server, connect('memory://') runs the same program in one process."
)


class ServerUnavailable(ConnectionError, TimeoutError):
    """The server did not answer in time. Whether it did what was asked for is not known."""


class _Request:
    """One command on its way, and the future of its answer."""

    def __init__(self, command: Command, future: asyncio.Future[Answer]) -> None:
        self.command = command
        self.future = future
        self.grows = bool(command.get("tuples"))


class Connection:
    """One client of the server at ``url``. Opened by its first request, and ended with `close`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._redis_url = url.replace("valkey", "redis", 1) if url.startswith("valkey") else url
        parse_url(self._redis_url)  # raises ValueError for what is no address
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def __str__(self) -> str:
        """Return the address, without the password."""
        parts = urlsplit(self.url)
        place = parts.hostname or ""
        return f"{parts.scheme}://{place}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def _start(self) -> None:
        """Belong to the running loop. Its tasks live until `close`, or until the loop ends."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if isinstance(loop, UnrealLoop):
            raise RuntimeError(
                f"Under simulate there is no real time, so {self} cannot be waited for. "
                "Use connect('memory://') there, or run this program with asyncio.run."
            )
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError(
                f"The connection to {self} belongs to another event loop or thread. "
                "Call connect() inside the async function that uses it."
            )
        self._loop = loop
        self._is_over = False
        self.client_id = uuid4().hex
        self._answered = False  # whether the server was ever heard
        self._trouble: Exception | None = None  # why it is not heard now
        self._offset = 0.0  # from the server's clock to the loop's, in seconds
        self._queue: deque[_Request] = deque()
        self._queued = asyncio.Event()
        self._numbers = count(1)
        self._waiter_numbers = count(1)
        self._bells: dict[bytes, asyncio.Event] = {}
        self._listeners: dict[bytes, Callable[[], object]] = {}  # by space: called when it has events
        self._errands: set[asyncio.Task[Any]] = set()
        self._open: dict[asyncio.Future[Answer], Exception | None] = {}  # with what keeps each waiting
        self._speaker, self._ear = self._new_client(), self._new_client()
        self._task = loop.create_task(self._run(), context=Context())  # it belongs to no actor and no trace

    async def _run(self) -> None:
        """Keep up the connection until this is cancelled: by `close`, or by a loop that ends without it."""
        try:
            async with asyncio.TaskGroup() as group:
                for part in (self._speak, self._listen, self._tick):
                    group.create_task(part())
        finally:
            self._is_over = True
            for future in list(self._open):
                future.cancel()
            for task in self._errands:
                task.cancel()
            await self._speaker.aclose()
            await self._ear.aclose()

    def _new_client(self) -> client.Redis:
        return client.Redis.from_url(
            self._redis_url,
            single_connection_client=True,
            socket_timeout=SOCKET_TIMEOUT,
            socket_connect_timeout=SOCKET_TIMEOUT,
            retry=Retry(NoBackoff(), 0),  # attempts are made here, where the timeouts are known
        )

    async def close(self) -> None:
        """End the connection: nobody waits on it any more. Closing twice does nothing more."""
        if self._loop is not None and not self._is_over:
            if self._errands:
                await asyncio.wait(self._errands, timeout=LEAST_PATIENCE)
            with suppress(ServerUnavailable, PermissionError):
                await self.ask({"name": "bye"}, LEAST_PATIENCE)
            self._closed = True
            self.ring_all()
            self._task.cancel()
            await asyncio.wait([self._task])
        self._closed = True

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called, so that no answer will come any more."""
        return self._closed

    def _is_ending(self) -> bool:
        """Tell whether to end. The client library may have mistaken a cancellation for an error."""
        task = asyncio.current_task()
        return self._closed or (task is not None and task.cancelling() > 0)

    # ------------------------------------------------------------------------------------------------
    # Requests

    def submit(self, command: Command) -> asyncio.Future[Answer]:
        """Send a command soon, as often as it needs. Its future gets the answer, unless it is cancelled."""
        self._start()
        if self._closed or self._is_over:
            raise self._closed_error()
        assert self._loop is not None
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._open[future] = None
        future.add_done_callback(self._open.pop)
        self._queue.append(_Request(command, future))
        self._queued.set()
        return future

    def _closed_error(self) -> SpaceClosed:
        return SpaceClosed(f"The connection to {self} is closed. Call connect() for a new one.")

    async def wait_for(self, future: asyncio.Future[Answer], timeout: float | None) -> Answer:
        """Wait for an answer, for ``timeout`` seconds and at least one. The future stays as it is.

        Raises `ServerUnavailable`.
        """
        patience = PATIENCE if timeout is None else max(timeout, LEAST_PATIENCE)
        if not self._answered:
            patience = min(patience, FIRST_CONTACT)
        await _waited(future, patience)
        if future.cancelled():
            raise self._closed_error()
        if future.done():
            return future.result()
        trouble = self._open.get(future) or self._trouble
        why = f" ({str(trouble).rstrip('.')})" if trouble else ""
        advice = UNCERTAIN if self._answered else HOW_TO_GET_A_SERVER
        raise ServerUnavailable(f"{self} did not answer within {patience:g} s{why}. {advice}")

    async def ask(self, command: Command, timeout: float | None = None) -> Answer:
        """Send a command and return its answer. Raises `ServerUnavailable`."""
        future = self.submit(command)
        try:
            return await self.wait_for(future, timeout)
        finally:
            future.cancel()

    async def _speak(self) -> None:
        while not self._is_ending():
            await self._queued.wait()
            batch = self._next_batch()
            if batch:
                await self._exchange(batch)

    def _next_batch(self) -> list[_Request]:
        """Take the next requests of one lane out of the queue."""
        batch: list[_Request] = []
        others: deque[_Request] = deque()
        for request in self._queue:
            if request.future.done():  # nobody waits for it any more
                continue
            fits = len(batch) < LARGEST_BATCH and (not batch or request.grows == batch[0].grows)
            (batch if fits else others).append(request)
        self._queue = others
        if not others:
            self._queued.clear()
        return batch

    async def _exchange(self, batch: list[_Request]) -> None:
        """Send a batch until it is answered, or nobody waits for it any more."""
        commands = [request.command for request in batch]
        number = 0 if all(command["name"] in HARMLESS for command in commands) else next(self._numbers)
        lane = "grows" if batch[0].grows else "shrinks"
        packed = msgpack.packb(commands, use_bin_type=False, unicode_errors="surrogatepass")
        pause, longest = PAUSES
        while not (self._is_ending() or all(request.future.done() for request in batch)):
            try:
                answers = await self._evaluate(self.client_id, number, lane, packed)
            except (errors.RedisError, OSError) as error:
                self._trouble = error
                self._open.update((request.future, error) for request in batch if not request.future.done())
                if OUT_OF_MEMORY in str(error):  # nothing of the batch was done: let others go first
                    asyncio.get_running_loop().call_later(PAUSE_WHEN_FULL, self._send_again, batch)
                    return
                if not _may_pass(error):
                    self._refuse(batch, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, longest)
            else:
                for request, answer in zip(batch, answers, strict=True):
                    if not request.future.done():
                        request.future.set_result(answer)

    async def _evaluate(self, *arguments: Any) -> list[Answer]:
        sent = asyncio.get_running_loop().time()
        try:
            packed = await self._speaker.evalsha(SCRIPT_HASH, 0, *arguments)
        except errors.NoScriptError:  # a server that was just started
            packed = await self._bring_script(*arguments)
        now, answers = msgpack.unpackb(packed, raw=True, strict_map_key=False)
        self._offset = sent - now / 1e6
        self._answered, self._trouble = True, None
        return list(answers)

    async def _bring_script(self, *arguments: Any) -> Any:
        try:
            return await self._speaker.eval(SCRIPT, 0, *arguments)
        except errors.NoPermissionError:  # as for the students of a class: soon somebody else brings it
            why = "its script is not there yet, and this user may not bring it"
            raise errors.ConnectionError(why) from None

    def _send_again(self, batch: list[_Request]) -> None:
        self._queue.extend(batch)
        self._queued.set()

    def _refuse(self, batch: list[_Request], error: Exception) -> None:
        refusal: Exception = RuntimeError(f"{self} cannot run this program: {error}")
        if isinstance(error, REFUSALS):
            refusal = PermissionError(f"{self} refuses this user or password: {error}")
        for request in batch:
            if not request.future.done():
                request.future.set_exception(refusal)

    def loop_time(self, microseconds: int) -> float:
        """Return a moment of the server's clock as one of the loop's, in seconds."""
        return microseconds / 1e6 + self._offset

    # ------------------------------------------------------------------------------------------------
    # The bell

    @contextmanager
    def bell(self) -> Iterator[tuple[bytes, asyncio.Event]]:
        """Give a new waiter's id, and the event that is set whenever it should ask again."""
        self._start()
        name = f"{self.client_id}-{next(self._waiter_numbers)}".encode()
        bell = self._bells[name] = asyncio.Event()
        try:
            yield name, bell
        finally:
            del self._bells[name]

    def listen(self, space: bytes, call: Callable[[], object] | None) -> None:
        """Call ``call`` whenever this space may have new events. None ends that."""
        self._start()
        if call is None:
            self._listeners.pop(space, None)
        else:
            self._listeners[space] = call

    def ring_all(self) -> None:
        """Let everybody ask again: a bell may have been lost."""
        for bell in self._bells.values():
            bell.set()
        for call in list(self._listeners.values()):
            call()

    async def _listen(self) -> None:
        mailbox = f"tuplespace:mail:{self.client_id}"
        pause, longest = PAUSES
        while not self._is_ending():
            try:
                mail: Any = await self._ear.blpop([mailbox], timeout=LISTEN)
            except (errors.RedisError, OSError):
                await asyncio.sleep(pause)
                pause = min(2 * pause, longest)
                self.ring_all()
            else:
                pause = PAUSES[0]
                if mail is not None:
                    self._deliver(mail[1])

    def _deliver(self, message: bytes) -> None:
        kind, _, name = message.partition(b":")
        if kind == b"waiter" and name in self._bells:
            self._bells[name].set()
        elif kind == b"events" and name in self._listeners:
            self._listeners[name]()

    async def _tick(self) -> None:
        while not self._is_ending():
            try:
                _, was_new = await self.ask({"name": "tick"}, TICK)
            except (ServerUnavailable, PermissionError, RuntimeError):
                was_new = True
            if was_new:  # the server does not know, or no longer knows, who waits here
                self.ring_all()
            await asyncio.sleep(TICK)

    # ------------------------------------------------------------------------------------------------
    # Errands: what must be brought to an end though nobody waits for it

    async def see_to(self, errand: Coroutine[Any, Any, Any], *, waits: bool = True) -> None:
        """Do an errand in the background, and wait for it, at most a second. Its errors harm nobody."""
        task = self.start_errand(errand)
        await asyncio.wait([task], timeout=LEAST_PATIENCE if waits else 0)

    def start_errand(self, errand: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do an errand in the background."""
        task = asyncio.create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._forget_errand)
        return task

    def _forget_errand(self, task: asyncio.Task[Any]) -> None:
        self._errands.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, or asyncio would report it


async def _waited(future: asyncio.Future[Answer], patience: float) -> None:
    """Wait for an answer, for so many seconds of a program that lets its loop run.

    Time in which the program itself stood still counts little: it was frozen, or a cell of its notebook
    computed. Its clock has run on, but the request may not even be sent. A last short wait reads what came.
    """
    while patience > 0 and not future.done():
        await asyncio.wait([future], timeout=min(patience, STEP))
        patience -= STEP
    if not future.done():
        await asyncio.wait([future], timeout=STEP / 5)


def _may_pass(error: Exception) -> bool:
    """Tell whether another attempt may succeed."""
    if isinstance(error, REFUSALS):
        return False
    return isinstance(error, PASSING) or str(error).startswith("BUSY")
