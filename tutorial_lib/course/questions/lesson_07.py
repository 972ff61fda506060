"""What lesson 07, errors, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "07-share": Outcome("66 of 100", "a mail fails only if all three tries fail: 0.7 × 0.7 × 0.7 is 0.34."),
    "07-cancel": Outcome(
        "the answer, after more than a second",
        "the rule took the cancellation for one more error, and tried again.",
    ),
    "07-coroutine": Outcome("never", "a call of an async def returns a coroutine, and that always works."),
}

QUESTIONS: Final = {
    "07-open": Question(
        "A retry around a breaker gets BreakerOpen. Should it try again?",
        (
            Option(
                "No",
                "Right: nothing changes before the time is over, and waiting is what the breaker saves.",
                right=True,
            ),
            Option("Yes, with growing waits", "Then each caller waits for what cannot come."),
            Option("Yes, at once", "Then all tries are used up on a closed door."),
        ),
    ),
    "07-processes": Question(
        "Four processes have a breaker each, which opens after five failures. How many calls may reach a "
        "server that is down, before all four are open?",
        (
            Option("5", "Only if they share the state of the breaker."),
            Option("20", "Yes. The state is in the memory of each process.", right=True),
            Option("4", "One failure opens none of them."),
        ),
    ),
    "07-counter": Question(
        "A counter stands at 900 in one picture and at 40 in the next. How many events lie in between, as "
        "far as one can know?",
        (
            Option("-860", "A counter never goes down by itself."),
            Option("0", "40 were counted since the new start."),
            Option("40", "Yes. The process was started again, and its counter began at zero.", right=True),
        ),
    ),
}
