"""Page: the board of a class in a browser, with its three buttons.

The page is served to this machine alone, at an address with a secret in it. It needs nothing from elsewhere,
so it works without internet. What keeps strangers out:

==================================  ==================================================================
somebody in the same network        cannot connect: the server listens on the loopback address
another program on this machine     does not know the secret in the address
another page in the same browser    is of another origin, so its orders are refused
a page whose name was redirected    names its own host, and only the loopback address is answered
a student's name with markup        is text, and the page's policy lets no other script or style in
==================================  ==================================================================
"""

from __future__ import annotations

import asyncio
import json
import secrets
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Final

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from tutorial_lib.classroom.board import ClassFrame, ClassState, class_frame
from tutorial_lib.classroom.board_buttons import BUTTONS, job_choices, press
from tutorial_lib.classroom.board_svg import BOARD_STYLE, class_svg
from tutorial_lib.classroom.board_text import latest_words
from tutorial_lib.classroom.board_watch import watch_class
from tutorial_lib.classroom.host import Classroom
from tutorial_lib.classroom.server import LOOPBACK
from tutorial_lib.space import SpaceClosed

__all__ = ["BoardPage"]

LARGEST_ORDER: Final = 1000  # bytes
TIME_TO_SAY_GOODBYE: Final = 1.0  # seconds for the last picture on its way to the browsers

