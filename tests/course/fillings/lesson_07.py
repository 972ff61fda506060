"""What may be written into the gaps of lesson 07."""

from __future__ import annotations

from fillings import Tried

BOTH = "(ConnectionError, TimeoutError)"
LAST = "attempt == 3"
REFUSED = "(ConnectionError, BreakerOpen)"

TRIED = {
    "07-mails": Tried(
        right=[
            ("OSError", "attempt > 2", "attempt"),
            (BOTH, LAST, "random.uniform(0.5, 1) * 4**attempt"),
        ],
        wrong={
            ("Exception", LAST, "attempt"): "Gap 1: Bob's address is wrong, and it was tried 3 times.",
            ("ValueError", LAST, "attempt"): "Gap 1: Bob's address is wrong, and it was tried 3 times.",
            ("ConnectionError", LAST, "attempt"): "Gap 1: Ada's second try ended with a TimeoutError,",
            ("TimeoutError", LAST, "attempt"): "Gaps 1 and 2: a ConnectionError was not tried again",
            (BOTH, "True", "attempt"): "Gaps 1 and 2: a ConnectionError was not tried again",
            (BOTH, "attempt == 2", "attempt"): "Gap 2: Eve's mail was given up after 2 of 3 tries.",
            (BOTH, "False", "attempt"): "Gap 2: all of Eve's tries failed, and the caller was told None",
            (BOTH, LAST, "1"): "Gap 3: between the tries for Eve lay 1 s and 1 s.",
            (BOTH, LAST, "0"): "Gap 3: between the tries for Eve lay 0 s and 0 s.",
            (BOTH, LAST, "3 - attempt"): "Gap 3: between the tries for Eve lay 2 s and 1 s.",
            (BOTH, LAST, "delay"): "A gap raised NameError: name 'delay' is not defined, in",
            (
                "ConectionError",
                LAST,
                "attempt",
            ): "A gap raised NameError: name 'ConectionError' is not defined",
            (BOTH, LAST, "'1'"): "A gap raised TypeError:",
            (BOTH, LAST, "1000"): "Gap 3: it is 600 s, and the mails are still being waited for.",
        },
    ),
    "07-later": Tried(
        right=[
            ("Exception", "mail", "1"),
            (REFUSED, "int(mail)", "20"),
        ],
        wrong={
            ("ConnectionError", "mail", "5"): "it raised BreakerOpen: The breaker is open for another 20 s.",
            ("BreakerOpen", "mail", "5"): "it raised ConnectionError: the server is down",
            (REFUSED, '"mail"', "5"): "Gap 2: mail 1 was refused and is nowhere.",
            (REFUSED, "1", "5"): "Gap 2: mail 2 was refused and is nowhere.",
            (REFUSED, "mail", "0"): "Gap 3: it is 3 s, and mails are taken out and put back without an end.",
            (REFUSED, "mail", "0.01"): "Gap 3: all mails were sent, and",
            ("BaseException", "mail", "5"): "This except catches BaseException, and so also CancelledError,",
            (REFUSED, "mail", "60"): "Gap 3: at",
            (REFUSED, "mail", "200"): "Gap 3: at 600 s",
            (REFUSED, "*()", "5"): "Gap 2: mail 1 was refused and is nowhere.",
        },
    ),
}
