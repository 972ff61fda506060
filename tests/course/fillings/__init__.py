"""Fillings of the programs with gaps: ``lesson_NN.py`` has ``TRIED``, which maps an id to a `Tried`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Tried(NamedTuple):
    """What learners may write into the gaps of one program: the code for each gap, in order."""

    right: Sequence[tuple[str, ...]]
    """Fillings besides the worked solution that are right as well."""
    wrong: Mapping[tuple[str, ...], str]
    """Fillings that are wrong, each with a part of the message that it must get and no other one gets."""
