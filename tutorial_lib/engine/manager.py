"""EngineManager: named spaces in a Redis or Valkey server."""

from __future__ import annotations

from tutorial_lib.engine.connection import Connection
from tutorial_lib.engine.space import EngineSpace
from tutorial_lib.manager import SpaceManager

__all__ = ["EngineManager"]


class EngineManager(SpaceManager):
    """The spaces of one server, or of one numbered database of it. Made with ``connect("redis://host/0")``.

    Whoever connects to the same address and asks for the same name has the same space. Nothing is opened
    before the first operation. An async context manager that ends the connection; the spaces stay.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._link = Connection(url)

    def __repr__(self) -> str:
        return (
            f"<EngineManager at {self._link}, {len(self._spaces)} spaces{', closed' if self._closed else ''}>"
        )

    def _new_space(self, name: str, capacity: int | None) -> EngineSpace:
        return EngineSpace(name, capacity=capacity, link=self._link)

    async def remove(self, name: str) -> None:
        """As `SpaceManager.remove`, for everybody who uses the space, whether it was used here or not.

        A watch ends without those events that it had not fetched yet. An object that stands for the space
        still works, here and elsewhere, and is about the new space of that name.
        """
        self._spaces.pop(name, None)
        await self._new_space(name, None)._remove_for_all()

    async def close(self) -> None:
        """End the connection: whoever waits here gets `SpaceClosed`. Closing twice does nothing more.

        The spaces and what is in them stay on the server, since others use them.
        """
        self._closed = True
        await self._link.close()
