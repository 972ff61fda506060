"""Claim: a tuple that is lent, not given.

Who claims a task gets it for the length of a lease. The tuple is out of sight for everybody else, and comes
back to its old place when the holder gives it back, fails, or lets the lease run out. So a crash costs
time, but no work. Who is late is refused: a lease that ran out cannot be completed any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tutorial_lib.patterns import Pattern, shown
from tutorial_lib.store import copied

if TYPE_CHECKING:
    from tutorial_lib.space import TupleSpace

__all__ = ["REFUSED", "Claim", "ClaimEntry", "StaleClaim"]

REFUSED: Final = "refused"
"""The text of the note that the trace gets when somebody would finish a task after losing it."""


class StaleClaim(Exception):
    """The lease is over, or the claim was ended before: the tuple is no longer the caller's."""


class Claim:
    """A claimed tuple. Made by ``async with space.claim(...) as claim``.

    ============  ===========================================================================
    ``fields``    the tuple
    ``attempt``   1 for the first delivery, one more after each that ended by an error, by
                  `release` or by a lapsed lease; a delivery ended by cancellation does not count
    ``token``     a number that rises with every delivery of the space
    ``deadline``  the moment on the loop's clock, in seconds, at which the lease is over
    ``holder``    the actor that claimed it
    ============  ===========================================================================
    """

    def __init__(
        self,
        space: TupleSpace,
        seq: int,
        fields: tuple[Any, ...],
        attempt: int,
        token: int,
        deadline: float,
        holder: str,
    ) -> None:
        self._space = space
        self._seq = seq
        self._original = fields
        self.fields = copied(fields)  # a list that the holder changes must not come back changed
        self.attempt = attempt
        self.token = token
        self.deadline = deadline
        self.holder = holder
        self._ended = ""  # how it ended: "complete", "bury", "release", "lapse", "remove"
        self._was_told = False  # whether the holder has learned that it was too late

    def __repr__(self) -> str:
        return f"<Claim {shown(self.fields)} by {self.holder}, attempt {self.attempt}>"

    async def renew(self, lease: float) -> None:
        """Hold the tuple for ``lease`` seconds from now. Raises `StaleClaim` if the lease is over already.

        A lease is never renewed by itself: a holder that hangs must lose it.
        """
        await self._space._renew(self, lease)

    async def complete(self, *result: Any, to: TupleSpace | None = None) -> None:
        """Remove the tuple for good and write ``result`` as one step. Without a result, only remove it.

        ``to`` is the space for the result, by default the one that the tuple came from; it must belong to
        the same event loop, else `ValueError`. If ``to`` is full, this waits for room while the lease
        lasts. Raises `StaleClaim` if the lease is over, and `SpaceClosed` if ``to`` is closed; the claim
        then stays open.
        """
        await self._space._complete(self, "complete", result, to, {})

    async def release(self) -> None:
        """Give the tuple back to its old place. Counts as a failed attempt.

        Raises `StaleClaim` if the lease is over.
        """
        await self._space._release(self)

    async def bury(self, to: TupleSpace, reason: Any) -> None:
        """Move the tuple, with ``reason`` as one more field, to the space ``to`` for dead letters.

        Raises what `complete` raises.
        """
        if to is None:  # elsewhere that is the space of the claim, where the next worker would find it
            raise ValueError("bury() needs the space for dead letters, got None. Write bury(dead, reason).")
        await self._space._complete(self, "bury", (*self._original, reason), to, {"reason": reason})

    def _refusal(self, what: str) -> StaleClaim:
        """Return the error for a holder that is too late to do ``what``, and note that it was told."""
        why = {
            "lapse": f"its lease was over at {self.deadline:.6g} s",
            "complete": "it is completed already",
            "release": "it was given back already",
            "bury": "it is buried already",
            "remove": "its space was removed",
        }[self._ended]
        self._was_told = True
        return StaleClaim(
            f"{self.holder} cannot {what} {shown(self.fields)}: {why}. Nothing was changed. "
            "Claim again for the next tuple. If the work takes longer, use a longer lease or renew it."
        )


class ClaimEntry:
    """What ``space.claim(...)`` returns: entered by ``async with``, it waits for a tuple and claims it."""

    def __init__(self, space: TupleSpace, pattern: Pattern, lease: float, timeout: float | None) -> None:
        self._space = space
        self._pattern = pattern
        self._lease = lease
        self._timeout = timeout
        self._claim: Claim | None = None
        self._was_entered = False  # told at once, since a second task may come while the first one waits

    async def __aenter__(self) -> Claim:
        if self._was_entered:
            raise RuntimeError(
                "This claim was entered before. Write space.claim(...) again for the next tuple."
            )
        self._was_entered = True
        self._claim = await self._space._enter_claim(self._pattern, self._lease, self._timeout)
        return self._claim

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        assert self._claim is not None
        await self._space._leave_claim(self._claim, error)
