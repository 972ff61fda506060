"""What may be written into the gaps of lesson 03."""

from __future__ import annotations

from fillings import Tried

TRIED = {
    "03-hand-on": Tried(
        right=[
            ('"queued"', '"running"', "got"),
            ('where(lambda state: state == "queued", "free")', '"running"', "got != None"),
        ],
        wrong={
            ('"running"', '"queued"', "got"): "Gap 1: replace found nothing",
            ("ANY", '"running"', "got"): "Gap 1: both workers got task 7",
            ('"queued"', '"queued"', "got"): 'Gap 2: the task was still "queued"',
            ('"queued"', '"completed"', "got"): "Gap 2: the task was 'completed' as soon as",
            ('"queued"', '"running"', "True"): "Gap 3: a worker did task 7 although",
            ('"queued"', '"running"', "got is None"): "Gap 3: a worker did task 7 although",
            ('"queued"', '"running"', "name == 'w1'"): "Gap 3: a worker did task 7 although",
            ('"queued"', '"running"', "False"): "Gap 3: w1 got task 7, and nobody did it",
        },
    ),
}
