"""Loads: how evenly the work is spread over the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Load", "LoadFrame", "fairness", "loads_of"]


class Load(NamedTuple):
    """How much one worker has done."""

    name: str
    amount: int
    failed: int
    busy: float
    """The share of the time so far that it worked; 0 where nobody used ``work``."""
    state: str


@dataclass(frozen=True)
class LoadFrame:
    """How the work is spread over the workers."""

    unit: str
    """What is counted: "tasks done" or "tuples taken"."""
    loads: list[Load]
    total: int
    fair_share: float
    fairness: float | None
    """1 is perfectly even, one nth means that one of n did it all. None while nothing is done."""


def loads_of(unit: str, loads: list[Load]) -> LoadFrame:
    """Sum up the loads of all workers."""
    amounts = [load.amount for load in loads]
    total = sum(amounts)
    return LoadFrame(unit, loads, total, total / len(loads) if loads else 0.0, fairness(amounts))


def fairness(amounts: list[int]) -> float | None:
    """Return Jain's index of fairness: 1 if all amounts are equal, 1/n if one of n has everything.

    None if nothing is done yet. Source: R. Jain, D.-M. Chiu and W. Hawe, A quantitative measure of fairness
    and discrimination for resource allocation in shared computer systems, DEC research report TR-301, 1984.

    >>> fairness([10, 10, 10, 10]), fairness([40, 0, 0, 0]), fairness([0, 0])
    (1.0, 0.25, None)
    """
    squares = sum(amount * amount for amount in amounts)
    return sum(amounts) ** 2 / (len(amounts) * squares) if squares else None
