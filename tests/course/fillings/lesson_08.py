"""What may be written into the gaps of lesson 08."""

from __future__ import annotations

from fillings import Tried

UNPAID = 'not await book.try_read("paid", bill)'
PAID = 'await book.try_read("paid", bill)'

TRIED = {
    "08-queue": Tried(
        right=[
            ("6", 'await book.try_read("paid", bill) is None', "claim.fields[1]"),
            ("10", 'await book.count("paid", bill) == 0', "bill"),
        ],
        wrong={
            ("1", UNPAID, "bill"): "it raised StaleClaim",
            ("90", UNPAID, "bill"): "Gap 1: at 60 s the task of the rent is still on loan",
            ("5", "False", "bill"): "Gap 2: the task of the rent was confirmed at",
            ("5", PAID, "bill"): "Gap 2: the task of the rent was confirmed at",
            ("5", "claim.attempt == 1", "bill"): "Gap 2: the task of the water was confirmed at",
            ("5", "True", "bill"): "Gaps 2 and 3: the rent was paid at 2 s and again at",
            ("5", UNPAID, "name"): "Gaps 2 and 3: the rent was paid at 2 s and again at",
        },
    ),
}
