"""What may be written into the gaps of lesson 01."""

from __future__ import annotations

from fillings import Tried

TRIED = {
    "01-cubes": Tried(
        right=[
            ("ANY", "ANY", "number"),
            ("number**3", 'where(lambda n: n > 0, "over 0")', "number"),
        ],
        wrong={
            ("number", "int", "number"): "Gap 1: the answer ('answer', 2, 8) lies on the board",
            ("str", "int", "number"): "Gap 1: the answer ('answer', 2, 8) lies on the board",
            ("int", "2", "number"): "Gap 2: solver did not take the question ('cube', 3)",
            ("int", '"int"', "number"): "Gap 2: solver did not take the question ('cube', 2)",
            ("int", "int", "_"): "Gap 3: the first answer carries 'cube' (str) as its number",
            ("int", "int", "number**3"): "Gap 3: the first answer carries 8 (int) as its number",
            ("int", "int", "float(number)"): "Gap 3: the first answer carries 2.0 (float) as its number",
            ("int", "int", "ANY"): "Field 2 of ('answer', ANY, 8) is a pattern",
        },
    ),
}