STYLE_DIGEST: Final = b64encode(sha256(BOARD_STYLE.encode("utf-8")).digest()).decode("ascii")
POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{STYLE_DIGEST}'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class BoardPage:
    """The board of ``room`` as a page for a browser on this machine, while the block lasts.

    ``port`` 0 means a free one; a port that is taken raises `OSError`. ``url`` is the address, with its
    secret. At the end the page says that the class is over. If the server of the class does not answer for
    half a minute, the class is asked to end, and leaving the block raises `ConnectionError`.

    >>> from tutorial_lib.manager import connect
    >>> async def main():
    ...     room = Classroom(connect("memory://"), "redis://...")
    ...     async with BoardPage(room) as page:
    ...         return page.url.split(":")[:2]
    >>> asyncio.run(main())
    ['http', '//127.0.0.1']
    """

    def __init__(self, room: Classroom, port: int = 0) -> None:
        self.url = ""
        """The address of the page, known inside the block."""
        self._room = room
        self._port = port
        self._frame = class_frame(ClassState(room.join_line), 0.0)
        self._message = ""
        self._bells: set[asyncio.Event] = set()  # one for each browser; it rings when there is a new picture

    def __repr__(self) -> str:
        return f"<BoardPage on port {self._port}, {len(self._bells)} browsers>"

    async def __aenter__(self) -> BoardPage:
        sockets = bind_sockets(self._port, LOOPBACK)
        self._port = sockets[0].getsockname()[1]
        self.url = f"http://{LOOPBACK}:{self._port}/{secrets.token_urlsafe(16)}/"
        self._server = HTTPServer(self._application(), max_body_size=LARGEST_ORDER)
        self._server.add_sockets(sockets)
        self._task = asyncio.create_task(self._follow(), name="board page")
        return self

    async def __aexit__(self, *error: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        self._server.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(TIME_TO_SAY_GOODBYE):
                while self._bells:
                    await asyncio.sleep(0.02)
        await self._server.close_all_connections()
        if not self._task.cancelled():
            self._task.result()  # raises what has ended the board too early

    def _application(self) -> Application:
        secret = self.url.split("/")[3]
        shared = {"page": self}
        return Application(
            [
                (f"/{secret}/", _PageHandler, shared),
                (f"/{secret}/(board\\.css|board\\.js)", _FileHandler, shared),
                (f"/{secret}/pictures", _PicturesHandler, shared),
                (f"/{secret}/({'|'.join(BUTTONS)})", _ButtonHandler, shared),
            ],
            log_function=lambda handler: None,  # the terminal belongs to the teacher
        )

    # ------------------------------------------------------------------------------------------------
    # Pictures

    async def _follow(self) -> None:
        try:
            await watch_class(self._room.manager, self._room.join_line, self._show)
        except SpaceClosed:
            pass  # the connection is closed, and the class with it
        except ConnectionError:
            self._room.end()  # its server is gone; whoever waits for the end learns why when the block ends
            raise
        finally:
            self._show(replace(self._frame, is_over=True))

    def _show(self, frame: ClassFrame) -> None:
        """Let all browsers show a frame, unless it looks like the one before."""
        self._frame = frame
        content = {"picture": class_svg(frame), "latest": latest_words(frame), "isOver": frame.is_over}
        message = json.dumps(content)
        if message != self._message:
            self._message = message
            for bell in self._bells:
                bell.set()

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Give a browser the bell that rings at each new picture; it rings at once for the first."""
        bell = asyncio.Event()
        self._bells.add(bell)
        if self._message:
            bell.set()
        try:
            yield bell
        finally:
            self._bells.discard(bell)

    @property
    def message(self) -> str:
        """The latest picture, with its words, as JSON."""
        return self._message

    @property
    def is_over(self) -> bool:
        """Whether there will be no other picture."""
        return self._frame.is_over

    # ------------------------------------------------------------------------------------------------
    # Orders

    @property
    def hosts(self) -> tuple[str, str]:
        """The names under which a browser may ask for the page."""
        return f"{LOOPBACK}:{self._port}", f"localhost:{self._port}"

    async def press(self, button: str, job: str) -> str:
        """Do what a button says, and return in words what was done."""
        return await press(self._room, button, job)


class _Handler(RequestHandler):
    """What all answers have in common."""

    def initialize(self, page: BoardPage) -> None:
        """Keep the page that this is about. Called by tornado, as are the methods below."""
        self.page = page

    def set_default_headers(self) -> None:
        """Set the headers that keep strangers out."""
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Refuse a request that was sent to another name and led here."""
        if self.request.host not in self.page.hosts:
            raise HTTPError(403)


class _PageHandler(_Handler):
    """The page itself."""

    def get(self) -> None:
        """Send the page, with the jobs that can be chosen."""
        choices = job_choices().items()
        options = "".join(
            f'<option value="{escape(name)}">{escape(words)}</option>' for name, words in choices
        )
        self.write(_file("board.html").replace("<!-- jobs -->", options))


class _FileHandler(_Handler):
    """Its style and its program."""

    def get(self, name: str) -> None:
        """Send one of the two files."""
        self.set_header("Content-Type", "text/css" if name.endswith("css") else "text/javascript")
        self.write(_file(name))


class _PicturesHandler(_Handler):
    """The pictures, one after the other, as server-sent events."""

    async def get(self) -> None:
        """Send each new picture, until the class is over or the browser goes away."""
        self.set_header("Content-Type", "text/event-stream")
        with self.page.listening() as self._bell, suppress(StreamClosedError):
            await self.flush()
            is_over = False
            while not is_over:
                await self._bell.wait()
                self._bell.clear()
                is_over = self.page.is_over
                self.write(f"data: {self.page.message}\n\n")
                await self.flush()  # a slow browser gets fewer pictures, and never an old one

    def on_connection_close(self) -> None:
        """Wake the sending, which then ends."""
        self._bell.set()


class _ButtonHandler(_Handler):
    """The buttons."""

    async def post(self, button: str) -> None:
        """Do what the button says, if it was pressed on this very page."""
        origins = [f"http://{host}" for host in self.page.hosts]
        is_json = self.request.headers.get("Content-Type") == "application/json"
        if self.request.headers.get("Origin") not in origins or not is_json:
            raise HTTPError(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        try:
            order = json.loads(self.request.body)
            self.write(await self.page.press(button, str(order["job"])))
        except (ValueError, TypeError, KeyError, OSError, SpaceClosed) as error:
            self.set_status(400)
            self.write(str(error))


def _file(name: str) -> str:
    return (files(__package__) / "web" / name).read_text(encoding="utf-8")
