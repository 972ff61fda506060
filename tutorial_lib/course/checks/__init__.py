"""One module for each exercise: what is asked, its hints, and the judge of its answers."""

from __future__ import annotations
