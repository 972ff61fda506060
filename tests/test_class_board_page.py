"""The board of a class as a page: what it sends, what its buttons do, and who is kept out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPResponse

from tutorial_lib import connect
from tutorial_lib.classroom.host import Classroom
from tutorial_lib.classroom.jobs import JOBS
from tutorial_lib.classroom.page import BoardPage

PATIENCE = 120.0  # seconds after which a test that hangs fails


class Visitor:
    """A program that asks for the page, as a browser does or as an intruder."""

    def __init__(self, page: BoardPage) -> None:
        self.page = page
        self.site = f"http://{urlsplit(page.url).netloc}"
        self._client = AsyncHTTPClient(force_instance=True)

    async def get(self, path: str = "", *, host: str | None = None) -> HTTPResponse:
        """Ask for something. Without ``host`` it names the host that stands in the address."""
        headers = {} if host is None else {"Host": host}
        return await self._client.fetch(self.page.url + path, headers=headers, raise_error=False)

    async def press(
        self,
        button: str,
        job: Any = "",
        *,
        origin: str | None = None,
        kind: str = "application/json",
        url: str | None = None,
        filler: str = "",
    ) -> HTTPResponse:
        """Press a button. Without ``origin`` it does so on the page itself."""
        headers = {"Origin": self.site if origin is None else origin, "Content-Type": kind}
        return await self._client.fetch(
            (url or self.page.url) + button,
            method="POST",
            headers=headers,
            body=json.dumps({"job": job}) + filler,
            raise_error=False,
        )

    def pictures(self) -> asyncio.Queue[dict[str, Any]]:
        """Listen to the pictures, from now on."""
        found: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        rest = ""

        def receive(chunk: bytes) -> None:
            nonlocal rest
            *messages, rest = (rest + chunk.decode("utf-8")).split("\n\n")
            for message in messages:
                found.put_nowait(json.loads(message.removeprefix("data: ")))

        # kept by the client until it is answered
        self._client.fetch(self.page.url + "pictures", streaming_callback=receive, request_timeout=0)
        return found


Scene = Callable[[Visitor, Classroom], Awaitable[Any]]


def visited(scene: Scene) -> Any:
    """Play a scene with a page of an empty class, and return what it returns."""

    async def main() -> Any:
        async with asyncio.timeout(PATIENCE), connect("memory://") as manager:
            room = Classroom(manager, "redis://student:secret@127.0.0.1:6379/0")
            await room.open()
            async with BoardPage(room) as page:
                return await scene(Visitor(page), room)

    return asyncio.run(main())


async def picture_with(pictures: asyncio.Queue[dict[str, Any]], text: str) -> dict[str, Any]:
    """Wait for a picture in which ``text`` stands."""
    while text not in (picture := await pictures.get())["picture"]:
        pass
    return picture


# ---------------------------------------------------------------------------------------------------
# What it shows


def test_the_page_needs_nothing_from_elsewhere() -> None:
    """It names no other address, so it works without internet."""

    async def scene(visitor: Visitor, room: Classroom) -> list[str]:
        answers = [await visitor.get(path) for path in ("", "board.css", "board.js")]
        assert [answer.code for answer in answers] == [200, 200, 200]
        return [answer.body.decode("utf-8") for answer in answers]

    for text in visited(scene):
        assert "http:" not in text
        assert "https:" not in text
        assert "//cdn" not in text


def test_every_job_can_be_chosen() -> None:
    """In words, with the number of its tasks."""

    async def scene(visitor: Visitor, room: Classroom) -> str:
        return (await visitor.get()).body.decode("utf-8")

    page = visited(scene)
    for name, job in JOBS.items():
        assert f'<option value="{name}">{job.text} ({len(job.samples)} tasks)</option>' in page


def test_pictures_come_as_things_happen() -> None:
    """The first at once, the others when something has changed."""

    async def scene(visitor: Visitor, room: Classroom) -> str:
        pictures = visitor.pictures()
        assert "Nobody has joined yet." in (await pictures.get())["picture"]
        await room.manager.space("class").write("machine", "anna", 8, "Linux", ttl=60)
        return (await picture_with(pictures, "8 cores, Linux"))["latest"]

    assert visited(scene) == "anna joined: 8 cores, Linux"


def test_no_picture_is_sent_twice() -> None:
    """While nothing changes nothing is sent: of an empty class there are two pictures, before and after."""

    async def scene(visitor: Visitor, room: Classroom) -> list[int]:
        pictures = visitor.pictures()
        await picture_with(pictures, "Round 1")
        await asyncio.sleep(1)  # five more frames
        await room.hand_out("nap", [(1.0,)])
        await picture_with(pictures, "0 of 1 tasks done")
        await asyncio.sleep(1)
        return [pictures.qsize()]

    assert visited(scene) == [0]


def test_several_browsers_see_the_same() -> None:
    """Also one that comes later."""

    async def scene(visitor: Visitor, room: Classroom) -> bool:
        first = visitor.pictures()
        await picture_with(first, "Round 1")
        await room.hand_out("nap", [(1.0,)])
        second = visitor.pictures()
        return await picture_with(first, "1 waiting") == await picture_with(second, "1 waiting")

    assert visited(scene)


def test_the_page_learns_that_the_class_is_over() -> None:
    """By the last picture, after which no other comes."""

    async def main() -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE), connect("memory://") as manager:
            room = Classroom(manager, "redis://student:secret@127.0.0.1:6379/0")
            await room.open()
            async with BoardPage(room) as page:
                pictures = Visitor(page).pictures()
                await pictures.get()
            while not (picture := await pictures.get())["isOver"]:
                pass
            return picture

    assert asyncio.run(main())["latest"] == "the class is over"


# ---------------------------------------------------------------------------------------------------
# What the buttons do


def test_a_button_hands_out_the_ready_made_tasks_of_a_job() -> None:
    """All of them, and it says how many."""

    async def scene(visitor: Visitor, room: Classroom) -> tuple[str, int]:
        answer = await visitor.press("hand_out", "count_primes")
        return answer.body.decode("utf-8"), await room.manager.space("tasks 1").count()

    expected = len(JOBS["count_primes"].samples)
    assert visited(scene) == (f"{expected} tasks are handed out.", expected)


def test_a_button_begins_the_next_round() -> None:
    """With its number."""

    async def scene(visitor: Visitor, room: Classroom) -> tuple[str, Any]:
        answer = await visitor.press("reset")
        return answer.body.decode("utf-8"), await room.manager.space("class").try_read("round", int)

    assert visited(scene) == ("Round 2 begins.", ("round", 2))


def test_a_button_ends_the_class() -> None:
    """Whoever holds the class is told."""

    async def scene(visitor: Visitor, room: Classroom) -> bool:
        await visitor.press("end")
        await room.over.wait()
        return True

    assert visited(scene)


@pytest.mark.parametrize("job", ["format_disk", "", 7, None, {"a": []}])
def test_what_is_no_job_is_refused_in_words(job: Any) -> None:
    """And nothing is handed out."""

    async def scene(visitor: Visitor, room: Classroom) -> tuple[int, str, int]:
        answer = await visitor.press("hand_out", job)
        return answer.code, answer.body.decode("utf-8"), await room.manager.space("tasks 1").count()

    code, words, count = visited(scene)
    assert (code, count) == (400, 0)
    assert words.startswith("There is no job")


# ---------------------------------------------------------------------------------------------------
# Who is kept out


def test_without_the_secret_there_is_nothing() -> None:
    """Neither the page, nor its pictures, nor its buttons; and the secret is another one each time."""

    async def scene(visitor: Visitor, room: Classroom) -> tuple[list[int], str]:
        client = AsyncHTTPClient()
        paths = ("/", "/board.js", "/pictures", "/guess/", "/guess/pictures")
        answers = [await client.fetch(visitor.site + path, raise_error=False) for path in paths]
        pressed = await visitor.press("end", url=f"{visitor.site}/guess/")
        assert not room.over.is_set()
        return [answer.code for answer in (*answers, pressed)], urlsplit(visitor.page.url).path

    first, second = visited(scene), visited(scene)
    assert set(first[0]) == {404}
    assert first[1] != second[1]
    assert len(first[1]) > 20


@pytest.mark.parametrize(
    "origin", ["", "null", "http://evil.example", "http://127.0.0.1", "https://127.0.0.1"]
)
def test_an_order_of_another_page_is_refused(origin: str) -> None:
    """Also of one on this machine: another port is another origin."""

    async def scene(visitor: Visitor, room: Classroom) -> tuple[int, bool]:
        return (await visitor.press("end", origin=origin)).code, room.over.is_set()

    assert visited(scene) == (403, False)


def test_an_order_by_a_form_of_another_page_is_refused() -> None:
    """A form cannot send JSON without the browser asking us first."""

    async def scene(visitor: Visitor, room: Classroom) -> tuple[int, bool]:
        return (await visitor.press("end", kind="text/plain")).code, room.over.is_set()

    assert visited(scene) == (403, False)


def test_a_name_that_was_redirected_to_this_machine_is_refused() -> None:
    """The browser then names the foreign host, with our port or without."""

    async def scene(visitor: Visitor, room: Classroom) -> list[int]:
        port = urlsplit(visitor.page.url).port
        hosts = (f"evil.example:{port}", "evil.example", "127.0.0.1", f"localhost:{port}")
        return [(await visitor.get(host=host)).code for host in hosts]

    assert visited(scene) == [403, 403, 403, 200]


def test_the_page_is_bound_to_the_loopback_address() -> None:
    """Nobody else in the network can even connect."""

    async def scene(visitor: Visitor, room: Classroom) -> list[str]:
        sockets = visitor.page._server._sockets.values()
        return [socket.getsockname()[0] for socket in sockets]

    assert visited(scene) == ["127.0.0.1"]


def test_the_policy_lets_no_other_script_in() -> None:
    """No inline script, no eval, no other site, and no page around it."""

    async def scene(visitor: Visitor, room: Classroom) -> list[HTTPResponse]:
        return [await visitor.get(path) for path in ("", "board.js", "board.css")]

    for answer in visited(scene):
        policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in policy["style-src"]
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_a_huge_order_is_refused() -> None:
    """Before it is read."""

    async def scene(visitor: Visitor, room: Classroom) -> tuple[int, int]:
        answer = await visitor.press("hand_out", "nap", filler=" " * 100_000)
        return answer.code, await room.manager.space("tasks 1").count()

    code, count = visited(scene)
    assert code >= 400
    assert count == 0


# ---------------------------------------------------------------------------------------------------
# How it ends


def test_nothing_is_left_of_a_page() -> None:
    """No task, no watch and no open port, also with a browser that never goes away."""

    async def main() -> tuple[int, int]:
        async with asyncio.timeout(PATIENCE), connect("memory://") as manager:
            room = Classroom(manager, "redis://student:secret@127.0.0.1:6379/0")
            await room.open()
            async with BoardPage(room) as page:
                port = urlsplit(page.url).port
                _, browser = await asyncio.open_connection("127.0.0.1", port)
                path = urlsplit(page.url).path
                browser.write(f"GET {path}pictures HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                await browser.drain()
                while not page._bells:
                    await asyncio.sleep(0.01)
            browser.close()
            with pytest.raises(ConnectionError):
                await asyncio.open_connection("127.0.0.1", port)
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)
            return len(asyncio.all_tasks()), len(manager.space("class")._watches)

    assert asyncio.run(main()) == (1, 0)


def test_a_port_that_is_taken_is_told() -> None:
    """At once, by the error of the system."""

    async def scene(visitor: Visitor, room: Classroom) -> None:
        async with BoardPage(room, port=urlsplit(visitor.page.url).port or 0):
            pass

    with pytest.raises(OSError, match="in use"):
        visited(scene)


def test_a_fault_of_the_board_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is raised at the end of the block."""

    async def scene(visitor: Visitor, room: Classroom) -> None:
        def broken(frame: object) -> None:
            raise KeyError("broken")

        monkeypatch.setattr("tutorial_lib.classroom.page.class_svg", broken)
        await asyncio.sleep(0.5)

    with pytest.raises(KeyError, match="broken"):
        visited(scene)
