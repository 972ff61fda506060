"""What lesson 09, many machines, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "09-tasks": Outcome(
        "just as long", "a task that calculates awaits nothing, so the two run one after the other."
    ),
    "09-killed": Outcome(
        "it is lost", "take had given it away, and who had it is dead. A claim would have come back."
    ),
}

QUESTIONS: Final = {
    "09-cores": Question(
        "Your computer has two cores. What do you gain from eight worker processes that only calculate?",
        (
            Option("They are eight times as fast", "Only two of them calculate at any moment."),
            Option(
                "They are about twice as fast",
                "Yes. With more computers it would go on.",
                right=True,
            ),
            Option("Nothing, because of the GIL", "Each process has a GIL of its own; threads share one."),
        ),
    ),
    "09-clock": Question(
        "A heartbeat carries the moment at which it was sent, and the monitor is on another computer. "
        "What is wrong with subtracting?",
        (
            Option("The message takes time", "True, but that is a little. Something may be off by a day."),
            Option("The two clocks have nothing in common", "Yes. Let one clock judge: a ttl.", right=True),
            Option("Nothing, if both use loop.time()", "loop.time() begins somewhere else on each computer."),
        ),
    ),
    "09-shards": Question(
        "Why can a cluster not complete a claim and write the result as one step, whatever the tuples are?",
        (
            Option("Networks are too slow for it", "Speed is not the point: late is not broken."),
            Option("Redis has no transactions", "It has them, and scripts, each on one shard."),
            Option(
                "The two may be on different shards",
                "Yes. With the same first field they are together, and then it can.",
                right=True,
            ),
        ),
    ),
}
