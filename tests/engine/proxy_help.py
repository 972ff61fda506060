"""A small proxy between client and server: a network that can be slow, deaf, or cut."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Proxy:
    """Passes bytes between its own port and the server's.

    While ``is_stalled`` nothing passes, as on a line that is dead but not closed. While ``loses_answers``
    requests pass and answers vanish.
    """

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.is_stalled = False
        self.loses_answers = False
        self.lost = 0  # answers
        self._pass_before_loss: int | None = None  # answers that pass until one is lost; None: none is
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        self.cut()

    def lose_answer(self, number: int) -> None:
        """Lose one answer, the ``number``-th from now, and with it every connection."""
        self._pass_before_loss = number - 1

    def cut(self) -> None:
        """Close every connection."""
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.server_port)
        self._writers |= {writer, server_writer}
        for source, target, is_answer in ((reader, server_writer, False), (server_reader, writer, True)):
            task = asyncio.create_task(self._pass(source, target, is_answer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, is_answer: bool
    ) -> None:
        try:
            while data := await source.read(65536):
                while self.is_stalled:
                    await asyncio.sleep(0.01)
                if not is_answer:
                    target.write(data)
                elif self.loses_answers:
                    self.lost += 1
                elif self._pass_before_loss == 0:
                    self.lost += 1
                    self._pass_before_loss = None
                    self.cut()
                else:
                    if self._pass_before_loss is not None:
                        self._pass_before_loss -= 1
                    target.write(data)
        except ConnectionError:
            pass
        finally:
            target.close()
