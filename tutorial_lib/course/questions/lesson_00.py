"""What lesson 00, start here, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "00-pause": Outcome(
        "anna 1, anna 2, anna 3, bert 1, bert 2, bert 3",
        "an await on something that never waits is no pause, so Anna is never interrupted.",
    ),
}

QUESTIONS: Final = {
    "00-coroutine": Question(
        "You write make_tea() without await. What happens?",
        (
            Option("The tea is made later", "Nobody will start it. Only await or a task runs a coroutine."),
            Option("Nothing: it is prepared, but not run", "Yes. Calling prepares, await runs.", right=True),
            Option("An error", "Not at once. Python warns later, when the coroutine is thrown away."),
        ),
    ),
    "00-unseen": Question(
        "A task fails, and nobody awaits it. Who learns of the error?",
        (
            Option("Nobody, at that moment", "Yes. A task group would have told its owner.", right=True),
            Option("The event loop stops the program", "The loop goes on as if nothing had happened."),
            Option("The next task that is started", "Tasks do not know each other."),
        ),
    ),
    "00-clock": Question(
        "In simulate, a program sleeps for an hour and then calls time.sleep(2). How long do you wait?",
        (
            Option("An hour and two seconds", "asyncio.sleep obeys the virtual clock, which jumps."),
            Option("About two seconds", "Yes. time.sleep knows only the real clock.", right=True),
            Option("No time at all", "time.sleep does not ask the event loop; it stops the thread."),
        ),
    ),
}
