"""What may be written into the gaps of lesson 04."""

from __future__ import annotations

from fillings import Tried

EVERYBODY = '["w1", "w2", "w3", "w4"]'

TRIED = {
    "04-ward": Tried(
        right=[
            ("1.5", "1.5", EVERYBODY),
            ("6 / 5", "2", '["w4"]'),
            ("1", "0.5", '("w4",)'),
        ],
        wrong={
            ("7", "1", EVERYBODY): "Gap 1: at 6 s w1 was declared dead, and it was well.",
            ("60", "1", EVERYBODY): "Gap 1: at 6 s w1 was declared dead, and it was well.",
            ("3", "3", EVERYBODY): "Gap 1: the beats are 3 s apart. If one is lost,",
            ("6", "1", EVERYBODY): "Gap 1: the beats are 6 s apart. If one is lost,",
            ("0.1", "1", EVERYBODY): "Gap 1: 60 beats fit into one timeout.",
            ("0.000001", "1", EVERYBODY): "Gaps 1 and 2: this had to be stopped long before",
            ("2", "100", EVERYBODY): "Gap 2: w2 has been silent since 21 s, and nobody knows at 40 s.",
            ("2", "4", EVERYBODY): "Gap 2: w4 was declared dead after 8 s of silence.",
            ("2", "2", "[]"): "Gap 3: nobody has missed w4.",
            ("2", "2", '["w1", "w2", "w3"]'): "Gap 3: nobody has missed w4.",
            ("2", "2", '"w4"'): "it raised TypeError: expect is a list of names, got the text 'w4'.",
        },
    ),
}
