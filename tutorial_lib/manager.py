"""Manager: the named spaces that belong together."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tutorial_lib.patterns import shown
from tutorial_lib.space import SpaceClosed, TupleSpace

__all__ = ["SpaceManager", "connect"]

SERVERS: Final = ("redis://", "rediss://", "valkey://", "valkeys://", "unix://")


def connect(url: str = "memory://") -> SpaceManager:
    """Return a manager of named spaces. Not awaited: nothing is opened before the first use.

    ``memory://`` keeps the spaces in this process; each call gives a new, empty manager.
    ``redis://localhost:6379/0``, and likewise ``rediss://`` (encrypted), ``valkey://`` and ``unix://``, keeps
    them in a server for many programs: see `tutorial_lib.engine`. Raises `ValueError` for an address of
    another kind, and `ModuleNotFoundError`, saying what to install, if the server's packages are missing.

    >>> import asyncio
    >>> async def main():
    ...     async with connect("memory://") as manager:
    ...         tasks = manager.space("tasks")
    ...         await tasks.write("task", 1)
    ...         return tasks is manager.space("tasks"), await tasks.count()
    >>> asyncio.run(main())
    (True, 1)
    """
    if not isinstance(url, str):
        raise TypeError(f"connect() needs an address as text, got {shown(url)}. Write connect('memory://').")
    if url.startswith(SERVERS):
        # by name and only when asked for, since the core needs the standard library alone
        manager: SpaceManager = import_module("tutorial_lib.engine.manager").EngineManager(url)
        return manager
    if url != "memory://":
        raise ValueError(
            f"connect() does not know the address {shown(url)}. Write connect('memory://'), or "
            "connect('redis://localhost:6379/0') for a server."
        )
    return SpaceManager()


class SpaceManager:
    """Named spaces in this process. Made with `connect`; an async context manager that closes them all."""

    def __init__(self) -> None:
        self._spaces: dict[str, TupleSpace] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<SpaceManager, {len(self._spaces)} spaces{', closed' if self._closed else ''}>"

    async def __aenter__(self) -> SpaceManager:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def space(self, name: str = "space", capacity: int | None = None) -> TupleSpace:
        """Return the space of this name, made on first use. The same name is the same space.

        ``capacity`` bounds the number of tuples (None: no bound). Raises `ValueError` if the space exists
        with another capacity, and `SpaceClosed` after `close`.
        """
        if self._closed:
            raise SpaceClosed(
                f"The manager is closed, so it has no space {shown(name)}. Call connect() for a new one."
            )
        if name not in self._spaces:
            self._spaces[name] = self._new_space(name, capacity)
        space = self._spaces[name]
        if space.capacity != capacity:
            raise ValueError(
                f"Space {shown(name)} exists with capacity {space.capacity}, asked was {capacity}. "
                "Ask for the same capacity, or choose another name."
            )
        return space

    def spaces(self) -> list[TupleSpace]:
        """Return the spaces that have been asked for so far, in the order in which they were.

        >>> manager = connect("memory://")
        >>> tasks, results = manager.space("tasks"), manager.space("results")
        >>> [space.name for space in manager.spaces()]
        ['tasks', 'results']
        """
        return list(self._spaces.values())

    async def remove(self, name: str) -> None:
        """Close the space of this name and forget it, with everything in it.

        Whoever waits there gets `SpaceClosed`, whoever holds a claim `StaleClaim`, and watches end. The same
        name gives a new, empty space afterwards. If there is no space of this name, nothing happens.

        >>> import asyncio
        >>> async def main():
        ...     async with connect("memory://") as manager:
        ...         await manager.space("round 1").write("task", 1)
        ...         await manager.remove("round 1")
        ...         return await manager.space("round 1").count()
        >>> asyncio.run(main())
        0
        """
        space = self._spaces.pop(name, None)
        if space is not None:
            await space.close()
            space._empty()

    def _new_space(self, name: str, capacity: int | None) -> TupleSpace:
        return TupleSpace(name, capacity=capacity)

    async def close(self) -> None:
        """Close all spaces of this manager. Closing twice does nothing more."""
        self._closed = True
        for space in self._spaces.values():
            await space.close()
